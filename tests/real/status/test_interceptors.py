"""The state of a service whose requests pass an interceptor."""

import json

import pytest

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.status import verdict
from judging.status.records import Link
from tests.support.cluster import status
from tests.support.cluster.server import read
from tests.support.stacks import tree
from tests.support.stacks.varied_metering import LABEL_IMAGE
from tests.support.waits import eventually

pytestmark = pytest.mark.real

METERING = "status-meters"
NAMESPACE = "status-metered"
NAME = "phoebe-interceptor"
DEPLOYMENT = {"image": LABEL_IMAGE, "replicas": 1, "emit": {"valkeyAddr": "valkey.meters.svc:6379"}}
STACK = tree(qwen={"interceptor": {"resourceId": "chat-7f3a"}}) | {
    "namespace": NAMESPACE,
    "namespaceOptions": {"create": True},
    "defaults": {"endpointPicker": {"enabled": False}},
    "interceptor": {"mode": "label", "namespace": METERING, "deploy": DEPLOYMENT | {"settingsSecret": "settings"}},
}
UNREADY = {"conditions": [{"type": kind, "status": "False"} for kind in ("Ready", "ContainersReady")]}


@pytest.fixture
def metered(plane):
    """Deploy a metered service with its interceptor."""
    plane.kubectl("create", "namespace", METERING)
    status.apply(plane, STACK)
    yield plane
    plane.kubectl("delete", "namespace", METERING, NAMESPACE, "--wait=false")


def links(plane):
    """Return the components of the service, by link."""
    live = reader.read(KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None), ReadScope())
    (service,) = verdict.of(live, {}).only(None, ["qwen"]).services
    return {component.link: component for component in service.components}


@pytest.mark.states("interceptor-down")
def test_an_interceptor_without_a_ready_pod_is_down_and_stops_requests(metered):
    eventually(lambda: links(metered)[Link.INTERCEPTOR].ready == 1)
    well = links(metered)
    assert str(well[Link.INTERCEPTOR].object) == f"Deployment {METERING}/{NAME}"
    assert well[Link.INTERCEPTOR].is_broken is False
    assert well[Link.INTERCEPTOR].findings == ()
    assert str(well[Link.POOL].object) == f"Service {NAMESPACE}/qwen"
    (pod,) = (pod for pod in read(metered, "pods", METERING) if pod["metadata"]["name"].startswith(NAME))
    change = ("--subresource=status", "-p", json.dumps({"status": UNREADY}))
    metered.kubectl("patch", "pod", pod["metadata"]["name"], "-n", METERING, *change)
    ill = links(metered)[Link.INTERCEPTOR]
    assert ill.is_broken is True
    assert "interceptor-down" in {finding.state.id for finding in ill.findings}
