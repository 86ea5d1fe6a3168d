"""ModelServices as configuration."""

from pathlib import Path as File

import pytest

from cli import convert
from migration import conversion, fields, files, modelservice
from migration.notes import is_loud
from models.paths import Path

SAMPLES = File(__file__).with_name("samples")
HEAD = "apiVersion: model.otterscale.io/v1alpha1\nkind: ModelService\nmetadata: {name: chat, namespace: ml}\n"
LEAST = "model: {name: m, image: 'r/m:v1'}, accelerator: {type: nvidia}, decode: {}, engine: {}"


def sample(name):
    path = SAMPLES / f"modelservice-{name}.yaml"
    return files.documents(path.read_text(encoding="utf-8"), path.name)


def read(spec, *companions):
    return conversion.convert(files.documents(f"{HEAD}spec: {{{spec}}}\n", "a.yaml"), companions).services[0]


def fates(spec):
    (document,) = conversion.convert(files.documents(f"{HEAD}spec: {{{spec}}}\n", "a.yaml")).documents
    return {str(path): fate for path, fate in document.fates().items()}


@pytest.mark.parametrize("name", ["full", "min", "alt"])
def test_a_sample_becomes_the_configuration_that_was_reviewed(name, golden):
    result = convert.convert(sample(name))
    notes = "".join(f"# {note}\n" for note in result.notes if is_loud(note))
    golden(SAMPLES.with_name("goldens") / f"modelservice-{name}.yaml", f"{result.text}{notes}")


@pytest.mark.parametrize("name", ["full", "min", "alt"])
def test_what_is_printed_for_a_sample_plans_without_a_refused_value(name):
    result = convert.convert(sample(name))
    assert [str(note) for note in result.notes if note.file == "configuration"] == []


def test_the_flags_of_the_operator_answer_what_the_file_lacks():
    result = convert.convert(sample("min"), sample("operator"))
    assert result.is_whole, [str(note) for note in result.notes]
    assert "provider: none" in result.text
    assert "name: gw\n" in result.text
    assert "metricsAuth: false" in result.text
    assert "endpoint: http://otel:4317" in result.text
    assert "image: registry.example/epp:1" in result.text
    assert not convert.convert(sample("min")).is_whole


@pytest.mark.parametrize(
    ("spec", "field", "fate"),
    [
        ("routingProxy: {secureProxy: true}, prefill: {}", "secureProxy", "cannot"),
        ("routingProxy: {secureProxy: false}, prefill: {}", "secureProxy", "dropped"),
        ("routingProxy: {connector: sglang}, prefill: {}", "connector", "cannot"),
        ("routingProxy: {connector: sglang}", "connector", "dropped"),
        ("routingProxy: {prefillerUseTLS: true}, prefill: {}", "prefillerUseTLS", "ask"),
        ("routingProxy: {prefillerUseTLS: false}, prefill: {}", "prefillerUseTLS", "dropped"),
        ("routingProxy: {image: 'r/p:latest'}, prefill: {}", "image", "ask"),
        ("routingProxy: {invented: 1}", "invented", "cannot"),
    ],
)
def test_what_becomes_of_the_routing_proxy_depends_on_prefill_and_values(spec, field, fate):
    assert fates(f"{LEAST}, {spec}")[f"spec.routingProxy.{field}"] == fate


@pytest.mark.parametrize("mode", ["failureMode: FailOpen", ""])
def test_fail_open_is_asked_for_even_if_it_is_only_the_default(mode):
    service = read(f"{LEAST}, inferencePool: {{endpointPicker: {{replicas: 2, {mode}}}}}")
    (document,) = service.documents
    assert "failureMode" not in service.service["endpointPicker"]
    assert any("FailOpen needs" in note.reason for note in document.notes())


def test_other_numbers_of_devices_than_the_layout_makes_are_lost():
    spec = "model: {name: m}, accelerator: {type: amd}, decode: {parallelism: {tensor: 2}, resources: {limits: %s}}"
    place = "spec.decode.resources.limits.%s"
    assert fates(spec % "{amd.com/gpu: 2}")[place % "amd.com/gpu"] == "dropped"
    assert fates(spec % "{amd.com/gpu: 4}")[place % "amd.com/gpu"] == "cannot"
    assert fates(spec % "{nvidia.com/gpu: 2}")[place % "nvidia.com/gpu"] == "cannot"


def test_a_layout_that_one_pod_cannot_have_differs():
    (document,) = read(f"{LEAST.replace('decode: {}', 'decode: {parallelism: {data: 3, dataLocal: 4}}')}").documents
    assert document.fates()[Path("spec", "decode", "parallelism", "dataLocal")] == "differs"
    (document,) = read(f"{LEAST.replace('decode: {}', 'decode: {parallelism: {data: 4}}')}").documents
    assert document.fates()[Path("spec", "decode", "parallelism", "data")] == "differs"


def test_arguments_that_contradict_the_layout_win_with_a_note():
    spec = LEAST.replace("decode: {}", "decode: {parallelism: {tensor: 2}}").replace(
        "engine: {}", "engine: {args: [-tp, '4']}"
    )
    service = read(spec)
    assert service.service["parallelism"]["tensor"] == 4
    assert fates(spec)["spec.decode.parallelism.tensor"] == "cannot"


def test_prefill_inherits_nothing_that_only_decode_has():
    spec = LEAST.replace("decode: {}", "decode: {nodeSelector: {a: b}, resources: {requests: {cpu: 1}}}")
    service = read(f"{spec}, prefill: {{}}").service
    assert service["prefill"]["pod"]["nodeSelector"] is None
    assert service["prefill"]["resources"] is None


def test_pods_are_scraped_unless_a_monitor_is_named_that_is_off():
    metrics = {"metrics": {"type": "prometheus-operator"}}
    assert read(LEAST).stack["observability"] == metrics
    assert "observability" not in read(f"{LEAST}, monitoring: {{podMonitor: {{}}}}").stack
    assert read(f"{LEAST}, monitoring: {{podMonitor: {{enabled: true}}}}").stack["observability"] == metrics


def test_of_two_services_one_can_be_scraped_alone():
    first, second = (
        files.documents(f"{HEAD.replace('chat', name)}spec: {{{LEAST}{more}}}\n", f"{name}.yaml")
        for name, more in (("a", ""), ("b", ", monitoring: {podMonitor: {}}"))
    )
    on, off = conversion.convert([*first, *second]).services
    assert "metrics" not in on.service
    assert off.service["metrics"] == {"decode": False, "picker": False}


def test_a_reader_has_a_table_for_each_kind():
    tables = {**modelservice.TABLES, **modelservice.COMPANIONS}
    assert {kind: fields.table(name).kind for kind, name in tables.items()} == {kind: kind for kind in tables}


def test_prefill_inherits_no_layout_of_decode():
    layout = "decode: {parallelism: {tensor: 1, data: 4, dataLocal: 4}}, prefill: {parallelism: {tensor: 2}}"
    service = read(LEAST.replace("decode: {}", layout)).service
    assert service["parallelism"] == {"tensor": 1, "data": 4, "dataLocal": 4}
    assert service["prefill"]["parallelism"] == {"tensor": 2, "data": 1, "dataLocal": 1}
