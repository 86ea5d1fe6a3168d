"""Thresholds and times of alerts follow from the settings of a service."""

import pytest

from tests.support.stacks.picker_configs import single
from tests.support.stacks.watched import SLO, alert, groups, rules, watched

PROMETHEUS = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
SLEEPING = {
    "endpointPicker": {"flowControl": {"defaultRequestTTL": "2h"}},
    "health": {"startupTimeout": "20m"},
    "autoscaling": {
        "type": "keda",
        "minReplicas": 0,
        "maxReplicas": 3,
        "pollingInterval": "30s",
        "cooldownPeriod": "3h",
        "metrics": [{"type": "picker-queue-size", "target": 5}],
    },
}
SGLANG = {"type": "sglang", "image": "registry.example/sglang:v0.5.22"}
GROWING = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 80}]}


def asleep(**settings):
    stack = watched(qwen={**SLEEPING, **settings})
    return stack | {"observability": stack["observability"] | PROMETHEUS}


def test_a_service_that_sleeps_is_paged_about_only_after_it_should_be_awake():
    assert (alert(watched(), "no-endpoints") or {})["for"] == "2m"
    assert (alert(asleep(), "no-endpoints") or {})["for"] != "2m"
    assert (alert(asleep(), "does-not-wake") or {})["for"] == (alert(asleep(), "no-endpoints") or {})["for"]
    assert alert(watched(qwen={"endpointPicker": {"flowControl": {}}}), "does-not-wake") is None


def test_the_largest_number_of_pods_is_that_of_the_autoscaler():
    stack = watched(qwen={"autoscaling": GROWING})
    assert ") >= 4 and" in (alert(stack, "at-maximum") or {})["expr"]
    assert alert(watched(), "at-maximum") is None


def test_a_role_without_autoscaler_is_saturated_when_every_engine_runs_its_most_requests():
    stack = watched(qwen={"engine": {"maxNumSeqs": 32}})
    assert "0.95 * 32 * count" in (alert(stack, "saturated") or {})["expr"]
    assert alert(watched(), "saturated") is None


def test_half_of_the_time_that_requests_may_wait_is_the_threshold_for_waiting():
    stack = watched(qwen={"endpointPicker": {"flowControl": {"defaultRequestTTL": "5m"}}})
    assert (alert(stack, "requests-wait") or {})["expr"].endswith("> 150")
    times = {"defaultRequestTTL": "5m", "noEndpointRequestTTL": "1h"}
    stack = watched(qwen=written(featureGates=["flowControl"], flowControl=times))
    assert (alert(stack, "requests-wait") or {})["expr"].endswith("> 150")
    assert alert(watched(), "requests-wait") is None
    assert alert(asleep(), "requests-wait") is None


def test_a_pod_may_start_and_drain_before_its_scraper_is_missed():
    slow = watched(qwen={"health": {"startupTimeout": "2h"}, "drainTimeout": "10m"})
    assert (alert(slow, "engine-unread") or {})["for"] != (alert(watched(), "engine-unread") or {})["for"]
    assert "[8h]" in (alert(slow, "crash") or {})["expr"]


def test_a_picker_that_fails_open_is_no_page():
    open_picker = {"failureMode": "FailOpen", "failOpenReason": "requests matter more than their place"}
    stack = watched(qwen={"endpointPicker": open_picker})
    assert (alert(stack, "fail-open") or {})["labels"]["severity"] == "warning"
    assert alert(stack, "picker-down") is None
    assert (alert(watched(), "picker-down") or {})["labels"]["severity"] == "critical"


def test_a_picker_that_elects_no_leader_is_not_asked_for_one():
    assert alert(watched(), "no-leader") is None
    assert alert(watched(qwen={"endpointPicker": {"replicas": 2}}), "no-leader") is not None


def test_a_canary_is_asked_for_the_metrics_of_its_own_channel_and_version():
    stack = watched(qwen={"canary": {"weight": 10, "release": "gie-1.3"}})
    primary = alert(stack, "no-endpoints", variant="primary") or {}
    canary = alert(stack, "no-endpoints", variant="canary") or {}
    assert "llm_d_epp_ready_endpoints{" in primary["expr"]
    assert "inference_pool_ready_pods{" in canary["expr"]


def test_a_canary_whose_engines_count_no_requests_is_not_compared():
    for canary, primary in (({"engine": SGLANG}, {}), ({}, {"engine": SGLANG, "slo": None})):
        stack = watched(qwen={**primary, "canary": {"weight": 10, **canary}, "slo": None})
        assert groups(stack).keys() == {"qwen-primary", "qwen-canary"}
        assert not [rule for rule in rules(stack) if "record" in rule]


def test_a_canary_is_compared_by_recorded_requests_unless_pickers_count_them():
    canary = {"canary": {"weight": 10}}
    for service in ({"slo": None}, {"slo": {"ttft": SLO["ttft"]}}, {}):
        stack = watched(qwen={**service, **canary})
        assert "inference_stacks:failures:rate1h{" in (alert(stack, "canary-worse") or {})["expr"]
        assert {"primary", "canary"} == {
            rule["labels"]["variant"]
            for rule in rules(stack)
            if rule.get("record") in ("inference_stacks:requests:rate1h", "inference_stacks:failures:rate1h")
        }
    stack = watched(qwen={"slo": {"availability": 99, "source": "picker"}, **canary})
    assert "http_requests_total{" in (alert(stack, "canary-worse") or {})["expr"]


def test_a_weight_may_differ_until_the_pods_of_the_slower_variant_have_started():
    canary = {"weight": 10, "health": {"startupTimeout": "2h"}}
    assert (alert(watched(qwen={"canary": canary}), "weight-differs") or {})["for"] == "3h"


SECURE = {"prefill": {}, "sidecar": {"tls": {"prefill": True, "certificate": "serving"}}}
HTTPS = {"type": "metrics-data-source", "name": "secure", "parameters": {"scheme": "https"}}


def written(*plugins, **sections):
    return {"endpointPicker": {"preset": "custom", "config": single(*plugins, **sections)}}


@pytest.mark.parametrize("service", [{}, {"prefill": {}}, written()])
def test_polls_that_fail_are_a_ticket_where_a_picker_asks_by_one_scheme(service):
    assert alert(watched(qwen=service), "picker-polls-fail") is not None


@pytest.mark.parametrize("service", [SECURE, written(HTTPS)])
def test_polls_that_fail_are_no_ticket_where_a_picker_asks_by_both_schemes(service):
    assert alert(watched(qwen=service), "picker-polls-fail") is None


def test_without_series_of_the_picker_engines_that_answer_nobody_are_a_page():
    for unread in ({"metrics": {"picker": False}}, {"endpointPicker": {"enabled": False}}):
        assert "absent(up{" in (alert(watched(qwen=unread), "no-endpoints") or {})["expr"]
    assert "absent(up{" not in (alert(watched(), "no-endpoints") or {})["expr"]


def test_engines_that_nobody_wants_are_not_missed():
    idle = {"metrics": {"picker": False}, "replicas": 0}
    assert alert(watched(qwen=idle), "no-endpoints") is None
    assert alert(watched(qwen=idle), "picker-down") is None


def test_a_share_is_compared_only_where_no_header_decides_it():
    with_header = {"weight": 10, "headers": {"x-canary": "always"}}
    assert alert(watched(qwen={"canary": {"weight": 10}}), "weight-differs") is not None
    assert alert(watched(qwen={"canary": with_header}), "weight-differs") is None
    assert alert(watched(qwen={"canary": with_header}), "canary-worse") is not None
    assert alert(watched(), "canary-worse") is None


@pytest.mark.parametrize("canary", [SGLANG, {"type": "vllm", "image": "vllm/vllm-openai:v0.32.0"}])
def test_a_canary_is_compared_only_if_both_variants_count_answers_as_vllm_does(canary):
    stack = watched(qwen={"engine": SGLANG, "slo": None, "canary": {"weight": 10, "engine": canary}})
    assert alert(stack, "no-endpoints", variant="canary") is not None
    for name in ("canary-worse", "weight-differs"):
        assert alert(stack, name) is None
