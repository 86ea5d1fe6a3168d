"""Cold starts: timelines, and a warning for each link between times that does not hold."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judging.report import words
from planning.ground import lifecycle
from tests.support.stacks import PIN, SERVICE, find, lines, plan, rendered, tree

SLEEPS = {
    "type": "keda",
    "minReplicas": 0,
    "maxReplicas": 4,
    "cooldownPeriod": "2h",
    "metrics": [{"type": "cpu", "targetPercent": 80}],
}
RUNS = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 80}]}
SIZED = {**SERVICE["model"], "size": "65Gi"}
"""Weights that a pod fetches in 2080s and loads in 1640s."""
WAIT = {"flowControl": {"defaultRequestTTL": "2h"}}
EARLY = "endpointPicker.flowControl.defaultRequestTTL: ends the wait of the requests that wake decode too early"
NONE = "endpointPicker.flowControl: has no defaultRequestTTL, and some pickers end the wait of a request after 60s"
NEED = "decode is awake in up to 3750s"
OBSERVED = {
    "prometheus": {"serverAddress": "http://prometheus.monitoring:9090"},
    "metrics": {"type": "prometheus-operator"},
}


def stack(gateway=None, **service):
    made = tree(qwen={"endpointPicker": WAIT, "model": SIZED} | service) | {"observability": OBSERVED}
    if gateway is not None:
        made["gateway"] = {"name": "gateway", "namespace": "gateways", "provider": gateway}
    return made


def warned(*arguments, **service):
    """Return the warnings about a service, without the prefix of its path."""
    found = lines(plan(stack(*arguments, **service)).warnings_of("qwen"), "warning")
    return [line.removeprefix("services.qwen.") for line in found]


def decode(**service):
    return plan(stack(**service)).services[0].primary.roles["decode"].cold_start


def window(seconds, **rules):
    return {**RUNS, "behavior": {"scaleDown": {"stabilizationWindowSeconds": seconds, **rules}}}


# --- timelines


def test_a_timeline_has_each_time_and_its_source():
    service = {
        "autoscaling": {**SLEEPS, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3600}}},
        "route": {"timeouts": {"request": "3h"}},
        "drainTimeout": "3h",
    }
    assert str(decode(**service)) == (
        "query 30s (pollingInterval) + fetch 2080s (weights at 32Mi/s) + load 1640s (10m and the weights at 64Mi/s) "
        "= awake within 3750s · requests wait 7200s (defaultRequestTTL) · route ends them after 10800s "
        "(timeouts.request) · pods kept for 3600s (stabilizationWindowSeconds) · asleep after 7200s (cooldownPeriod) "
        "· drain 10800s (drainTimeout) · kill after 10830s"
    )
    assert warned(**service) == []


def test_a_role_that_never_sleeps_is_ready_after_its_start():
    timeline = decode(model=SERVICE["model"], endpointPicker={}, health={"startupTimeout": "5m"})
    assert (timeline.wake, timeline.cooldown, timeline.requests.wait) == (None, None, None)
    assert str(timeline) == (
        "fetch 1800s (weights of unknown size) + load 300s (startupTimeout) = ready within 2100s "
        "· drain 45s (drainTimeout) · kill after 75s"
    )


def test_weights_in_an_image_or_a_volume_are_not_fetched():
    timeline = decode(model={"name": "org/model", "source": f"image://registry.example/model@{PIN}", "size": "65Gi"})
    assert str(timeline.fetch) == "0s (weights in a volume or image)"
    assert timeline.start == timeline.load.seconds == 1640


def test_the_times_are_those_of_the_objects():
    everything = rendered(stack(autoscaling=SLEEPS))
    pod = find(everything, "Deployment", "qwen-decode")["spec"]["template"]["spec"]
    probe = pod["containers"][0]["startupProbe"]
    scaled = find(everything, "ScaledObject", "qwen-decode")["spec"]
    timeline = decode(autoscaling=SLEEPS)
    assert probe["failureThreshold"] * probe["periodSeconds"] == timeline.load.seconds
    assert pod["terminationGracePeriodSeconds"] == timeline.grace
    assert (scaled["pollingInterval"], scaled["cooldownPeriod"]) == (timeline.query.seconds, timeline.cooldown.seconds)


def test_a_replica_of_several_pods_waits_for_the_others_as_long_as_its_startup_probe_does():
    service = {"parallelism": {"tensor": 8, "pipeline": 2}, "model": {**SERVICE["model"], "size": "2Gi"}}
    pod = find(rendered(stack(**service)), "LeaderWorkerSet", "qwen-decode")["spec"]["leaderWorkerTemplate"]
    probe = pod["leaderTemplate"]["spec"]["containers"][0]["startupProbe"]
    timeline = decode(**service)
    assert probe["failureThreshold"] * probe["periodSeconds"] >= timeline.load.seconds == 2432
    assert timeline.load.source == "10m and the weights at 64Mi/s, after the replica's other pods have fetched them"
    assert decode(**service, health={"startupTimeout": "10m"}).load.seconds == 600


def test_the_rate_of_a_local_disk_is_that_of_reports():
    assert words.rates().load == lifecycle.LOCAL_LOAD_RATE


# --- requests wait for a pod


@pytest.mark.parametrize(
    ("flow", "what"),
    [
        ({}, f"{NONE}, but {NEED}; add defaultRequestTTL: 3750s"),
        ({"defaultRequestTTL": "2m"}, f"{EARLY} (120s): {NEED}; write 3750s or more, or 0s for no limit"),
        ({"defaultRequestTTL": "3749s"}, f"{EARLY} (3749s): {NEED}; write 3750s or more, or 0s for no limit"),
        ({"defaultRequestTTL": "3750s"}, None),
        ({"defaultRequestTTL": "0s"}, None),
    ],
)
def test_requests_that_give_up_before_a_pod_is_awake_are_told(flow, what):
    found = warned(endpointPicker={"flowControl": flow}, autoscaling=SLEEPS)
    assert found == [what for _ in [what] if what]
    assert warned(endpointPicker={"flowControl": flow}) == []


def test_the_time_in_a_configuration_of_the_picker_counts():
    config = {
        "plugins": [{"type": "random-picker"}],
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "random-picker"}]}],
        "featureGates": ["flowControl"],
    }
    picker = {"preset": "custom", "config": {**config, "flowControl": {"defaultRequestTTL": "2h"}}}
    assert warned(endpointPicker=picker, autoscaling=SLEEPS) == []
    picker["config"]["flowControl"] = {"defaultRequestTTL": "1m"}
    (line,) = warned(endpointPicker=picker, autoscaling=SLEEPS)
    assert line.startswith("endpointPicker.config.flowControl.defaultRequestTTL: ends the wait of the requests")
    picker["config"]["flowControl"] = {"maxRequests": 5}
    (line,) = warned(endpointPicker=picker, autoscaling=SLEEPS)
    assert line.startswith("endpointPicker.config.flowControl: has no defaultRequestTTL")


@pytest.mark.parametrize(("empty", "is_told"), [({}, True), ({"noEndpointRequestTTL": "2h"}, False)])
def test_the_time_of_a_priority_band_does_not_count_while_the_pool_is_empty(empty, is_told):
    config = {
        "plugins": [{"type": "random-picker"}],
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "random-picker"}]}],
        "featureGates": ["flowControl"],
        "flowControl": {"defaultPriorityBand": {"defaultRequestTTL": "2h"}, **empty},
    }
    found = warned(endpointPicker={"preset": "custom", "config": config}, autoscaling=SLEEPS)
    assert [line for line in found if "has no defaultRequestTTL" in line] == found
    assert len(found) == is_told


def test_every_role_that_sleeps_is_told_with_the_time_of_its_own():
    prefill = {"autoscaling": SLEEPS, "health": {"startupTimeout": "5m"}}
    flow = {"flowControl": {"defaultRequestTTL": "2m"}}
    (line,) = warned(endpointPicker=flow, autoscaling={**SLEEPS, "minReplicas": 1}, prefill=prefill)
    assert line.startswith(f"{EARLY.replace('decode', 'prefill')} (120s): prefill is awake in up to 2410s; ")


# --- the gateway waits as long as requests do


@pytest.mark.parametrize(
    ("ttl", "limit", "what"),
    [
        ("2h", "1h", "ends requests that may still wait in the picker (3600s; they wait 7200s (defaultRequestTTL)); "),
        ("0s", "1h", "ends requests before decode is awake (3600s; it is awake in up to 3750s); write 3750s or more"),
        ("2h", "2h", None),
        ("0s", "3750s", None),
        ("2h", "0s", None),
    ],
)
def test_a_gateway_that_ends_waiting_requests_is_told(ttl, limit, what):
    service = {
        "endpointPicker": {"flowControl": {"defaultRequestTTL": ttl}},
        "autoscaling": SLEEPS,
        "route": {"timeouts": {"request": limit}},
        "drainTimeout": "3h",
    }
    ends = [line for line in warned("agentgateway", **service) if " ends requests " in line]
    assert len(ends) == (what is not None)
    assert all(line.startswith(f"route.timeouts.request: {what}") for line in ends)
    assert [line for line in warned("istio", **service) if " ends requests " in line] == []


def test_a_gateway_without_time_limits_or_a_picker_without_a_queue_ends_nothing():
    limited = {"route": {"timeouts": {"request": "1m"}}, "drainTimeout": "2m"}
    assert [line for line in warned("agentgateway", **limited, endpointPicker={}) if " ends requests" in line] == []
    assert len([line for line in warned("agentgateway", **limited) if " ends requests" in line]) == 1


def test_a_route_that_several_roles_share_is_told_once():
    shared = {"route": {"timeouts": {"request": "1m"}}, "drainTimeout": "2m", "prefill": {}}
    found = warned("agentgateway", **shared, canary={"weight": 0, "headers": {"x-canary": "always"}})
    (line,) = [line for line in found if " ends requests" in line]
    assert line.startswith("route.timeouts.request: ends requests that may still wait")


# --- a pod is kept while it starts


@pytest.mark.parametrize(("cooldown", "is_told"), [("30s", True), ("3719s", True), ("3720s", False), ("2h", False)])
def test_a_cooldown_that_ends_before_a_pod_has_started_is_told(cooldown, is_told):
    found = warned(autoscaling={**SLEEPS, "cooldownPeriod": cooldown})
    what = "once its requests have given up or their clients have left, KEDA removes the pod that is loading"
    assert len(found) == is_told
    assert all(line.startswith("autoscaling.cooldownPeriod: ends before decode has started (") for line in found)
    assert all(line.endswith(f"; a pod starts in up to 3720s): {what}; write 3720s or more") for line in found)
    assert warned(autoscaling={**SLEEPS, "minReplicas": 1, "cooldownPeriod": cooldown}) == []


def test_a_cooldown_that_nobody_wrote_is_not_told():
    default = {key: value for key, value in SLEEPS.items() if key != "cooldownPeriod"}
    assert decode(autoscaling=default).cooldown.seconds == 300
    assert warned(autoscaling=default) == []


@pytest.mark.parametrize(
    ("scaling", "is_told"),
    [
        (window(60), True),
        (window(0), True),
        (window(3600), False),
        (window(60, selectPolicy="Disabled"), False),
        ({**window(60), "maxReplicas": 1}, False),
        ({**RUNS, "behavior": {"scaleUp": {"stabilizationWindowSeconds": 60}}}, False),
        (RUNS, False),
    ],
)
def test_a_window_in_which_no_pod_starts_is_told_if_a_user_wrote_it(scaling, is_told):
    found = warned(autoscaling=scaling)
    assert len(found) == is_told
    at = "autoscaling.behavior.scaleDown.stabilizationWindowSeconds"
    assert all(line.startswith(f"{at}: removes replicas of decode that have not started (") for line in found)
    assert all(line.endswith("; write 3600 or more") for line in found)


@pytest.mark.parametrize(("budget", "is_told"), [("2m", True), ("129s", True), ("130s", False), (None, False)])
def test_a_startup_probe_that_no_disk_is_fast_enough_for_is_told(budget, is_told):
    found = warned(health={"startupTimeout": budget} if budget else {})
    assert len(found) == is_told
    assert all(
        line.startswith("health.startupTimeout: may end the engine of decode while it loads (") for line in found
    )
    assert all("s): the weights take 130s from a local disk; write 130s or more" in line for line in found)


@pytest.mark.parametrize(("budget", "is_told"), [("64s", True), ("65s", False)])
def test_each_pod_of_a_replica_loads_its_share_of_the_weights(budget, is_told):
    found = warned(health={"startupTimeout": budget}, parallelism={"tensor": 8, "pipeline": 2})
    assert len([line for line in found if "the weights take 65s from a local disk" in line]) == is_told


# --- all links together


DURATIONS = st.integers(1, 12_000).map(lambda number: f"{number}s")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ttl=DURATIONS | st.just("0s"),
    cooldown=DURATIONS,
    limit=DURATIONS | st.just("0s"),
    drain=DURATIONS,
    startup=DURATIONS,
    remembered=st.integers(0, 3600),
    size=st.sampled_from(["1Gi", "65Gi"]),
)
def test_a_stack_without_a_warning_has_all_links(ttl, cooldown, limit, drain, startup, remembered, size):
    behavior = {"scaleDown": {"stabilizationWindowSeconds": remembered}}
    made = stack(
        "agentgateway",
        model={**SIZED, "size": size},
        endpointPicker={"flowControl": {"defaultRequestTTL": ttl}},
        autoscaling={**SLEEPS, "cooldownPeriod": cooldown, "behavior": behavior},
        route={"timeouts": {"request": limit}},
        drainTimeout=drain,
        health={"startupTimeout": startup},
    )
    everything = rendered(made)
    gibibytes = int(size.removesuffix("Gi"))
    waits, longest, drains, loads = (int(text.removesuffix("s")) for text in (ttl, limit, drain, startup))
    picker = find(everything, "ConfigMap", "qwen-epp")["data"]
    (config,) = [yaml.safe_load(text) for text in picker.values()]
    assert config["flowControl"]["defaultRequestTTL"] == ttl
    scaled = find(everything, "ScaledObject", "qwen-decode")["spec"]
    start = 32 * gibibytes + loads
    wake = scaled["pollingInterval"] + start
    links = {
        "wait": not waits or waits >= wake,
        "limit": not longest or longest >= (waits or wake),
        "cooldown": scaled["cooldownPeriod"] >= start,
        "window": remembered >= min(start, 3600),
        "startup": loads >= 2 * gibibytes,
        "drain": 0 < longest <= drains,
    }
    warnings = lines(plan(made).warnings_of("qwen"), "warning")
    assert len(warnings) == sum(not holds for holds in links.values())
