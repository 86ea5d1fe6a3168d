"""Accelerator classes of users: memory, names of resources and expressions over devices."""

import pytest

from models.accelerators import UserClass
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"memory": "500m"},
            "memory: is less than a byte (500m); write the memory with its unit, such as 80Gi",
        ),
        ({"memory": 80}, "memory: is 80 bytes; write the number with its unit, such as 16Gi"),
        (
            {"devicesPerNode": 0},
            (
                "devicesPerNode: is not a whole number from 1 to 1024 (0); write the number of devices of the largest "
                "node, such as 8"
            ),
        ),
        (
            {"devicesPerChip": 65},
            (
                "devicesPerChip: is not a whole number from 1 to 64 (65); write the number of devices that the engine "
                "sees in a chip, such as 2"
            ),
        ),
        (
            {"allocation": {"type": "extended-resource", "resourceName": "kubernetes.io/gpu"}},
            (
                "allocation.resourceName: is not the name of an extended resource (kubernetes.io/gpu); write the "
                "vendor's domain and a name, such as nvidia.com/mig-3g.40gb"
            ),
        ),
        (
            {"allocation": {"type": "extended-resource", "resourceName": "requests.nvidia.com/gpu"}},
            (
                "allocation.resourceName: is not the name of an extended resource (requests.nvidia.com/gpu); write the "
                "vendor's domain and a name, such as nvidia.com/mig-3g.40gb"
            ),
        ),
        (
            {"allocation": {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com", "selectors": [" "]}},
            (
                "allocation.selectors[0]: is empty ( ); write a CEL expression over device, such as device.driver == "
                "'gpu.nvidia.com'"
            ),
        ),
    ],
)
def test_a_mistaken_class_is_refused(keys, message):
    stack = tree() | {"accelerators": {"slice": {"vendor": "nvidia", **keys}}}
    assert mistakes(stack) == [f"accelerators.slice.{message}"]


def test_an_absent_key_leaves_the_shipped_class_as_it_is():
    changed = UserClass.model_validate({"memory": "40Gi"})
    assert changed.explicit_fields == {"memory"}
    assert (changed.vendor, changed.tolerations, changed.allocation, changed.provisioned) == (None, None, None, False)


def test_a_class_without_tolerations_differs_from_one_that_keeps_them():
    assert UserClass.model_validate({"tolerations": []}).tolerations == ()
