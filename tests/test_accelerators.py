"""Accelerator classes, and how a replica is spread over devices and pods."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from models.accelerators import UserClass
from models.load import load
from models.problems import ConfigError
from models.role import Parallelism, Role
from models.vocabulary import LabelKey, amount
from planning import accelerators, devices
from planning.accelerators import classes, known, problems, resource_names
from tests.stacks import tree

GI = 2**30
SHIPPED = classes({})
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


def user(**given_classes):
    return {name: UserClass.model_validate(given) for name, given in given_classes.items()}


def a_class(**given):
    return classes(user(own={"vendor": "nvidia"} | given))["own"]


def a_role(accelerator="own", memory=None, **parallelism):
    given = {"accelerator": accelerator, "parallelism": parallelism}
    return Role.model_validate(given | ({"acceleratorMemory": memory} if memory is not None else {}))


def layout(cls, memory=None, **parallelism):
    return devices.layout(Parallelism.model_validate(parallelism), memory, cls)


def refused(cls, accelerator="own", memory=None, **parallelism):
    return [str(one) for one in devices.problems("services.qwen", a_role(accelerator, memory, **parallelism), cls)]


def refused_classes(**given):
    return [str(one) for one in problems(user(**given))]


def loaded(given):
    with pytest.raises(ConfigError) as error:
        load(tree() | {"accelerators": {"own": {"vendor": "nvidia"} | given}}).finish()
    return str(error.value)


def matching(node):
    """Return the product classes whose labels a node carries."""
    return [
        name
        for name, one in SHIPPED.items()
        if one.node_labels and all(node.get(label) in values for label, values in one.node_labels.items())
    ]


# The table


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_class_is_sound(name):
    one, shipped = SHIPPED[name], accelerators._shipped()[name]
    assert shipped.source.strip()
    assert (one.allocation is None) == (one.vendor == "cpu")
    assert bool(one.tolerations) == (one.vendor != "cpu")
    assert one.memory is None or 16 * GI <= one.memory <= 512 * GI
    assert one.devices_per_node in {None, 4, 8}
    for label, values in one.node_labels.items():
        assert TypeAdapter(LabelKey).validate_python(label) == label
        assert values
        assert list(values) == sorted(set(values))
    assert bool(one.node_labels) == (one.product is not None) == (one.memory is not None)
    assert name.startswith(one.vendor)


def test_no_two_shipped_classes_mean_the_same_nodes():
    labelled = [(label, value) for one in SHIPPED.values() for label, own in one.node_labels.items() for value in own]
    assert len(labelled) == len(set(labelled)) > 30


@pytest.mark.parametrize(("name", "resource"), VENDORS.items())
def test_each_vendor_has_its_resource_and_tolerates_the_taint_named_after_it(name, resource):
    assert SHIPPED[name].allocation.resource_name == resource
    assert SHIPPED[name].tolerations == ({"key": resource, "operator": "Exists", "effect": "NoSchedule"},)
    assert SHIPPED[name].memory is None


def test_every_word_of_otterscale_for_an_accelerator_is_a_class():
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


@pytest.mark.parametrize(("name", "memory"), [("amd-mi300x", 192), ("amd-mi325x", 256), ("amd-mi210", 64)])
def test_the_memory_of_a_product_is_its_vendors(name, memory):
    assert SHIPPED[name].memory == memory * GI


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
    own = {"devicesPerNode": 4, "nodeSelector": {"pool": "a"}}
    amended, shipped = classes(user(**{"nvidia-h100-80gb": own}))["nvidia-h100-80gb"], SHIPPED["nvidia-h100-80gb"]
    assert amended.devices_per_node == 4
    assert amended.node_labels == {**shipped.node_labels, "pool": ("a",)}
    assert (amended.memory, amended.product, amended.allocation) == (80 * GI, shipped.product, shipped.allocation)


def test_a_label_of_a_user_takes_the_place_of_a_shipped_one():
    label = "nvidia.com/gpu.product"
    amended = classes(user(**{"nvidia-t4": {"nodeSelector": {label: "T4"}}}))
    assert amended["nvidia-t4"].node_labels == {label: ("T4",)}


def test_what_is_said_of_the_vendors_class_holds_for_its_products():
    claim = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
    said = user(nvidia={"allocation": claim, "tolerations": [], "memory": "48Gi", "nodeSelector": {"pool": "a"}})
    every = classes(said | user(own={"vendor": "nvidia"}))
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
                "accelerators.nvidia-l40s.vendor: is another than the shipped class's (amd, nvidia); "
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
    said = {"own": MIG, "nvidia-l40s": {"vendor": "nvidia"}, "cpu": {"nodeSelector": {"pool": "a"}}, "amd": {}}
    assert refused_classes(**said) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"memory": "0"}, "memory: is less than a byte (0); write the memory with its unit, such as 80Gi"),
        ({"memory": "80GB"}, "memory: is not a Kubernetes quantity (80GB)"),
        ({"devicesPerNode": 0}, "devicesPerNode: is not a whole number from 1 to 1024 (0)"),
        ({"vendor": "nvidai"}, "vendor: is not one of nvidia, amd, intel-gaudi, intel, google or cpu (nvidai)"),
        ({"allocation": {"type": "mig"}}, "allocation: is of no known type (mig)"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "never compares (b); remove value"),
        ({"tolerations": [{"value": "b"}]}, "compares a value without a key; add key, or write operator: Exists"),
        ({"tolerations": [{"key": "a", "tolerationSeconds": 5}]}, "only NoExecute ends (tolerationSeconds 5)"),
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
    (problem,) = known("services.qwen", name, SHIPPED)
    assert str(problem) == (
        f"services.qwen.accelerator: unknown class ({name}); use {meant}, or define {name} under accelerators"
    )


def test_a_class_that_resembles_none_is_told_the_vendors():
    (problem,) = known("services.qwen", "zzzz", SHIPPED)
    assert "use one of nvidia, amd, intel-gaudi, intel-i915, intel-xe, google, cpu, or define" in str(problem)
    assert known("services.qwen", "zzzz", classes(user(zzzz={"vendor": "amd"}))) == []


def test_a_mistaken_class_is_reported_where_it_stands_alone():
    every = classes(user(h100={"memory": "80Gi"}, b60={"vendor": "intel", "memory": "24Gi"}))
    for name in ("h100", "b60"):
        assert known("services.qwen", name, every) == []
        assert refused(every[name], name, memory="30Gi") == []


# Devices of a pod

SMALL = st.integers(1, 12)


@st.composite
def spreads(draw, *, any_local=False):
    parallelism = {"tensor": draw(SMALL), "pipeline": draw(SMALL), "data": draw(SMALL)}
    if draw(st.booleans()):
        data = parallelism["data"]
        parallelism["dataLocal"] = draw(st.sampled_from([n for n in range(1, 13) if any_local or data % n == 0]))
    return parallelism, draw(st.none() | st.integers(1, 32))


def on(most):
    return a_class() if most is None else a_class(devicesPerNode=most)


@settings(deadline=None)
@given(spreads())
def test_devices_per_pod_equal_the_formula_and_are_never_under_requested(spread):
    parallelism, most = spread
    cls = on(most)
    assume(not refused(cls, **parallelism))
    tensor, pipeline, data = (parallelism[key] for key in ("tensor", "pipeline", "data"))
    local = parallelism.get("dataLocal", data)
    one = layout(cls, **parallelism)
    assert one.pods_per_replica * one.devices_per_pod == tensor * pipeline * data
    assert one.devices_per_pod == tensor * local * one.stages_per_pod
    assert pipeline % one.stages_per_pod == data % local == 0
    if most is None:
        assert one.stages_per_pod == 1
        return
    assert one.devices_per_pod <= most
    larger = range(one.stages_per_pod + 1, pipeline + 1)
    assert not any(pipeline % stages == 0 and tensor * local * stages <= most for stages in larger)


@settings(deadline=None)
@given(spreads(any_local=True))
def test_a_spread_is_refused_exactly_where_no_node_carries_a_pod_or_pods_span_two_axes(spread):
    parallelism, most = spread
    tensor, pipeline, data = (parallelism[key] for key in ("tensor", "pipeline", "data"))
    local = parallelism.get("dataLocal", data)
    if data % local == 0:
        in_one_pod = tensor * local * pipeline <= (most or tensor * local)
        sound = most is None or tensor * local <= most
        assert bool(refused(on(most), **parallelism)) == (not sound or (local < data and not in_one_pod))
    else:
        assert len(refused(on(most), **parallelism)) == 1


def written(message):
    """Read back the fields that a remedy says to write."""
    remedy = message.rpartition("; ")[2]
    return {key: int(value) for key, value in re.findall(r"(tensor|pipeline|data|dataLocal): (\d+)", remedy)}


@settings(deadline=None)
@given(spreads())
def test_what_a_message_says_to_write_would_really_fit(spread):
    parallelism, most = spread
    cls = on(most)
    messages = refused(cls, **parallelism)
    assume(messages and "does not divide" not in messages[0])
    changed = written(messages[0])
    assert changed
    assert refused(cls, **parallelism | changed) == []
    if "data" not in changed:
        both = [one["tensor"] * one["pipeline"] * one["data"] for one in (parallelism, parallelism | changed)]
        assert both[0] == both[1]


@settings(deadline=None)
@given(st.integers(1, 4000), st.integers(1, 300), st.integers(1, 6), st.none() | st.integers(1, 12), st.integers(1, 12))
def test_a_chosen_tensor_is_the_smallest_power_of_two_that_suffices(wanted, each, pipeline, most, data):
    cls = a_class(memory=f"{each}Gi", **({} if most is None else {"devicesPerNode": most}))
    given_parallelism = {"pipeline": pipeline, "data": data}
    messages = refused(cls, memory=f"{wanted}Gi", **given_parallelism)
    enough = next(power for power in (2**n for n in range(20)) if each * power * pipeline >= wanted)
    assert (len(messages) == 0) == (enough * data <= (most or 8))
    if messages:
        assert refused(cls, memory=f"{wanted}Gi", **given_parallelism | written(messages[0])) == []
    else:
        assert layout(cls, f"{wanted}Gi", **given_parallelism).tensor == enough


@settings(deadline=None)
@given(st.integers(1, 2000), st.integers(1, 300), spreads())
def test_a_written_tensor_is_checked_against_the_memory_and_the_remedy_suffices(wanted, each, spread):
    parallelism, most = spread
    cls = a_class(memory=f"{each}Gi", **({} if most is None else {"devicesPerNode": most}))
    assume(not refused(cls, **parallelism))
    messages = refused(cls, memory=f"{wanted}Gi", **parallelism)
    assert bool(messages) == (each * parallelism["tensor"] * parallelism["pipeline"] < wanted)
    if messages:
        assert refused(cls, memory=f"{wanted}Gi", **parallelism | written(messages[0])) == []


def test_data_alone_counts_its_devices():
    assert layout(a_class(), data=2).devices_per_pod == 2


def test_data_over_two_pods_takes_half_the_devices_in_each():
    one = layout(a_class(), tensor=2, data=4, dataLocal=2)
    assert (one.devices_per_pod, one.pods_per_replica, one.data_local) == (4, 2, 2)


def test_more_local_copies_than_copies_are_refused():
    assert refused(a_class(), dataLocal=2) == [
        "services.qwen.parallelism.dataLocal: does not divide data (2, 1); use 1"
    ]


@pytest.mark.parametrize(
    ("data", "local", "choices"), [(8, 3, "1, 2, 4 or 8"), (7, 2, "1 or 7"), (360, 7, "6 or 8"), (360, 361, "360")]
)
def test_a_local_number_that_divides_not_is_told_which_do(data, local, choices):
    expected = f"services.qwen.parallelism.dataLocal: does not divide data ({local}, {data}); use {choices}"
    assert refused(a_class(), data=data, dataLocal=local) == [expected]


@pytest.mark.parametrize(
    ("parallelism", "what", "remedy"),
    [
        ({"tensor": 16}, "16 devices (tensor 16 × dataLocal 1)", "tensor: 8, pipeline: 2"),
        ({"data": 16}, "16 devices (tensor 1 × dataLocal 16)", "dataLocal: 8"),
        ({"tensor": 4, "data": 8}, "32 devices (tensor 4 × dataLocal 8)", "dataLocal: 2"),
        (
            {"tensor": 16, "data": 11},
            "176 devices (tensor 16 × dataLocal 11)",
            "tensor: 8, pipeline: 2, data: 1, dataLocal: 1 and more replicas",
        ),
    ],
)
def test_a_pod_larger_than_a_node_is_refused(parallelism, what, remedy):
    expected = f"services.qwen.parallelism: a pod would need {what}, nodes of nvidia-h100-80gb have 8; use {remedy}"
    assert refused(SHIPPED["nvidia-h100-80gb"], "nvidia-h100-80gb", **parallelism) == [expected]


def test_pipeline_stages_share_a_pod_while_they_fit_a_node():
    spread = {(1, 8): (8, 1), (2, 8): (4, 2), (8, 2): (1, 2), (2, 6): (3, 2), (3, 4): (2, 2), (1, 5): (5, 1)}
    for (tensor, pipeline), expected in spread.items():
        one = layout(SHIPPED["nvidia-h100-80gb"], tensor=tensor, pipeline=pipeline)
        assert (one.stages_per_pod, one.pods_per_replica) == expected


def test_stages_have_a_pod_each_where_a_nodes_devices_are_unknown():
    one = layout(SHIPPED["nvidia"], tensor=2, pipeline=2)
    assert (one.devices_per_pod, one.pods_per_replica) == (2, 2)
    assert one.reasons == ("1 of 2 pipeline stages in a pod: the devices of a node are unknown",)


@pytest.mark.parametrize(
    ("parallelism", "pods", "remedy"),
    [
        (
            {"tensor": 8, "pipeline": 2, "data": 2, "dataLocal": 1},
            ("2 over 2", "2 over 2"),
            "data: 1 and more replicas",
        ),
        ({"tensor": 2, "pipeline": 8, "data": 4, "dataLocal": 2}, ("4 over 2", "8 over 4"), "dataLocal: 4"),
    ],
)
def test_a_replica_spans_pods_along_one_axis(parallelism, pods, remedy):
    assert refused(SHIPPED["nvidia-h100-80gb"], "nvidia-h100-80gb", **parallelism) == [
        (
            f"services.qwen.parallelism: data and pipeline would both span pods (data {pods[0]}, pipeline {pods[1]}); "
            f"use {remedy}"
        )
    ]


def test_a_class_without_devices_takes_none():
    one = layout(SHIPPED["cpu"], tensor=2, pipeline=2, data=4, dataLocal=2)
    assert (one.devices_per_pod, one.pods_per_replica, one.stages_per_pod, one.tensor) == (0, 2, 2, 2)
    assert refused(SHIPPED["cpu"], "cpu", tensor=64, pipeline=3) == []


def test_expert_parallelism_is_passed_on():
    assert layout(a_class(), expert=True).expert
    assert not layout(a_class()).expert


# acceleratorMemory


@pytest.mark.parametrize(
    ("name", "memory", "devices_per_pod"),
    [
        ("nvidia-l4", "24Gi", 1),
        ("nvidia-h100-80gb", "80Gi", 1),
        ("nvidia-h100-80gb", "80G", 1),
        ("nvidia-h100-80gb", "86G", 2),
        ("nvidia-h100-80gb", "81Gi", 2),
        ("nvidia-h100-80gb", "160Gi", 2),
        ("nvidia-h100-80gb", "0.2Ti", 4),
        ("nvidia-h100-80gb", "0.5T", 8),
        ("nvidia-h100-80gb", "85899345920", 1),
        ("nvidia-h100-80gb", "85899345921", 2),
        ("amd-mi300x", "200Gi", 2),
        ("google-tpu-v6e", "256Gi", 8),
    ],
)
def test_memory_chooses_whole_devices_in_binary_and_decimal_units(name, memory, devices_per_pod):
    assert refused(SHIPPED[name], name, memory=memory) == []
    one = layout(SHIPPED[name], memory)
    assert (one.devices_per_pod, one.tensor) == (devices_per_pod, devices_per_pod)
    assert one.devices_per_pod * SHIPPED[name].memory >= amount(memory)


def test_stages_hold_their_part_of_a_copy_and_copies_add_none():
    cls = SHIPPED["nvidia-h100-80gb"]
    assert layout(cls, "320Gi", pipeline=2).tensor == 2
    assert layout(cls, "160Gi", data=4).tensor == 2
    (reason, *_) = layout(cls, "320Gi", pipeline=2).reasons
    assert reason == "tensor 2: the smallest power of two that holds 320Gi (80Gi each, 2 stages)"


def test_without_memory_tensor_is_one():
    assert layout(SHIPPED["nvidia-h100-80gb"]).tensor == 1


@pytest.mark.parametrize(
    ("name", "memory", "parallelism", "expected"),
    [
        ("nvidia", "80Gi", {}, ("cannot be used with nvidia (its devices' memory is unknown); use a product class such "
         "as nvidia-l40s, or set accelerators.nvidia.memory")),
        ("intel-gaudi", "80Gi", {"tensor": 2}, ("cannot be used with intel-gaudi (its devices' memory is unknown); "
         "set accelerators.intel-gaudi.memory")),
        ("cpu", "80Gi", {}, "has no effect with cpu (80Gi; it has no devices); remove it"),
        ("nvidia-l40s", "0", {}, "is not above zero (0); write the memory that one copy needs, such as 160Gi"),
        ("nvidia-h100-80gb", "320Gi", {"tensor": 2}, ("is more than the devices of one copy have "
         "(320Gi; 2 × 80Gi is 160Gi); set under parallelism tensor: 4")),
        ("nvidia-h100-80gb", "1Ti", {"tensor": 8}, ("is more than the devices of one copy have "
         "(1Ti; 8 × 80Gi is 640Gi); set under parallelism pipeline: 2")),
        ("nvidia-h100-80gb", "1Ti", {}, ("would need 16 devices in a pod (1Ti, 80Gi a device), "
         "nodes of nvidia-h100-80gb have 8; set under parallelism pipeline: 2")),
        ("nvidia-h100-80gb", "320Gi", {"data": 4}, ("would need 16 devices in a pod (320Gi, 80Gi a device, "
         "dataLocal 4), nodes of nvidia-h100-80gb have 8; set under parallelism pipeline: 2")),
        ("nvidia-l40s", "400Gi", {}, ("would need 16 devices in a pod (400Gi, 48Gi a device), nodes of nvidia-l40s are "
         "taken to have 8; set under parallelism pipeline: 2, or accelerators.nvidia-l40s.devicesPerNode")),
    ],
)  # fmt: skip
def test_memory_that_cannot_be_had_is_refused(name, memory, parallelism, expected):
    assert refused(SHIPPED[name], name, memory=memory, **parallelism) == [
        f"services.qwen.acceleratorMemory: {expected}"
    ]


def test_more_than_eight_of_the_largest_device_is_refused():
    largest = max(one.memory or 0 for one in SHIPPED.values())
    for name, one in SHIPPED.items():
        if one.memory is not None:
            assert len(refused(one, name, memory=str(largest * 8 + 1))) == 1


def test_mistakes_of_memory_and_of_parallelism_are_reported_together():
    messages = refused(SHIPPED["nvidia-h100-80gb"], "nvidia-h100-80gb", memory="4Ti", tensor=16)
    assert [message.partition(":")[0] for message in messages] == [
        "services.qwen.acceleratorMemory",
        "services.qwen.parallelism",
    ]
    assert len(refused(SHIPPED["nvidia"], "nvidia", memory="4Ti", data=8, dataLocal=3)) == 2


def test_a_verdict_is_void_where_what_it_read_is_itself_mistaken():
    (problem,) = devices.problems("services.qwen.prefill", a_role("nvidia", memory="80Gi"), SHIPPED["nvidia"])
    assert {
        "services.qwen.accelerator",
        "services.qwen.prefill.parallelism.tensor",
        "accelerators.nvidia.memory",
    } <= set(problem.depends_on)


def test_memory_that_no_number_of_stages_holds_is_refused_in_one_sentence():
    (message,) = refused(SHIPPED["nvidia-l40s"], "nvidia-l40s", memory="999999E", data=4)
    assert message.endswith("use a class with more memory, or accelerators.nvidia-l40s.devicesPerNode")
