"""Counters of gates, which are those of the recorded series."""

import re

import pytest

from composition import Composition, Given, compose
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.marks import StackName
from planning.observing import burn_rates, gate_counters
from planning.observing.burn_rates import Recording
from tests.support.stacks import GATEWAY, tree
from tests.support.traffic import compared

NAME = StackName("organization", "inference-stacks", "dev")
HIDDEN = {"metrics": {"decode": False}}


def counters(**options):
    """Return the counters of the variants of a service."""
    service = compared.stack() | options
    stack = tree(chat=service) | {"namespace": "living", "gateway": GATEWAY | {"version": "1.31.2"}}
    stack |= {"observability": {"metrics": {"type": "prometheus-operator"}}}
    composed = compose(stack, Given(NOTHING_READ), NAME)
    assert isinstance(composed, Composition), composed.error
    (plan,) = composed.plan.services
    return plan.gate_counters


def test_a_gate_counts_all_requests_and_those_that_fail():
    of_both = counters()
    assert of_both.keys() == {"primary", "canary"}
    for name, variant in of_both.items():
        matchers = f'namespace="living",inference_service="chat",variant="{name}"'
        assert variant.targets == f"up{{{matchers}}}"
        assert variant.serving_roles == ("decode",)
        errors = variant.gates["errors"]
        assert not errors.good
        assert all(matchers in selector for selector in (*errors.requests, *errors.bad))
        assert [selector.partition("{")[0] for selector in errors.bad] == [
            selector.partition("{")[0] for selector in errors.requests
        ]
        assert 'status="5xx"' in errors.bad[0]
        assert "status" not in errors.requests[0]


def test_a_gate_for_a_time_counts_all_requests_and_those_that_are_fast_enough():
    ttft = counters()["canary"].gates["ttft"]
    assert not ttft.bad
    assert [selector.partition("{")[0] for selector in ttft.requests] == ["vllm:time_to_first_token_seconds_count"]
    assert [selector.partition("{")[0] for selector in ttft.good] == ["vllm:time_to_first_token_seconds_bucket"]
    (bound,) = re.findall(r',le=~"([^"]*)"', ttft.good[0])
    assert re.fullmatch(bound.replace("\\\\", "\\"), "2.5")


def test_requests_are_counted_without_an_objective_for_their_availability():
    slo = {"ttft": {"within": "2500ms", "percent": 95}}
    assert counters(slo=slo)["canary"].gates.keys() == {"errors", "ttft"}


def test_the_picker_counts_where_it_is_the_source():
    slo = {"ttft": {"within": "2s", "percent": 95}, "source": "picker"}
    picker = counters(slo=slo)["canary"]
    texts = [text for gate in picker.gates.values() for text in (*gate.requests, *gate.bad, *gate.good)]
    assert texts
    assert all("_epp_" in text or "inference_" in text.partition("{")[0] for text in texts)


def test_pods_that_serve_are_known_where_they_are_not_scraped():
    slo = {"availability": 99.9, "source": "picker"}
    canary = compared.stack()["canary"] | HIDDEN | {"gates": {}}
    for variant in counters(slo=slo, canary=canary, **HIDDEN).values():
        assert (variant.serving_roles, variant.destinations) == ((), ("decode",))


def test_a_service_without_gates_has_no_counters():
    canary = {key: value for key, value in compared.stack()["canary"].items() if key != "gates"}
    assert counters(canary=canary) == {}


@pytest.mark.parametrize(
    ("expression", "selectors"),
    [
        ('sum by (a) (rate(x{b="]"}[5m]))', [('x{b="]"}', False)]),
        ("sum by (a) (rate(x[5m]) or rate(y{}[5m]))", [("x", False), ("y{}", False)]),
        ("sum by (a) (rate(x[5m])) - sum by (a) ( rate(y[5m]))", [("x", False), ("y", True)]),
        ('sum(rate(x{b="-"}[5m])) - sum(rate(y[5m]) or rate(z[5m]))', [('x{b="-"}', False), ("y", True), ("z", True)]),
        ("sum(rate(x[30m]))", []),
    ],
)
def test_rates_are_taken_from_a_query(expression, selectors):
    assert [*gate_counters._rates(expression)] == selectors


def test_every_recorded_series_of_a_gate_is_a_sum_or_a_difference_of_sums_of_rates():
    names = {name for pair in gate_counters._NAMES.values() for name in pair}
    rows = [row for row in burn_rates.table().records if row.name in names]
    assert {row.name for row in rows} == names
    for row in rows:
        expression = row.expression.replace("$window", gate_counters.WINDOW)
        rest = gate_counters._RATE.sub("", expression)
        assert re.fullmatch(r"[\s()]*sum[\s()]*(or[\s()]*)?(-[\s()]*sum[\s()]*)?", rest), row.name
        assert [*gate_counters._rates(expression)]
        assert ("-" in rest) is any(is_subtracted for _, is_subtracted in gate_counters._rates(expression))


def test_a_gate_needs_both_series():
    requests = Recording("inference_stacks:requests:rate5m", "sum(rate(x[5m]))", {})
    assert gate_counters.of([requests]) == {}
