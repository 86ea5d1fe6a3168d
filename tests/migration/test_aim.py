"""AIMServices as configuration.

What public documents of aim-engine 9223504 showed is said here with documents of these tests' own. 44 of its 46
AIMServices load and plan, each beside the objects in its folder; two name a model that no file has, and are asked for
it.
"""

from pathlib import Path as File

import pytest
import yaml

from cli import convert
from migration import conversion
from migration.files import documents
from tests.support.migration import aim_object, aim_service, objects, only_service, places, stack

SAMPLES = sorted((File(__file__).with_name("samples")).glob("aim*.yaml"))
CUSTOM = """
model:
  custom:
    baseImage: {image}
    modelSources: [{{modelId: acme/chat, sourceUri: "hf://acme/chat"}}]
    hardware: {{{hardware}}}
"""


def sample(name: str):
    """Convert a sample."""
    (path,) = [path for path in SAMPLES if path.stem == name]
    return convert.convert(documents(path.read_text(encoding="utf-8"), path.name))


def custom(rest: str = "", image: str = "registry.example/aim/base:1", hardware: str = "cpu: {requests: 500m}") -> str:
    """Return the lines of a spec with a model of its own."""
    return f"{CUSTOM.format(image=image, hardware=hardware)}{rest}\n"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_each_leaf_of_all_objects_of_a_sample_has_a_reader(path: File) -> None:
    """Not only those of the first object."""
    notes = [
        note
        for document in conversion.convert(documents(path.read_text(encoding="utf-8"), path.name)).documents
        for note in document.notes()
    ]
    assert len(notes) > 10
    assert [str(note) for note in notes if "has no key for" in note.reason or "does not know" in note.reason] == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_loads_and_plans(path: File) -> None:
    """No value of it is refused."""
    printed = sample(path.stem)
    assert printed.objects
    assert [str(note) for note in printed.notes if note.file == "configuration"] == []


def test_objects_resolve_together() -> None:
    """Service, model, template, two runtime configs, cache and artifact."""
    tree = stack(sample("aim"))
    assert tree["caches"]["acme-chat"] == {
        "source": "hf://acme/chat",
        "size": "31Gi",
        "storageClassName": "fast",
        "headroomPercent": 25,
        "fill": {
            "secrets": [{"name": "hub", "key": "token"}],
            "endpoint": "https://hub.example.com",
            "env": {
                "HTTPS_PROXY": "http://proxy.example.com:3128",
                "NO_PROXY": ".svc",
                "HF_HUB_DISABLE_XET": "1",
            },
        },
    }
    service = tree["services"]["assistant"]
    assert service["route"]["matches"] == [{"path": "/models/ml/core/assistant"}]
    assert (service["accelerator"], service["parallelism"], service["replicas"]) == ("amd-mi300x", {"tensor": 2}, 3)
    assert service["labels"] == {"team-search": "core"}


def test_a_live_object_has_the_path_with_its_uid() -> None:
    """The default path of aim-engine, without a question."""
    printed = sample("aim-live")
    assert only_service(printed)["route"]["matches"] == [{"path": "/ml/6f1c2b3a-0000-4000-8000-0123456789ab"}]
    assert [note.reason for note in printed.notes if note.fate == "ask"] == [
        "gateway.provider: no file says which program implements the Gateway; with none, no policy is made"
    ]


def test_the_image_runs_as_it_is() -> None:
    """Without a picker, with the variables by which it finds its weights."""
    service = only_service(objects(aim_service(custom())))
    assert service["engine"] == {
        "type": "custom",
        "image": "registry.example/aim/base:1",
        "env": {"AIM_CACHE_PATH": "/workspace/cache", "VLLM_ENABLE_METRICS": "true", "AIM_MODEL_ID": "acme/chat"},
    }
    assert service["endpointPicker"] == {"enabled": False}


def test_an_image_without_a_version_is_asked_for() -> None:
    """The configuration has a tag to be written."""
    printed = objects(aim_service(custom(image="registry.example/aim/base")))
    assert "spec.model.custom.baseImage" in places(printed, "ask")
    assert only_service(printed)["engine"]["image"] == "registry.example/aim/base:write-the-version"


def test_a_model_that_no_file_has_is_asked_for_and_nothing_is_printed_of_the_service() -> None:
    """Two public documents are of this kind."""
    printed = objects(aim_service("model: {name: lacking}\ntemplate: {name: some}\n"))
    assert yaml.safe_load(printed.text)["config"]["inference-stacks:stack"] == {}
    assert {"spec.model.name", "spec.template.name"} <= places(printed, "ask")
    assert "# " in printed.text


def test_a_service_by_image_asks_for_weights_and_devices_and_keeps_what_overrides_say() -> None:
    """35 of 46 public documents ask for the weights, 27 for the devices."""
    printed = objects(aim_service("model: {image: acme/aim:1}\noverrides: {metric: latency, precision: fp16}\n"))
    env = only_service(printed)["engine"]["env"]
    assert (env["AIM_METRIC"], env["AIM_PRECISION"]) == ("latency", "fp16")
    questions = [note.reason for note in printed.notes if note.fate == "ask"]
    assert sum("which weights" in question for question in questions) == 1
    assert sum("on which devices" in question for question in questions) == 1


def test_endpoints_of_buckets_are_carried_and_keys_in_clear_are_lost() -> None:
    """One public document has keys of a bucket in clear, another one a token."""
    sources = (
        "image: registry.example/aim/base:1\ncustom: {hardware: {gpu: {requests: 1}}}\nmodelSources:\n"
        "  - {modelId: acme/chat, sourceUri: 's3://acme-models/chat', "
        "env: [{name: AWS_SECRET_ACCESS_KEY, value: short}, {name: AWS_ENDPOINT_URL, value: 'http://store:9000'}]}"
    )
    printed = objects(aim_service("model: {name: acme}\n"), aim_object("AIMModel", "acme", sources))
    assert stack(printed)["caches"]["acme-chat"]["fill"] == {"endpoint": "http://store:9000"}
    assert "spec.modelSources[0].env[0]" in places(printed, "cannot")
    assert "short" not in printed.text


@pytest.mark.parametrize(
    ("patterns", "labels"),
    [
        ("enabled: true, match: ['team-*', cost]", {"team-a": "1", "cost": "2"}),
        ("enabled: true, match: ['*/*']", {"example.com/x": "3"}),
        ("enabled: false, match: ['*']", None),
        ("match: ['*']", None),
    ],
)
def test_labels_reach_the_objects_that_propagation_names(patterns: str, labels: object) -> None:
    """A star stands for no slash."""
    service = aim_service(custom(), "{team-a: '1', cost: '2', example.com/x: '3'}")
    config = aim_object("AIMRuntimeConfig", "default", f"labelPropagation: {{{patterns}}}")
    assert only_service(objects(service, config)).get("labels") == labels


def test_secrets_and_account_are_those_of_the_service_alone() -> None:
    """Those of the model serve its inspection."""
    service = aim_service("model: {name: acme}\nimagePullSecrets: [{name: own}]\nserviceAccountName: own\n")
    model = "image: registry.example/aim/a:1\nimagePullSecrets: [{name: others}]\nserviceAccountName: others"
    printed = objects(service, aim_object("AIMModel", "acme", model))
    assert only_service(printed)["pod"] == {"imagePullSecrets": [{"name": "own"}], "serviceAccountName": "own"}
    assert {"spec.imagePullSecrets", "spec.serviceAccountName"} <= places(printed, "dropped")


def test_a_registry_that_is_searched_is_lost() -> None:
    """Services, or a catalogue, name models."""
    source = aim_object("AIMClusterModelSource", "all", "registry: registry.example")
    assert places(objects(aim_service(custom()), source), "cannot") == {"spec.registry"}
