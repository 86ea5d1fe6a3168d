"""Services that a run would end: from a state and a plan, with the reason, pods and devices."""

from dataclasses import replace

import pytest

from judging.causes import Cause
from judging.losses import matching, services
from judging.losses.matching import PlannedObject
from judging.losses.services import PlannedService, ServiceName
from models.paths import Path
from planning.ground import labels
from planning.ground.recorded import Recorded, RecordedIdentity, RecordedObject, ServiceRecord, WorkloadName
from tests.support.stacks import plan, tree
from tests.support.stacks.existing import existing, of_pool

TYPES = {"Deployment": ("apps", "kubernetes:apps/v1:Deployment"), "Service": ("", "kubernetes:core/v1:Service")}
LIMITS = {"nvidia.com/gpu": "2"}


def workload(service, replicas=3):
    container = {"resources": {"limits": LIMITS}}
    template = {"metadata": {"labels": {labels.SERVICE: service}}, "spec": {"containers": [container]}}
    return {"spec": {"replicas": float(replicas), "template": template}}


def recorded(kind, namespace, name, content=None):
    group, type_token = TYPES[kind]
    identity = RecordedIdentity("", type_token, f"{namespace}-{name}")
    return RecordedObject(f"{kind} {namespace}/{name}", identity, (group, kind, namespace, name), "1", content or {})


def namespace(name):
    identity = RecordedIdentity("", "kubernetes:core/v1:Namespace", name)
    return RecordedObject(f"Namespace {name}", identity, ("", "Namespace", "", name), "1")


def state(*objects, release="llm-d-0.10"):
    """Return the state of a stack whose services have their names as keys."""
    names = {
        WorkloadName(item.place[2], item.place[1], item.place[3]): ServiceRecord(
            item.place[3].removesuffix("-decode").removesuffix("-new"), release
        )
        for item in objects
        if item.place[1] == "Deployment"
    }
    return Recorded(objects, services=names)


QWEN = (recorded("Deployment", "models", "qwen-decode", workload("qwen")), recorded("Service", "models", "qwen"))


def service(key="qwen", at="models", name=None, release="llm-d-0.10"):
    return PlannedService(key, release, ServiceName(at, name or key), Path("services", key))


def lost(recorded_state, planned_objects, *planned):
    """Return what is lost if some of the objects of a state are planned as they are."""
    objects = [PlannedObject(item.identity, item.place) for item in planned_objects]
    return services.losses(recorded_state, matching.match(objects, recorded_state), planned)


def test_a_service_of_which_all_stays_is_not_lost():
    assert lost(state(*QWEN), QWEN, service()) == []


def test_a_service_that_is_removed_is_lost_with_its_pods_and_devices():
    (loss,) = lost(state(*QWEN), ())
    assert (loss.cause, loss.name, loss.pods, loss.devices) == (Cause.REMOVAL, ServiceName("models", "qwen"), 3, 6)
    assert str(loss.problem) == (
        "services.qwen: this run would end all of models/qwen (3 pods with 6 devices): the configuration does not have "
        "it; if its key was renamed, write name: qwen below the new key, or write allow: [removal] for one run"
    )


@pytest.mark.parametrize(
    ("planned", "cause", "text"),
    [
        (service(at="other"), Cause.NAMESPACE, "its namespace becomes other; keep namespace: models"),
        (service(name="chat"), Cause.NAME, "its name becomes chat; keep name: qwen"),
        (service(key="chat"), Cause.REMOVAL, "the configuration does not have it"),
    ],
)
def test_a_service_that_gets_other_objects_is_lost_for_a_reason(planned, cause, text):
    (loss,) = lost(state(*QWEN), (), planned)
    assert loss.cause is cause
    assert text in str(loss.problem)


def test_a_service_of_the_same_key_that_runs_elsewhere_is_no_successor():
    other = (recorded("Deployment", "chat", "qwen-decode", workload("qwen")), recorded("Service", "chat", "qwen"))
    (loss,) = lost(state(*QWEN, *other), other, service(at="chat"))
    assert (loss.cause, loss.name) == (Cause.REMOVAL, ServiceName("models", "qwen"))


def test_pods_that_others_replace_behind_the_same_service_are_lost_to_another_release_alone():
    deployment, front = QWEN
    assert lost(state(*QWEN), [front], service()) == []
    (loss,) = lost(state(*QWEN), [front], service(release="llm-d-0.8"))
    assert loss.cause is Cause.RELEASE
    assert "release llm-d-0.8 replaces all pods of release llm-d-0.10" in str(loss.problem)
    canary = recorded("Deployment", "models", "qwen-new-decode", workload("qwen"))
    assert lost(state(deployment, canary, front), [canary, front], service(release="llm-d-0.8")) == []


def test_a_planned_service_has_the_channel_of_its_primary():
    stack = tree(qwen={"release": "gie-1.3", "canary": {"weight": 1, "release": "llm-d-0.9"}}, bert={})
    planned = plan(stack | {"release": "llm-d-0.8"})
    releases = [PlannedService.of(service, Path()).release for service in planned.services]
    assert releases == ["llm-d-0.8", "gie-1.3"]


def test_a_namespace_that_is_deleted_takes_its_services_along():
    (loss,) = lost(state(*QWEN, namespace("models")), QWEN, service())
    assert (loss.cause, str(loss.path)) == (Cause.NAMESPACE, "namespaceOptions.create")
    (removed,) = lost(state(*QWEN, namespace("models")), ())
    assert removed.cause is Cause.REMOVAL
    assert lost(state(*QWEN, namespace("unused")), QWEN, service()) == []


def test_pods_without_devices_and_workloads_of_no_service_are_told_apart():
    picker = recorded("Deployment", "models", "qwen-epp", {"spec": {"template": {"metadata": {"labels": {}}}}})
    assert lost(state(picker), ()) == []
    content = workload("qwen", replicas=1)
    content["spec"]["template"]["spec"]["containers"] = []
    (loss,) = lost(state(replace(QWEN[0], content=content)), ())
    assert "models/qwen (1 pod): " in str(loss.problem)


def test_a_service_that_no_complete_run_recorded_is_lost_under_its_name():
    (loss,) = lost(Recorded(QWEN), ())
    assert str(loss.path) == "services.qwen"


@pytest.mark.parametrize(("stack", "key"), [(existing(), "existingPods"), (of_pool(), "existingPool")])
def test_pods_that_those_of_somebody_else_replace_are_lost_although_the_service_stays(stack, key):
    planned = PlannedService.of(plan(stack).services[0], Path())
    (loss,) = lost(state(*QWEN), QWEN[1:], planned)
    assert (loss.cause, loss.pods) == (Cause.REMOVAL, 3)
    assert str(loss.problem).startswith(f"services.qwen.{key}: this run would end all of models/qwen")
    assert f"remove {key}, or write allow: [removal] for one run" in str(loss.problem)


def test_pods_that_new_ones_of_the_stack_replace_are_not_lost():
    """The negative control: the Service stays, and new pods are ready before the former pods end."""
    planned = PlannedService.of(plan(tree()).services[0], Path())
    assert lost(state(*QWEN), QWEN[1:], planned) == []
