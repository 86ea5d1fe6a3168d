"""Devices as engines see them: their memory, their number on a chip, and who may open them."""

import pytest

from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.accelerators import SHIPPED, a_class, layout, refused
from tests.support.stacks.shapes import engine

GI = 2**30


def template(**service):
    return find(rendered(tree(qwen=service)), "Deployment", "qwen-decode")["spec"]["template"]


TPU = {"accelerator": "google-tpu7x", "engine": {"image": "registry.example/tpu:v1"}}


@pytest.mark.parametrize("parallelism", [{"tensor": 8}, {"tensor": 2, "data": 4}])
def test_a_chip_of_two_cores_holds_two_devices(parallelism):
    """See defects A21."""
    container = engine(template(**TPU, parallelism=parallelism))
    assert container["resources"]["limits"]["google.com/tpu"] == "4"
    assert f"--tensor-parallel-size={parallelism['tensor']}" in container["args"]


def test_half_a_chip_is_requested_whole():
    """See defects A21."""
    assert layout(SHIPPED["google-tpu7x"], tensor=1).chips_per_pod == 1
    assert layout(SHIPPED["google-tpu7x"], tensor=3).chips_per_pod == 2


def test_a_node_has_the_devices_of_its_chips():
    """See defects A21."""
    (message,) = refused(SHIPPED["google-tpu7x"], "google-tpu7x", tensor=16)
    assert "nodes of google-tpu7x have 8" in message


def test_a_class_of_a_user_says_how_many_devices_a_chip_has():
    """See defects A21."""
    cls = a_class(devicesPerChip=4)
    assert [layout(cls, tensor=tensor).chips_per_pod for tensor in (1, 4, 8)] == [1, 1, 2]
    assert layout(a_class(), tensor=8).chips_per_pod == 8
    claim = {"type": "resource-claim", "deviceClassName": "tpu.google.com"}
    stack = tree(qwen={"accelerator": "own", "parallelism": {"tensor": 8}}) | {
        "accelerators": {"own": {"vendor": "nvidia", "allocation": claim, "devicesPerChip": 4}}
    }
    spec = find(rendered(stack), "ResourceClaimTemplate", "qwen-decode")["spec"]["spec"]
    assert spec["devices"]["requests"][0]["exactly"]["count"] == 2


@pytest.mark.parametrize(
    ("name", "memory", "tensor"),
    [
        ("nvidia-l40s", "90Gi", 4),
        ("nvidia-l40s", "89Gi", 2),
        ("nvidia-l40s", "96Gi", 4),
        ("nvidia-h100-80gb", "160Gi", 4),
        ("nvidia-h100-80gb", "159Gi", 2),
        ("nvidia-t4", "16Gi", 2),
        ("amd-mi300x", "192Gi", 2),
        ("google-tpu7x", "190Gi", 4),
    ],
)
def test_a_tensor_is_chosen_by_the_memory_that_a_driver_shows(name, memory, tensor):
    """See defects C4."""
    assert layout(SHIPPED[name], memory).tensor == tensor


SMALLER = [
    name for name, cls in SHIPPED.items() if cls.vendor in {"nvidia", "amd", "google"} and cls.memory is not None
]


NOMINAL = {
    16: "nvidia-t4 google-tpu-v5e",
    24: "nvidia-a10 nvidia-a10g nvidia-l4",
    32: "google-tpu-v6e",
    40: "nvidia-a100-40gb",
    48: "nvidia-l40s",
    64: "amd-mi210 amd-mi250x",
    80: "nvidia-a100-80gb nvidia-a100-80gb-pcie nvidia-h100-80gb nvidia-h100-pcie",
    94: "nvidia-h100-nvl",
    96: "nvidia-rtx-pro-6000 google-tpu-v5p google-tpu7x",
    141: "nvidia-h200 nvidia-h200-nvl",
    180: "nvidia-b200",
    192: "nvidia-gb200 amd-mi300x",
    256: "amd-mi325x",
    288: "nvidia-b300 amd-mi350x amd-mi355x",
}


@pytest.mark.parametrize("name", SMALLER)
def test_no_device_is_larger_than_its_name(name):
    """See defects C4."""
    (nominal,) = (size for size, names in NOMINAL.items() if name in names.split())
    memory = SHIPPED[name].memory
    assert 0.92 * nominal * GI <= memory <= nominal * GI


def test_all_devices_of_a_node_are_the_way_out_where_a_power_of_two_has_no_room():
    """See defects C4."""
    six = a_class(memory="80Gi", devicesPerNode=6)
    (message,) = refused(six, memory="400Gi")
    assert message == (
        "services.qwen.acceleratorMemory: would need 8 devices in a pod (400Gi, 80Gi a device), "
        "but nodes of own have 6; "
        "under parallelism, set tensor: 6, if it divides the model's attention heads"
    )
    assert refused(six, memory="400Gi", tensor=6) == []
    assert "pipeline: 2" in refused(six, memory="600Gi")[0]


ROCM = {"accelerator": "amd-mi300x"}
UNSET = (
    "services.qwen.pod.supplementalGroups: is not set, and on Debian and Ubuntu only the group render may open "
    "/dev/kfd and /dev/dri/renderD*; write the group's number on the nodes (getent group render), or [] if all users "
    "may open them"
)


@pytest.mark.parametrize(("given", "groups"), [({}, None), ({"supplementalGroups": [44, 109]}, [44, 109])])
@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_pods_have_further_groups(given, groups, role):
    """See defects A3."""
    stack = tree(qwen={**ROCM, "pod": given, "prefill": {}})
    pod = find(rendered(stack), "Deployment", f"qwen-{role}")["spec"]["template"]["spec"]
    assert pod["securityContext"].get("supplementalGroups") == groups


@pytest.mark.parametrize(
    ("service", "is_warned"),
    [
        (ROCM, True),
        ({"accelerator": "amd"}, True),
        ({**ROCM, "prefill": {}}, True),
        ({**ROCM, "pod": {"supplementalGroups": [109]}}, False),
        ({**ROCM, "pod": {"supplementalGroups": []}}, False),
        ({"accelerator": "nvidia"}, False),
        ({"accelerator": "cpu"}, False),
    ],
)
def test_devices_that_no_pod_may_open_are_told(service, is_warned):
    """See defects A3."""
    warnings = lines(plan(tree(qwen=service)).warnings, "warning")
    assert warnings.count(UNSET) == is_warned


@pytest.mark.parametrize(
    ("name", "ids"), [("amd-mi308x", {"74a2", "74a8", "74b6"}), ("amd-mi300a", {"74a0"})], ids=["mi308x", "mi300a"]
)
def test_every_device_of_amd_for_data_centres_has_a_class(name, ids):
    """See defects U8."""
    (values,) = SHIPPED[name].node_labels.values()
    assert {*values} == ids
    others = [cls for other, cls in SHIPPED.items() if other != name and cls.vendor == "amd"]
    assert not any(ids & {*values} for cls in others for values in cls.node_labels.values())
