"""Devices of AIMServices."""

import pytest

from migration import aim_hardware
from tests.support.migration import aim_service, objects, only_service, places, stack

MODEL = """
model:
  custom:
    baseImage: registry.example/aim/base:1
    modelSources: [{{modelId: acme/chat, sourceUri: "hf://acme/chat"}}]
    hardware: {}
{}
"""


def hardware(text: str, rest: str = "") -> str:
    """Return an AIMService with hardware and further lines of its spec."""
    return aim_service(MODEL.format(text, rest))


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("MI300X", "MI300X"),
        ("AMD Instinct MI300X", "MI300X"),
        ("amd_instinct-mi300x", "MI300X"),
        ("AMD", "AMD"),
        ("", ""),
    ],
)
def test_a_name_of_a_device_is_its_product(name: str, product: str) -> None:
    """Vendor and series do not count."""
    assert aim_hardware.product(name) == product


@pytest.mark.parametrize(
    ("text", "accelerator", "tensor"),
    [
        ("{gpu: {requests: 4, model: MI300X}}", "amd-mi300x", 4),
        ("{gpu: {requests: 1}}", "amd", 1),
        ("{gpu: {requests: 1, model: MI100}}", "amd", 1),
        ("{gpu: {requests: 2, resourceName: nvidia.com/gpu}}", "nvidia", 2),
        ("{gpu: {requests: 0}}", "cpu", None),
        ("{cpu: {requests: 500m}}", "cpu", None),
    ],
)
def test_hardware_is_accelerator_and_number(text: str, accelerator: str, tensor: int | None) -> None:
    """A product without a class has that of its vendor."""
    service = only_service(objects(hardware(text)))
    assert (service["accelerator"], service.get("parallelism", {}).get("tensor")) == (accelerator, tensor)


def test_a_product_without_a_class_and_a_least_memory_are_asked_for() -> None:
    """No class means `all devices with so much memory`."""
    at = "spec.model.custom.hardware.gpu"
    assert f"{at}.model" in places(objects(hardware("{gpu: {requests: 1, model: MI100}}")), "ask")
    assert f"{at}.minVram" in places(objects(hardware("{gpu: {requests: 1, minVram: 64Gi}}")), "ask")
    assert f"{at}.model" not in places(objects(hardware("{gpu: {requests: 1, model: MI300X}}")), "ask")


def test_another_resource_is_that_of_the_class() -> None:
    """A partition of a device has a resource of its own."""
    printed = objects(hardware("{gpu: {requests: 1, model: MI300X, resourceName: amd.com/cpx}}"))
    assert stack(printed)["accelerators"] == {
        "amd-mi300x": {"allocation": {"type": "extended-resource", "resourceName": "amd.com/cpx"}}
    }
    assert "spec.model.custom.hardware.gpu.resourceName" in places(printed, "differs")


def test_overrides_win_field_by_field() -> None:
    """Unless they are zero."""
    overrides = "overrides: {hardware: {gpu: {requests: 8, model: ''}}}"
    service = only_service(objects(hardware("{gpu: {requests: 1, model: MI325X}}", overrides)))
    assert (service["accelerator"], service["parallelism"]) == ("amd-mi325x", {"tensor": 8})


def test_devices_in_the_limits_of_the_service_win() -> None:
    """As they do in the pods of aim-engine."""
    rest = 'resources: {requests: {amd.com/gpu: "4", memory: 8Gi}, limits: {amd.com/gpu: "4"}}'
    printed = objects(hardware("{gpu: {requests: 1}}", rest))
    service = only_service(printed)
    assert (service["parallelism"], service["resources"]) == ({"tensor": 4}, {"requests": {"memory": "8Gi"}})
    assert places(printed, "cannot") == set()


def test_other_numbers_in_requests_and_limits_are_lost() -> None:
    """Kubernetes refuses such a pod."""
    rest = 'resources: {requests: {amd.com/gpu: "2"}, limits: {amd.com/gpu: "4"}}'
    assert places(objects(hardware("{gpu: {requests: 1}}", rest)), "cannot") == {"spec.resources.limits.amd.com/gpu"}


def test_amounts_of_the_service_win_over_those_of_the_hardware() -> None:
    """Key by key."""
    rest = 'resources: {requests: {cpu: "8"}}'
    service = only_service(objects(hardware('{cpu: {requests: "1", limits: "16"}}', rest)))
    assert service["resources"] == {"requests": {"cpu": "8"}, "limits": {"cpu": "16"}}
