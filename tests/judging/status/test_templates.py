"""Pod templates that somebody else has written, in snapshots. Real API servers note the writers elsewhere."""

import copy
import dataclasses

import pytest

from judging.status import verdict
from judging.status.evidence import Expectation
from judging.status.records import Link
from planning.ground.snapshot import DEPLOYMENT
from tests.support.healthy import THEN, service

PLACE = ("models", "qwen-decode")


def owned_by(manager, change, fields):
    """Return the snapshot of a service whose pod's spec a manager has changed, who then owns some fields of it."""

    def write(workload):
        spec = workload["spec"]["template"]["spec"]
        change(spec)
        tree = {"f:spec": {"f:template": {"f:spec": fields}}}
        fields_of_run = {
            "f:spec": {"f:template": {"f:spec": {"f:terminationGracePeriodSeconds": {}, "f:containers": {}}}}
        }
        workload["metadata"]["managedFields"] = [
            {"manager": "pulumi-kubernetes", "time": THEN, "fieldsV1": fields_of_run},
            {"manager": manager, "time": THEN, "fieldsV1": tree},
        ]

    return service(write)


def states(snapshot, planned=None):
    expected = {}
    if planned is not None:
        expected = {PLACE: Expectation(1, None, None, None, planned)}
    (status,) = verdict.of(snapshot, expected).services
    findings = [state for part in status.components if part.link is Link.WORKLOAD for state in part.findings]
    return {state.state.id: state for state in findings}


def workload(snapshot):
    return next(item for item in snapshot.of(DEPLOYMENT) if item["metadata"]["name"] == PLACE[1])


def test_a_writer_of_whole_objects_has_changed_none_of_the_values_that_the_server_gives():
    defaults = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
    snapshot = owned_by("velero-server", lambda spec: spec.update(defaults), {f"f:{key}": {} for key in defaults})
    assert states(snapshot).keys() == {"template-extended"}


def test_another_value_of_such_a_field_is_a_change():
    snapshot = owned_by("kubectl", lambda spec: spec.update(dnsPolicy="Default"), {"f:dnsPolicy": {}})
    assert states(snapshot)["template-changed"].words == "has a pod template that kubectl has changed: dnsPolicy"


@pytest.mark.parametrize(("cpu", "ids"), [("1", set()), ("2", {"template-changed"})])
def test_a_quantity_in_another_unit_is_no_change(cpu, ids):
    fields = {"f:containers": {'k:{"name":"vllm"}': {"f:resources": {"f:requests": {"f:cpu": {}}}}}}

    def change(spec):
        spec["containers"][0]["resources"]["requests"]["cpu"] = cpu

    snapshot = owned_by("kubectl", change, fields)
    planned = copy.deepcopy(workload(snapshot))
    planned["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000m"
    assert states(dataclasses.replace(snapshot), planned).keys() == ids
