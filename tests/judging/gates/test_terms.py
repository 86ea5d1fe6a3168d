"""The numbers that the words of gates demand."""

import pytest

from judging.gates import terms
from judging.gates.records import GateTerms
from models.load import load
from tests.support.stacks.varied_canaries import CANARIES


def terms_of(**gates):
    stack = CANARIES["gated"]
    qwen = stack["services"]["qwen"]
    canary = qwen["canary"] | {"gates": qwen["canary"]["gates"] | gates}
    loaded = load(stack | {"services": {"qwen": qwen | {"canary": canary}}})
    return terms.of(loaded.stack.services["qwen"])


def test_percentages_become_shares_and_durations_become_minutes():
    demands = terms_of(bake="90m30s", warmup="10s", confidence=99, errorPercent=2)
    assert (demands.bake, demands.warmup, demands.min_requests) == (91, 1, 500)
    assert demands.alpha == pytest.approx(0.01)
    assert {gate.name: round(gate.assumed, 9) for gate in demands.gates} == {
        "errors": 0.02,
        "ttft": 0.05,
        "tpot": 0.05,
        "refusals": 0.02,
    }
    assert (demands.weight, demands.requests_per_minute, demands.has_headers) == (10, 200, False)
    assert demands.steps == (5, 25, 50, 100)


def test_gates_have_the_margins_thresholds_and_queries_of_their_words():
    errors, ttft, tpot, refusals = terms_of().gates
    assert errors == GateTerms("errors", 0.01, 0.01)
    assert [(gate.name, gate.margin, gate.within) for gate in (ttft, tpot)] == [
        ("ttft", 0.02, "500ms"),
        ("tpot", 0.02, "100ms"),
    ]
    assert refusals == GateTerms(
        "refusals",
        0.01,
        0.01,
        bad='sum(increase(refusals_total{variant="$variant"}[$window]))',
        all='sum(increase(answers_total{variant="$variant"}[$window]))',
    )


def test_times_without_a_margin_are_not_compared():
    assert [gate.name for gate in terms_of(worse={}, queries={}).gates] == ["errors"]


def test_a_service_without_gates_demands_nothing():
    loaded = load(CANARIES["unpicked"])
    assert terms.of(loaded.stack.services["qwen"]) is None
