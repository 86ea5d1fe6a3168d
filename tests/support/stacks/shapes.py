"""Stacks of every shape, shipped and made, and how to read pods out of what they render to."""

from collections.abc import Iterator
from typing import Any

import pytest

from manifests.objects import Manifest
from models.problems import ConfigError
from tests.support.stacks import SHIPPED, plan, shipped, tree

DIGEST = f"sha256:{'0f' * 32}"
SPANNING = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}
SHAPES: dict[str, dict[str, Any]] = {
    "one-pod": {},
    "prefill": {"prefill": {"replicas": 2}, "replicas": 2},
    "prefill-by-an-account": {"prefill": {}, "pod": {"serviceAccountName": "models"}},
    "spanning": {**SPANNING, "replicas": 2},
    "spanning-prefill": {**SPANNING, "prefill": {}},
    "canary": {"canary": {"weight": 10, "engine": {"maxNumSeqs": 64}}, "replicas": 2},
    "canary-of-roles": {
        "prefill": {},
        "canary": {"weight": 0, "headers": {"x-canary": "always"}, "parallelism": {"tensor": 2}},
    },
    "encode": {"encode": {}, "replicas": 2},
    "three-stages": {"encode": {"replicas": 2}, "prefill": {}},
    "sets-of-prefill": {"prefill": {"sets": {"long": SPANNING, "short": {"replicas": 2}}}},
    "sets-of-decode": {
        "decode": {"sets": {"amd": {"accelerator": "amd", "replicas": 2}, "large": SPANNING, "small": {}}}
    },
    "sets-of-both": {
        "decode": {"sets": {"a": {}, "b": {"replicas": 2}}},
        "prefill": {"sets": {"a": {}, "b": {}}},
        "canary": {"weight": 10, "engine": {"maxNumSeqs": 64}},
    },
    "no-devices": {"accelerator": "cpu"},
    "custom": {"engine": {"type": "custom", "image": "registry.example/server:v1"}},
    "inside-the-image": {"model": {"name": "org/model", "source": f"image://registry.example/server@{DIGEST}"}},
    "hub": {"model": {"source": "hf://org/model@v1", "size": "10Gi", "secrets": ["hf"]}},
    "bucket": {"model": {"name": "org/model", "source": "s3://bucket/model", "size": "10Gi"}},
    "claim": {"model": {"name": "org/model", "source": "pvc://weights/model"}},
    "private-kit": {
        "model": {"name": "org/model", "source": f"kit://registry.example/org/model@{DIGEST}", "secrets": ["registry"]}
    },
    "signed-kit-with-adapters": {
        "model": {
            "name": "org/model",
            "source": "kit://registry.example/org/model:v1",
            "size": "10Gi",
            "verify": {"type": "key", "secret": "cosign"},
            "lora": {
                "adapters": {
                    "sql": {"source": "kit://registry.example/org/sql:v1", "size": "5Gi"},
                    "legal": {"source": "hf://org/legal", "size": "5Gi"},
                    "chat": {"source": "pvc://adapters/chat"},
                }
            },
        }
    },
}
EVERY = {path.stem: shipped(path) for path in SHIPPED} | {name: tree(qwen=shape) for name, shape in SHAPES.items()}
PICKED = {name: stack for name, stack in EVERY.items() if "endpointPicker" not in stack.get("defaults", {})}
"""Those whose services have endpoint pickers."""
every_stack = pytest.mark.parametrize("stack", EVERY.values(), ids=EVERY.keys())
every_picked_stack = pytest.mark.parametrize("stack", PICKED.values(), ids=PICKED.keys())
every_rendering = pytest.mark.parametrize("everything", EVERY, indirect=True)
every_picked_rendering = pytest.mark.parametrize("everything", PICKED, indirect=True)


def templates(everything: list[Manifest]) -> list[Any]:
    """Return every pod template, those of both pods of a group included; at least one."""
    found = list[Any]()
    for manifest in everything:
        if manifest["kind"] == "Deployment":
            found.append(manifest["spec"]["template"])
        if manifest["kind"] == "LeaderWorkerSet":
            group = manifest["spec"]["leaderWorkerTemplate"]
            found += [group[name] for name in ("leaderTemplate", "workerTemplate") if name in group]
    assert found
    return found


def model_servers(everything: list[Manifest]) -> list[Any]:
    """Return the templates of pods that hold an engine, whether they serve or only compute."""
    found = [
        template
        for template in templates(everything)
        if label(template, "app.kubernetes.io/component") == "model-server"
    ]
    assert found
    return found


def serving(everything: list[Manifest]) -> list[Any]:
    """Return the templates of pods that are sent requests."""
    found = [template for template in model_servers(everything) if label(template, "inference-stacks.io/service")]
    assert found
    return found


def label(template: Any, key: str) -> str | None:
    return template["metadata"]["labels"].get(key)


def engine(template: Any) -> Any:
    (container,) = template["spec"]["containers"]
    return container


def sidecars(template: Any) -> list[Any]:
    return [
        container for container in template["spec"].get("initContainers", []) if container["name"] == "routing-proxy"
    ]


def fetching(template: Any) -> list[Any]:
    """Return the containers that bring weights."""
    return [
        container for container in template["spec"].get("initContainers", []) if container["name"] != "routing-proxy"
    ]


def containers(template: Any) -> list[Any]:
    return [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]


def volumes(template: Any) -> dict[str, Any]:
    return {volume["name"]: volume for volume in template["spec"]["volumes"]}


def values(container: Any) -> dict[str, Any]:
    """Return a container's variables, each by its text or where it is."""
    return {variable["name"]: variable.get("value", variable.get("valueFrom")) for variable in container.get("env", [])}


def flag(container: Any, name: str) -> str | None:
    """Return the value of a flag that is written as one token; at most one."""
    found = [argument.partition("=")[2] for argument in container.get("args", []) if argument.partition("=")[0] == name]
    assert len(found) <= 1
    return found[0] if found else None


def amounts(container: Any) -> Iterator[tuple[str, str, str]]:
    """Yield group, resource and amount."""
    for group, given in container["resources"].items():
        if group != "claims":
            yield from ((group, name, number) for name, number in given.items())


def told(stack: Any) -> list[str]:
    """Return the messages for a mistaken stack."""
    with pytest.raises(ConfigError) as error:
        plan(stack)
    return str(error.value).splitlines()
