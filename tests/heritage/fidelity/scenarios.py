"""The three scenarios: what is wished for, said to our program, and the fingerprints of what their operator makes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.support.stacks import plain, rendered

MODEL = {"name": "Qwen/Qwen3-0.6B", "source": "kit://harbor.local/models/qwen3:v1"}
DEFAULT_GATEWAY = {"name": "otterscale-llm-d-infra-inference-gateway", "namespace": "llm-d", "provider": "istio"}
SCRAPED = {"metrics": {"type": "prometheus-operator"}}


@dataclass(frozen=True)
class Scenario:
    """One set of wishes."""

    name: str
    """Theirs for the service; ours is the key, which is always a legal one."""
    key: str
    tree: Mapping[str, Any]
    with_sidecar: Mapping[str, Any] | None
    """The same wishes with prefill, if they wish for the sidecar without it, which we refuse."""
    fingerprints: Mapping[str, str]

    def ours(self) -> dict[str, Any]:
        """Return our object for each of theirs, by the part that it plays."""
        objects = _parts(self.key, rendered(self.tree))
        if self.with_sidecar is not None:
            decode = "Deployment decode"
            objects[decode] = _parts(self.key, rendered(self.with_sidecar))[decode]
        return objects

    @cached_property
    def configuration(self) -> str:
        """Return our picker's configuration."""
        return self.ours()["ConfigMap EPP"]["data"]["config.yaml"]


def _stack(
    key: str, service: Mapping[str, Any], gateway: Mapping[str, Any], observability: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "release": "llm-d-0.6",
        "namespace": "ml",
        "gateway": dict(gateway),
        "observability": dict(observability),
        "services": {key: dict(service)},
    }


def _parts(key: str, everything: list[Any]) -> dict[str, Any]:
    """Return copies of a stack's objects by kind and name, the name without the service's."""
    found = dict[str, Any]()
    for manifest in everything:
        name = plain(manifest["metadata"]["name"]).removeprefix("inference-stacks:ml:").removeprefix(key).lstrip("-")
        part = f"{manifest['kind']} {name.replace('epp', 'EPP')}".strip()
        assert part not in found
        # YAML and JSON are trees: what two places share in the program is told twice.
        found[part] = json.loads(json.dumps(manifest))
    return found


def _minimal() -> Scenario:
    service = {"model": MODEL, "accelerator": "nvidia"}
    prints = {
        "Deployment decode": "2412 b1a09a7d012efd13",
        "Deployment EPP": "2379 9ac456465f77c09b",
        "ServiceAccount EPP": "319 f1cc26e432023772",
        "ConfigMap EPP": "738 ecaa6c5d013149d8",
        "Service EPP": "661 504f1d948655df47",
        "Role EPP": "664 e7eea5f18a746493",
        "RoleBinding EPP": "511 ea6abe28411f325e",
        "InferencePool": "730 f0de3ded881009f2",
        "HTTPRoute": "728 ddf4aa10ccbfe5f6",
        "DestinationRule EPP": "467 06a04fe7eda2804f",
        "PodMonitor decode": "864 e17fce142961f348",
    }
    key = "qwen3-0-6b"
    return Scenario("qwen3-0.6b", key, _stack(key, service, DEFAULT_GATEWAY, SCRAPED), None, prints)


def _full_service() -> dict[str, Any]:
    tolerated = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    return {
        "model": {**MODEL, "secrets": ["reg"], "maxModelLen": 8192},
        "accelerator": "nvidia",
        "engine": {"imagePullPolicy": "Always", "env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5600"}},
        "parallelism": {"tensor": 2, "data": 4, "dataLocal": 4},
        "replicas": 2,
        "pod": {
            "annotations": {"x": "y"},
            "nodeSelector": {"gpu": "h200"},
            "tolerations": [tolerated],
            "imagePullSecrets": [{"name": "reg"}, {"name": "reg2"}],
        },
        "prefill": {
            "parallelism": {"tensor": 1, "data": 1, "dataLocal": 1},
            "pod": {"annotations": None, "nodeSelector": None, "tolerations": []},
        },
        "sidecar": {"logLevel": "debug", "tls": {"prefill": True, "certificate": "certificates"}},
        "endpointPicker": {"replicas": 3, "logLevel": 2, "failureMode": "FailOpen", "failOpenReason": "as theirs"},
        "route": {"hostnames": ["a.example.com"]},
        "metrics": {"interval": "15s"},
    }


def _full() -> Scenario:
    prints = {
        "Deployment decode": "3817 090231ff76d6c465",
        "Deployment prefill": "2855 4389705f54f8d56e",
        "Deployment EPP": "3114 6db9d6f481f06105",
        "ServiceAccount EPP": "319 f1cc26e432023772",
        "ConfigMap EPP": "1293 3136e9a10cb6e597",
        "Service EPP": "661 504f1d948655df47",
        "Secret EPP-metrics-reader": "451 00902e6be973ce44",
        "Role EPP": "860 2e4bbc312441ee52",
        "RoleBinding EPP": "511 ea6abe28411f325e",
        "ClusterRole EPP-metrics-reader": "570 7d87e856f4cce98b",
        "ClusterRoleBinding EPP": "514 c3d7c11b4780c6e9",
        "InferencePool": "729 0a6f50bd32ffbe40",
        "HTTPRoute": "667 2ce646d2a7029817",
        "DestinationRule EPP": "467 06a04fe7eda2804f",
        "PodMonitor decode": "864 93b0bc0b2cd57957",
        "PodMonitor prefill": "868 0d4d3230b793828d",
        "ServiceMonitor EPP": "705 17b48ca6ba015c5c",
    }
    gateway = {"name": "gw", "namespace": "infra", "provider": "istio"}
    key, observability = "qwen3-0-6b", {**SCRAPED, "tracing": {"endpoint": "http://otel:4317"}}
    return Scenario("qwen3-0.6b", key, _stack(key, _full_service(), gateway, observability), None, prints)


def _alternative() -> Scenario:
    service = {
        "model": MODEL,
        "accelerator": "cpu",
        "storage": {"type": "ephemeral", "mountPath": "/data/model"},
        "engine": {"image": "example.com/vllm-cpu:1", "port": 8080},
        "replicas": 0,
        "resources": {"requests": {"cpu": "2"}},
        "endpointPicker": {
            "image": "example.com/epp:1",
            "port": 9999,
            "metricsAuth": False,
            "resources": {"requests": {"cpu": "500m"}},
        },
    }
    disaggregated = {**service, "prefill": {}, "sidecar": {"image": "example.com/proxy:1", "enginePort": 8201}}
    prints = {
        "Deployment decode": "2680 f41cf1b3285f55bc",
        "Deployment EPP": "2332 32bc2ee0c43bd0ce",
        "ServiceAccount EPP": "317 f3a447da6bbdacb2",
        "ConfigMap EPP": "736 d6e4e769e695e558",
        "Service EPP": "658 7d335260e67dff98",
        "Role EPP": "662 d71c9d1e0c10db18",
        "RoleBinding EPP": "507 6f1011b35c27dc07",
        "InferencePool": "717 2bc400c9bcd8a668",
        "HTTPRoute": "605 cc8710526374b026",
    }
    key, gateway = "m-9b-chat", {"name": "gw", "provider": "none"}
    wished, beside = (_stack(key, spec, gateway, {}) for spec in (service, disaggregated))
    return Scenario("9b.chat", key, wished, beside, prints)


SCENARIOS = {"min": _minimal(), "full": _full(), "alt": _alternative()}
