"""States of groups of several nodes, made by the real controller of LeaderWorkerSets and the real admission."""

import pytest

from judging.status.records import Link
from judging.status.states import Level
from tests.support.cluster import status
from tests.support.cluster.status import LATER, delayed

pytestmark = pytest.mark.real

SPANNING = {"parallelism": {"pipeline": 2}}


@pytest.fixture
def space(lws_plane, request):
    """Return a namespace of a control plane with the controller."""
    name = request.node.originalname.removeprefix("test_").replace("_", "-")[:40].strip("-")
    with status.space(lws_plane, name) as namespace:
        yield namespace


@pytest.mark.states("group-forming", "group-incomplete", "quota")
def test_a_group_without_its_worker_names_what_refuses_the_worker(space):
    space.plane.kubectl("create", "namespace", space.name)
    hard = {"requests.nvidia.com/gpu": "1"}
    space.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": {"hard": hard}})
    space.kubectl("wait", "resourcequota/gpus", "--for=jsonpath={.status.hard}", "--timeout=60s")
    space.apply(**SPANNING)
    quota = space.await_state(Link.WORKLOAD, "quota")
    assert quota.words == (
        "makes no more pods, because the ResourceQuota gpus is used up: "
        "a pod asks for 1 requests.nvidia.com/gpu, 1 of 1 are in use"
    )
    assert quota.object.kind == "LeaderWorkerSet"
    assert quota.since is not None
    forming = space.states(Link.WORKLOAD)["group-forming"]
    assert forming.words.startswith("has 1 of 2 pods in group 0 so far")
    assert forming.level is Level.NORMAL
    incomplete = space.states(Link.WORKLOAD, later=LATER)["group-incomplete"]
    assert incomplete.words.startswith("has 1 of 2 pods in group 0")
    assert incomplete.since == forming.since is not None


@pytest.mark.states("rolling")
def test_a_rollout_of_groups_is_normal(space):
    space.apply(replicas=2, **SPANNING)
    space.await_without_states(Link.WORKLOAD)
    space.apply(replicas=2, pod={"annotations": delayed("pod-ready", "2s")}, **SPANNING)
    rolling = space.await_state(Link.WORKLOAD, "rolling")
    assert rolling.words in {f"replaces its pods: {number} of 2 are new" for number in (0, 1, 2)}
    assert rolling.since is not None
    component = space.await_without_states(Link.WORKLOAD)
    assert (component.ready, component.desired) == (2, 2)
