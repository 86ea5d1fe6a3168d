"""Pods that real parts take off their node: scheduler, eviction API, controllers of taints and of nodes, and kwok."""

import contextlib
import json
import os
import signal
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from judging.status import pods
from tests.support.cluster import status_pods
from tests.support.cluster.status_pods import cause, node, pod, pods_of
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "status-disruptions"
GPU = "nvidia.com/gpu"
SCENES = ("preempted", "evicted", "tainted", "silent", "deleted", "healthy")
NODES = [node(f"status-{name}", scene=name, allocatable={GPU: "1"}) for name in SCENES]
HELD = {"metadata": {"finalizers": ["example.com/hold"]}}
"""Keeps a deleted pod, so that it can be read while it ends."""
AT_ONCE = [
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
]
"""By default a pod stays for 5 min on a node that does not report."""
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "status-urgent"},
    "value": 1000,
}
SLOW = {"pod-init-container-completed.stage.kwok.x-k8s.io/delay": "1h", "pod-ready.stage.kwok.x-k8s.io/delay": "1h"}
FETCH = [{"name": "model-fetch", "image": status_pods.IMAGE}]


@pytest.fixture(scope="module")
def scene(plane):
    """Run a pod on each node but the last."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    status_pods.apply(plane, namespace, *NODES, URGENT)
    status_pods.apply(plane, *NODES, status=True)
    status_pods.apply(plane, *(_running_pod(name) for name in SCENES[:-1]))
    eventually(lambda: all(pods.is_ready(entry) for entry in pods_of(plane, NAMESPACE).values()))
    yield plane
    nothing = '{"metadata": {"finalizers": null}}'
    for name in pods_of(plane, NAMESPACE):
        plane.kubectl("patch", "pod", name, "-n", NAMESPACE, "--type=merge", "-p", nothing)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    names = [entry["metadata"]["name"] for entry in NODES]
    plane.kubectl("delete", "node", *names, "--ignore-not-found", "--wait=false")
    plane.kubectl("delete", "priorityclass", "status-urgent", "--wait=false")


def _running_pod(name):
    tolerations = {"tolerations": AT_ONCE} if name == "silent" else {}
    return pod(name, NAMESPACE, name, {GPU: "1"}, **HELD, **tolerations)


def since(plane, name, condition="DisruptionTarget"):
    conditions = pods_of(plane, NAMESPACE)[name]["status"]["conditions"]
    (entry,) = (entry for entry in conditions if entry["type"] == condition)
    return datetime.fromisoformat(entry["lastTransitionTime"])


def test_pods_that_run_have_no_state(scene):
    """Negative control."""
    reading = status_pods.evidence_of(scene, NAMESPACE)
    assert pods.findings(pods_of(scene, NAMESPACE).values(), "decode", reading) == ()


def is_ending(plane, name):
    return pods.is_ending(pods_of(plane, NAMESPACE)[name])


@pytest.mark.states("preempted")
def test_a_pod_that_the_real_scheduler_preempts_says_so(scene):
    urgent = pod("urgent", NAMESPACE, "preempted", {GPU: "1"}, priorityClassName="status-urgent")
    status_pods.apply(scene, urgent)
    eventually(lambda: is_ending(scene, "preempted"))
    finding = cause(scene, NAMESPACE, "preempted")
    assert (finding.state.id, finding.level, finding.since) == ("preempted", "broken", since(scene, "preempted"))
    assert finding.words == "gives its place to a pod of higher priority"
    live = pods_of(scene, NAMESPACE)
    both = [live["urgent"], live["preempted"]]
    reading = status_pods.evidence_of(scene, NAMESPACE)
    assert next(entry.state.id for entry in pods.findings(both, "", reading)) == "preempted"


@pytest.mark.states("node-drained")
def test_a_pod_that_the_real_eviction_api_evicts_is_drained_and_nobody_is_to_blame(scene):
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evicted", "namespace": NAMESPACE}}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/evicted/eviction"
    scene.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))
    finding = cause(scene, NAMESPACE, "evicted")
    assert (finding.state.id, finding.level, finding.since) == ("node-drained", "normal", since(scene, "evicted"))
    assert finding.words == "leaves the node status-evicted: it was evicted, as when a node is drained"


@pytest.mark.states("node-drained")
def test_a_pod_that_the_real_taint_controller_deletes_from_a_node_that_is_well_is_drained(scene):
    scene.kubectl("taint", "node", "status-tainted", "repair=now:NoExecute")
    eventually(lambda: is_ending(scene, "tainted"))
    finding = cause(scene, NAMESPACE, "tainted")
    assert (finding.state.id, finding.level, finding.since) == ("node-drained", "normal", since(scene, "tainted"))
    assert "NoExecute" in finding.words


@contextlib.contextmanager
def paused(pid):
    """Stop a process, and let it go on afterwards."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.states("node-lost")
def test_a_pod_that_the_real_controller_of_nodes_deletes_from_a_node_that_does_not_report_is_lost(scene):
    """The controller taints the node, and the controller of taints deletes the pod. kwok would mend the node."""
    moment = "2026-01-01T00:00:00Z"
    condition = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": moment,
        "lastHeartbeatTime": moment,
    }
    patch = json.dumps({"status": {"conditions": [condition]}})
    with paused(scene.pids()["kwok"]):
        scene.kubectl("patch", "node", "status-silent", "--subresource=status", "-p", patch)
        eventually(lambda: is_ending(scene, "silent"))
        finding = cause(scene, NAMESPACE, "silent")
    assert (finding.state.id, finding.since) == ("node-lost", datetime.fromisoformat(moment))
    assert finding.words == "is on the node status-silent, which is not ready: Kubelet stopped posting node status."


@pytest.mark.states("node-lost")
def test_a_pod_whose_node_is_deleted_is_lost(scene):
    scene.kubectl("delete", "node", "status-deleted")
    live = pods_of(scene, NAMESPACE)["deleted"]
    unready = [{**entry, "status": "False"} for entry in live["status"]["conditions"] if entry["type"] == "Ready"]
    live = {**live, "status": {**live["status"], "conditions": unready}}
    finding = pods.cause(live, "", status_pods.evidence_of(scene, NAMESPACE))
    assert (finding.state.id, finding.words) == (
        "node-lost",
        "is on the node status-deleted, which does not exist any more",
    )


@pytest.mark.states("stuck-ending")
def test_a_pod_that_somebody_keeps_is_stuck_a_minute_after_it_should_have_ended(scene):
    status_pods.apply(scene, pod("kept", NAMESPACE, "nowhere", **HELD))
    scene.kubectl("delete", "pod", "kept", "-n", NAMESPACE, "--wait=false")
    reading = status_pods.evidence_of(scene, NAMESPACE)
    held = pods_of(scene, NAMESPACE)["kept"]
    assert pods.cause(held, "", reading) is None
    finding = pods.cause(held, "", replace(reading, now=reading.now + timedelta(seconds=120)))
    assert (finding.state.id, finding.since) == (
        "stuck-ending",
        datetime.fromisoformat(held["metadata"]["deletionTimestamp"]),
    )
    assert finding.words.endswith("ago; it waits for example.com/hold")


@pytest.mark.states("scheduling", "starting", "fetching")
def test_a_pod_in_the_phases_that_kwok_plays_has_only_normal_states(scene):
    """The pod fetches for an hour. Until then every state at every moment is normal."""
    metadata = {"annotations": SLOW}
    status_pods.apply(scene, pod("healthy", NAMESPACE, "healthy", initContainers=FETCH, metadata=metadata))
    seen = []

    def fetches():
        finding = cause(scene, NAMESPACE, "healthy")
        seen.append(finding)
        return finding.state.id == "fetching"

    eventually(fetches)
    assert {finding.level for finding in seen} == {"normal"}
    assert seen[-1].words.startswith("fetches its weights for ")
    started = pods_of(scene, NAMESPACE)["healthy"]["status"]["initContainerStatuses"][0]["state"]["running"][
        "startedAt"
    ]
    assert seen[-1].since == datetime.fromisoformat(started)
    status_pods.apply(scene, pod("begins", NAMESPACE, "healthy", metadata=metadata))
    eventually(lambda: cause(scene, NAMESPACE, "begins").state.id == "starting")
