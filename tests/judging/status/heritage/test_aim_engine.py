"""The status in the words of aim-engine, as its components, categories and vectors have them."""

from dataclasses import replace

import pytest

from judging.status import states
from judging.status.heritage import aim_engine, aim_engine_table
from judging.status.records import Link
from judging.status.states import Level
from tests.support.statuses import component, finding, service, workload

ROUTE = component(Link.ROUTE)
LINKS = {
    "InferenceServicePods": Link.WORKLOAD,
    "InferenceService": Link.WORKLOAD,
    "Cache": Link.CLAIM,
    "HTTPRoute": Link.ROUTE,
    "HPA": Link.SCALING,
}
CLAIM = {"metadata": {"namespace": "team", "name": "weights"}}
HPA = {
    "spec": {"minReplicas": 1, "maxReplicas": 4},
    "status": {"currentReplicas": 1, "desiredReplicas": 2},
}


def conditions(status):
    """Return status, reason and message of each condition, by type."""
    found = aim_engine.of(status)["conditions"]
    return {entry["type"]: (entry["status"], entry["reason"], entry["message"]) for entry in found}


def reason(status, name):
    return conditions(status)[f"{name}Ready"][:2]


def pods(*names, ready=0, level=Level.BROKEN, **values):
    """Return the status of a service whose pods are in these states."""
    return service(ROUTE, workload(ready, 2, *(finding(name, level, **values) for name in names)), serves=ready > 0)


@pytest.mark.parametrize(
    ("name", "expected", "root"),
    [
        ("image-denied", "ImagePullAuthFailure", "Failed"),
        ("image-missing", "ImageNotFound", "Failed"),
        ("image-pull", "ImagePullBackOff", "Degraded"),
        ("out-of-memory", "PodOOMKilled", "Failed"),
        ("crash", "PodFailed", "Failed"),
        ("secret-missing", "PodFailed", "Failed"),
        ("evicted", "PodEvicted", "Degraded"),
        ("no-devices", "FailedScheduling", "Pending"),
        ("tainted", "FailedScheduling", "Pending"),
        ("gated", "PodsPending", "Pending"),
        ("fetching", "PodsPending", "Pending"),
        ("mount-failed", "FailedMount", "Pending"),
        ("no-volume", "FailedScheduling", "Pending"),
        ("loading", "PodsStarting", "Starting"),
        ("not-ready", "PodsStarting", "Starting"),
        ("stuck-ending", "PodsProgressing", "Starting"),
        ("a-state-without-a-row", "PodFailed", "Failed"),
    ],
)
def test_aim_8_2_each_state_of_pods_has_its_reason_and_its_effect_on_the_service(name, expected, root):
    status = pods(name)
    assert reason(status, "InferenceServicePods") == ("False", expected)
    assert aim_engine.of(status)["status"] == root


def test_aim_8_2_images_come_before_failures_and_failures_before_waiting():
    assert reason(pods("loading", "no-devices", "crash", "image-pull"), "InferenceServicePods")[1] == "ImagePullBackOff"
    assert reason(pods("loading", "no-devices", "crash"), "InferenceServicePods")[1] == "PodFailed"
    assert reason(pods("no-devices", "loading"), "InferenceServicePods")[1] == "PodsStarting"


def test_aim_8_2_one_ready_pod_is_enough_unless_another_fails():
    assert reason(pods("loading", ready=1), "InferenceServicePods") == ("True", "PodsReady")
    assert reason(pods("no-devices", ready=1), "InferenceServicePods") == ("True", "PodsReady")
    assert reason(pods("image-denied", ready=1), "InferenceServicePods") == ("False", "ImagePullAuthFailure")


def test_aim_8_2_without_pods_there_are_none():
    status = service(ROUTE, workload(0, 2), serves=False)
    assert reason(status, "InferenceServicePods") == ("False", "NoPods")
    assert reason(status, "InferenceService") == ("False", "CreatingRuntime")
    assert aim_engine.of(status)["status"] == "Starting"


def test_aim_8_2_a_pod_that_cannot_be_created_is_an_error_of_the_runtime():
    status = service(ROUTE, workload(0, 2, finding("quota", kind="Deployment")), serves=False)
    assert reason(status, "InferenceService") == ("False", "InternalError")
    assert aim_engine.of(status)["status"] == "Failed"


def claims(*findings):
    return service(ROUTE, component(Link.CLAIM, *findings), workload(1, 1), claims=(CLAIM,))


@pytest.mark.parametrize(
    ("name", "expected", "root"),
    [
        ("fill-running", "CacheNotReady", "Starting"),
        ("claim-pending", "CacheNotReady", "Starting"),
        ("fill-failed", "CacheFailed", "Failed"),
        ("claim-lost", "CacheLost", "Degraded"),
    ],
)
def test_aim_8_2_9_10_each_state_of_a_claim_has_its_reason(name, expected, root):
    status = claims(finding(name, kind="PersistentVolumeClaim"))
    assert reason(status, "Cache") == ("False", expected)
    assert aim_engine.of(status)["status"] == root


def test_aim_8_2_9_10_a_cache_that_is_filled_is_ready_and_a_service_without_claims_has_none():
    assert reason(claims(), "Cache") == ("True", "CacheReady")
    assert "CacheReady" not in conditions(service(ROUTE, workload(1, 1)))


def routed(*findings):
    return service(component(Link.ROUTE, *findings), workload(1, 1), serves=not findings)


def test_aim_3_6_a_route_that_is_accepted_is_ready():
    assert conditions(routed())["HTTPRouteReady"] == (
        "True",
        "HTTPRouteAccepted",
        "HTTPRoute is accepted by gateway",
    )


@pytest.mark.parametrize(
    ("name", "expected", "root"),
    [
        ("route-missing", "HTTPRouteCreating", "Starting"),
        ("route-unseen", "HTTPRoutePending", "Starting"),
        ("route-new", "HTTPRoutePending", "Starting"),
        ("route-refused", "NotAllowedByListeners", "Failed"),
        ("route-unresolved", "BackendNotFound", "Starting"),
    ],
)
def test_aim_3_6_a_route_that_is_not_accepted_says_why(name, expected, root):
    status = routed(finding(name, kind="HTTPRoute", reason=expected))
    assert reason(status, "HTTPRoute") == ("False", expected)
    assert aim_engine.of(status)["status"] == root


def test_aim_3_6_the_message_is_that_of_the_gateway_behind_what_it_did():
    values = {"reason": "NotAllowedByListeners", "message": "no listener allows it"}
    refused = conditions(routed(finding("route-refused", kind="HTTPRoute", **values)))
    unresolved = conditions(routed(finding("route-unresolved", kind="HTTPRoute", **values)))
    assert refused["HTTPRouteReady"][2] == "HTTPRoute rejected: no listener allows it"
    assert unresolved["HTTPRouteReady"][2] == "HTTPRoute backend not resolved: no listener allows it"


@pytest.mark.parametrize("name", ["weight-differs", "route-stale"])
def test_aim_3_6_an_accepted_route_is_ready_whatever_else_is_wrong_with_it(name):
    assert reason(routed(finding(name, Level.DEGRADED, kind="HTTPRoute")), "HTTPRoute")[0] == "True"


def test_aim_3_6_a_service_without_a_route_has_no_condition_of_it():
    assert "HTTPRouteReady" not in conditions(service(workload(1, 1)))


def scaled(ready, *findings, level=Level.DEGRADED):
    scaling = component(Link.SCALING, *(finding(name, level, kind="HorizontalPodAutoscaler") for name in findings))
    return service(ROUTE, scaling, workload(ready, 2), serves=ready > 0, autoscaler=HPA)


def test_aim_8_2_an_autoscaler_waits_for_metrics_while_the_pods_start_and_fails_without_them_afterwards():
    assert reason(scaled(0, "no-metrics"), "HPA") == ("False", "WaitingForMetrics")
    assert reason(scaled(1, "no-metrics"), "HPA") == ("False", "MetricsFailed")
    assert aim_engine.of(scaled(1, "no-metrics"))["status"] == "Failed"


def test_aim_8_2_an_autoscaler_that_scales_is_operational_and_a_fixed_number_has_none():
    assert reason(scaled(1), "HPA") == ("True", "HPAOperational")
    assert reason(scaled(1, "at-maximum"), "HPA") == ("True", "HPAOperational")
    assert reason(scaled(1, "autoscaler-off"), "HPA") == ("False", "ScaleTargetNotReady")
    assert "HPAReady" not in conditions(service(ROUTE, workload(1, 1)))


def test_aim_8_2_an_autoscaler_that_keda_has_not_made_is_not_found():
    keda = {"spec": {"minReplicaCount": 1, "maxReplicaCount": 3}}
    status = service(ROUTE, component(Link.SCALING), workload(1, 1), scaled_object=keda)
    assert reason(status, "HPA") == ("False", "HPANotFound")
    assert aim_engine.of(status)["status"] == "Starting"
    made = service(ROUTE, component(Link.SCALING), workload(1, 1), scaled_object=keda, autoscaler=HPA)
    assert reason(made, "HPA") == ("True", "HPAOperational")


def test_aim_8_2_the_profile_of_what_is_deployed_was_selected():
    assert conditions(service(ROUTE, workload(0, 1)))["TemplateReady"][:2] == ("True", "Resolved")


def test_aim_8_3_conditions_of_errors_are_there_only_while_they_are_false():
    assert not {"AuthValid", "ConfigValid", "DependenciesReachable"} & conditions(pods(ready=2)).keys()
    assert conditions(pods("image-denied"))["AuthValid"][:2] == ("False", "AuthError")
    assert conditions(pods("crash"))["ConfigValid"][:2] == ("False", "InvalidSpec")
    assert conditions(pods("image-missing"))["ConfigValid"][:2] == ("False", "ReferenceNotFound")
    assert conditions(pods("image-pull"))["DependenciesReachable"][:2] == ("False", "InfrastructureError")


def test_aim_8_3_the_service_is_ready_if_all_components_are_and_names_the_first_error_else():
    assert conditions(pods(ready=2))["Ready"][:2] == ("True", "AllComponentsReady")
    failed = conditions(pods("image-denied"))["Ready"]
    assert failed[1] == "ImagePullAuthFailure"
    assert failed[2] == "Component InferenceServicePods is not ready: Pod team/x is in the state image-denied"
    assert conditions(pods("loading"))["Ready"] == (
        "False",
        "Progressing",
        "Waiting for components to become ready",
    )


def test_aim_8_4_the_most_important_error_decides():
    lost = service(
        ROUTE, workload(0, 1, finding("image-missing")), component(Link.CLAIM, finding("claim-lost")), claims=(CLAIM,)
    )
    assert aim_engine.of(lost)["status"] == "Failed"
    assert [*aim_engine_table.read().categories][:3] == ["Auth", "InvalidSpec", "MissingUpstream"]


def test_aim_8_5_the_worst_component_decides():
    assert aim_engine.of(pods(ready=2))["status"] == "Running"
    waiting = service(
        component(Link.ROUTE, finding("route-unseen")), workload(0, 1, finding("no-devices")), serves=False
    )
    assert aim_engine.of(waiting)["status"] == "Pending"


def test_aim_1_12_states_have_their_priorities():
    expected = ["Failed", "NotAvailable", "Degraded", "Pending", "Starting", "Progressing", "Ready", "Running"]
    assert aim_engine_table.read().priorities == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(service(ROUTE, workload(3, 3)), (3, 3, 3, 3, "3"), id="replicas"),
        pytest.param(service(ROUTE, workload(1, 1)), (1, 1, 1, 1, "1"), id="default"),
        pytest.param(service(ROUTE, workload(1, 2), autoscaler=HPA), (1, 2, 1, 4, "1/2 (1-4)"), id="autoscaled"),
        pytest.param(
            service(ROUTE, workload(0, 0), scaled_object={"spec": {"minReplicaCount": 0, "maxReplicaCount": 3}}),
            (0, 0, 0, 3, "0/0 (0-3)"),
            id="KEDA at zero",
        ),
        pytest.param(
            service(ROUTE, workload(2, 2), scaled_object={"spec": {"minReplicaCount": 2, "maxReplicaCount": 2}}),
            (2, 2, 2, 2, "2"),
            id="equal bounds",
        ),
    ],
)
def test_aim_8_6_numbers_of_replicas_are_one_text(status, expected):
    assert tuple(aim_engine.of(status)["runtime"].values()) == expected


def test_aim_8_6_replicas_that_do_not_exist_are_not_counted():
    runtime = aim_engine.of(service(ROUTE, workload(0, 3)))["runtime"]
    assert (runtime["currentReplicas"], runtime["desiredReplicas"]) == (0, 3)


def test_aim_9_11_a_service_starts_once_its_profile_is_selected():
    status = service(ROUTE, workload(0, 1, finding("loading", Level.NORMAL)), serves=False)
    assert reason(status, "Template") == ("True", "Resolved")
    assert aim_engine.of(status)["status"] == "Starting"


def test_aim_9_11_pods_that_find_no_node_are_pending():
    status = pods("no-devices")
    assert reason(status, "InferenceServicePods") == ("False", "FailedScheduling")
    assert aim_engine.of(status)["status"] == "Pending"


def test_aim_b72_two_readings_give_the_same_conditions_and_none_is_stale():
    assert aim_engine.of(scaled(1, "no-metrics")) == aim_engine.of(scaled(1, "no-metrics"))
    assert "HPAReady" not in conditions(service(ROUTE, workload(1, 1)))
    assert [*conditions(pods("crash"))] == sorted(conditions(pods("crash")))


def test_aim_8_2_what_could_not_be_read_is_unknown():
    status = service(ROUTE, replace(workload(0, 1), is_broken=None), serves=None)
    assert reason(status, "InferenceServicePods") == ("Unknown", "FetchError")
    routeless = service(replace(ROUTE, is_broken=None), workload(1, 1), serves=None)
    assert reason(routeless, "HTTPRoute") == ("Unknown", "HTTPRouteFetchError")
    assert aim_engine.of(status)["status"] is None
    assert conditions(status)["Ready"][0] == "Unknown"


def test_each_reason_is_of_a_component_and_each_of_our_states_has_one_row():
    table = aim_engine_table.read()
    assert {row.component for row in table.reasons} <= table.components.keys()
    names = [name for row in table.reasons for name in row.states]
    names += [name for group in table.silent for name in group]
    assert sorted(names) == sorted(states.by_id())
    assert {*table.priorities} == table.root.keys()


def test_fields_of_reasons_are_those_that_a_finding_has():
    """A field that the finding lacks has a default, so that no status fails for want of it."""
    for row in aim_engine_table.read().reasons:
        status = service(
            ROUTE, component(LINKS[row.component], finding(row.states[0])), workload(0, 1), claims=(CLAIM,)
        )
        assert aim_engine.of(status)["conditions"]
