"""Groups of several pods: which lack pods, and why."""

from planning.ground.snapshot import EVENT, POD
from tests.support.healthy import THEN, replaced, service, states

REFUSAL = (
    'create Pod qwen-decode-0-1 in StatefulSet qwen-decode-0 failed error: pods "qwen-decode-0-1" is forbidden: '
    "exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=1, "
    "limited: requests.nvidia.com/gpu=1"
)


def spanning():
    return service(parallelism={"pipeline": 2}, replicas=2)


def without_worker(ready):
    pods = [pod for pod in ready.of(POD) if pod["metadata"]["name"] != "qwen-decode-0-1"]
    assert len(pods) == len(ready.of(POD)) - 1
    return replaced(ready, **{POD: pods})


def refusal(set_name):
    about = {"kind": "StatefulSet", "namespace": "models", "name": set_name}
    return {"involvedObject": about, "reason": "FailedCreate", "message": REFUSAL, "firstTimestamp": THEN, "count": 1}


def test_whole_groups_are_in_no_state():
    assert states(spanning()) == {}


def test_only_a_group_that_lacks_a_pod_is_incomplete():
    found = states(without_worker(spanning()))
    assert set(found) == {"group-incomplete"}
    assert found["group-incomplete"].words == "has 1 of 2 pods in group 0"


def test_an_event_of_the_groups_set_says_why_only_while_a_pod_lacks():
    events = {EVENT: [refusal("qwen-decode-0")]}
    assert "quota" in states(replaced(without_worker(spanning()), **events))
    assert states(replaced(spanning(), **events)) == {}
    others = {EVENT: [refusal("other-0")]}
    assert "quota" not in states(replaced(without_worker(spanning()), **others))
