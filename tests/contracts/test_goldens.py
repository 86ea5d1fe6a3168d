"""Every shipped stack renders to a committed file that a person can review."""

from functools import cache
from pathlib import Path

import pytest
import yaml

from planning.ground import yaml_text
from planning.releases import channel, offered_channels
from tests.support import commands
from tests.support.stacks import SHIPPED, WORDS, rendered, tree
from tests.support.stacks.engine_kinds import ENGINES

RANGE = "llm-d.ai/context-length-range"
ROLES = {
    "decode-sets": {"decode": {"sets": {"amd": {"accelerator": "amd"}, "nvidia": {"replicas": 2}}}},
    "encode": {"encode": {"replicas": 2}},
    "encode-prefill-decode": {"encode": {"encoderCache": {"bytes": "8Gi"}}, "prefill": {"parallelism": {"tensor": 2}}},
    "prefill-sets": {
        "prefill": {
            "sets": {
                "long": {"labels": {RANGE: "1001-32768"}, "parallelism": {"tensor": 4}},
                "short": {"labels": {RANGE: "0-1000"}, "replicas": 2},
            }
        }
    },
}
"""Services whose stages have pods of their own, by the name of the golden."""


@cache
def rendering(path):
    return commands.rendering(path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_stack_renders_to_its_golden(path, golden):
    golden(Path("tests/contracts/goldens") / path.name.replace("Pulumi.", ""), rendering(path))


@pytest.mark.parametrize("path", WORDS, ids=lambda path: path.stem)
def test_a_stack_with_other_words_renders_to_its_golden(path, golden):
    golden(Path("tests/contracts/goldens/words") / path.name, rendering(path))


@pytest.mark.parametrize("name", offered_channels())
def test_each_channel_renders_to_its_golden(name, golden):
    service = {} if channel(name).sidecar is None else {"prefill": {}}
    manifests = rendered(tree(qwen=service) | {"release": name})
    documents = "".join(f"---\n{yaml_text.with_blocks(manifest)}" for manifest in manifests)
    golden(Path("tests/contracts/goldens/channels") / f"{name}.yaml", documents)


@pytest.mark.parametrize("name", ROLES)
def test_each_choice_of_roles_renders_to_its_golden(name, golden):
    manifests = rendered(tree(qwen=ROLES[name]) | {"networkPolicies": {}})
    documents = "".join(f"---\n{yaml_text.with_blocks(manifest)}" for manifest in manifests)
    golden(Path("tests/contracts/goldens/roles") / f"{name}.yaml", documents)


@pytest.mark.parametrize("load_balancing", ["external", "hybrid"])
def test_each_way_to_serve_with_every_pod_renders_to_its_golden(load_balancing, golden):
    service = {
        "accelerator": "nvidia-h200",
        "engine": {"image": "registry.example/vllm-openai:v0.23.0"},
        "parallelism": {"data": 16, "dataLocal": 8, "expert": True, "loadBalancing": load_balancing},
        "prefill": {},
    }
    settings = {"networkPolicies": {}, "observability": {"metrics": {"type": "prometheus-operator"}}}
    documents = "".join(
        f"---\n{yaml_text.with_blocks(manifest)}" for manifest in rendered(tree(qwen=service) | settings)
    )
    golden(Path("tests/contracts/goldens/groups") / f"{load_balancing}.yaml", documents)


@pytest.mark.parametrize("name", ENGINES)
def test_each_kind_of_engine_renders_to_its_golden(name, golden):
    manifests = rendered(tree(qwen=ENGINES[name]))
    workloads = [item for item in manifests if item["kind"] in {"Deployment", "LeaderWorkerSet", "ConfigMap"}]
    documents = "".join(f"---\n{yaml_text.with_blocks(manifest)}" for manifest in workloads)
    golden(Path("tests/contracts/goldens/engines") / f"{name}.yaml", documents)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_rendering_is_deterministic(path):
    assert commands.rendering(path) == rendering(path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_rendering_repeats_what_stands_twice(path):
    tokens = yaml.scan(rendering(path), Loader=yaml.CSafeLoader)
    assert [token for token in tokens if isinstance(token, yaml.AnchorToken | yaml.AliasToken)] == []
