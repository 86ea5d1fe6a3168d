"""Valid stacks whose pods have further volumes, containers, claims and privileges."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.fragments import CLAIMS, ENV, METRICS, POD

PRIVILEGES = {"reason": "it pins memory", "capabilities": ["IPC_LOCK"], "root": True}
VOLUMES: dict[str, dict[str, Any]] = {
    "named": {"type": "config-map", "name": "files", "mountPath": "/volumes/named"},
    "written": {"type": "config-map", "files": {"one.yaml": "one: 1"}, "mountPath": "/volumes/written"},
    "secret": {"type": "secret", "name": "one", "mountPath": "/volumes/secret"},
    "claim": {"type": "claim", "claimName": "one", "mountPath": "/volumes/claim", "subPath": "one"},
    "empty": {"type": "empty-dir", "sizeLimit": "1Gi", "mountPath": "/volumes/empty"},
    "node": {"type": "host-path", "path": "/mnt/one", "mountPath": "/volumes/node"},
    "driver": {"type": "csi", "source": {"driver": "one.example.com"}, "mountPath": "/volumes/driver"},
    "image": {"type": "image", "reference": "registry.example/files:v1", "mountPath": "/volumes/image"},
}
"""A volume of each type."""


def _container(port: int) -> dict[str, Any]:
    """Return a container that says everything that it can."""
    return {
        "image": "registry.example/beside:v1",
        "command": ["run"],
        "args": ["--once"],
        "env": ENV,
        "ports": [port],
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "mounts": {"empty": "/empty"},
    }


EXTENDED: dict[str, Any] = POD | {
    "volumes": VOLUMES,
    "initContainers": {
        "first": _container(9001),
        "second": {"image": "registry.example/set-up:v1", "privileges": PRIVILEGES},
    },
    "containers": {
        "beside": _container(9002) | {"runAsUser": 1000},
        "tuned": {"image": "registry.example/tune:v1", "privileges": PRIVILEGES},
    },
    "privileges": PRIVILEGES,
    "claims": CLAIMS,
}
"""A pod with more in it than an engine."""
SPREAD = {
    "engine": {
        "type": "custom",
        "image": "registry.example/engine:v1",
        "command": ["serve"],
        "workerArgs": ["join"],
        "workerCommand": ["run"],
    },
    "parallelism": {"tensor": 8, "pods": 2},
}
"""Replicas of several pods of an engine that this program knows nothing about."""


def _extended() -> dict[str, Any]:
    return tree(qwen={"model": {"source": "hf://org/m"}, "engine": {"env": ENV}, "pod": EXTENDED})


def _connected() -> dict[str, Any]:
    """Return pods whose sidecar has variables."""
    return tree(qwen={"model": {"source": "hf://org/m"}, "prefill": {}, "sidecar": {"env": ENV}})


def _adapted() -> dict[str, Any]:
    """Return pods that load adapters from a volume while they run."""
    dynamic = {"directory": "adapters"}
    volumes = {
        "adapters": {"type": "claim", "claimName": "adapters", "mountPath": "/volumes/adapters"},
        "edited": {"type": "claim", "claimName": "edited", "mountPath": "/volumes/edited"},
    }
    return tree(qwen={"model": {"source": "hf://org/m", "lora": {"dynamic": dynamic}}, "pod": {"volumes": volumes}})


def _spread() -> dict[str, Any]:
    return tree(qwen={"model": {"source": "hf://org/m"}, **SPREAD})


def _spread_apart() -> dict[str, Any]:
    """Return prefill of such an engine, which hands its cache over by a protocol of the sidecar."""
    service = {**SPREAD, "kvCache": {"connector": "nixlv2"}, "prefill": {"parallelism": SPREAD["parallelism"]}}
    return tree(qwen={"model": {"source": "hf://org/m"}, **service})


EAGER = {"engine": {"args": ["--enforce-eager"]}}
SCHEDULE = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timezone": "Europe/Berlin", "replicas": 2}


def _timed() -> dict[str, Any]:
    """Return pods whose number follows the clock, too."""
    queue = {"type": "custom", "spec": {"type": "prometheus", "metadata": {"query": "queue", "threshold": "5"}}}
    times = {"pollingInterval": "15s", "cooldownPeriod": "5m"}
    scaling = {"type": "keda", "maxReplicas": 4, "metrics": [*METRICS, queue], "schedules": [SCHEDULE], **times}
    observability = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
    return tree(qwen={"model": {"source": "hf://org/m"}, "autoscaling": scaling}) | {"observability": observability}


def _eager() -> dict[str, Any]:
    """Return pods that inherit a flag."""
    return tree(qwen={"model": {"source": "hf://org/m"}}) | {"defaults": EAGER}


PODS = {
    "extended": _extended(),
    "connected": _connected(),
    "adapted": _adapted(),
    "spread": _spread(),
    "timed": _timed(),
    "eager": _eager(),
    "spread-apart": _spread_apart(),
}
"""Stacks by name."""
