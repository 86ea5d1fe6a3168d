"""Files of a hub's repository that are not fetched."""

import fnmatch
import json

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import containers, model_servers
from tests.support.stacks.varied import VARIED

VARIABLE = "STORAGE_IGNORE_PATTERNS"
HUB = {"source": "hf://org/m@v1", "size": "10Gi"}
ORIGINAL = [
    "original/consolidated.00.pth",
    "original/params.json",
    "metal/model.bin",
    "onnx/model.onnx",
    "model.onnx_data",
    "tf_model.h5",
    "flax_model.msgpack",
    "model.gguf",
    "consolidated.00.pth",
]
READ = [
    *("model.safetensors", "model-00001-of-00002.safetensors", "model.safetensors.index.json", "pytorch_model.bin"),
    *("consolidated.safetensors", "params.json", "tekken.json", "config.json", "tokenizer.json", "tokenizer.model"),
    *("generation_config.json", "chat_template.jinja", "adapter_model.safetensors", "1_Pooling/config.json"),
]


def fetching(service, **stack):
    """Return the containers that fetch for a service, in its pods and Jobs, by name."""
    everything = rendered(tree(qwen=service) | stack)
    templates = [
        *model_servers(everything),
        *(each["spec"]["template"] for each in everything if each["kind"] == "Job"),
    ]
    return {each["name"]: each for template in templates for each in containers(template) if "env" in each}


def ignored(container):
    """Return the patterns that a container ignores; None if it fetches everything."""
    values = {each["name"]: each.get("value") for each in container["env"]}
    return json.loads(values[VARIABLE]) if VARIABLE in values else None


def is_ignored(patterns, name):
    """Say whether the hub's client leaves a file out; it compares whole paths, as fnmatch does."""
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


@pytest.mark.parametrize("storage", [{"type": "ephemeral"}, {"type": "dedicated"}])
def test_copies_in_formats_that_the_engine_never_reads_are_not_fetched(storage):
    """See defects A7."""
    patterns = ignored(fetching({"model": HUB, "storage": storage})["model-download"])
    assert [name for name in ORIGINAL if not is_ignored(patterns, name)] == []
    assert [name for name in READ if is_ignored(patterns, name)] == []


def test_adapters_and_caches_leave_the_same_files_out():
    """See defects A7."""
    adapters = {"sql": {"source": "hf://org/sql"}}
    found = fetching({"model": {**HUB, "lora": {"adapters": adapters}}})
    assert ignored(found["adapter-sql"]) == ignored(found["model-download"]) is not None
    jobs = [each for each in rendered(VARIED["shared"]) if each["kind"] == "Job"]
    (hub,) = [job for job in jobs if "hf://" in json.dumps(job)]
    assert ignored(hub["spec"]["template"]["spec"]["containers"][0]) == ignored(found["model-download"])


@pytest.mark.parametrize(("patterns", "expected"), [(["*.bin", "original/**"], ["*.bin", "original/**"]), ([], None)])
def test_the_patterns_are_the_users_to_write(patterns, expected):
    """See defects A7."""
    model = {**HUB, "ignorePatterns": patterns}
    for storage in ({"type": "ephemeral"}, {"type": "dedicated"}):
        assert ignored(fetching({"model": model, "storage": storage})["model-download"]) == expected
    cache = {"source": "hf://org/m@v1", "size": "10Gi", "ignorePatterns": patterns}
    shared = {"model": {"name": "org/m"}, "storage": {"type": "shared", "cache": "m"}}
    assert ignored(fetching(shared, caches={"m": cache})["model-download"]) == expected


def test_other_patterns_are_another_claim_and_the_default_is_not():
    def claim(**model):
        everything = rendered(tree(qwen={"model": {**HUB, **model}, "storage": {"type": "dedicated"}}))
        (name,) = [each["metadata"]["name"] for each in everything if each["kind"] == "PersistentVolumeClaim"]
        return name

    assert claim() == "qwen-weights-2cc93e4e"
    assert len({claim(), claim(ignorePatterns=[]), claim(ignorePatterns=["*.bin"])}) == 3


@pytest.mark.parametrize("scheme", ["kit://registry.example/m:v1", "s3://bucket/m"])
def test_what_is_no_repository_of_a_hub_is_fetched_whole(scheme):
    model = {"name": "org/m", "source": scheme}
    assert {ignored(each) for each in fetching({"model": model}).values()} == {None}


def test_an_engine_of_ones_own_gets_every_file():
    engine = {"type": "custom", "image": "registry.example/server:v1"}
    for storage in ({"type": "ephemeral"}, {"type": "dedicated"}):
        found = fetching({"model": HUB, "engine": engine, "storage": storage})
        assert ignored(found["model-download"]) is None
