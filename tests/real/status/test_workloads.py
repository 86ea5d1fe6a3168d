"""States of workloads, made by the real controllers, the real admission and the real scheduler."""

import json
from datetime import UTC, datetime

import pytest

from judging.status.evidence import Expectation
from judging.status.records import Link
from judging.status.states import Level
from judging.status.verdict import ExitCode
from tests.support.cluster import status
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.status import LATER, delayed, held, stopped

pytestmark = pytest.mark.real

WORKLOAD = "deployment/qwen-decode"
GPU_QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "gpus"},
    "spec": {"hard": {"requests.nvidia.com/gpu": "1"}},
}
TOO_MANY = {"limits": {"nvidia.com/gpu": "99"}, "requests": {"nvidia.com/gpu": "99"}}


def of_template(change):
    return {"spec": {"template": change}}


def annotated(annotations):
    return of_template({"metadata": {"annotations": annotations}})


def with_resources(resources):
    """Return a patch of the engine's resources."""
    return json.dumps([{"op": "replace", "path": "/spec/template/spec/containers/0/resources", "value": resources}])


def scale(space, replicas, manager, target=WORKLOAD):
    body = json.dumps({"spec": {"replicas": replicas}})
    options = ("--subresource=scale", f"--field-manager={manager}", "--type=merge", f"--patch={body}")
    space.kubectl("patch", target, *options)


@pytest.mark.states("quota")
def test_a_used_up_quota_is_named_with_its_numbers(space):
    space.plane.kubectl("create", "namespace", space.name)
    space.create(GPU_QUOTA)
    space.kubectl("wait", "resourcequota/gpus", "--for=jsonpath={.status.hard}", "--timeout=60s")
    space.apply(replicas=2)
    finding = space.await_state(Link.WORKLOAD, "quota")
    assert finding.words == (
        "makes no more pods, because the ResourceQuota gpus is used up: "
        "a pod asks for 1 requests.nvidia.com/gpu, 1 of 1 are in use"
    )
    assert (finding.object.name, finding.object.kind) == ("qwen-decode", "Deployment")
    assert finding.since is not None
    (workload,) = space.components(Link.WORKLOAD)
    assert (workload.is_broken, workload.level) in {(False, Level.DEGRADED), (True, Level.BROKEN)}
    space.patch("resourcequota/gpus", {"spec": {"hard": {"requests.nvidia.com/gpu": "2"}}})
    space.kubectl("rollout", "restart", WORKLOAD)
    space.await_without_states(Link.WORKLOAD)


@pytest.mark.states("admission")
def test_a_refusal_by_pod_security_is_quoted(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    space.patch(WORKLOAD, of_template({"spec": {"hostNetwork": True}}))
    finding = space.await_state(Link.WORKLOAD, "admission")
    assert 'violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)' in finding.words
    assert "qwen-decode-" not in finding.words
    assert finding.since is not None


@pytest.mark.states("admission")
def test_a_webhook_that_does_not_answer_is_quoted(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    webhook = {
        "name": "pods.policy.example",
        "clientConfig": {"url": "https://127.0.0.1:9/pods"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.name}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": space.name},
        "webhooks": [webhook],
    }
    space.plane.kubectl("apply", "--filename=-", input=json.dumps(configuration))
    try:
        scale(space, 2, status.PROVIDER)
        finding = space.await_state(Link.WORKLOAD, "admission")
        assert 'failed calling webhook "pods.policy.example"' in finding.words
        (workload,) = space.components(Link.WORKLOAD)
        assert (workload.is_broken, workload.level) == (False, Level.DEGRADED)
    finally:
        space.plane.kubectl("delete", "validatingwebhookconfiguration", space.name)


@pytest.mark.states("stalled")
def test_a_deployment_beyond_its_deadline_is_stalled(space):
    space.apply(replicas=1, pod={"annotations": delayed("pod-ready")})
    space.patch(WORKLOAD, {"spec": {"progressDeadlineSeconds": 1}})
    finding = space.await_state(Link.WORKLOAD, "stalled")
    assert finding.words.startswith("has made no progress for 1 s")
    assert finding.since is not None
    assert finding.level is Level.DEGRADED


@pytest.mark.states("rolling")
def test_a_rollout_that_makes_progress_is_normal(space):
    space.apply(replicas=2)
    space.await_without_states(Link.WORKLOAD)
    space.patch(WORKLOAD, annotated(delayed("pod-ready", "3s")))
    finding = space.await_state(Link.WORKLOAD, "rolling")
    assert finding.words in {f"replaces its pods: {number} of 2 are new" for number in (0, 1, 2)}
    assert finding.since is not None
    assert finding.level is Level.NORMAL
    space.await_without_states(Link.WORKLOAD)


@pytest.mark.states("rollout-fails")
def test_a_rollout_whose_new_pods_fail_says_why(space):
    space.apply(replicas=2)
    space.await_without_states(Link.WORKLOAD)
    space.kubectl("patch", WORKLOAD, "--type=json", f"--patch={with_resources(TOO_MANY)}")
    finding = space.await_state(Link.WORKLOAD, "rollout-fails", later=LATER)
    assert finding.words.startswith("replaces its pods, ")
    assert " of 2 are new, and the new ones fail: Pod " in finding.words
    assert finding.object.name == "qwen-decode"
    (workload,) = space.components(Link.WORKLOAD, later=LATER)
    assert (workload.is_broken, workload.level) == (False, Level.DEGRADED)


@pytest.mark.states("paused")
def test_a_paused_deployment_is_named(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    space.kubectl("rollout", "pause", WORKLOAD)
    finding = space.await_state(Link.WORKLOAD, "paused")
    assert finding.since is not None
    space.kubectl("rollout", "resume", WORKLOAD)
    space.await_without_states(Link.WORKLOAD)


@pytest.mark.states("scaled-by-hand")
def test_a_number_that_kubectl_has_set_is_named_beside_the_configured_one(space):
    space.apply(replicas=2)
    space.await_without_states(Link.WORKLOAD)
    space.kubectl("scale", WORKLOAD, "--replicas=1")
    expected = {(space.name, "qwen-decode"): Expectation(2, None, None, None)}
    finding = space.await_state(Link.WORKLOAD, "scaled-by-hand", expected=expected)
    assert finding.words == "has 1 replicas, as kubectl has set it; 2 are configured"
    assert finding.since is not None
    assert space.states(Link.WORKLOAD)["scaled-by-hand"].words == "has 1 replicas, as kubectl has set it"
    same = {(space.name, "qwen-decode"): Expectation(1, None, None, None)}
    assert "scaled-by-hand" not in space.states(Link.WORKLOAD, expected=same)
    scale(space, 2, status.PROVIDER)
    assert "scaled-by-hand" not in space.states(Link.WORKLOAD, expected=expected)


@pytest.mark.states("scaled-by-hand")
def test_a_service_that_somebody_has_scaled_to_nothing_does_not_serve_because_of_it(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    space.kubectl("scale", WORKLOAD, "--replicas=0")
    space.kubectl("wait", "pod", "-l", "inference-stacks.io/role=decode", "--for=delete", "--timeout=60s")
    (workload,) = space.components(Link.WORKLOAD)
    assert workload.is_broken is True
    assert "asleep" not in {finding.state.id for finding in workload.findings}
    assert workload.level is Level.DEGRADED
    assert space.status().exit_code is ExitCode.FAILS


def template_states(space, **options):
    """Return what is said of the pod template, by the state's id."""
    states = space.states(Link.WORKLOAD, **options)
    return {name: states[name] for name in states if name.startswith("template-")}


def container(space):
    deployment = json.loads(space.kubectl("get", WORKLOAD, "-o", "json"))
    return deployment["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.states("template-changed")
def test_an_image_that_kubectl_has_set_is_named_until_a_run_or_somebody_sets_it_back(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    name = container(space)["name"]
    image = container(space)["image"]
    before = datetime.now(UTC).replace(microsecond=0)
    space.kubectl("set", "image", WORKLOAD, f"{name}=registry.example/other:v2")
    (state,) = template_states(space).values()
    assert (state.state.id, state.level, str(state.object)) == (
        "template-changed",
        Level.DEGRADED,
        f"Deployment {space.name}/qwen-decode",
    )
    assert state.words == f"has a pod template that kubectl-set has changed: containers[{name}].image"
    assert state.since >= before
    manifests = status.marked(in_namespace(space.name, qwen={"replicas": 1}))
    (manifest,) = [item for item in manifests if item["metadata"]["name"] == "qwen-decode"]
    expected = {(space.name, "qwen-decode"): Expectation(1, None, None, None, manifest)}
    assert template_states(space, expected=expected) == {"template-changed": state}
    space.kubectl("set", "image", WORKLOAD, f"{name}={image}")
    assert template_states(space, expected=expected) == {}
    space.kubectl("set", "image", WORKLOAD, f"{name}=registry.example/other:v2")
    space.apply(replicas=1)
    assert template_states(space) == {}


@pytest.mark.states("template-changed")
def test_arguments_that_somebody_has_edited_are_named(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    change = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--enforce-eager"}]
    space.kubectl("patch", WORKLOAD, "--type=json", "--field-manager=dashboard", f"--patch={json.dumps(change)}")
    (state,) = template_states(space).values()
    assert state.words == f"has a pod template that dashboard has changed: containers[{container(space)['name']}].args"


@pytest.mark.states("template-extended")
def test_a_variable_that_kubectl_has_added_is_named_and_in_order(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    name = container(space)["name"]
    space.kubectl("set", "env", WORKLOAD, "DEBUG=1", f"--containers={name}")
    (state,) = template_states(space).values()
    assert (state.state.id, state.level) == ("template-extended", Level.NORMAL)
    assert state.words == f"has a pod template to which kubectl-set has added containers[{name}].env[DEBUG]"


def test_a_restart_an_annotation_and_a_number_of_replicas_are_no_change_of_a_template(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    space.kubectl("rollout", "restart", WORKLOAD)
    space.kubectl("annotate", WORKLOAD, "team=search")
    space.kubectl("scale", WORKLOAD, "--replicas=2")
    assert template_states(space) == {}


@pytest.mark.states("asleep", "waking")
def test_a_service_that_sleeps_and_wakes_up_is_normal(space):
    metric = {"type": "queue-size", "target": 5}
    flow_control = {"flowControl": {}}
    keda = {"type": "keda", "minReplicas": 0, "maxReplicas": 2, "metrics": [metric]}
    observability = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
    stack = status.in_namespace(space.name, qwen={
        "autoscaling": keda, "endpointPicker": flow_control, "pod": {"annotations": delayed("pod-ready")}
    })  # fmt: skip
    status.apply(space.plane, stack | {"observability": observability})
    space.await_state(Link.WORKLOAD, "waking")
    scale(space, 0, "keda")
    finding = space.await_state(Link.WORKLOAD, "asleep")
    assert finding.since is not None
    assert finding.level is Level.NORMAL
    assert "scaled-by-hand" not in space.states(Link.WORKLOAD)
    scale(space, 1, "keda")
    waking = space.await_state(Link.WORKLOAD, "waking")
    assert waking.words == "wakes up: it had no replica and now gets 1"
    assert waking.since is not None


@pytest.mark.states("scaling-down")
def test_surplus_pods_that_end_are_normal(space):
    space.apply(replicas=3)
    space.await_without_states(Link.WORKLOAD)
    with held(space.plane, space.name, "inference-stacks.io/role=decode"):
        scale(space, 1, status.PROVIDER)
        finding = space.await_state(Link.WORKLOAD, "scaling-down")
    assert finding.words == "goes down from 3 to 1 replicas"
    assert finding.level is Level.NORMAL
    space.await_without_states(Link.WORKLOAD)


@pytest.mark.states("pods-awaited", "pods-not-made")
def test_pods_that_no_controller_makes_are_awaited_for_a_moment_and_then_missed(space):
    space.apply(replicas=1)
    space.await_without_states(Link.WORKLOAD)
    with stopped(space.plane, "kube-controller-manager"):
        space.patch(WORKLOAD, {"spec": {"replicas": 3}}, f"--field-manager={status.PROVIDER}")
        awaited = space.states(Link.WORKLOAD)["pods-awaited"]
        assert awaited.words == "waits for its controller to make 2 of 3 pods"
        assert awaited.level is Level.NORMAL
        missed = space.states(Link.WORKLOAD, later=LATER)["pods-not-made"]
        assert missed.words == "lacks 2 of 3 pods, which its controller has not made"
        assert missed.since == awaited.since is not None
        (workload,) = space.components(Link.WORKLOAD, later=LATER)
        assert workload.level is Level.DEGRADED
    space.await_without_states(Link.WORKLOAD)
