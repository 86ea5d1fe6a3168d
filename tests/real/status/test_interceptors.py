"""The state of a service whose requests pass an interceptor."""

import json

import pytest

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.status import verdict
from judging.status.records import Link
from planning.interceptor.resolution import Unresolved
from tests.support.cluster import status
from tests.support.cluster.server import access, read
from tests.support.stacks import tree
from tests.support.stacks.varied_metering import LABEL_IMAGE
from tests.support.traffic.lookups import lookup
from tests.support.waits import eventually

pytestmark = pytest.mark.real

METERING = "status-meters"
NAMESPACE = "status-metered"
ID = "chat-7f3a"
NAME = "phoebe-interceptor"
DEPLOYMENT = {"image": LABEL_IMAGE, "replicas": 1, "emit": {"valkeyAddr": "valkey.meters.svc:6379"}}
STACK = tree(qwen={"interceptor": {"resourceId": ID}}) | {
    "namespace": NAMESPACE,
    "namespaceOptions": {"create": True},
    "defaults": {"endpointPicker": {"enabled": False}},
    "interceptor": {"mode": "label", "namespace": METERING, "deploy": DEPLOYMENT | {"settingsSecret": "settings"}},
}
UNREADY = {"conditions": [{"type": kind, "status": "False"} for kind in ("Ready", "ContainersReady")]}


@pytest.fixture(scope="module")
def metered(plane):
    """Deploy a metered service with its interceptor."""
    plane.kubectl("create", "namespace", METERING)
    status.apply(plane, STACK)
    yield plane
    plane.kubectl("delete", "namespace", METERING, NAMESPACE, "--wait=false")


def links(plane):
    """Return the components of the service, by link."""
    live = reader.read(KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None), ReadScope())
    (service,) = verdict.of(live, {}).at({(NAMESPACE, "qwen")}).services
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
    metered.kubectl("delete", "pod", pod["metadata"]["name"], "-n", METERING)
    eventually(lambda: links(metered)[Link.INTERCEPTOR].is_broken is False)


def outcome(plane):
    """Return what the interceptor finds by the search that it sends."""
    token, _, _ = access(plane)
    return lookup(plane, token, ID, NAMESPACE)


@pytest.mark.states("meter-double")
def test_a_second_service_with_a_resource_id_stops_metered_requests_until_it_is_gone(metered):
    eventually(lambda: links(metered)[Link.INTERCEPTOR].ready == 1)
    service = ("service", "twin", "-n", NAMESPACE)
    kind = "saturncloud.io/service-type"
    metered.kubectl("create", "service", "clusterip", "twin", "--tcp=8000", "-n", NAMESPACE)
    metered.kubectl("label", *service, f"saturncloud.io/resource-id={ID}", f"{kind}=ssh")
    assert outcome(metered) == f"http://qwen.{NAMESPACE}.svc.cluster.local:8000"
    assert links(metered)[Link.INTERCEPTOR].findings == ()
    metered.kubectl("label", *service, f"{kind}=internal", "--overwrite")
    assert outcome(metered) is Unresolved.AMBIGUOUS
    component = links(metered)[Link.INTERCEPTOR]
    (state,) = component.findings
    assert (state.state.id, str(state.object)) == ("meter-double", f"Service {NAMESPACE}/twin")
    assert state.words.startswith(f"is one of 2 Services with the resource id {ID} (qwen, twin), ")
    assert state.since is not None
    assert component.is_broken is True
    metered.kubectl("label", *service, "saturncloud.io/resource-id-")
    assert outcome(metered) == f"http://qwen.{NAMESPACE}.svc.cluster.local:8000"
    assert links(metered)[Link.INTERCEPTOR].findings == ()
