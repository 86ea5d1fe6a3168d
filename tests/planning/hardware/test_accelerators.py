"""Accelerator classes: the shipped ones, and what a user may add."""

import pytest
from pydantic import TypeAdapter

from models.load import load
from models.paths import Path
from models.problems import ConfigError
from models.vocabulary import LabelKey
from planning.hardware import accelerators
from planning.hardware.accelerators import classes, resource_names
from planning.hardware.rules import check_class, judge
from tests.support.stacks import tree
from tests.support.stacks.accelerators import SHIPPED, a_class, layout, refused, user

GI = 2**30
VENDORS = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "intel-gaudi": "habana.ai/gaudi",
    "intel-i915": "gpu.intel.com/i915",
    "intel-xe": "gpu.intel.com/xe",
    "google": "google.com/tpu",
}
MIG = {
    "vendor": "nvidia",
    "memory": "40Gi",
    "allocation": {"type": "extended-resource", "resourceName": "nvidia.com/mig-3g.40gb"},
}


def refused_classes(**given):
    return [str(problem) for problem in judge(user(**given))]


def loaded(given):
    with pytest.raises(ConfigError) as error:
        load(tree() | {"accelerators": {"own": {"vendor": "nvidia"} | given}}).finish()
    return str(error.value)


def matching(node):
    """Return the product classes whose labels a node carries."""
    return [
        name
        for name, cls in SHIPPED.items()
        if cls.node_labels and all(node.get(label) in values for label, values in cls.node_labels.items())
    ]


NPU = {"vendor": "huawei", "allocation": {"type": "extended-resource", "resourceName": "huawei.com/Ascend910"}}


def test_a_class_of_another_vendor_has_the_fields_of_its_user_alone():
    npu = classes(user(npu=NPU))["npu"]
    assert (npu.vendor, npu.tolerations, npu.node_labels, npu.device_files) == ("huawei", (), {}, ())
    assert npu.allocation.resource_name == "huawei.com/Ascend910"
    assert refused_classes(npu=NPU) == []


def test_a_class_of_another_vendor_without_allocation_still_has_devices():
    assert classes(user(npu={"vendor": "huawei"}))["npu"].allocation is not None


# The table


UNKNOWN_MEMORY = {"amd-mi300a", "amd-mi308x"}
"""Classes of which no public source says how much memory a driver shows."""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_class_is_sound(name):
    cls, shipped = SHIPPED[name], accelerators.shipped_classes()[name]
    assert shipped.source.strip()
    assert (cls.allocation is None) == (cls.vendor == "cpu")
    assert bool(cls.tolerations) == (cls.vendor != "cpu")
    assert cls.memory is None or 15 * GI <= cls.memory <= 512 * GI
    assert cls.devices_per_node in {None, 4, 8}
    for label, values in cls.node_labels.items():
        assert TypeAdapter(LabelKey).validate_python(label) == label
        assert values
        assert list(values) == sorted(set(values))
    assert bool(cls.node_labels) == (cls.product is not None)
    assert (cls.memory is not None) == (cls.product is not None and name not in UNKNOWN_MEMORY)
    assert name.startswith(cls.vendor)


def test_no_two_shipped_classes_mean_the_same_nodes():
    labelled = [
        (label, value) for cls in SHIPPED.values() for label, values in cls.node_labels.items() for value in values
    ]
    assert len(labelled) == len(set(labelled)) > 30


@pytest.mark.parametrize(("name", "resource"), VENDORS.items())
def test_each_vendor_has_its_resource_and_tolerates_the_taint_named_after_it(name, resource):
    assert SHIPPED[name].allocation.resource_name == resource
    assert SHIPPED[name].tolerations == ({"key": resource, "operator": "Exists", "effect": "NoSchedule"},)
    assert SHIPPED[name].memory is None


def test_every_word_of_otterscale_for_an_accelerator_is_a_class():
    """See otterscale 3.9."""
    assert {"nvidia", "amd", "intel-gaudi", "google", "cpu"} <= SHIPPED.keys()


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"amd.com/gpu.device-id": "74a1"}, ["amd-mi300x"]),
        ({"amd.com/gpu.device-id": "74a5"}, ["amd-mi325x"]),
        ({"amd.com/gpu.device-id": "ffff"}, []),
        ({"amd.com/gpu.device-id": " "}, []),
        ({"amd.com/gpu.family": "AI"}, []),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, ["nvidia-h100-80gb"]),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, ["nvidia-a100-80gb"]),
        ({"nvidia.com/gpu.product": "Tesla-T4"}, ["nvidia-t4"]),
        ({"nvidia.com/gpu.product": "H100"}, []),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}, []),
        ({"nvidia.com/gpu.product": "NVIDIA-L40S-SHARED"}, []),
        ({"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice"}, ["google-tpu-v6e"]),
        ({"gpu.intel.com/product": "Max_1550"}, ["intel-max-1550"]),
    ],
)
def test_a_node_is_of_the_class_whose_label_it_carries_and_no_name_is_guessed(node, expected):
    assert matching(node) == expected


@pytest.mark.parametrize(("name", "memory"), [("amd-mi300x", 206141652992), ("nvidia-l40s", 46068 * 2**20)])
def test_the_memory_of_a_product_is_its_drivers(name, memory):
    assert SHIPPED[name].memory == memory


# What a user may add


def test_a_mig_slice_is_three_lines():
    slices = classes(user(**{"h100-slice": MIG}))["h100-slice"]
    assert slices.allocation.resource_name == "nvidia.com/mig-3g.40gb"
    assert slices.tolerations == SHIPPED["nvidia"].tolerations
    assert (slices.vendor, slices.product, slices.memory, slices.node_labels) == ("nvidia", None, 40 * GI, {})
    assert layout(slices, "40Gi").devices_per_pod == 1
    assert layout(slices, "41Gi").devices_per_pod == 2


def test_devices_may_be_claimed_instead():
    claim = {"type": "resource-claim", "deviceClassName": "gpu.amd.com", "selectors": ["device.driver == 'x'"]}
    claimed = classes(user(own={"vendor": "amd", "allocation": claim}))["own"]
    assert claimed.allocation.device_class_name == "gpu.amd.com"
    assert claimed.allocation.selectors == ("device.driver == 'x'",)
    assert layout(claimed, tensor=2, data=2).devices_per_pod == 4
    assert resource_names({"own": claimed}) == frozenset(VENDORS.values())


def test_a_user_amends_a_shipped_class_and_keeps_the_rest():
    amendment = {"devicesPerNode": 4, "nodeSelector": {"pool": "a"}}
    amended, shipped = classes(user(**{"nvidia-h100-80gb": amendment}))["nvidia-h100-80gb"], SHIPPED["nvidia-h100-80gb"]
    assert amended.devices_per_node == 4
    assert amended.node_labels == {**shipped.node_labels, "pool": ("a",)}
    assert (amended.memory, amended.product, amended.allocation) == (
        shipped.memory,
        shipped.product,
        shipped.allocation,
    )


def test_a_label_of_a_user_takes_the_place_of_a_shipped_one():
    label = "nvidia.com/gpu.product"
    amended = classes(user(**{"nvidia-t4": {"nodeSelector": {label: "T4"}}}))
    assert amended["nvidia-t4"].node_labels == {label: ("T4",)}


def test_what_is_said_of_the_vendors_class_holds_for_its_products():
    claim = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    user_classes = user(
        nvidia={"allocation": claim, "tolerations": [], "memory": "48Gi", "nodeSelector": {"pool": "a"}}
    )
    every = classes(user_classes | user(own={"vendor": "nvidia"}))
    for name in ("nvidia", "nvidia-l40s", "own"):
        assert every[name].allocation.device_class_name == "gpu.nvidia.com"
        assert every[name].tolerations == ()
    assert every["own"].memory is None
    assert "pool" not in every["nvidia-l40s"].node_labels
    assert every["amd"] == SHIPPED["amd"]


def test_tolerations_are_written_as_kubernetes_has_them():
    given = [
        {"key": "team", "value": "search", "effect": "NoExecute", "tolerationSeconds": 60},
        {"operator": "Exists"},
    ]
    assert a_class(tolerations=given).tolerations == (
        {"key": "team", "operator": "Equal", "value": "search", "effect": "NoExecute", "tolerationSeconds": 60},
        {"operator": "Exists"},
    )


def test_no_class_shipped_is_changed_by_a_users():
    classes(user(nvidia={"memory": "1Gi", "nodeSelector": {"pool": "a"}}))
    every = classes(user(another={"vendor": "nvidia"}))
    assert {name: every[name] for name in SHIPPED} == SHIPPED
    assert classes({}) == SHIPPED


def test_device_resources_are_known_even_if_no_class_uses_them_any_more():
    every = classes(user(slice=MIG, nvidia={"allocation": {"type": "resource-claim", "deviceClassName": "a"}}))
    assert resource_names(every) == {*VENDORS.values(), "nvidia.com/mig-3g.40gb"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"h100": {"memory": "80Gi"}},
            (
                "accelerators.h100.vendor: is missing and h100 is no shipped class; "
                "add it (nvidia, amd, intel-gaudi, intel, google, cpu), or amend nvidia-h100-80gb"
            ),
        ),
        (
            {"nvidia-l40s": {"vendor": "amd"}},
            (
                "accelerators.nvidia-l40s.vendor: differs from the vendor of the shipped class (amd, nvidia); "
                "remove it, or choose another name"
            ),
        ),
        (
            {"b60": {"vendor": "intel"}},
            (
                "accelerators.b60.allocation: is missing and intel has more than one resource "
                "(gpu.intel.com/i915, gpu.intel.com/xe); "
                "add it: {type: extended-resource, resourceName: gpu.intel.com/xe}"
            ),
        ),
        (
            {"npu": {"vendor": "huawei"}},
            (
                "accelerators.npu.allocation: is missing and huawei is none of the vendors with a default "
                "(nvidia, amd, intel-gaudi, intel, google, cpu); "
                "add it, such as {type: extended-resource, resourceName: huawei.com/device}"
            ),
        ),
        (
            {"slice": {"vendor": "nvidai"}},
            (
                "accelerators.slice.allocation: is missing and nvidai is none of the vendors with a default "
                "(nvidia, amd, intel-gaudi, intel, google, cpu); write vendor: nvidia, or "
                "add it, such as {type: extended-resource, resourceName: nvidai.com/device}"
            ),
        ),
        ({"cpu": {"memory": "1Gi"}}, "accelerators.cpu.memory: has no effect (cpu has no devices); remove it"),
        (
            {"big": {"vendor": "cpu", "devicesPerNode": 1}},
            "accelerators.big.devicesPerNode: has no effect (cpu has no devices); remove it",
        ),
    ],
)
def test_a_mistaken_class_is_one_message(given, expected):
    assert refused_classes(**given) == [expected]


def test_sound_classes_have_no_problem():
    user_classes = {"own": MIG, "nvidia-l40s": {"vendor": "nvidia"}, "cpu": {"nodeSelector": {"pool": "a"}}, "amd": {}}
    assert refused_classes(**user_classes) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"memory": "0"}, "memory: is less than a byte (0); write the memory with its unit, such as 80Gi"),
        ({"memory": "80GB"}, "memory: is not a Kubernetes quantity (80GB)"),
        ({"devicesPerNode": 0}, "devicesPerNode: is not a whole number from 1 to 1024 (0)"),
        ({"vendor": "NVIDIA"}, "vendor: is not a DNS label (NVIDIA)"),
        ({"allocation": {"type": "mig"}}, "allocation: has an unknown type (mig)"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "never compares (b); remove value"),
        ({"tolerations": [{"value": "b"}]}, "compares a value without a key; add key, or write operator: Exists"),
        ({"tolerations": [{"key": "a", "tolerationSeconds": 5}]}, "has tolerationSeconds without effect NoExecute (5)"),
        ({"tolerations": [{"key": "a", "effect": "NoRun"}]}, "tolerations[0].effect: is not one of NoSchedule"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(given, expected):
    assert expected in loaded(given)


@pytest.mark.parametrize(
    "name",
    ["gpu", "nvidia.com/", "/gpu", "kubernetes.io/gpu", "a.kubernetes.io/gpu", "requests.nvidia.com/gpu", "A.com/gpu"],
)
def test_what_kubernetes_takes_for_no_extended_resource_is_refused(name):
    given = {"allocation": {"type": "extended-resource", "resourceName": name}}
    assert "allocation.resourceName: is not the name of an extended resource" in loaded(given)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("h100", "nvidia-h100-80gb"),
        ("a100", "nvidia-a100-80gb"),
        ("MI300X", "amd-mi300x"),
        ("gaudi", "intel-gaudi"),
        ("NVIDIA-H100-80GB-HBM3", "nvidia-h100-80gb"),
        ("nvidai", "nvidia"),
    ],
)
def test_an_unknown_class_is_told_what_it_most_likely_means(name, meant):
    (problem,) = check_class(Path("services", "qwen"), name, SHIPPED)
    assert str(problem) == (
        f"services.qwen.accelerator: unknown class ({name}); use {meant}, or define {name} under accelerators"
    )


def test_a_class_that_resembles_none_is_told_the_vendors():
    (problem,) = check_class(Path("services", "qwen"), "zzzz", SHIPPED)
    assert "use one of nvidia, amd, intel-gaudi, intel-i915, intel-xe, google, cpu, or define" in str(problem)
    assert check_class(Path("services", "qwen"), "zzzz", classes(user(zzzz={"vendor": "amd"}))) == []


def test_a_mistaken_class_is_reported_where_it_stands_alone():
    every = classes(user(h100={"memory": "80Gi"}, b60={"vendor": "intel", "memory": "24Gi"}))
    for name in ("h100", "b60"):
        assert check_class(Path("services", "qwen"), name, every) == []
        assert refused(every[name], name, memory="30Gi") == []
