"""Pods and containers in the syntax of Kubernetes."""

import pytest

from migration import pods
from migration.accounts import Original
from migration.fields import FieldRow, FieldTable
from models.paths import Path

ROWS = ("env", "image", "tolerations", "secrets", "resources", "amount")
CARRIED = tuple(FieldRow.model_validate({"path": path, "class": "carried"}) for path in ROWS)
TABLE = FieldTable("A kind", "", "", CARRIED)


def original(**tree):
    return Original("a.yaml", tree, TABLE)


@pytest.mark.parametrize("image", ["r/vllm", "r/vllm:latest", "localhost:5000/vllm", "vllm"])
def test_an_image_without_a_version_is_asked_for(image):
    document = original(image=image)
    assert pods.image(document, Path("image")) is None
    assert document.fates() == {Path("image"): "ask"}


DIGEST = f"sha256:{'1' * 64}"


@pytest.mark.parametrize(
    ("image", "taken"),
    [
        ("r/vllm", "r/vllm"),
        ("r/vllm:latest", "r/vllm"),
        ("localhost:5000/vllm:latest", "localhost:5000/vllm"),
        ("vllm:latest", "docker.io/library/vllm"),
    ],
)
def test_the_digest_that_runs_is_the_version_of_an_image_without_one(image, taken):
    document = Original("a.yaml", {"image": image}, TABLE, {image: {DIGEST: 2}})
    assert pods.image(document, Path("image")) == f"{taken}@{DIGEST}"
    assert document.fates() == {Path("image"): "differs"}
    assert document.unversioned == {image}
    assert f"{DIGEST} is taken, which runs in 2 pods" in document.notes()[0].reason


@pytest.mark.parametrize(
    ("digests", "question"),
    [
        ({DIGEST: 2, f"sha256:{'2' * 64}": 1}, f"pods run several digests ({DIGEST} in 2 pods, sha256:222"),
        ({DIGEST: 2, "": 1}, "pods run several digests (one of no registry in 1 pod, "),
        ({"": 1}, "pods run an image that no registry has given a digest"),
        ({}, "give the digest that runs"),
    ],
)
def test_an_image_is_asked_for_unless_just_one_digest_runs(digests, question):
    document = Original("a.yaml", {"image": "r/vllm"}, TABLE, {"r/vllm": digests, "r/other": {DIGEST: 1}})
    assert pods.image(document, Path("image")) is None
    assert document.fates() == {Path("image"): "ask"}
    assert question in document.notes()[0].reason


def test_an_image_with_a_version_stays_whatever_runs():
    document = Original("a.yaml", {"image": "r/vllm:v1"}, TABLE, {"r/vllm:v1": {DIGEST: 1}})
    assert pods.image(document, Path("image")) == "r/vllm:v1"
    assert document.unversioned == set()


@pytest.mark.parametrize("image", ["r/vllm:v1", f"r/vllm@sha256:{'0' * 64}", f"r/vllm:latest@sha256:{'0' * 64}"])
def test_an_image_with_a_version_is_carried(image):
    document = original(image=image)
    assert pods.image(document, Path("image")) == image
    assert document.fates() == {Path("image"): "carried"}


def test_variables_are_texts_or_references():
    document = original(
        env=[
            {"name": "A", "value": "1"},
            {"name": "B"},
            {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
            {"name": "D", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "0"}}},
            {"name": "POD_IP", "value": "x"},
        ]
    )
    assert pods.variables(document, Path("env")) == {
        "A": "1",
        "B": "",
        "C": {"configMapKeyRef": {"name": "m", "key": "k"}},
        "D": {"fieldRef": {"fieldPath": "status.podIP"}},
        "E": {"resourceFieldRef": {"resource": "limits.memory"}},
    }
    assert set(document.fates().values()) == {"carried", "dropped"}


def test_of_a_repeated_variable_the_last_value_counts():
    document = original(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])
    assert pods.variables(document, Path("env")) == {"A": "2"}
    assert document.fates()[Path("env", 0, "value")] == "dropped"


def test_a_variable_without_a_name_or_with_an_unknown_source_is_lost():
    document = original(env=[{"value": "1"}, {"name": "A", "valueFrom": {"fileKeyRef": {"path": "x"}}}])
    assert pods.variables(document, Path("env")) == {}
    assert set(document.fates().values()) == {"cannot"}


def test_a_variable_with_a_credential_is_left_out():
    token = "hf_" + "aB3dE6gH9j" * 4
    document = original(env=[{"name": "HF_TOKEN", "value": token}])
    assert pods.variables(document, Path("env")) == {}
    assert set(document.fates().values()) == {"cannot"}


def test_an_unknown_field_of_a_toleration_is_lost():
    document = original(tolerations=[{"key": "a", "operator": "Exists", "invented": 1, "tolerationSeconds": 5}])
    assert pods.tolerations(document, Path("tolerations")) == [
        {"key": "a", "operator": "Exists", "tolerationSeconds": 5}
    ]
    assert document.fates()[Path("tolerations", 0, "invented")] == "cannot"


def test_names_of_secrets_are_taken():
    assert pods.secret_names(original(secrets=[{"name": "a"}, {}, {"name": "b"}]), Path("secrets")) == ["a", "b"]


@pytest.mark.parametrize(("value", "amount"), [("8Gi", "8Gi"), (2, "2"), (0.5, "0.5"), (True, None), (["x"], None)])
def test_an_amount_is_text_or_a_number(value, amount):
    assert pods.quantity(original(amount=value), Path("amount")) == amount


def test_devices_are_those_of_the_parallelism_or_lost():
    tree = {"requests": {"cpu": 4}, "limits": {"memory": "8Gi", "nvidia.com/gpu": "2", "rdma/nic": 1}}
    document = original(resources=tree)
    amounts = pods.resources(document, Path("resources"), {"nvidia.com/gpu": 2})
    assert amounts == {"requests": {"cpu": "4"}, "limits": {"memory": "8Gi", "rdma/nic": "1"}}
    fates = document.fates()
    assert fates[Path("resources", "limits", "nvidia.com/gpu")] == "dropped"
    assert fates[Path("resources", "limits", "rdma/nic")] == "carried"
    document = original(resources=tree)
    pods.resources(document, Path("resources"), {"nvidia.com/gpu": 4})
    assert document.fates()[Path("resources", "limits", "nvidia.com/gpu")] == "cannot"


@pytest.mark.parametrize("divisor", [{}, [], True])
def test_a_divisor_that_is_no_amount_is_lost(divisor):
    source = {"resourceFieldRef": {"resource": "limits.cpu", "divisor": divisor}}
    document = original(env=[{"name": "A", "valueFrom": source}])
    pods.variables(document, Path("env"))
    assert {note.fate for note in document.notes() if note.path[-1] == "divisor"} == {"cannot"}
