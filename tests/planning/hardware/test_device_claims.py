"""Claims of accelerator classes: their requests, and the claims that are refused."""

import pytest
from pydantic import TypeAdapter

from models.accelerators import ResourceClaim
from models.paths import Path
from planning.hardware import device_claims
from planning.hardware.device_claims import ClaimedDevices

AT = Path("accelerators", "own", "allocation")
GPU = {"name": "gpu", "deviceClassName": "gpu.nvidia.com"}
NIC = {"name": "nic", "deviceClassName": "mrdma.google.com"}


def claim(**keys):
    return TypeAdapter(ResourceClaim).validate_python({"type": "resource-claim", **keys})


def refused(**keys):
    prefix = "accelerators.own.allocation."
    return [str(problem).removeprefix(prefix) for problem in device_claims.judge(AT, claim(**keys))]


def test_a_class_of_devices_alone_is_one_request():
    only = claim(deviceClassName="gpu.nvidia.com", selectors=["true"])
    assert device_claims.requests(only, 4) == (ClaimedDevices("devices", "gpu.nvidia.com", 4, ("true",)),)
    assert device_claims.title(only) == "gpu.nvidia.com"


def test_the_first_request_has_the_devices_of_a_pod_and_the_others_their_own_count():
    pairs = claim(requests=[GPU, NIC, {**NIC, "name": "more", "count": 3}])
    assert [request.count for request in device_claims.requests(pairs, 4)] == [4, 1, 3]
    assert device_claims.count(pairs, 4) == 1
    assert device_claims.title(pairs) == "gpu.nvidia.com"


def test_each_of_several_claims_has_one_device_of_the_first_request():
    pairs = claim(requests=[GPU, {**NIC, "count": 2}], perDevice=True)
    assert [request.count for request in device_claims.requests(pairs, 4)] == [1, 2]
    assert device_claims.count(pairs, 4) == 4


def test_an_existing_template_has_no_requests_here():
    existing = claim(template="gke-rdma-template", perDevice=True)
    assert device_claims.requests(existing, 4) == ()
    assert device_claims.count(existing, 4) == 4
    assert device_claims.title(existing) == "gke-rdma-template"


@pytest.mark.parametrize(
    "keys",
    [
        {"deviceClassName": "gpu.nvidia.com"},
        {"requests": [GPU, {**NIC, "count": 8}], "constraints": [{"matchAttribute": "a.example/b"}]},
        {
            "requests": [GPU, NIC],
            "constraints": [{"matchAttribute": "a.example/b", "requests": ["gpu", "nic"]}],
            "perDevice": True,
        },
        {"deviceClassName": "gpu", "constraints": [{"matchAttribute": "a.example/b", "requests": ["devices"]}]},
        {"template": "gke-rdma-template", "perDevice": True},
    ],
)
def test_a_right_claim_is_not_refused(keys):
    assert refused(**keys) == []


@pytest.mark.parametrize("number", [16, 17])
def test_a_claim_gets_at_most_32_devices(number):
    pairs = claim(requests=[GPU, {**NIC, "count": 16}])
    problems = [str(problem) for problem in device_claims.judge_size(Path("services", "qwen"), "own", pairs, number)]
    too_many = (
        "services.qwen.parallelism: makes a claim of 33 devices (gpu 17, nic 16), and a claim gets at most 32; "
        "set accelerators.own.allocation.perDevice: true, or keep fewer devices in a pod"
    )
    expected = {16: [], 17: [too_many]}
    assert problems == expected[number]
