"""How a replica is spread over devices and pods, by its parallelism and its memory."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from models.paths import Path
from models.vocabulary import amount
from tests.support.stacks.accelerators import SHIPPED, a_class, a_role, layout, layout_problems, refused

# Devices of a pod

SMALL = st.integers(1, 12)


@st.composite
def spreads(draw, *, any_local=False):
    parallelism = {"tensor": draw(SMALL), "pipeline": draw(SMALL), "data": draw(SMALL)}
    if draw(st.booleans()):
        data = parallelism["data"]
        parallelism["dataLocal"] = draw(st.sampled_from([n for n in range(1, 13) if any_local or data % n == 0]))
    return parallelism, draw(st.none() | st.integers(1, 32))


def on(devices_per_node):
    return a_class() if devices_per_node is None else a_class(devicesPerNode=devices_per_node)


@given(spreads())
def test_devices_per_pod_equal_the_formula_and_are_never_under_requested(spread):
    parallelism, devices_per_node = spread
    cls = on(devices_per_node)
    assume(not refused(cls, **parallelism))
    tensor, pipeline, data = (parallelism[key] for key in ("tensor", "pipeline", "data"))
    local = parallelism.get("dataLocal", data)
    pod_layout = layout(cls, **parallelism)
    assert pod_layout.pods_per_replica * pod_layout.devices_per_pod == tensor * pipeline * data
    assert pod_layout.devices_per_pod == tensor * local * pod_layout.stages_per_pod
    assert pipeline % pod_layout.stages_per_pod == data % local == 0
    if devices_per_node is None:
        assert pod_layout.stages_per_pod == 1
        return
    assert pod_layout.devices_per_pod <= devices_per_node
    larger = range(pod_layout.stages_per_pod + 1, pipeline + 1)
    assert not any(pipeline % stages == 0 and tensor * local * stages <= devices_per_node for stages in larger)


@given(spreads(any_local=True))
def test_a_spread_is_refused_exactly_where_no_node_carries_a_pod_or_pods_span_two_axes(spread):
    parallelism, devices_per_node = spread
    tensor, pipeline, data = (parallelism[key] for key in ("tensor", "pipeline", "data"))
    local = parallelism.get("dataLocal", data)
    if data % local == 0:
        in_one_pod = tensor * local * pipeline <= (devices_per_node or tensor * local)
        sound = devices_per_node is None or tensor * local <= devices_per_node
        assert bool(refused(on(devices_per_node), **parallelism)) == (not sound or (local < data and not in_one_pod))
    else:
        assert len(refused(on(devices_per_node), **parallelism)) == 1


def written(message):
    """Read back the fields that a remedy says to write."""
    remedy = message.rpartition("; ")[2]
    return {key: int(value) for key, value in re.findall(r"(tensor|pipeline|data|dataLocal): (\d+)", remedy)}


@given(spreads())
def test_what_a_message_says_to_write_would_really_fit(spread):
    parallelism, devices_per_node = spread
    cls = on(devices_per_node)
    messages = refused(cls, **parallelism)
    assume(messages and "does not divide" not in messages[0])
    changed = written(messages[0])
    assert changed
    assert refused(cls, **parallelism | changed) == []
    if "data" not in changed:
        both = [axes["tensor"] * axes["pipeline"] * axes["data"] for axes in (parallelism, parallelism | changed)]
        assert both[0] == both[1]


@given(st.integers(1, 4000), st.integers(1, 300), st.integers(1, 6), st.none() | st.integers(1, 12), st.integers(1, 12))
def test_a_chosen_tensor_is_the_smallest_power_of_two_that_suffices(requested, each, pipeline, devices_per_node, data):
    cls = a_class(memory=f"{each}Gi", **({} if devices_per_node is None else {"devicesPerNode": devices_per_node}))
    given_parallelism = {"pipeline": pipeline, "data": data}
    messages = refused(cls, memory=f"{requested}Gi", **given_parallelism)
    enough = next(power for power in (2**n for n in range(20)) if each * power * pipeline >= requested)
    assert (len(messages) == 0) == (enough * data <= (devices_per_node or 8))
    if messages:
        assert refused(cls, memory=f"{requested}Gi", **given_parallelism | written(messages[0])) == []
    else:
        assert layout(cls, f"{requested}Gi", **given_parallelism).tensor == enough


@given(st.integers(1, 2000), st.integers(1, 300), spreads())
def test_a_written_tensor_is_checked_against_the_memory_and_the_remedy_suffices(requested, each, spread):
    parallelism, devices_per_node = spread
    cls = a_class(memory=f"{each}Gi", **({} if devices_per_node is None else {"devicesPerNode": devices_per_node}))
    assume(not refused(cls, **parallelism))
    messages = refused(cls, memory=f"{requested}Gi", **parallelism)
    assert bool(messages) == (each * parallelism["tensor"] * parallelism["pipeline"] < requested)
    if messages:
        assert refused(cls, memory=f"{requested}Gi", **parallelism | written(messages[0])) == []


def test_data_alone_counts_its_devices():
    assert layout(a_class(), data=2).devices_per_pod == 2


def test_data_over_two_pods_takes_half_the_devices_in_each():
    pod_layout = layout(a_class(), tensor=2, data=4, dataLocal=2)
    assert (pod_layout.devices_per_pod, pod_layout.pods_per_replica, pod_layout.data_local) == (4, 2, 2)


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
    expected = f"services.qwen.parallelism: a pod would need {what}, but nodes of nvidia-h100-80gb have 8; use {remedy}"
    assert refused(SHIPPED["nvidia-h100-80gb"], "nvidia-h100-80gb", **parallelism) == [expected]


def test_pipeline_stages_share_a_pod_while_they_fit_a_node():
    spread = {(1, 8): (8, 1), (2, 8): (4, 2), (8, 2): (1, 2), (2, 6): (3, 2), (3, 4): (2, 2), (1, 5): (5, 1)}
    for (tensor, pipeline), expected in spread.items():
        pod_layout = layout(SHIPPED["nvidia-h100-80gb"], tensor=tensor, pipeline=pipeline)
        assert (pod_layout.stages_per_pod, pod_layout.pods_per_replica) == expected


def test_stages_have_a_pod_each_where_a_nodes_devices_are_unknown():
    pod_layout = layout(SHIPPED["nvidia"], tensor=2, pipeline=2)
    assert (pod_layout.devices_per_pod, pod_layout.pods_per_replica) == (2, 2)
    assert pod_layout.reasons == ("1 of 2 pipeline stages in a pod: the devices of a node are unknown",)


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
            f"services.qwen.parallelism: data and pipeline would both span pods "
            f"(data {pods[0]} pods, pipeline {pods[1]} pods); use {remedy}"
        )
    ]


def test_a_class_without_devices_takes_none():
    pod_layout = layout(SHIPPED["cpu"], tensor=2, pipeline=2, data=4, dataLocal=2)
    assert (pod_layout.devices_per_pod, pod_layout.pods_per_replica, pod_layout.stages_per_pod, pod_layout.tensor) == (
        0,
        2,
        2,
        2,
    )
    assert refused(SHIPPED["cpu"], "cpu", tensor=64, pipeline=3) == []


def test_expert_parallelism_is_passed_on():
    assert layout(a_class(), expert=True).expert
    assert not layout(a_class()).expert


# acceleratorMemory


@pytest.mark.parametrize(
    ("name", "memory", "devices_per_pod"),
    [
        ("nvidia-l4", "22Gi", 1),
        ("nvidia-h100-80gb", "79Gi", 1),
        ("nvidia-h100-80gb", "80G", 1),
        ("nvidia-h100-80gb", "86G", 2),
        ("nvidia-h100-80gb", "80Gi", 2),
        ("nvidia-h100-80gb", "160Gi", 4),
        ("nvidia-h100-80gb", "0.2Ti", 4),
        ("nvidia-h100-80gb", "0.5T", 8),
        ("nvidia-h100-80gb", "85520809984", 1),
        ("nvidia-h100-80gb", "85520809985", 2),
        ("amd-mi300x", "200Gi", 2),
        ("google-tpu-v6e", "250Gi", 8),
    ],
)
def test_memory_chooses_whole_devices_in_binary_and_decimal_units(name, memory, devices_per_pod):
    assert refused(SHIPPED[name], name, memory=memory) == []
    pod_layout = layout(SHIPPED[name], memory)
    assert (pod_layout.devices_per_pod, pod_layout.tensor) == (devices_per_pod, devices_per_pod)
    assert pod_layout.devices_per_pod * SHIPPED[name].memory >= amount(memory)


def test_stages_hold_their_part_of_a_copy_and_copies_add_none():
    cls = SHIPPED["nvidia-h100-80gb"]
    assert layout(cls, "318Gi", pipeline=2).tensor == 2
    assert layout(cls, "159Gi", data=4).tensor == 2
    (reason, *_) = layout(cls, "318Gi", pipeline=2).reasons
    assert reason == "tensor 2: the smallest power of two that holds 318Gi (79.6Gi each, 2 stages)"


def test_without_memory_tensor_is_one():
    assert layout(SHIPPED["nvidia-h100-80gb"]).tensor == 1


@pytest.mark.parametrize(
    ("name", "memory", "parallelism", "expected"),
    [
        ("nvidia", "80Gi", {}, ("cannot be used with nvidia (its devices' memory is unknown); use a product class such "
         "as nvidia-l40s, or set accelerators.nvidia.memory")),
        ("intel-gaudi", "80Gi", {"tensor": 2}, ("cannot be used with intel-gaudi (its devices' memory is unknown); "
         "set accelerators.intel-gaudi.memory")),
        ("cpu", "80Gi", {}, "has no effect with cpu (80Gi; this class has no devices); remove it"),
        ("nvidia-l40s", "0", {}, "is not above zero (0); write the memory that one copy needs, such as 160Gi"),
        ("nvidia-h100-80gb", "318Gi", {"tensor": 2}, ("is more than the devices of one copy have "
         "(318Gi; 2 × 79.6Gi is 159.3Gi); under parallelism, set tensor: 4")),
        ("nvidia-h100-80gb", "1Ti", {"tensor": 8}, ("is more than the devices of one copy have "
         "(1Ti; 8 × 79.6Gi is 637.2Gi); under parallelism, set pipeline: 2")),
        ("nvidia-h100-80gb", "1Ti", {}, ("would need 16 devices in a pod (1Ti, 79.6Gi a device), "
         "but nodes of nvidia-h100-80gb have 8; under parallelism, set pipeline: 2")),
        ("nvidia-h100-80gb", "318Gi", {"data": 4}, ("would need 16 devices in a pod (318Gi, 79.6Gi a device, "
         "dataLocal 4), but nodes of nvidia-h100-80gb have 8; under parallelism, set pipeline: 2")),
        ("nvidia-l40s", "400Gi", {}, ("would need 16 devices in a pod (400Gi, 45Gi a device), but nodes of "
         "nvidia-l40s are assumed to have 8; "
         "under parallelism, set pipeline: 2, or set accelerators.nvidia-l40s.devicesPerNode")),
    ],
)  # fmt: skip
def test_memory_that_cannot_be_had_is_refused(name, memory, parallelism, expected):
    assert refused(SHIPPED[name], name, memory=memory, **parallelism) == [
        f"services.qwen.acceleratorMemory: {expected}"
    ]


def test_more_than_eight_of_the_largest_device_is_refused():
    largest = max(cls.memory or 0 for cls in SHIPPED.values())
    for name, cls in SHIPPED.items():
        if cls.memory is not None:
            assert len(refused(cls, name, memory=str(largest * 8 + 1))) == 1


def test_mistakes_of_memory_and_of_parallelism_are_reported_together():
    messages = refused(SHIPPED["nvidia-h100-80gb"], "nvidia-h100-80gb", memory="4Ti", tensor=16)
    assert [message.partition(":")[0] for message in messages] == [
        "services.qwen.acceleratorMemory",
        "services.qwen.parallelism",
    ]
    assert len(refused(SHIPPED["nvidia"], "nvidia", memory="4Ti", data=8, dataLocal=3)) == 2


def test_a_verdict_is_void_where_what_it_read_is_itself_mistaken():
    role = a_role("nvidia", memory="80Gi")
    (problem,) = layout_problems(Path("services", "qwen", "prefill"), role, SHIPPED["nvidia"])
    assert {
        "services.qwen.accelerator",
        "services.qwen.prefill.parallelism.tensor",
        "accelerators.nvidia.memory",
    } <= set(map(str, problem.depends_on))


def test_memory_that_no_number_of_stages_holds_is_refused_in_one_sentence():
    (message,) = refused(a_class(memory="1Gi"), memory="1Pi", data=4)
    assert message.endswith("use a class with more memory, or set accelerators.own.devicesPerNode")
