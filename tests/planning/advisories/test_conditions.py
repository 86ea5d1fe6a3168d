"""Every advisory is met by a service that does what it requires, and by no other."""

import pytest

from planning.advisories import conditions, table, verdicts
from planning.releases import engine_versions
from tests.planning.advisories.roles import role

ROWS = table.read().advisories
COMMIT = "c1899de289a04d12100db370d81485cdf75e47ca"
CUSTOM = {"engine": {"type": "custom"}}


def with_args(*args):
    return {"engine": {"args": [*args]}}


def with_env(**env):
    return {"engine": {"env": env}}


def model(name):
    return {"model": {"source": f"hf://org/{name}@{COMMIT}"}}


def pairs(row):
    """Return a service that meets the condition of a row, and one that does not."""
    word = (row.words or [""])[0]
    return {
        "answers-requests": ({}, CUSTOM),
        "generates-text": ({}, with_args("--runner=pooling")),
        "pools": (with_args("--runner", "pooling"), with_args("--runner", "generate")),
        "accepts-media": (model("Qwen3-VL-8B"), model("Qwen3-8B")),
        "accepts-audio": (model("whisper-large-v3"), model("Qwen3-8B")),
        "trusts-remote-code": (with_args("--trust-remote-code"), with_args("--no-trust-remote-code")),
        "loads-changing-repository": ({"model": {"source": "hf://org/model@main"}}, model("model")),
        "loads-gguf": (with_args("--quantization=gguf"), with_args("--quantization=fp8")),
        "takes-prompt-embeddings": (with_args("--enable-prompt-embeds"), {}),
        "requires-key": (with_env(VLLM_API_KEY={"secretKeyRef": {"name": "keys", "key": "engine"}}), {}),
        "transfers-cache": (with_args(f'--kv-transfer-config={{"kv_connector": "{word}"}}'), {}),
        "spans-pods": ({"parallelism": {"pipeline": 2}}, {"parallelism": {"tensor": 2}}),
        "serves-model": (model(f"{word.title()}-8B"), model("Qwen3-8B")),
        "parses-pythonic-tools": (with_args("--tool-call-parser=pythonic"), with_args("--tool-call-parser=hermes")),
        "parses-qwen3-coder-tools": (
            with_args("--tool-call-parser=qwen3_coder"),
            with_args("--tool-call-parser=hermes"),
        ),
        "calls-tools": (with_args("--tool-server=demo"), {}),
        "extracts-hidden-states": (
            with_args("--speculative-config.method=extract_hidden_states"),
            with_args("--speculative-config.method=ngram"),
        ),
        "enforces-formats-by-lm-format-enforcer": (
            with_args('--structured-outputs-config={"backend": "lm-format-enforcer"}'),
            with_args("--structured-outputs-config.backend=xgrammar"),
        ),
        "optimises-python": (with_env(PYTHONOPTIMIZE="1"), with_env(PYTHONOPTIMIZE="0")),
        "uses-rust-frontend": (with_env(VLLM_USE_RUST_FRONTEND="1"), with_env(VLLM_USE_RUST_FRONTEND="0")),
    }[row.condition]


def ids(service, version):
    return {advisory.id for advisory in verdicts.exposure(role(service, version)).met}


def last_affected(row):
    """Return the last version of vLLM before the fix."""
    known = ["0.8.3", "0.8.4", *engine_versions.table().versions]
    return max(filter(row.affects, known), key=engine_versions.order)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_advisory_is_met_by_the_service_that_does_what_it_requires(row):
    meeting, other = pairs(row)
    version = last_affected(row)
    assert row.id in ids(meeting, version)
    assert row.id not in ids(other, version)
    assert row.id not in ids(meeting, row.fixed_in)


@pytest.mark.parametrize("word", ["NixlConnector", "MooncakeConnector"])
def test_the_connector_of_prefill_transfers_the_cache(word):
    connector = {"NixlConnector": "nixlv2", "MooncakeConnector": "mooncake"}[word]
    service = {"prefill": {}, "kvCache": {"connector": connector}}
    transferring = [row for row in ROWS if row.condition == "transfers-cache" and word in row.words]
    other = [row for row in ROWS if row.condition == "transfers-cache" and word not in row.words]
    assert transferring
    assert all(conditions.holds(role(service), row) for row in transferring)
    assert not any(conditions.holds(role(service), row) for row in other)


def accepts_media(service):
    row = next(row for row in ROWS if row.condition == "accepts-media")
    return conditions.holds(role(service), row)


@pytest.mark.parametrize(
    "service",
    [
        with_args("--allowed-media-domains", "example.com"),
        with_args('--limit-mm-per-prompt={"image": 2, "video": 0}'),
        with_args('--limit-mm-per-prompt={"image": {"count": 1}}'),
        with_args('--limit-mm-per-prompt={"image": {"width": 512}}'),
        {"model": {"name": "org/m", "source": "s3://bucket/m", "architecture": {"family": "qwen2_5_vl"}}},
        model("Llava-1.5-7b"),
    ],
)
def test_media_are_accepted_by_flags_by_family_and_by_name(service):
    assert accepts_media(service)


@pytest.mark.parametrize(
    "args",
    [
        ["--language-model-only"],
        ['--limit-mm-per-prompt={"image": 0, "video": 0}'],
        ['--limit-mm-per-prompt={"image": {"count": 0}, "video": 0}'],
    ],
    ids=["only", "limit", "object"],
)
def test_a_model_that_is_told_to_accept_no_media_accepts_none(args):
    assert not accepts_media({**model("Qwen3-VL-8B"), **with_args(*args)})


def test_a_word_within_another_word_names_no_model():
    assert not accepts_media(model("Revlon-7B"))
    assert not accepts_media(model("Division-7B"))


def test_an_encoder_pools_without_a_flag():
    row = next(row for row in ROWS if row.condition == "pools")
    assert conditions.holds(role({"model": {"source": f"hf://BAAI/bge-m3@{COMMIT}"}}), row)


def test_a_flag_of_a_key_requires_it_too():
    row = next(row for row in ROWS if row.condition == "requires-key")
    engine = {"args": ["--api-key=$(KEY)"], "env": {"KEY": {"secretKeyRef": {"name": "keys", "key": "engine"}}}}
    assert conditions.holds(role({"engine": engine}), row)
