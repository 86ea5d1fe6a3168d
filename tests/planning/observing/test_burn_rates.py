"""Recorded series of requests, and thresholds of objectives."""

from models.objectives import Slo
from planning.observing import burn_rates
from tests.support.stacks.watched import SLO, groups, watched


def slo(**settings):
    return Slo.model_validate(settings)


def test_factors_of_thirty_days_are_those_of_the_workbook():
    month = slo(availability=99)
    factors = {pace: float(burn_rates.factor(pace, month)) for pace in burn_rates.table().paces}
    assert factors == {"page_hour": 14.4, "page_quarter": 6, "ticket_day": 3, "ticket_days": 1}


def test_factors_follow_from_the_window():
    assert float(burn_rates.factor("page_hour", slo(availability=99, window="28d"))) == 13.44


def test_a_threshold_is_the_factor_times_what_may_fail():
    thresholds = burn_rates.thresholds(slo(availability=99.9))
    assert thresholds["availability_page_hour"] == "0.0144"
    assert thresholds["availability_ticket_days"] == "0.001"


def test_an_alert_that_could_never_fire_is_left_out():
    loose = burn_rates.thresholds(slo(availability=80))
    assert "availability_page_hour" not in loose
    assert loose["availability_ticket_day"] == "0.6"
    assert "availability_page_hour" in burn_rates.thresholds(slo(availability=90))


def test_a_bound_matches_the_spellings_of_both_clients():
    texts = burn_rates.bound_values(slo(ttft={"within": "1s", "percent": 95}, tpot={"within": "150ms", "percent": 95}))
    assert texts == {"ttft_bound": r"1(\\.0)?", "tpot_bound": r"0\\.15"}


def test_requests_are_recorded_for_each_window_of_an_alert():
    names = [rule["record"] for rule in groups(watched())["qwen-primary"] if "record" in rule]
    assert len(names) == len(set(names)) == 6 * len(burn_rates.table().windows)
    assert "inference_stacks:slow_ttft:rate3d" in names


def test_only_series_of_the_objectives_are_recorded():
    rules = groups(watched(qwen={"slo": {"ttft": SLO["ttft"]}}))["qwen-primary"]
    kinds = {rule["record"].split(":")[1] for rule in rules if "record" in rule}
    assert kinds == {"ttft", "slow_ttft"}


def test_requests_that_a_picker_refuses_are_counted_beside_those_of_the_engines():
    (rule,) = [
        rule for rule in groups(watched())["qwen-primary"] if rule.get("record") == "inference_stacks:requests:rate5m"
    ]
    assert "http_requests_total{" in rule["expr"]
    assert "llm_d_epp_request_error_total{" in rule["expr"]
    assert "llm_d_epp_request_total{" not in rule["expr"]


def test_recorded_series_of_other_windows_differ_in_the_window_alone():
    recorded = {rule["record"]: rule["expr"] for rule in groups(watched())["qwen-primary"] if "record" in rule}
    for row in burn_rates.table().records:
        texts = {
            recorded[f"inference_stacks:{row.name}:rate{window}"].replace(f"[{window}]", "[]")
            for window in burn_rates.table().windows
        }
        assert len(texts) == 1, row.name
