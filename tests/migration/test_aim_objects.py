"""Objects that AIMServices resolve to."""

import pytest

from cli.convert import PrintedConfiguration
from tests.support.migration import aim_object, aim_service, objects, only_service

NAMED = aim_service("model: {name: acme}\n")
IMAGE = "registry.example/aim/chat:1"
MODEL = aim_object("AIMModel", "acme", f"image: {IMAGE}")
CLUSTER = aim_object("AIMClusterModel", "acme", "image: registry.example/aim/cluster:1")


def template(name: str, devices: int, rest: str = "", kind: str = "AIMServiceTemplate") -> str:
    """Return a template of the model with a number of devices."""
    spec = f"modelName: acme\nhardware: {{gpu: {{requests: {devices}, model: MI300X}}}}\n{rest}"
    return aim_object(kind, name, spec, 'status: {modelSources: [{modelId: acme/chat, sourceUri: "hf://acme/chat"}]}')


def asked(printed: PrintedConfiguration) -> list[str]:
    """Return the questions."""
    return [note.reason for note in printed.notes if note.fate == "ask"]


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("model: {name: lacking}\n", "AIMModel lacking"),
        ("model: {name: acme}\ntemplate: {name: lacking}\n", "AIMServiceTemplate lacking"),
        ("model: {name: acme}\nruntimeConfigName: lacking\n", "AIMRuntimeConfig lacking"),
        ("model: {name: acme}\n", "the runtime config default"),
    ],
)
def test_what_is_lacking_is_asked_for_by_name(spec: str, name: str) -> None:
    """With the option that answers."""
    printed = objects(aim_service(spec), MODEL)
    assert [question for question in asked(printed) if name in question and "--with" in question]
    assert not printed.is_whole


def test_an_object_of_the_namespace_wins_over_one_of_the_cluster() -> None:
    """And one of another namespace is none."""
    assert only_service(objects(NAMED, CLUSTER, MODEL))["model"]["source"] == f"image://{IMAGE}"
    other = MODEL.replace("name: acme}", "name: acme, namespace: others}")
    assert only_service(objects(NAMED, CLUSTER, other))["model"]["source"].endswith("cluster:1")


def test_the_only_template_of_a_model_serves() -> None:
    """There is no question about it."""
    other = aim_object("AIMServiceTemplate", "other", "modelName: other\nhardware: {gpu: {requests: 8}}")
    printed = objects(NAMED, MODEL, template("two", 2), other, aim_object("AIMRuntimeConfig", "default", "env: []"))
    assert only_service(printed)["parallelism"] == {"tensor": 2}
    assert printed.is_whole


def test_of_several_templates_one_is_asked_for() -> None:
    """aim-engine's choice depends on the nodes of its cluster."""
    printed = objects(NAMED, MODEL, template("one", 1), template("two", 2, kind="AIMClusterServiceTemplate"))
    assert only_service(printed)["parallelism"] == {"tensor": 1}
    assert any("several templates fit (one, two)" in question for question in asked(printed))


@pytest.mark.parametrize(
    ("overrides", "devices"),
    [
        ("{metric: latency}", 1),
        ("{metric: throughput}", 2),
        ("{hardware: {gpu: {requests: 2}}}", 2),
        ("{hardware: {gpu: {model: mi300x, requests: 1}}}", 1),
    ],
)
def test_overrides_leave_the_templates_that_meet_them(overrides: str, devices: int) -> None:
    """As filters; the rest of them is merged."""
    service = aim_service(f"model: {{name: acme}}\noverrides: {overrides}\n")
    printed = objects(service, MODEL, template("one", 1, "metric: latency"), template("two", 2, "metric: throughput"))
    assert only_service(printed)["parallelism"] == {"tensor": devices}
    assert not any("several" in question for question in asked(printed))


def test_a_live_object_names_its_template_and_its_model() -> None:
    """In its status, for a service by image too."""
    live = aim_service(f"model: {{image: {IMAGE}}}\n")
    live += "status: {resolvedModel: {name: acme}, resolvedTemplate: {name: two}}\n"
    printed = objects(live, MODEL, template("one", 1), template("two", 2))
    service = only_service(printed)
    assert (service["parallelism"], service["engine"]["image"]) == ({"tensor": 2}, IMAGE)
    assert not any("several" in question for question in asked(printed))


def test_an_image_of_several_models_is_asked_for() -> None:
    """aim-engine fails with such a service."""
    same = aim_object("AIMModel", "same", f"image: {IMAGE}")
    printed = objects(aim_service(f"model: {{image: {IMAGE}}}\n"), MODEL, same)
    assert any("several models have this image (acme, same)" in question for question in asked(printed))


def test_a_custom_template_of_the_model_serves_if_there_is_no_object() -> None:
    """By its name, or by the overrides."""
    entries = (
        f"image: {IMAGE}\ncustomTemplates:\n"
        "  - {name: one, hardware: {gpu: {requests: 1}}, env: [{name: LEVEL, value: low}]}\n"
        "  - {name: two, hardware: {gpu: {requests: 2}}, env: [{name: LEVEL, value: high}]}"
    )
    model = aim_object("AIMModel", "acme", entries)
    printed = objects(aim_service("model: {name: acme}\ntemplate: {name: two}\n"), model)
    service = only_service(printed)
    assert (service["parallelism"], service["engine"]["env"]["LEVEL"]) == ({"tensor": 2}, "high")
    printed = objects(NAMED, model)
    assert any("several custom templates of acme fit" in question for question in asked(printed))
