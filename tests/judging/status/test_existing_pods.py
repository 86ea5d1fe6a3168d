"""The status of a service whose pods or whose pool are somebody else's, and who is to blame if none answers."""

import dataclasses

import pytest

from judging.status import verdict
from judging.status.records import Link
from judging.status.verdict import ExitCode
from planning.ground import snapshot
from planning.ground.snapshot import POD, ROUTE
from tests.support.cluster.status import marked
from tests.support.healthy import replaced, whole
from tests.support.stacks.existing import LABELS, POOL, existing, of_pool


@pytest.fixture
def healthy():
    return whole(marked(existing()))


def of_others(read):
    return [pod for pod in read.of(POD) if pod["metadata"]["labels"].get("app") == LABELS["app"]]


def status(read):
    (service,) = verdict.of(read, {}).services
    return service


def culprit(read):
    blamed = status(read).culprit
    return blamed and (str(blamed.object), blamed.state.id)


def with_pods(healthy, *pods):
    others = [pod for pod in healthy.of(POD) if pod not in of_others(healthy)]
    return replaced(healthy, **{POD: [*others, *pods]})


def test_a_ready_pod_of_somebody_else_answers(healthy):
    service = status(healthy)
    assert (service.serves, verdict.of(healthy, {}).exit_code) == (True, ExitCode.SERVES)
    (pods,) = (part for part in service.components if part.link is Link.WORKLOAD)
    assert (str(pods.object), pods.ready, pods.desired) == ("Pod models/qwen-theirs", 1, None)


@pytest.mark.states("pods-missing")
def test_the_pool_is_blamed_if_no_pod_has_its_labels(healthy):
    without = with_pods(healthy)
    assert culprit(without) == ("InferencePool models/qwen", "pods-missing")
    assert "app=vllm" in status(without).culprit.words


def test_pods_with_other_labels_do_not_count(healthy):
    (pod,) = of_others(healthy)
    stray = {**pod, "metadata": {**pod["metadata"], "labels": {"app": "sglang"}}}
    assert culprit(with_pods(healthy, stray)) == ("InferencePool models/qwen", "pods-missing")


def test_a_pod_that_is_not_ready_is_blamed_itself(healthy):
    (pod,) = of_others(healthy)
    waiting = {"name": "vllm", "ready": False, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}
    conditions = [{**entry, "status": "False"} for entry in pod["status"]["conditions"] if entry["type"] == "Ready"]
    broken = {**pod, "status": {"phase": "Pending", "conditions": conditions, "containerStatuses": [waiting]}}
    service = status(with_pods(healthy, broken))
    assert service.serves is False
    assert str(service.culprit.object) == "Pod models/qwen-theirs"


def test_a_missing_route_is_not_awaited_for_the_sake_of_pods_of_others(healthy):
    """A run does not wait for these pods, so it makes the route without them."""
    late = dataclasses.replace(with_pods(healthy), objects={**with_pods(healthy).objects, ROUTE: []})
    expected = {("models", "qwen"): verdict.RouteExpectation({"qwen": 100})}
    (service,) = verdict.of(late, {}, expected).services
    assert "route-missing" in {state.state.id for part in service.components for state in part.findings}


def test_a_pool_of_somebody_else_and_its_pods_are_judged_but_not_its_picker():
    service = status(whole(marked(of_pool())))
    assert service.serves is True
    judged = {part.link: str(part.object) for part in service.components}
    assert judged[Link.POOL] == f"InferencePool models/{POOL}"
    assert judged[Link.WORKLOAD] == f"Pod models/{POOL}-theirs"
    assert Link.PICKER not in judged


def test_a_pool_that_its_owner_has_not_made_is_blamed():
    healthy = whole(marked(of_pool()))
    assert culprit(replaced(healthy, **{snapshot.POOL: []})) == (f"InferencePool models/{POOL}", "pool-missing")


def test_a_pool_without_pods_is_blamed_for_its_share():
    stack = of_pool(canary={"weight": 50, "existingPool": {"name": "next"}})
    healthy = whole(marked(stack))
    pods = [pod for pod in healthy.of(POD) if pod["metadata"]["name"] != "next-theirs"]
    broken = replaced(healthy, **{POD: pods})
    assert culprit(broken) == ("InferencePool models/next", "pods-missing")
    assert [part.variant for part in status(broken).components if part.link is Link.POOL] == ["primary", "canary"]
