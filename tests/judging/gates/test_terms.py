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
    assert (demands.alpha, demands.assumed_share) == (pytest.approx(0.01), 0.02)
    assert (demands.weight, demands.requests_per_minute, demands.has_headers) == (10, 200, False)
    assert demands.steps == (5, 25, 50, 100)


def test_gates_have_the_margins_thresholds_and_queries_of_their_words():
    assert terms_of().gates == (
        GateTerms("errors", 0.01),
        GateTerms("ttft", 0.02, within="500ms"),
        GateTerms("tpot", 0.02, within="100ms"),
        GateTerms(
            "refusals",
            0.01,
            bad='sum(increase(refusals_total{variant="$variant"}[$window]))',
            all='sum(increase(answers_total{variant="$variant"}[$window]))',
        ),
    )


def test_times_without_a_margin_are_not_compared():
    assert [gate.name for gate in terms_of(worse={}, queries={}).gates] == ["errors"]


def test_a_service_without_gates_demands_nothing():
    loaded = load(CANARIES["unpicked"])
    assert terms.of(loaded.stack.services["qwen"]) is None
