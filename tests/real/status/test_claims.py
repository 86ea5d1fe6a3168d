"""States of claims and of the Jobs that fill them, made by the real controllers of volumes and Jobs."""

import json

import pytest

from judging.status.evidence import Expectation
from judging.status.records import Link
from judging.status.states import Level
from judging.status.verdict import ExitCode
from tests.support.cluster.deployments import provide
from tests.support.cluster.server import read
from tests.support.cluster.status import LATER, delayed
from tests.support.waits import eventually

pytestmark = pytest.mark.real

MODEL = {"name": "org/model", "source": "hf://org/model@v1", "size": "16Gi"}
FAILED_POD = {
    "phase": "Failed",
    "containerStatuses": [{
        "name": "fetch-model",
        "image": "registry.example/downloader:v1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": {
            "exitCode": 1, "reason": "Error", "message": "401 Client Error: Unauthorized",
            "startedAt": "2026-11-28T00:00:00Z", "finishedAt": "2026-11-28T00:00:09Z",
        }},
    }],
}  # fmt: skip
"""Status that a kubelet writes for a container that ends with 1, with `FallbackToLogsOnError`: kubernetes v1.36.3,
pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses)."""


def apply(space, class_name, **more):
    space.apply(model=MODEL, storage={"type": "dedicated", "storageClassName": class_name}, **more)


def storage_class(space, provisioner, mode="Immediate"):
    space.plane.kubectl("apply", "--filename=-", input=json.dumps({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": space.name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    }))  # fmt: skip


def fill_pods(space):
    return read(space.plane, "pods", space.name, "batch.kubernetes.io/job-name")


@pytest.fixture
def failing(space):
    """Return a space whose Job has one pod, which no kubelet has started."""
    provide(space.plane, space.name)
    apply(space, space.name)
    hold_pods(space)
    return space


def hold_pods(space):
    """Make the Job anew with pods that fake nodes keep from running."""
    job = json.loads(space.kubectl("get", "jobs", "-o", "json"))["items"][0]
    space.kubectl("delete", "job", job["metadata"]["name"], "--cascade=foreground", "--wait")
    template = job["spec"]["template"]
    template["metadata"] = {"labels": job["metadata"]["labels"], "annotations": delayed("pod-create")}
    metadata = {key: job["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    spec = {"template": template, "backoffLimit": 1}
    space.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    eventually(lambda: any(pod["spec"].get("nodeName") for pod in fill_pods(space)))


def refuse_pods(space):
    """Make the namespace, with a quota of no pods."""
    space.plane.kubectl("create", "namespace", space.name)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    space.create(quota)
    space.kubectl("wait", "resourcequota/none", "--for=jsonpath={.status.hard}", "--timeout=60s")


def fail(space):
    """Let the running pod of the Job fail, as a kubelet says it."""
    pods = [pod for pod in fill_pods(space) if pod["status"]["phase"] == "Pending"]
    (pod,) = pods
    space.patch(f"pod/{pod['metadata']['name']}", {"status": FAILED_POD}, "--subresource=status")


@pytest.mark.states("claim-pending")
def test_a_claim_of_a_class_that_does_not_exist_is_to_blame(space):
    apply(space, "nowhere")
    finding = space.await_state(Link.CLAIM, "claim-pending")
    assert finding.words == 'has no volume: storageclass.storage.k8s.io "nowhere" not found'
    assert finding.remedy.endswith("(now nowhere)")
    assert finding.object.kind == "PersistentVolumeClaim"
    assert finding.since is not None
    (claim,) = space.components(Link.CLAIM)
    assert (claim.is_broken, claim.level) == (True, Level.BROKEN)


@pytest.mark.states("claim-pending")
def test_a_claim_without_a_class_and_without_a_volume_is_to_blame(space):
    space.apply(model=MODEL, storage={"type": "dedicated"})
    finding = space.await_state(Link.CLAIM, "claim-pending")
    assert finding.words == ("has no volume: no volume fits it, and neither it nor the cluster names a storage class")


@pytest.mark.states("claim-provisioning", "claim-pending")
def test_a_claim_whose_provisioner_is_slow_is_normal_at_first(space):
    storage_class(space, "csi.example.com")
    apply(space, space.name)
    finding = space.await_state(Link.CLAIM, "claim-provisioning")
    assert finding.words == "waits for the provisioner csi.example.com to make its volume"
    assert finding.level is Level.NORMAL
    late = space.states(Link.CLAIM, later=LATER)["claim-pending"]
    assert late.words == "has no volume: the provisioner csi.example.com has not made it"


@pytest.mark.states("claim-waits")
def test_a_claim_that_waits_for_its_first_pod_is_normal(space):
    storage_class(space, "csi.example.com", "WaitForFirstConsumer")
    refuse_pods(space)
    apply(space, space.name)
    finding = space.await_state(Link.CLAIM, "claim-waits", later=LATER)
    assert finding.level is Level.NORMAL
    assert finding.since is not None


@pytest.mark.states("claim-lost")
def test_a_claim_whose_volume_is_gone_is_to_blame(space):
    provide(space.plane, space.name)
    apply(space, space.name)
    space.await_without_states(Link.CLAIM)
    (claim,) = read(space.plane, "persistentvolumeclaims", space.name)
    volume = claim["spec"]["volumeName"]
    space.plane.kubectl("delete", f"pv/{volume}", "--wait=false")
    patch = json.dumps({"metadata": {"finalizers": None}})
    space.plane.kubectl("patch", f"pv/{volume}", "--type=merge", f"--patch={patch}")
    finding = space.await_state(Link.CLAIM, "claim-lost")
    assert finding.words == f"has lost its volume {volume}"
    assert finding.since is not None


@pytest.mark.states("fill-running")
def test_a_job_that_fills_a_claim_says_how_much_and_how_long(failing):
    finding = failing.await_state(Link.CLAIM, "fill-running")
    assert finding.words == "fetches the weights"
    expected = {(failing.name, "qwen-decode"): Expectation(1, 16 * 1024**3, 540, 60)}
    known = failing.states(Link.CLAIM, expected=expected)["fill-running"]
    assert known.words == "fetches 16.0 GiB of weights, which usually takes about 9 min"
    assert known.level is Level.NORMAL
    assert known.since is not None
    (claim,) = failing.components(Link.CLAIM)
    assert (claim.is_broken, claim.level) == (True, Level.NORMAL)


@pytest.mark.states("fill-retries", "fill-failed")
def test_a_job_whose_pods_fail_says_how_they_ended(failing):
    fail(failing)
    finding = failing.await_state(Link.CLAIM, "fill-retries")
    assert finding.words == (
        "has failed 1 times, and tries again up to 1 times; "
        "its last pod ended with exit code 1: 401 Client Error: Unauthorized"
    )
    assert finding.since is not None
    eventually(lambda: any(pod["status"]["phase"] == "Pending" for pod in fill_pods(failing)))
    fail(failing)
    finding = failing.await_state(Link.CLAIM, "fill-failed")
    assert finding.words == (
        "has not filled the volume: Job has reached the specified backoff limit; "
        "its last pod ended with exit code 1: 401 Client Error: Unauthorized"
    )
    assert finding.object.kind == "Job"
    assert finding.since is not None
    (claim,) = failing.components(Link.CLAIM)
    assert (claim.is_broken, claim.level) == (True, Level.BROKEN)


@pytest.mark.states("quota")
def test_a_job_whose_pods_are_refused_is_to_blame(space):
    provide(space.plane, space.name)
    refuse_pods(space)
    apply(space, space.name)
    finding = space.await_state(Link.CLAIM, "quota")
    assert "the ResourceQuota none is used up: a pod asks for 1 pods, 0 of 0 are in use" in finding.words
    assert finding.object.kind == "Job"
    assert space.status().exit_code is ExitCode.FAILS
