"""Groups of several pods: which lack pods, and why."""

from judging.status import topology
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
    for further in ("other-0", "qwen-decode-2"):
        others = {EVENT: [refusal(further)]}
        assert "quota" not in states(replaced(without_worker(spanning()), **others))


def serving(**service_words):
    """Return a service whose replica has two pods that both get requests."""
    layout = {"data": 4, "dataLocal": 2, "loadBalancing": "hybrid"}
    return service(parallelism=layout, replicas=2, **service_words)


def test_pods_that_all_get_requests_are_in_no_state():
    assert states(serving()) == {}


def test_a_group_that_lacks_a_pod_which_gets_requests_is_incomplete():
    found = states(without_worker(serving()))
    assert set(found) == {"group-incomplete"}
    assert found["group-incomplete"].words == "has 1 of 2 pods in group 0"


def role_of(ready):
    (view,) = topology.of(ready).services
    (role,) = view.variants[0].roles
    return role


def test_only_pods_that_get_requests_are_endpoints():
    leaders = ["qwen-decode-0", "qwen-decode-1"]
    workers = ["qwen-decode-0-1", "qwen-decode-1-1"]
    for ready, endpoints in ((serving(), [*leaders, *workers]), (spanning(), leaders)):
        role = role_of(ready)
        assert [name for _, name in map(topology.name_of, role.pods)] == leaders
        assert [name for _, name in map(topology.name_of, role.workers)] == workers
        assert [name for _, name in map(topology.name_of, role.endpoints)] == endpoints
