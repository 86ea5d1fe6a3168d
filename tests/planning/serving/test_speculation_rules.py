"""Speculative decoding: the engine's settings, the weights that guess tokens, and what vLLM refuses."""

import json

import pytest

from models.problems import ConfigError
from planning.fit.memory import Fit
from planning.ground.cluster_facts import Unknown
from planning.releases import channel, channels, engine_versions, speculation
from tests.support.stacks import plan, rendered, tree
from tests.support.stacks.leaves import all_leaves
from tests.support.stacks.shapes import engine, fetching, flag, model_servers, volumes

GI = 2**30
DRAFT = {"source": "hf://org/draft", "size": "2Gi", "architecture": {"layers": 2, "kvHeads": 8, "headDim": 128}}
AT = "services.qwen.model.speculative"


def service(method, draft=None, source="hf://Qwen/Qwen3-8B", version="0.30.0", args=(), **fields):
    speculative = {"method": method, "tokens": 3, **({} if draft is None else {"draft": draft})}
    image = {"image": f"registry.example/vllm-openai:v{version}", "args": [*args]}
    model = {"source": source, "speculative": speculative}
    return {"model": model, "engine": image, "accelerator": "nvidia-h100-80gb", **fields}


def templates(*arguments, **fields):
    return model_servers(rendered(tree(qwen=service(*arguments, **fields))))


def settings(container):
    return json.loads(flag(container, "--speculative-config") or "null")


def errors(*arguments, **fields):
    try:
        plan(tree(qwen=service(*arguments, **fields)))
    except ConfigError as error:
        return str(error).splitlines()
    return []


def test_every_method_of_the_configuration_has_facts_of_a_known_version():
    (_, (schema,)) = all_leaves()["services.*.model.speculative.method"]
    for name in schema["enum"]:
        facts = speculation.method(name)
        version = engine_versions.of_image(f"vllm/vllm-openai:v{facts.since}", "nvidia", channel(channels()[0]))
        assert version.is_known
        assert version.knows_flag("--speculative-config")


@pytest.mark.parametrize(
    ("method", "draft", "expected"),
    [
        ("ngram", None, {"method": "ngram", "num_speculative_tokens": 3}),
        ("mtp", None, {"method": "mtp", "num_speculative_tokens": 3}),
        ("eagle3", DRAFT, {"method": "eagle3", "model": "/draft", "num_speculative_tokens": 3}),
        ("draft-model", DRAFT, {"method": "draft_model", "model": "/draft", "num_speculative_tokens": 3}),
    ],
)
@pytest.mark.parametrize("further", [{}, {"prefill": {}}])
def test_every_role_guesses_alike(method, draft, expected, further):
    servers = templates(method, draft, **further)
    assert [settings(engine(template)) for template in servers] == [expected] * len(servers)


def test_pods_fetch_the_draft_beside_the_model_with_the_models_secret():
    draft = {"source": "hf://org/draft", "size": "2Gi"}
    stack = tree(qwen=service("eagle3", draft))
    stack["services"]["qwen"]["model"]["secrets"] = ["hub"]
    (template,) = model_servers(rendered(stack))
    _, container = fetching(template)
    assert (container["name"], container["args"]) == ("draft", ["hf://org/draft", "/draft"])
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "HF_TOKEN"}}} in container["env"]
    assert volumes(template)["draft"]["emptyDir"]["sizeLimit"] == "3Gi"
    (without,) = templates("mtp")
    assert [item["name"] for item in fetching(without)] == ["model-download"]


def test_a_claim_with_a_draft_is_mounted():
    (template,) = templates("eagle3", {"source": "pvc://drafts/one"})
    assert volumes(template)["draft"]["persistentVolumeClaim"]["claimName"] == "drafts"
    (mount,) = [item for item in engine(template)["volumeMounts"] if item["name"] == "draft"]
    assert (mount["mountPath"], mount["subPath"]) == ("/draft", "one")


def fit(*arguments, **fields):
    found = plan(tree(qwen=service(*arguments, **fields))).services[0].primary.roles["decode"].fit
    assert isinstance(found, Fit)
    return found


def test_weights_and_cache_of_a_draft_count_on_the_devices():
    tokens = 40960
    alone = fit("ngram")
    drafted = fit("eagle3", DRAFT)
    assert drafted.weights - alone.weights == 2 * GI
    assert drafted.cache - alone.cache == 2 * 2 * 8 * 128 * 2 * tokens
    divided = fit("eagle3", DRAFT, parallelism={"tensor": 2})
    assert divided.weights - fit("ngram", parallelism={"tensor": 2}).weights == GI


def test_a_draft_of_the_shipped_table_needs_no_numbers():
    small = fit("draft-model", {"source": "hf://Qwen/Qwen3-0.6B"})
    assert small.weights > fit("ngram").weights + GI
    assert small.cache > fit("ngram").cache


def test_a_layer_for_several_tokens_caches_as_the_others():
    less = fit("ngram")
    assert fit("mtp").cache == less.cache * 37 // 36
    assert fit("mtp").weights == less.weights


def test_an_unknown_draft_makes_the_fit_unknown():
    found = plan(tree(qwen=service("eagle3", {"source": "hf://org/draft"}))).services[0].primary.roles["decode"].fit
    assert found == Unknown(
        "the architecture of the draft model is unknown; write model.speculative.draft.architecture, or lock the source"
    )


def test_a_draft_that_leaves_no_room_is_reported():
    stack = {**tree(qwen=service("draft-model", {**DRAFT, "size": "60Gi"})), "checks": {"fit": "strict"}}
    with pytest.raises(ConfigError) as error:
        plan(stack)
    assert "services.qwen.accelerator" in str(error.value)
    plan({**tree(qwen=service("draft-model", DRAFT)), "checks": {"fit": "strict"}})


@pytest.mark.parametrize(
    ("arguments", "fields", "line"),
    [
        (
            ["eagle3"],
            {},
            f"{AT}.draft: is missing, and eagle3 guesses tokens by weights of their own; add draft",
        ),
        (["ngram", DRAFT], {}, f"{AT}.draft: has no effect on ngram, which guesses tokens without weights; remove it"),
        (
            ["draft-model", {"source": "hf://mistralai/Mistral-7B-v0.1"}],
            {},
            f"{AT}.draft: has another vocabulary than the model (32000, 151936 tokens); use a draft model of the same",
        ),
        (
            ["mtp"],
            {"version": "0.10.2"},
            f"{AT}.method: is not known to vLLM 0.10.2 (mtp); use an image of vLLM 0.11",
        ),
        (["draft-model", DRAFT], {"version": "0.14.1"}, f"{AT}.method: is not known to vLLM 0.14.1 (draft-model); use"),
        (
            ["ngram"],
            {"args": ['--speculative-config={"method":"suffix"}']},
            "services.qwen.engine.args[0]: repeats a field (--speculative-config); remove it, and set model.spec",
        ),
        (["ngram"], {"args": ["--spec-tokens=4"]}, "services.qwen.engine.args[0]: repeats a field (--spec-tokens)"),
        (
            ["eagle3", {"source": "image://registry.example/draft:v1"}],
            {},
            f"{AT}.draft.source: cannot be taken out of an image (image://)",
        ),
    ],
)
def test_what_vllm_refuses_is_refused(arguments, fields, line):
    (error,) = errors(*arguments, **fields)
    assert error.startswith(line)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (["mtp", DRAFT], {}),
        (["mtp"], {"version": "0.11.0"}),
        (["draft-model", {"source": "hf://Qwen/Qwen3-0.6B"}], {"version": "0.15.0"}),
        (["ngram"], {"args": ['--speculative-config={"prompt_lookup_max":4}']}),
    ],
)
def test_what_vllm_takes_is_taken(arguments, fields):
    assert errors(*arguments, **fields) == []


def test_further_settings_of_the_user_are_merged():
    (template,) = templates("ngram", args=['--speculative-config={"prompt_lookup_max":4}'])
    assert settings(engine(template)) == {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}


def test_other_engines_are_refused_by_their_name():
    image = {"type": "sglang", "image": "docker.io/lmsysorg/sglang:v0.5.13.post1"}
    (error,) = errors("ngram", engine=image)
    assert error.startswith(f"{AT}: has no effect on SGLang; remove it, and write the engine's own flag")


def generation(*arguments, **fields):
    labels = [template["metadata"]["labels"] for template in templates(*arguments, prefill={}, **fields)]
    (label,) = {item["inference-stacks.io/generation"] for item in labels}
    return label


def test_pods_that_guess_otherwise_exchange_no_cache():
    assert len({generation("ngram"), generation("mtp"), generation("eagle3", DRAFT)}) == 3
