"""Valid stacks with canaries that between them reach every field of a canary."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.fragments import FILL, METRICS, SPREAD


def _tried() -> dict[str, Any]:
    """Return a model of a hub, and another one that is tried beside it under the same name."""
    canary = {
        "weight": 10,
        "headers": {"x-tried": "always", "x-canary": "1"},
        "model": {"source": "hf://org/n@v2", "maxModelLen": 4096},
        "labels": {"tried": "yes"},
        "engine": {"args": ["--seed=7"], "env": {"TEXT": "other"}},
        "pod": {"topologySpreadConstraints": [SPREAD]},
        "endpointPicker": {"metricsAuth": False, "port": 9100},
        "replicas": 2,
    }
    service = {
        "name": "chat",
        "model": {"source": "hf://org/m@v1", "size": "10Gi", "secrets": ["hf"]},
        "labels": {"team": "search"},
        "engine": {"args": ["--seed=1", "--enforce-eager"], "env": {"TEXT": "text", "MORE": "more"}},
        "route": {"hostnames": ["llm.example.com"]},
        "replicas": 3,
        "canary": canary,
    }
    return tree(qwen=service)


def _tried_apart() -> dict[str, Any]:
    """Return two roles whose pods all end before others start, and a canary whose pods are there beside each other."""
    prefill = {"replicas": 2, "engine": {"args": ["--seed=7"]}, "patch": {"spec": {"minReadySeconds": 7}}}
    canary = {"weight": 0, "headers": {"x-canary": "always"}, "prefill": {"rollout": {"type": "RollingUpdate"}}}
    service = {
        "model": {"source": "s3://bucket/m"},
        "rollout": {"type": "Recreate"},
        "prefill": prefill,
        "sidecar": {"logLevel": "debug"},
        "kvCache": {"events": True},
        "canary": canary | {"sidecar": {"enginePort": 8300}},
    }
    stack = tree(qwen=_named(service))
    return stack | {"observability": {"tracing": {"endpoint": "http://collector:4317"}}}


def _named(service: dict[str, Any]) -> dict[str, Any]:
    """Return a service whose model has a name."""
    return {**service, "model": {"name": "org/m", **service["model"]}}


def _tried_together() -> dict[str, Any]:
    """Return two roles over several nodes, and a canary of one role of another size."""
    service = {
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": 8, "pipeline": 2},
        "sidecar": {"logLevel": "debug"},
        "prefill": {"replicas": 2},
        "canary": {"weight": 100, "prefill": None, "accelerator": "nvidia-l40s", "replicas": 2},
    }
    return tree(qwen=service)


def _tried_dedicated() -> dict[str, Any]:
    """Return a canary that has another source than its service, each on a claim of its own."""
    model = {"source": "s3://bucket/m", "size": "10Gi"}
    canary = {"weight": 1, "model": {"source": "s3://bucket/n", "size": "20Gi"}, "storage": {"headroomPercent": 50}}
    service = {"model": model, "storage": {"type": "dedicated", "fill": FILL}, "canary": canary}
    return tree(qwen=_named(service))


def _tried_existing() -> dict[str, Any]:
    """Return a canary that has its service's source, in the same folder of the claim."""
    model = {"source": "s3://bucket/m", "secrets": ["one"]}
    storage = {"type": "existing", "claimName": "weights", "subPath": "llm"}
    canary = {"weight": 50, "engine": {"image": "registry.example/engine:v2"}, "labels": {"tried": "yes"}}
    return tree(qwen=_named({"model": model, "storage": storage, "canary": canary}))


def _tried_shared() -> dict[str, Any]:
    """Return a canary that reads a cache, as many times as an HPA asks for, beside a service that fetches."""
    source = "hf://org/edited@v1"
    scaling = {"type": "hpa", "minReplicas": 2, "maxReplicas": 4, "metrics": METRICS}
    canary = {"weight": 50, "storage": {"type": "shared", "cache": "one"}, "autoscaling": scaling}
    service = {"model": {"source": source}, "replicas": 2, "canary": canary}
    caches = {"one": {"source": source, "size": "1Gi"}, "edited": {"source": source, "size": "2Gi"}}
    return tree(qwen=service) | {"caches": caches}


def _gated() -> dict[str, Any]:
    """Return a canary that is compared with its service in every way, and that nobody reaches but by lot."""
    query = {
        "bad": 'sum(increase(refusals_total{variant="$variant"}[$window]))',
        "all": 'sum(increase(answers_total{variant="$variant"}[$window]))',
        "worse": 1,
    }
    gates = {"worse": {"errors": 1, "ttft": 2, "tpot": 2}, "requestsPerMinute": 200, "queries": {"refusals": query}}
    latency = {"within": "500ms", "percent": 95}
    service = {
        "model": {"source": "hf://org/m@v1", "size": "10Gi"},
        "slo": {"availability": 99.9, "ttft": latency, "tpot": latency | {"within": "100ms"}},
        "replicas": 9,
        "canary": {"weight": 10, "engine": {"args": ["--seed=7"]}, "gates": gates},
    }
    return tree(qwen=_named(service)) | {"observability": {"metrics": {"type": "prometheus-operator"}}}


def _unpicked() -> dict[str, Any]:
    """Return a model without picker behind GKE's gateway, and a canary of it; both are scraped and guarded."""
    service = {
        "model": {"source": "hf://org/m@v1", "size": "10Gi"},
        "endpointPicker": {"enabled": False},
        "engine": {"port": 8123},
        "kvCache": {"events": True},
        "replicas": 2,
        "canary": {"weight": 10, "headers": {"x-canary": "always"}},
    }
    stack = tree(qwen=_named(service))
    stack["gateway"]["provider"] = "gke"
    del stack["gateway"]["version"]
    return stack | {"networkPolicies": {}, "observability": {"metrics": {"type": "gmp"}}}


CANARIES = {
    "tried": _tried(),
    "tried-apart": _tried_apart(),
    "tried-together": _tried_together(),
    "tried-dedicated": _tried_dedicated(),
    "tried-existing": _tried_existing(),
    "tried-shared": _tried_shared(),
    "gated": _gated(),
    "unpicked": _unpicked(),
}
"""Valid stacks with canaries."""
