"""Reasons why requests of two variants cannot be compared."""

import re

import pytest

from judging.gates import comparability
from judging.gates.records import GateTerms
from planning.ground.cluster_facts import Unknown
from tests.support.measurements import blocks, measurement, terms

PRIMARY = blocks(180, 2, 60)
CANARY = blocks(20, 0, 60)


def texts(demands=None, *, asks_each_picker=True, **words):
    measured = measurement(PRIMARY, CANARY, **words)
    reasons = comparability.obstacles(demands or terms(), measured, asks_each_picker=asks_each_picker)
    return [(reason.text, reason.hides_failure) for reason in reasons]


def test_equal_loads_drawn_by_lot_are_comparable():
    assert texts() == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"weight": 0}, "with weight 0, no requests are drawn for the canary"),
        ({"weight": 100}, "with weight 100, no requests are left for the primary"),
        ({"has_headers": True}, "headers bring the canary requests that are not drawn by lot"),
    ],
)
def test_requests_that_are_not_drawn_by_lot(words, text):
    assert texts(terms(**words)) == [(text, True)]


def test_a_gateway_that_asks_one_picker_for_both():
    text = "the gateway asks one picker for both variants, so it does not draw by weight"
    assert texts(asks_each_picker=False) == [(text, True)]


TIMES = terms(GateTerms("errors", 0.01), GateTerms("ttft", 0.02, within="500ms"))


def test_loads_may_differ_twofold():
    assert texts(TIMES, ready=(9, 2)) == []
    assert texts(TIMES, ready=(18, 1)) == []
    of_canary = (
        "ttft cannot be compared: a replica of the canary has {} requests a minute, and one of the primary {}; {}"
    )
    light = of_canary.format("6.7", "20.0", "9 replicas of the primary and 1 of the canary would have like loads")
    assert texts(TIMES, ready=(9, 3)) == [(light, False)]
    heavy = of_canary.format("20.0", "6.7", "27 replicas of the primary and 3 of the canary would have like loads")
    assert texts(TIMES, ready=(27, 1)) == [(heavy, True)]


def test_errors_are_compared_at_any_load():
    assert texts(ready=(9, 3)) == []
    assert texts(ready=(27, 1)) == []


@pytest.mark.parametrize("weight", range(1, 100))
def test_replicas_that_are_named_have_comparable_loads(weight):
    odds = weight / (100 - weight)
    for replicas in range(1, 20):
        primary, canary = map(int, re.findall("[0-9]+", comparability.comparable_replicas(odds, replicas)))
        assert 1 / comparability.MOST_LOAD < odds * primary / canary < comparability.MOST_LOAD
        assert primary >= replicas


def test_a_variant_that_was_not_ready_all_the_time():
    gap = [1] * 55 + [0, 0, 0, 0, None]
    assert texts(ready=(9, gap)) == [("the canary had no ready replica in 4 of 60 minutes", False)]
    assert texts(ready=([9] * 55 + [0] * 5, 1)) == [("the primary had no ready replica in 5 of 60 minutes", True)]


def test_a_few_minutes_without_a_ready_replica_hide_nothing():
    gap = [1] * 57 + [0, 0, 0]
    assert texts(ready=(gap, gap)) == []


def test_readiness_that_nobody_knows():
    assert texts(ready=(9, Unknown("no series"))) == [("nobody knows whether the canary was ready: no series", True)]
    assert texts(ready=([None] * 60, 1)) == [("nobody knows whether the primary was ready", True)]
    assert texts(ready=(9, [1] * 58 + [None, None])) == []


def test_requests_of_the_warm_up_are_not_counted():
    assert texts(terms(warmup=5), warmup=5) == []
    assert texts(terms(warmup=66), warmup=5) == [("the warm-up is over in 1 min", True)]
