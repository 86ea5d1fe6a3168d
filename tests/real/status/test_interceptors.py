"""The state of a service whose requests pass an interceptor."""

import json
from dataclasses import replace
from datetime import timedelta

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


def links(plane, later=timedelta()):
    """Return the components of the service, by link, as of some time after the reading."""
    live = reader.read(KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None), ReadScope())
    (service,) = verdict.of(replace(live, read_at=live.read_at + later), {}).at({(NAMESPACE, "qwen")}).services
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


def search_state(plane, later=timedelta()):
    """Return object and id of the only state of the interceptor, which ends requests."""
    component = links(plane, later)[Link.INTERCEPTOR]
    (state,) = component.findings
    assert component.is_broken is True
    return str(state.object), state.state.id


@pytest.fixture
def unlabelled(metered):
    """Take the resource id from the Service, and give it back in the end."""
    eventually(lambda: links(metered)[Link.INTERCEPTOR].ready == 1)
    service = ("label", "service", "qwen", "-n", NAMESPACE)
    metered.kubectl(*service, "saturncloud.io/resource-id-")
    yield metered
    metered.kubectl(*service, f"saturncloud.io/resource-id={ID}", "--overwrite")
    assert outcome(metered) == f"http://qwen.{NAMESPACE}.svc.cluster.local:8000"
    assert links(metered)[Link.INTERCEPTOR].findings == ()


@pytest.mark.states("meter-none", "meter-awaited")
def test_without_the_label_of_a_service_the_interceptor_finds_none_which_is_normal_for_a_minute(unlabelled):
    assert outcome(unlabelled) is Unresolved.NOT_FOUND
    unlabelled.kubectl("annotate", "httproute", "qwen", "-n", NAMESPACE, "changed=now", "--overwrite")
    assert search_state(unlabelled) == (f"Service {NAMESPACE}/qwen", "meter-awaited")
    assert search_state(unlabelled, timedelta(minutes=5)) == (f"Service {NAMESPACE}/qwen", "meter-none")


@pytest.mark.states("meter-other")
def test_the_interceptor_takes_another_service_that_alone_has_the_resource_id(unlabelled):
    unlabelled.kubectl("create", "service", "clusterip", "stranger", "--tcp=8000", "-n", NAMESPACE)
    taken = (f"saturncloud.io/resource-id={ID}", "saturncloud.io/service-type=internal")
    unlabelled.kubectl("label", "service", "stranger", "-n", NAMESPACE, *taken)
    assert outcome(unlabelled) == f"http://stranger.{NAMESPACE}.svc.cluster.local:8000"
    assert search_state(unlabelled) == (f"Service {NAMESPACE}/stranger", "meter-other")
    unlabelled.kubectl("delete", "service", "stranger", "-n", NAMESPACE)


@pytest.mark.states("meter-portless")
def test_the_interceptor_finds_no_port_among_several_with_other_names(metered):
    eventually(lambda: links(metered)[Link.INTERCEPTOR].ready == 1)
    service = ("patch", "service", "qwen", "-n", NAMESPACE, "--type=json", "-p")
    (qwen,) = (item for item in read(metered, "services", NAMESPACE) if item["metadata"]["name"] == "qwen")
    (port,) = qwen["spec"]["ports"]
    others = [port | {"name": "a"}, port | {"name": "b", "port": 9000}]
    metered.kubectl(*service, json.dumps([{"op": "replace", "path": "/spec/ports", "value": others}]))
    assert outcome(metered) is Unresolved.NO_PORT
    assert search_state(metered) == (f"Service {NAMESPACE}/qwen", "meter-portless")
    metered.kubectl(*service, json.dumps([{"op": "replace", "path": "/spec/ports", "value": [port]}]))
    assert outcome(metered) == f"http://qwen.{NAMESPACE}.svc.cluster.local:8000"
