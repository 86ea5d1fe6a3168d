"""Pods for which the real scheduler finds no node, and what a status says of them."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from judging.status import pods
from planning.ground.snapshot import NODE
from tests.support.cluster import status_pods
from tests.support.cluster.status_pods import node, pod
from tests.support.scheduling import is_looked_at
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "status-scheduling"
GPU = "nvidia.com/gpu"
NODES = [
    node("status-free", scene="free", allocatable={GPU: "2"}),
    node("status-tainted", scene="tainted", allocatable={GPU: "8"}, taint="search"),
    node("status-cordoned", scene="cordoned", allocatable={GPU: "8"}, cordoned=True),
    node("status-small", scene="cordoned", allocatable={GPU: "1"}),
    node("status-full", scene="full", allocatable={GPU: "1"}),
]
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "status.example"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'status.example'"}}]},
}
STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "status-immediate"},
    "provisioner": "status.example/nobody",
    "volumeBindingMode": "Immediate",
}


def named(kind, name, spec, version="v1"):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


DEVICES = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "status.example"}}]}}
CLAIM = named("ResourceClaim", "status-devices", DEVICES, "resource.k8s.io/v1")
VOLUME = named(
    "PersistentVolumeClaim",
    "status-weights",
    {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "status-immediate",
        "resources": {"requests": {"storage": "1Gi"}},
    },
)
ALONE = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "busy"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
EVEN = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "busy"}},
        "minDomains": 5,
    }
]
BUSY = pod("busy", NAMESPACE, "full", {GPU: "1"}, metadata={"labels": {"app": "busy"}})
BUSY["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8099}]
PORT = {"ports": [{"containerPort": 80, "hostPort": 8099}]}
PENDING = [
    pod("too-many-devices", NAMESPACE, "free", {GPU: "4"}),
    pod("devices-in-use", NAMESPACE, "full", {GPU: "1"}),
    pod("too-much-memory", NAMESPACE, "free", {"memory": "64Gi", "cpu": "1"}),
    pod("tainted", NAMESPACE, "tainted", {GPU: "1"}),
    pod("cordoned", NAMESPACE, "cordoned", {GPU: "2"}),
    pod("nowhere", NAMESPACE, "nowhere", {GPU: "1"}),
    pod("claims", NAMESPACE, "free", resourceClaims=[{"name": "gpu", "resourceClaimName": "status-devices"}]),
    pod("alone", NAMESPACE, "full", affinity=ALONE),
    pod("even", NAMESPACE, "full", topologySpreadConstraints=EVEN, metadata={"labels": {"app": "busy"}}),
    pod("port", NAMESPACE, "full", container=PORT),
    pod(
        "volume",
        NAMESPACE,
        "free",
        volumes=[{"name": "weights", "persistentVolumeClaim": {"claimName": "status-weights"}}],
    ),
]
IGNORED = [
    pod("gated", NAMESPACE, "free", schedulingGates=[{"name": "example.com/quota"}]),
    pod("no-scheduler", NAMESPACE, "free", schedulerName="nobody"),
    pod(
        "no-template",
        NAMESPACE,
        "free",
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "status-template"}],
    ),
]


@pytest.fixture(scope="module")
def scene(plane):
    """Make nodes and pods. Return once the scheduler has looked at the pods."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    status_pods.apply(plane, namespace, *NODES, CLASS, STORAGE_CLASS)
    status_pods.apply(plane, *NODES, status=True)
    status_pods.apply(plane, CLAIM, VOLUME, BUSY)
    eventually(lambda: status_pods.pods_of(plane, NAMESPACE)["busy"]["spec"].get("nodeName"))
    status_pods.apply(plane, *PENDING, *IGNORED)
    names = {manifest["metadata"]["name"] for manifest in PENDING}

    def settled():
        live = status_pods.pods_of(plane, NAMESPACE)
        return names <= {*live} and all(is_looked_at(live[name]) for name in names)

    eventually(settled)
    yield plane
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    plane.kubectl("delete", "node", *(entry["metadata"]["name"] for entry in NODES), "--wait=false")
    plane.kubectl("delete", "deviceclass", "status.example", "--wait=false")
    plane.kubectl("delete", "storageclass", "status-immediate", "--wait=false")


def state(plane, name, *, later=0, unread=()):
    """Return the live pod and its state, as a status would find it so many seconds later."""
    reading = status_pods.evidence_of(plane, NAMESPACE, unread=unread)
    reading = replace(reading, now=reading.now + timedelta(seconds=later))
    manifest = status_pods.pods_of(plane, NAMESPACE)[name]
    return manifest, pods.cause(manifest, "decode", reading)


EXPECTED = {
    "too-many-devices": ("no-devices", f"1 without enough {GPU}", f"; no node has enough {GPU}", f"free 4 {GPU} "),
    "devices-in-use": (
        "no-devices",
        f"1 without enough {GPU}",
        "; big enough, but in use: status-full",
        f"free 1 {GPU} ",
    ),
    "too-much-memory": ("no-room", "1 without enough memory", "; no node has enough memory", "free 64 GiB of memory "),
    "tainted": ("tainted", "1 tainted", "; taint: team=search:NoSchedule", "`pod.tolerations`"),
    "cordoned": ("cordoned", "1 cordoned", "; cordoned: status-cordoned", "`kubectl uncordon status-cordoned`"),
    "nowhere": ("no-node", "with other labels", "", "`pod.nodeSelector`"),
    "claims": ("claims", "1 without such devices", "", "DeviceClass"),
    "alone": ("spread", "1 with or without other pods", "", "`pod.affinity`"),
    "port": ("unscheduled", "1 without the free host port", "", ""),
}


@pytest.mark.states("no-devices", "no-room", "tainted", "cordoned", "no-node", "claims", "spread", "unscheduled")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_status_says_why_the_real_scheduler_finds_no_node(scene, name):
    manifest, finding = state(scene, name)
    expected, reasons, hint, remedy = EXPECTED[name]
    (condition,) = (entry for entry in manifest["status"]["conditions"] if entry["type"] == "PodScheduled")
    assert finding.state.id == expected, condition["message"]
    assert reasons in finding.words
    assert hint in finding.words
    assert remedy in finding.remedy
    assert (finding.object.name, finding.since) == (name, datetime.fromisoformat(condition["lastTransitionTime"]))
    assert "preemption" not in finding.words


def test_every_reason_of_the_real_scheduler_is_known(scene):
    """A text that the table does not know would be shown as it is."""
    for name in EXPECTED:
        assert "node(s)" not in state(scene, name)[1].words


@pytest.mark.states("spread")
def test_a_spread_over_too_few_nodes_is_a_reason(scene):
    manifest, finding = state(scene, "even")
    assert (finding.state.id, "spread unevenly" in finding.words) == ("spread", True), manifest["status"]


@pytest.mark.states("no-volume", "scheduling")
def test_a_volume_that_is_not_bound_is_a_reason_after_a_minute(scene):
    _, early = state(scene, "volume")
    _, late = state(scene, "volume", later=600)
    assert (early.state.id, late.state.id) == ("scheduling", "no-volume")
    assert late.words == "waits for a volume: pod has unbound immediate PersistentVolumeClaims"
    assert "claim" in late.state.caused_by


@pytest.mark.states("gated")
def test_a_gate_of_the_real_api_server_is_named(scene):
    _, finding = state(scene, "gated")
    assert (finding.state.id, finding.words) == ("gated", "is held back by the scheduling gates example.com/quota")
    assert finding.since is not None


@pytest.mark.states("scheduling", "no-scheduler", "claims")
def test_a_pod_that_no_scheduler_looks_at_waits_for_half_a_minute_and_then_says_so(scene):
    for name in ("no-scheduler", "no-template"):
        assert state(scene, name)[1].level == "normal" or state(scene, name)[1].state.id == "claims"
    _, late = state(scene, "no-scheduler", later=600)
    assert (late.state.id, late.words) == ("no-scheduler", "has not been looked at by the scheduler nobody")
    _, claim = state(scene, "no-template", later=600)
    assert claim.state.id == "claims"
    assert "status-template" in claim.words


@pytest.mark.states("pod-unread")
def test_without_nodes_the_reason_is_named_only_where_it_is_the_same_for_all(scene):
    assert state(scene, "too-many-devices", unread=[NODE])[1].state.id in {"no-devices", "pod-unread"}
    for name in ("cordoned", "tainted", "devices-in-use", "port"):
        whole = state(scene, name)[1]
        partial = state(scene, name, unread=[NODE])[1]
        assert partial.state.id in {"pod-unread", whole.state.id}
        assert partial.level == "normal" or partial.state == whole.state


@pytest.mark.states("awaits-place")
def test_a_pod_waits_for_the_place_of_one_that_ends(scene):
    finalizer = {"metadata": {"finalizers": ["example.com/hold"]}}
    scene.kubectl("patch", "pod", "busy", "-n", NAMESPACE, "--type=merge", "-p", json.dumps(finalizer))
    scene.kubectl("delete", "pod", "busy", "-n", NAMESPACE, "--wait=false")
    try:
        live = status_pods.pods_of(scene, NAMESPACE)
        reading = status_pods.evidence_of(scene, NAMESPACE)
        both = [live["busy"], live["devices-in-use"]]
        assert [entry.state.id for entry in pods.findings(both, "", reading)] == ["awaits-place"]
        late = replace(reading, now=reading.now + timedelta(seconds=120))
        assert [entry.state.id for entry in pods.findings(both, "", late)] == ["stuck-ending", "no-devices"]
    finally:
        nothing = '{"metadata": {"finalizers": null}}'
        scene.kubectl("patch", "pod", "busy", "-n", NAMESPACE, "--type=merge", "-p", nothing)


@pytest.mark.states("awaits-place")
def test_a_rollout_without_a_surge_on_a_full_node_blames_nobody_at_any_moment(scene):
    """The new pod finds no node until the old one has freed its device and the scheduler has looked again."""
    name = "rollout"
    only_node = node("status-rollout", scene=name, allocatable={GPU: "1"})
    status_pods.apply(scene, only_node)
    status_pods.apply(scene, only_node, status=True)
    slow = {"pod-delete.stage.kwok.x-k8s.io/delay": "5s"}
    template = pod(name, NAMESPACE, name, {GPU: "1"}, metadata={"labels": {"app": name}, "annotations": slow})
    spec = {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}, "annotations": slow}, "spec": template["spec"]},
    }
    status_pods.apply(scene, named("Deployment", name, spec, "apps/v1"))

    def own_pods():
        live = status_pods.pods_of(scene, NAMESPACE).values()
        return [entry for entry in live if entry["metadata"].get("labels", {}).get("app") == name]

    eventually(lambda: [pods.is_ready(entry) for entry in own_pods()] == [True])
    (old,) = own_pods()
    scene.kubectl("set", "env", f"deployment/{name}", "-n", NAMESPACE, "GENERATION=2")
    seen = set()

    def is_replaced():
        reading = status_pods.evidence_of(scene, NAMESPACE)
        listed = own_pods()
        seen.update((entry.state.id, entry.level) for entry in pods.findings(listed, "", reading))
        names = {entry["metadata"]["name"] for entry in listed if pods.is_ready(entry)}
        return len(listed) == 1 and names and old["metadata"]["name"] not in names

    eventually(is_replaced)
    scene.kubectl("delete", "node", "status-rollout", "--wait=false")
    assert ("awaits-place", "normal") in seen
    assert {level for _, level in seen} == {"normal"}, seen
