"""Fields that wait until a run replaces the pods anyway."""

import copy
from dataclasses import replace

import pytest

from judging import postponement, restarts
from judging.losses.continuity import Continuity
from manifests.assembly import objects, render
from models.load import load
from planning.ground.cluster_facts import LiveObject, LiveObjects, Unknown
from planning.ground.recorded import NOTHING_RECORDED
from tests.support.stacks import plan, tree
from tests.support.stacks.states import containers, deployed, live, without_policy

FIELD = "terminationMessagePolicy"
UNREAD = Unknown("no answer")
GROUPS = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}
SERVICES = {
    "bert": {},
    "chat": {"canary": {"weight": 10}},
    "large": GROUPS,
    "pair": {"prefill": {}, "replicas": 3},
    "filled": {"model": {"name": "org/m", "source": "s3://bucket/m", "size": "10Gi"}, "storage": {"type": "dedicated"}},
}
OTHER = {"engine": {"maxNumSeqs": 8}}
WORKLOADS = {"Deployment", "LeaderWorkerSet"}


def changed(**changes):
    """Return a stack of all services, some of them with other words."""
    return tree(**{key: {**SERVICES.get(key, {}), **changes.get(key, {})} for key in {**SERVICES, **changes}})


BEFORE = deployed(render(plan(changed())), without_policy)
"""State of a stack that an earlier version of this program deployed."""


def continuity(state, **more):
    return Continuity(state, owner=plan(changed()).identity, **more)


def postponed(stack, state, live_objects=UNREAD, **more):
    """Return the components that a run registers."""
    compared = continuity(state, **more)
    return postponement.postpone(render(plan(stack)), compared, live_objects, load(stack).stack.upgrades)


def complete(components):
    """Return the names of the workloads all of whose containers have the field; the others must lack it everywhere."""
    names = set()
    for rendered in objects(components):
        if rendered.place[1] in WORKLOADS:
            policies = {container.get(FIELD) for container in containers(rendered.manifest)}
            assert policies in ({None}, {"FallbackToLogsOnError"}), rendered.place
            if policies != {None}:
                names.add(rendered.place[3])
    return names


ALL = {rendered.place[3] for rendered in objects(render(plan(changed()))) if rendered.place[1] in WORKLOADS}


def test_all_workloads_of_a_first_run_have_the_field():
    assert complete(postponed(changed(), NOTHING_RECORDED)) == ALL


def test_a_run_that_changes_nothing_else_registers_what_the_state_has():
    registered = {
        rendered.place: rendered.manifest
        for rendered in objects(postponed(changed(), BEFORE))
        if rendered.place[1] in WORKLOADS
    }
    assert registered == {
        recorded.place: recorded.content["__inputs"] for recorded in BEFORE.objects if recorded.place[1] in WORKLOADS
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"bert": OTHER}, ("bert-decode",)),
        ({"large": OTHER}, ("large-decode",)),
        ({"bert": {"endpointPicker": {"scorerWeights": {"queue-scorer": 7}}}}, ("bert-epp",)),
        ({"chat": {"canary": {"weight": 10, **OTHER}}}, ("chat-canary-decode",)),
        ({"bert": {"replicas": 4}}, ()),
        ({"bert": {"route": {"matches": [{"path": "/other"}]}}}, ()),
        ({"bert": {"labels": {"team": "search"}}}, ("bert-decode", "bert-epp")),
    ],
)
def test_the_field_is_set_where_another_change_replaces_the_pods(changes, expected):
    assert complete(postponed(changed(**changes), BEFORE)) == {*expected}


def test_a_new_service_has_the_field():
    assert complete(postponed(changed(new={}), BEFORE)) == {"new-decode", "new-epp"}


def test_a_workload_with_another_name_has_the_field():
    assert complete(postponed(changed(bert={"name": "other"}), BEFORE)) == {"other-decode", "other-epp"}


def test_a_workload_that_has_the_field_keeps_it():
    def undone(manifest):
        if manifest["metadata"]["name"] != "bert-decode":
            without_policy(manifest)

    state = deployed(render(plan(changed())), undone)
    assert complete(postponed(changed(), state)) == {"bert-decode"}


def test_a_change_that_is_taken_back_leaves_the_field():
    first = changed(bert=OTHER)
    state = deployed(postponed(first, BEFORE))
    assert complete(postponed(first, state)) == {"bert-decode"}
    assert complete(postponed(changed(), state)) == {"bert-decode"}


def test_all_workloads_have_the_field_when_asked():
    stack = changed() | {"upgrades": {"postpone": False}}
    assert complete(postponed(stack, BEFORE)) == ALL
    assert complete(postponed(changed() | {"upgrades": {"postpone": True}}, BEFORE)) == set()


def test_nothing_waits_in_another_cluster_that_has_nothing_of_the_stack():
    assert complete(postponed(changed(), BEFORE, is_moved=True)) == ALL
    assert complete(postponed(changed(), BEFORE, LiveObjects({}), is_moved=True)) == ALL


def test_pods_that_run_in_the_cluster_to_which_a_stack_returns_keep_what_they_have():
    assert complete(postponed(changed(), BEFORE, cluster("bert-decode"), is_moved=True)) == {"bert-decode"}


def test_a_run_that_takes_objects_back_which_the_state_has_lost_does_not_restart_them():
    """A refresh against a wrong cluster takes objects out of the state that still run in theirs."""
    assert complete(postponed(changed(), NOTHING_RECORDED, cluster("bert-decode"))) == {"bert-decode"}


@pytest.mark.parametrize("policy", ["FallbackToLogsOnError", "File"])
def test_a_field_of_a_patch_does_not_wait(policy):
    pod = {"containers": [{"name": "vllm", FIELD: policy}]}
    stack = changed(bert={"patch": {"spec": {"template": {"spec": pod}}}})
    (engine,) = [
        container[FIELD]
        for rendered in objects(postponed(stack, BEFORE))
        if rendered.place[3] == "bert-decode" and rendered.place[1] == "Deployment"
        for container in containers(rendered.manifest)
        if container["name"] == "vllm"
    ]
    assert engine == policy


def test_a_job_has_the_field_because_the_engine_ignores_changes_of_its_spec():
    jobs = [rendered for rendered in objects(postponed(changed(), BEFORE)) if rendered.place[1] == "Job"]
    assert jobs
    for job in jobs:
        assert "spec" in job.ignore
        (container,) = job.manifest["spec"]["template"]["spec"]["containers"]
        assert container[FIELD] == "FallbackToLogsOnError"


def cluster(*complete_names):
    """Return the objects of a cluster; workloads of these names have the field."""
    current = {}
    for rendered in objects(render(plan(changed()))):
        if rendered.place[1] in WORKLOADS:
            manifest = copy.deepcopy(dict(rendered.manifest))
            if rendered.place[3] not in complete_names:
                without_policy(manifest)
            current[rendered.place] = LiveObject(live(manifest))
    return LiveObjects(current)


def test_the_cluster_decides_if_the_state_is_unknown():
    components = render(plan(changed()))
    current = cluster("bert-decode")
    assert complete(postponement.postpone(components, Continuity(), current, None)) == {"bert-decode"}
    assert complete(postponement.postpone(components, Continuity(), UNREAD, None)) == ALL


def test_no_service_has_a_turn_for_a_field_that_waits():
    stack = changed() | {"upgrades": {"atOnce": 1}}
    ready = {"updatedReplicas": 3, "readyReplicas": 3}
    records = [
        replace(recorded, content={**recorded.content, "status": ready} if recorded.content else {})
        for recorded in BEFORE.objects
    ]
    compared = continuity(replace(BEFORE, objects=tuple(records)))
    upgrades = load(stack).stack.upgrades
    planned = plan(stack)
    components = postponement.postpone(render(planned), compared, UNREAD, upgrades)
    assert restarts.order(components, planned, compared, UNREAD, upgrades).services == ()
    assert restarts.order(render(planned), planned, compared, UNREAD, upgrades).services == (*sorted(SERVICES),)
