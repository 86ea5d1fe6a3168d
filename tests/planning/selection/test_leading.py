"""Locked profiles: numbers may differ from the catalogue, and nothing else leads elsewhere."""

import copy

import pytest

from models.selection import LockedProfile
from planning.selection.leading import leads
from tests.support.stacks.profiles import MODEL, catalogue, profile, question

SERVICE = {
    "model": {"source": "kit://registry.example/org/m:v1", "verify": {"type": "key", "secret": "cosign"}},
    "engine": {
        "image": "registry.example/vllm:v1",
        "args": ["--enforce-eager", "--reasoning-parser=qwen3", "--hf-config-path=org/config"],
        "env": {"BACKEND": "FLASHINFER", "TIMEOUT": "900"},
    },
    "pod": {"serviceAccountName": "models"},
}
OTHER = {"accelerator": "nvidia-l40s", "model": {"source": "hf://org/m@refs/pr/1", "verify": None}}
PROFILES = {"small": profile(service=SERVICE), "other": profile(service=OTHER)}


def found(**changes):
    """Return by what a locked profile leads elsewhere whose values are changed, by path with `__` between keys."""
    candidates = catalogue(PROFILES).candidates(MODEL)
    service = copy.deepcopy(dict(next(each for each in candidates if each.id == "small").service))
    for path, value in changes.items():
        *above, last = path.split("__")
        node = service
        for key in above:
            node = node[key]
        if value is None:
            del node[last]
        else:
            node[last] = value
    values = {"id": "small", "reasons": (), "question": question(), "service": service, "source": "a page"}
    return [str(each) for each in leads(LockedProfile.default(**values), candidates)]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"accelerator": "nvidia-l40s", "model__size": "17Gi", "model__maxModelLen": 5, "parallelism": {"tensor": 2}},
        {"engine__args": ["--max-num-seqs=7", "--max-num-batched-tokens", "512", "--kv-cache-dtype=fp8"]},
        {"engine__env": {"BACKEND": "FLASH_ATTN", "TIMEOUT": "901", "NEW": "1"}},
        {"engine__image": "registry.example/vllm:v0", "model__source": "kit://registry.example/org/m:v0"},
        {"engine__env": None, "engine__args": None, "pod": None},
    ],
)
def test_numbers_words_and_versions_of_owners_may_differ(changes):
    assert found(**changes) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"model__source": "kit://evil.example/org/m:v1"},
            "model.source kit://evil.example/org/m:v1 instead of kit://registry.example/org/m:v1",
        ),
        (
            {"engine__image": "evil.example/vllm:v1"},
            "engine.image evil.example/vllm:v1 instead of registry.example/vllm:v1",
        ),
        ({"engine__args": ["--tokenizer=evil/m"]}, "engine.args[0]"),
        ({"engine__args": ['--speculative-config={"model":"evil"}']}, "engine.args[0]"),
        ({"engine__env": {"HTTPS_PROXY": "evil.example:3128"}}, "engine.env.HTTPS_PROXY"),
        ({"engine__env": {"HTTPS_PROXY": "16843009"}}, "engine.env.HTTPS_PROXY"),
        ({"engine__env": {"BACKEND": "evil.example"}}, "engine.env.BACKEND"),
        ({"pod": {"serviceAccountName": "admin"}}, "pod.serviceAccountName admin instead of models"),
        ({"model__endpoint": "http://evil.example"}, "model.endpoint http://evil.example instead of nothing"),
        ({"model__insecure": True}, "model.insecure true instead of nothing"),
        ({"model__verify": {"type": "key", "secret": "evil"}}, "model.verify.secret evil instead of cosign"),
        ({"model__name": "org/other"}, f"model.name org/other instead of {MODEL}"),
    ],
)
def test_what_leads_elsewhere_is_named(changes, expected):
    """See defects H1."""
    assert found(**changes) == [expected]


def test_a_source_that_its_publisher_signs_is_not_taken_without_the_signature():
    assert found(model__verify=None) == [
        "model.verify.type nothing instead of key",
        "model.verify.secret nothing instead of cosign",
    ]


def test_a_revision_of_a_hub_is_that_of_the_catalogue():
    """Anybody can open a pull request in a repository of a hub, whose commits are then commits of the repository."""
    changed = {"model": {"source": "hf://org/m@refs/pr/7", "name": MODEL, "size": "16Gi"}, "engine": {}, "pod": {}}
    assert found(**changed) == ["model.source hf://org/m@refs/pr/7 instead of hf://org/m@refs/pr/1"]
    changed["model"]["source"] = "hf://org/m@refs/pr/1"
    assert found(**changed) == []


def test_a_model_without_profiles_confirms_nothing():
    values = {"id": "small", "reasons": (), "question": question(), "source": "a page"}
    service = {"accelerator": "nvidia-l40s", "model": {"source": "hf://org/m"}}
    locked = LockedProfile.default(**values, service=service)
    assert [str(each) for each in leads(locked, ())] == ["model.source hf://org/m instead of nothing"]
