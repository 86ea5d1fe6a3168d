"""Values of the Helm chart llm-d-modelservice as configuration."""

import copy
import random
from pathlib import Path as File
from typing import Any

import yaml

from migration import conversion, modelservice_chart
from migration.accounts import Original, all_leaves
from migration.files import RawDocument
from tests.support.migration import chart, chart_values, only_service, stack

SAMPLE = (File(__file__).with_name("samples") / "chart-values.yaml").read_text(encoding="utf-8")


def test_roles_and_model_are_carried() -> None:
    """The written sample has a value of nearly every kind."""
    configuration = stack(chart(SAMPLE))
    service = configuration["services"]["chat"]
    assert service["model"] == {
        "name": "acme/chat-7b",
        "source": "hf://acme/chat-7b",
        "secrets": ["hub"],
        "maxModelLen": 4096,
    }
    assert service["storage"] == {"type": "ephemeral", "sizeLimit": "20Gi", "mountPath": "/model-cache"}
    assert service["parallelism"] == {"tensor": 2, "data": 4, "dataLocal": 2}
    assert service["engine"]["args"] == ["--enforce-eager", "--collect-detailed-traces", "all"]
    assert service["sidecar"] == {"enginePort": 8300, "logLevel": "info", "flags": {"zap-encoder": "json"}}
    assert service["rollout"] == {"type": "RollingUpdate", "maxSurge": 1}
    pod = service["pod"]
    assert pod["claims"] == {"imex": {"template": "imex"}}
    assert pod["runtimeClassName"] == "nvidia"
    assert pod["fsGroup"] == 2000
    assert pod["schedulerName"] == "gang"
    assert "priorityClassName" not in pod
    assert "volumes" not in pod
    assert pod["containers"] == {"exporter": {"image": "ghcr.io/acme/exporter:v1"}}
    assert pod["affinity"]["nodeAffinity"]
    assert service["health"]["startupTimeout"] == "1800s"
    assert service["metrics"] == {"picker": False, "interval": "15s", "prefill": False}
    assert configuration["observability"]["metrics"] == {
        "type": "prometheus-operator",
        "labels": {"release": "prometheus"},
    }
    assert configuration["observability"]["tracing"]["endpoint"] == "http://collector:4317"
    assert service["prefill"]["parallelism"] == {"tensor": 4, "data": None, "dataLocal": None}
    assert service["prefill"]["engine"]["env"] == {"LEVEL": None}


def test_what_is_lost_is_noted_at_its_place() -> None:
    """A percentage, groups of pods, TLS of the sidecar, a time of the monitor, objects of others."""
    printed = chart(SAMPLE)
    assert {str(note.path) for note in printed.notes if note.fate == "cannot"} == {
        "decode.strategy.rollingUpdate.maxUnavailable",
        "decode.subGroupPolicy",
        "decode.monitoring.podmonitor.scrapeTimeout",
        "routing.proxy.secure",
        "extraObjects",
    }
    assert {str(note.path) for note in printed.notes if note.fate == "ask"} == {"", "decode.autoscaling.enabled"}


def test_a_hub_cache_in_a_claim_is_read_by_the_engine_of_each_role() -> None:
    """The chart mounts the claim and names the cache, and so does the configuration."""
    text = """
modelArtifacts: {name: acme/chat, uri: "pvc+hf://weights/cache/acme/chat"}
decode: {replicas: 1, containers: [{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}]}
prefill: {replicas: 1, containers: [{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}]}
"""
    service = only_service(chart(text))
    assert service["model"]["source"] == "hf://acme/chat"
    assert service["storage"] == {"type": "engine"}
    for role in (service, service["prefill"]):
        assert role["engine"]["env"] == {"HF_HUB_CACHE": "/model-cache/cache"}
        assert role["pod"]["volumes"]["model-storage"]["claimName"] == "weights"


def test_a_claim_has_the_weights_at_a_path() -> None:
    """Prefill without replicas is no role."""
    text = """
modelArtifacts: {name: chat, uri: "pvc://weights/chat", size: 5Mi}
decode: {containers: [{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}]}
"""
    service = only_service(chart(text))
    assert service["model"]["source"] == "pvc://weights/chat"
    assert "prefill" not in service
    assert "sidecar" not in service


def test_a_requester_is_lost() -> None:
    """No key lets a small pod hold the place of an engine."""
    container = '{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}'
    printed = chart(chart_values(container, "requester: {enable: true}"))
    assert [str(note.path) for note in printed.notes if note.fate == "cannot"] == ["requester"]


def test_broken_values_end_without_a_traceback_and_without_a_credential() -> None:
    """Values of other kinds at one to four places of the sample."""
    source = random.Random(12)
    token = "hf_" + "aB3dE6gH9j" * 4
    broken = [None, True, -1, 2.5, 10**30, "", "latest", token, [], {}, [[]], [None], {"a": token}, "9" * 5_000]
    for _ in range(100):
        tree = yaml.safe_load(SAMPLE)
        for _ in range(source.randint(1, 4)):
            path = source.choice(list(all_leaves(tree)))
            path = path[: source.randint(1, len(path))]
            holder = tree
            for part in path[:-1]:
                holder = holder[part]
            holder[path[-1]] = copy.deepcopy(source.choice(broken))
        result = conversion.convert([RawDocument("values.yaml", tree)], [], modelservice_chart.NAME)
        shown = [str(note) for document in result.documents for note in document.notes()]
        shown += [str(service.service) for service in result.services]
        assert not any(token in text for text in shown)


def _parts(tree: dict[str, Any]) -> tuple[Any, Original]:
    result = conversion.convert([RawDocument("values.yaml", tree)], [], modelservice_chart.NAME)
    (service,) = result.services
    return (service.key, service.service, service.stack), result.documents[0]


def _other(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return f"{value}x"


def test_a_carried_leaf_changes_the_result_and_a_dropped_one_does_not() -> None:
    """Each leaf of the sample gets another value, one at a time."""
    before, original = _parts(yaml.safe_load(SAMPLE))
    wrong = list[str]()
    for path, fate in original.fates().items():
        tree = yaml.safe_load(SAMPLE)
        holder = tree
        for part in path[:-1]:
            holder = holder[part]
        value = holder[path[-1]]
        holder[path[-1]] = (
            not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"
        )
        after, changed = _parts(tree)
        if fate == "carried" and before == after and original.notes() == changed.notes():
            wrong.append(f"{path} changes nothing")
        if fate == "dropped" == changed.fates().get(path) and before != after:
            wrong.append(f"{path} changes something")
    assert "\n".join(wrong) == ""
