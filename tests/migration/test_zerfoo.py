"""ZerfooInferenceServices as configuration."""

from pathlib import Path as File

import pytest

from cli import convert
from migration import conversion, fields
from migration.files import RawDocument, documents

SAMPLE = File(__file__).with_name("samples") / "zerfoo.yaml"
LEAST = {
    "name": "chat",
    "namespace": "ml",
    "spec": {
        "modelRef": "hf://acme/chat",
        "replicas": 2,
        "resources": {"cpu": "", "memory": "", "gpuMemory": ""},
        "healthCheck": {"path": "/healthz", "interval": 10_000_000_000, "timeout": 1_000_000_000},
    },
}


def read(**spec):
    tree = {**LEAST, "spec": {**LEAST["spec"], **spec}}
    return conversion.convert([RawDocument("a.json", tree)], (), "zerfoo").services[0]


def fates(service):
    (document,) = service.documents
    return {str(path): fate for path, fate in document.fates().items()}


def sample():
    return documents(SAMPLE.read_text(encoding="utf-8"), SAMPLE.name)


def test_every_field_of_the_sample_has_its_place():
    (service,) = conversion.convert(sample(), (), "zerfoo").services
    assert (service.key, service.stack) == ("chat-v1", {"namespace": "ml"})
    assert service.service == {
        "model": {"source": "hf://acme/chat-7b"},
        "accelerator": "nvidia",
        "resources": {"limits": {"cpu": "4", "memory": "16Gi"}},
        "autoscaling": {
            "type": "hpa",
            "minReplicas": 1,
            "maxReplicas": 4,
            "metrics": [{"type": "queue-size", "target": 5}],
        },
        "canary": {"model": {"source": "hf://acme/chat-8b"}, "weight": 0, "replicas": 2},
        "health": {"interval": "10s", "timeout": "2500ms"},
    }


def test_the_sample_has_every_field_and_what_is_printed_plans():
    result = convert.convert(sample(), (), "zerfoo")
    (document,) = conversion.convert(sample(), (), "zerfoo").documents
    rows = {document.table.row(path).path for path in document.fates()}
    assert rows == {row.path for row in fields.table("zerfoo").rows}
    assert [str(note) for note in result.notes if note.fate == "cannot"] == []
    assert result.objects


def test_probes_ask_for_paths_that_vllm_answers():
    result = convert.convert(sample(), (), "zerfoo")
    (note,) = [note for note in result.notes if str(note.path) == "spec.healthCheck.path"]
    assert note.fate == "differs"
    assert f"        # differs: {note.reason}\n        health:\n" in result.text
    pods = [tree["spec"]["template"]["spec"] for tree in result.objects if tree["kind"] == "Deployment"]
    engines = [container for pod in pods for container in pod["containers"] if container["name"] == "vllm"]
    assert [paths(engine) for engine in engines] == [["/health", "/v1/models", "/v1/models"]] * 2


def paths(engine):
    return [engine[name]["httpGet"]["path"] for name in ("livenessProbe", "readinessProbe", "startupProbe")]


@pytest.mark.parametrize(
    ("reference", "source", "fate"),
    [
        ("hf://a/b", "hf://a/b", "carried"),
        ("s3://bucket/b", "s3://bucket/b", "carried"),
        ("a/b", "hf://a/b", "ask"),
        ("b", None, "ask"),
        (3, None, "cannot"),
    ],
)
def test_a_model_without_a_scheme_is_asked_for(reference, source, fate):
    service = read(modelRef=reference)
    assert service.service.get("model", {}).get("source") == source
    assert fates(service)["spec.modelRef"] == fate


@pytest.mark.parametrize("bounds", [{}, {"minReplicas": 0, "maxReplicas": 4}, {"minReplicas": 1}, {"maxReplicas": -1}])
def test_without_two_bounds_above_zero_there_is_no_autoscaling(bounds):
    service = read(**bounds)
    assert service.service["replicas"] == 2
    assert "autoscaling" not in service.service
    assert {fates(service)[f"spec.{name}"] for name in bounds} <= {"dropped"}


def test_with_autoscaling_the_number_of_replicas_is_dropped():
    service = read(minReplicas=1, maxReplicas=2)
    assert "replicas" not in service.service
    assert fates(service)["spec.replicas"] == "dropped"


def test_empty_resources_are_none():
    service = read().service
    assert service["accelerator"] == "cpu"
    assert "resources" not in service


def test_a_canary_gets_no_requests_without_a_gateway():
    assert fates(read(canary={"modelRef": "hf://a/b", "weight": 10}))["spec.canary.weight"] == "ask"
    assert fates(read(canary={"modelRef": "hf://a/b", "weight": 0}))["spec.canary.weight"] == "carried"
