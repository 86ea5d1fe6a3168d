"""The line of a report about the gates of a canary."""

import pytest

from cli import documents, summary_blocks
from judging.report import gates
from models.load import load
from tests.support.reports import made, nodes
from tests.support.stacks import plan
from tests.support.stacks.varied_canaries import CANARIES

GATED = CANARIES["gated"]
QWEN = GATED["services"]["qwen"]
TIMES = "60 min after 5 min of warm-up"


def stack_of(gate_words, **words):
    canary = {**QWEN["canary"], "gates": gate_words, **words}
    return GATED | {"services": {"qwen": QWEN | {"canary": canary}}}


def line(gate_words, **words):
    stack = stack_of(gate_words, **words)
    return gates.lines(load(stack).stack, plan(stack))["qwen"]


def test_a_stated_rate_makes_minutes_and_a_probability():
    assert line({"requestsPerMinute": 200}) == (
        f"{TIMES}, when a canary like the primary passes with 86%; 80% takes 1,029 requests of the canary "
        "(errors: 1.00% bad, 2.00% at the margin), which is 52 min"
    )


def test_without_a_rate_only_requests_are_told():
    assert line({"worse": {"errors": 0.5}}) == (
        f"{TIMES}; a canary like the primary passes with 80% after 3,418 requests of the canary (errors: 1.00% bad, "
        "1.50% at the margin)"
    )


def test_the_gate_that_takes_most_requests_is_named():
    assert "(ttft: 5.00% bad, 6.00% at the margin)" in line({"worse": {"errors": 1, "ttft": 1}})
    assert "500 requests of the canary (minRequests)" in line({"worse": {"errors": 50}})


@pytest.mark.parametrize("weight", [0, 100])
def test_no_lot_is_no_verdict(weight):
    assert line({}, weight=weight) == f"no verdict at weight {weight}"


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (
            {"replicas": 3},
            "0.33 times the requests of one of the primary, so nothing passes by ttft; 9 replicas of the primary and 1",
        ),
        (
            {"weight": 50},
            "9.00 times the requests of one of the primary, so nothing fails by ttft; 9 replicas of the primary and 9",
        ),
    ],
)
def test_a_load_at_which_times_are_not_comparable_is_told(words, end):
    text = line({"worse": {"ttft": 2}}, **words)
    assert text.endswith(f"; a replica of the canary gets {end} of the canary would have like loads")


@pytest.mark.parametrize(
    ("gate_words", "replicas"), [({"worse": {"ttft": 2}}, 1), ({"worse": {"ttft": 2}}, 2), ({}, 3)]
)
def test_nothing_is_told_of_comparable_loads_and_of_errors(gate_words, replicas):
    assert "a replica of the canary" not in line(gate_words, replicas=replicas)


def test_a_service_without_gates_has_no_line():
    stack = CANARIES["unpicked"]
    assert gates.lines(load(stack).stack, plan(stack)) == {}


def test_the_report_on_a_change_has_the_line_of_a_service_that_changes():
    stack = stack_of({"requestsPerMinute": 200})
    text = summary_blocks.fitting(made(None, stack, nodes(4)), documents.text)
    assert f"gates of qwen: {TIMES}, when a canary like the primary passes with 86%" in " ".join(text.split())
    unchanged = summary_blocks.fitting(made(stack, stack, nodes(4)), documents.text)
    assert "gates of" not in unchanged
