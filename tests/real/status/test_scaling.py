"""States of autoscalers, made by the real controller of HorizontalPodAutoscalers, and as KEDA's source writes them."""

import json

import pytest

from judging.status.records import Link
from judging.status.states import Level
from judging.status.verdict import ExitCode
from tests.support.cluster import metrics, status
from tests.support.cluster.status import LATER

pytestmark = pytest.mark.real

METRICS = [{"type": "queue-size", "target": 5}]
HPA = {"type": "hpa", "maxReplicas": 3, "metrics": METRICS}
FALLBACK = {"fallback": {"failureThreshold": 3, "replicas": 2}}
AT_ONCE = {"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}}


@pytest.fixture(scope="module")
def adapter(plane, tools, tmp_path_factory):
    with metrics.served(plane, tools, tmp_path_factory.mktemp("adapter")) as adapter:
        yield adapter


def apply(space, autoscaling):
    observability = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
    stack = status.in_namespace(space.name, qwen={"autoscaling": autoscaling})
    status.apply(space.plane, stack | {"observability": observability})


@pytest.mark.states("metrics-awaited", "no-metrics")
def test_an_autoscaler_without_metrics_is_normal_at_first_and_then_named(space):
    apply(space, HPA)
    awaited = space.await_state(Link.SCALING, "metrics-awaited")
    assert awaited.level is Level.NORMAL
    late = space.states(Link.SCALING, later=LATER)["no-metrics"]
    assert "unable to get metric vllm_num_requests_waiting" in late.words
    assert late.object.kind == "HorizontalPodAutoscaler"
    assert late.since == awaited.since is not None
    (scaling,) = space.components(Link.SCALING, later=LATER)
    assert (scaling.is_broken, scaling.level) == (False, Level.DEGRADED)


@pytest.mark.states("scaling-up", "at-maximum", "scaling-down")
def test_an_autoscaler_scales_up_to_its_maximum_and_down_again(space, adapter):
    adapter.values[space.name] = 100
    apply(space, HPA)
    space.kubectl("patch", "hpa/qwen-decode", "--type=merge", f"--patch={json.dumps(AT_ONCE)}")
    up = space.await_state(Link.SCALING, "scaling-up")
    assert up.words == "goes up from 1 to 3 replicas"
    assert up.level is Level.NORMAL
    assert up.since is not None
    maximum = space.await_state(Link.SCALING, "at-maximum")
    assert maximum.words == "wants more than its maximum of 3 replicas"
    assert maximum.level is Level.DEGRADED
    assert maximum.since is not None
    adapter.values[space.name] = 5
    space.await_without_states(Link.SCALING)
    adapter.values[space.name] = 0
    down = space.await_state(Link.SCALING, "scaling-down")
    assert down.words == "goes down from 3 to 1 replicas"
    assert down.level is Level.NORMAL


@pytest.mark.states("autoscaler-off", "scaled-by-hand")
def test_an_autoscaler_of_a_workload_that_was_scaled_to_nothing_does_not_scale(space):
    apply(space, HPA)
    space.await_without_states(Link.WORKLOAD)
    space.kubectl("scale", "deployment/qwen-decode", "--replicas=0")
    off = space.await_state(Link.SCALING, "autoscaler-off")
    assert off.words == "does not scale: somebody has set the workload to 0 replicas"
    assert off.since is not None
    assert space.states(Link.WORKLOAD)["scaled-by-hand"].words == "has 0 replicas, as somebody has set it"


@pytest.mark.states("autoscaler-off", "fallback")
def test_a_scaled_object_says_what_keda_writes_into_its_status(space):
    """The conditions are those of keda v2.20.1: scaledobject_controller.go, scale_scaledobjects.go, fallback.go."""
    apply(space, {**HPA, "type": "keda", **FALLBACK})
    target = "scaledobject/qwen-decode"
    assert space.states(Link.SCALING) == {}
    unseen = space.states(Link.SCALING, later=LATER)["autoscaler-off"]
    assert unseen.words == "does not scale: KEDA has not looked at it"
    assert unseen.since is not None

    def write(**conditions):
        entries = [{"type": kind, **condition} for kind, condition in conditions.items()]
        state = {"conditions": entries, "lastActiveTime": "2026-11-28T01:00:00Z"}
        space.patch(target, {"status": state}, "--subresource=status")

    ready = {"status": "True", "reason": "ScaledObjectReady", "message": "ScaledObject is defined correctly"}
    no_fallback = {"status": "False", "reason": "NoFallbackFound"}
    write(Ready=ready, Fallback=no_fallback)
    assert space.states(Link.SCALING, later=LATER) == {}
    message = "Triggers defined in ScaledObject are not working correctly"
    write(Ready={"status": "False", "reason": "TriggerError", "message": message}, Fallback=no_fallback)
    assert space.states(Link.SCALING)["autoscaler-off"].words == f"does not scale: {message}"
    write(Ready=ready, Fallback={"status": "True", "reason": "FallbackExists"})
    fallback = space.states(Link.SCALING)["fallback"]
    assert fallback.words == "gets no metrics, and keeps 2 replicas as its fallback"
    assert fallback.since is not None
    write(Ready=ready, Fallback=no_fallback, Paused={"status": "True", "reason": "ScaledObjectPaused"})
    assert space.states(Link.SCALING)["autoscaler-off"].words == "does not scale: it is paused"
    write(Ready=ready, Fallback=no_fallback)
    space.kubectl("annotate", target, "autoscaling.keda.sh/paused=true")
    paused = space.states(Link.SCALING)["autoscaler-off"].words
    assert paused == "does not scale: the annotation autoscaling.keda.sh/paused pauses it"
    assert space.status().exit_code is not ExitCode.SERVES
