"""Verdicts on canaries from counts per minute."""

import pytest

from judging.gates.records import GateOutcome, GateTerms, Shortfall
from judging.gates.verdict import judge
from planning.ground.cluster_facts import Unknown
from planning.ground.request_counts import Block
from tests.support.measurements import blocks, measurement, terms

PRIMARY = blocks(180, 1.8, 60)
EQUAL = blocks(20, 0.2, 60)
SLOW = GateTerms("ttft", 0.02, within="500ms")


def outcome(primary, canary, demands=None, **words):
    return judge(demands or terms(), measurement(primary, canary, **words)).outcome


def test_an_equal_canary_passes_when_the_time_is_over_and_not_a_minute_before():
    assert outcome(PRIMARY, EQUAL) is GateOutcome.PASSES
    assert outcome(PRIMARY[1:], EQUAL[1:]) is GateOutcome.UNDECIDED


def test_a_much_worse_canary_fails_long_before_the_time_is_over():
    early = judge(terms(), measurement(PRIMARY[:5], blocks(20, 6, 5)))
    assert (early.outcome, early.is_over, early.minutes) == (GateOutcome.FAILS, False, 5)
    assert early.gates[0].lower > 0.01


def test_a_burst_in_the_first_minutes_fails_no_canary():
    """Four minutes tell too little of bursts, also if others had no requests."""
    assert outcome(PRIMARY[:4], blocks(20, 20, 4)) is GateOutcome.UNDECIDED
    empty = [Block(0, 0)] * 4
    assert outcome([*PRIMARY[:4], *empty], [*blocks(20, 20, 4), *empty]) is GateOutcome.UNDECIDED
    assert outcome(PRIMARY[:5], blocks(20, 20, 5)) is GateOutcome.FAILS


def test_a_canary_at_the_margin_neither_passes_nor_fails():
    assert outcome(PRIMARY, blocks(20, 0.4, 60)) is GateOutcome.UNDECIDED


def test_a_better_canary_passes():
    assert outcome(blocks(180, 9, 60), EQUAL) is GateOutcome.PASSES


def test_a_canary_that_is_worse_in_one_gate_fails():
    demands = terms(GateTerms("errors", 0.01), SLOW)
    worse = {"errors": EQUAL, "ttft": blocks(20, 10, 60)}
    both = {"errors": PRIMARY, "ttft": PRIMARY}
    assert outcome(both, worse, demands) is GateOutcome.FAILS
    assert outcome(both, {"errors": EQUAL, "ttft": EQUAL}, demands) is GateOutcome.PASSES


def test_the_probability_of_a_wrong_failure_is_shared_among_the_gates():
    primary = blocks(180, 1.8, 40)
    canary = blocks(20, 1.04, 40)
    assert outcome(primary, canary) is GateOutcome.FAILS
    gates = (GateTerms("errors", 0.01), *(GateTerms(f"query{number}", 0.01) for number in range(19)))
    many = [{gate.name: counts for gate in gates} for counts in (primary, EQUAL[:40])]
    many[1]["errors"] = canary
    assert outcome(*many, terms(*gates)) is GateOutcome.UNDECIDED


def test_a_pass_needs_the_requests_that_were_stated():
    few = judge(terms(min_requests=2000), measurement(PRIMARY, EQUAL))
    assert (few.outcome, few.is_over, few.shortfall) == (GateOutcome.UNDECIDED, False, Shortfall(800, 40))
    more = judge(terms(min_requests=2000), measurement(blocks(180, 1.8, 100), blocks(20, 0.2, 100)))
    assert (more.outcome, more.is_over) == (GateOutcome.PASSES, True)


def test_a_pass_does_not_depend_on_what_comes_after_the_time():
    later = [*EQUAL, *blocks(20, 0.5, 30)]
    assert outcome([*PRIMARY, *PRIMARY[:30]], later) is GateOutcome.PASSES
    assert outcome([*PRIMARY, *PRIMARY[:30]], [*EQUAL, *blocks(20, 12, 30)]) is GateOutcome.FAILS


def test_a_time_that_is_over_without_a_verdict_says_what_would_have_been_enough():
    demands = terms(GateTerms("errors", 0.005))
    verdict = judge(demands, measurement(PRIMARY, EQUAL))
    assert (verdict.outcome, verdict.is_over) == (GateOutcome.UNDECIDED, True)
    assert verdict.shortfall is None
    minutes = verdict.enough_bake
    assert minutes
    longer = [blocks(180, 1.8, minutes), blocks(20, 0.2, minutes)]
    assert judge(demands, measurement(*longer)).outcome is GateOutcome.UNDECIDED
    for bake, passes in ((minutes, True), (minutes - 2, False)):
        judged = outcome(*longer, terms(GateTerms("errors", 0.005), bake=bake))
        assert (judged is GateOutcome.PASSES) == passes


def test_before_the_time_is_over_nothing_is_said_of_a_longer_one():
    assert judge(terms(), measurement(PRIMARY[1:], EQUAL[1:])).enough_bake is None


@pytest.mark.parametrize(("margin", "bad"), [(0.01, 0.42), (0.0001, 0.2)])
def test_no_time_is_enough_for_a_canary_that_looks_worse_or_takes_more_than_two_days(margin, bad):
    verdict = judge(terms(GateTerms("errors", margin)), measurement(PRIMARY, blocks(20, bad, 60)))
    assert (verdict.is_over, verdict.shortfall, verdict.enough_bake) == (True, None, None)


def test_a_canary_waits_for_its_requests_for_a_day():
    demands = terms(bake=60)
    for minutes, is_over in ((1499, False), (1500, True)):
        verdict = judge(demands, measurement(blocks(180, 1.8, minutes), blocks(0.1, 0, minutes)))
        assert (verdict.outcome, verdict.is_over) == (GateOutcome.UNDECIDED, is_over)
        assert (verdict.shortfall is None) == is_over


def test_minutes_after_the_time_hide_no_pass():
    later = {"ready": ([1] * 60 + [0] * 30, [1] * 60 + [0] * 30)}
    assert outcome([*PRIMARY, *[Block(0, 0)] * 30], [*EQUAL, *[Block(0, 0)] * 30], **later) is GateOutcome.PASSES


def test_a_canary_without_requests_lacks_all_of_them():
    verdict = judge(terms(), measurement(PRIMARY, blocks(0, 0, 60)))
    assert (verdict.outcome, verdict.shortfall) == (GateOutcome.UNDECIDED, Shortfall(500, None))


def test_nothing_is_judged_before_the_warm_up_is_over():
    verdict = judge(terms(), measurement([], [], warmup=2))
    assert (verdict.outcome, verdict.minutes) == (GateOutcome.UNDECIDED, 0)
    assert [obstacle.text for obstacle in verdict.obstacles] == ["the warm-up is over in 3 min"]


def test_a_failed_query_is_not_measured_but_a_failure_elsewhere_counts():
    demands = terms(GateTerms("errors", 0.01), SLOW)
    unknown = {"errors": PRIMARY, "ttft": Unknown("answered 500")}
    verdict = judge(demands, measurement(unknown, {"errors": EQUAL, "ttft": EQUAL}))
    assert (verdict.outcome, verdict.gates[1].reason) == (GateOutcome.NOT_MEASURED, "answered 500")
    assert outcome(unknown, {"errors": blocks(20, 6, 60), "ttft": EQUAL}, demands) is GateOutcome.FAILS
    nothing = judge(terms(), measurement({"errors": Unknown("no answer")}, {"errors": Unknown("no answer")}))
    assert nothing.outcome is GateOutcome.NOT_MEASURED


def test_a_gate_for_which_nothing_was_asked_is_not_measured():
    assert outcome({}, {}) is GateOutcome.NOT_MEASURED


def test_minutes_that_nobody_scraped_are_no_requests():
    gap = [*EQUAL[:20], None, None, *EQUAL[22:]]
    assert outcome(PRIMARY, gap) is GateOutcome.PASSES


@pytest.mark.parametrize(
    "block",
    [
        Block(float("nan"), 0),
        Block(20, float("nan")),
        Block(-1, 0),
        Block(5, 9),
        Block(5, -1),
        Block(1e200, 0),
        Block(1e200, 1e200),
        Block(1e15, 3e14),
        Block(1e-9, 0),
        Block(5e-324, 5e-324),
    ],
)
def test_numbers_that_cannot_be_are_no_traceback(block):
    assert outcome([block, *PRIMARY[1:]], [block, *EQUAL[1:]]) in GateOutcome
    for variants in ([block], PRIMARY), (PRIMARY, [block]), ([block], [block]), ([block] * 60, EQUAL):
        assert outcome(*variants) in GateOutcome
        assert outcome(*variants, terms(min_requests=1, bake=1)) in GateOutcome


def test_a_failed_scrape_neither_forbids_a_pass_nor_hides_a_failure():
    failed = [1] * 30 + [0] + [1] * 29
    assert outcome(PRIMARY, EQUAL, ready=(failed, failed)) is GateOutcome.PASSES
    assert outcome(PRIMARY, blocks(20, 6, 60), ready=(failed, failed)) is GateOutcome.FAILS


def test_headers_hide_everything():
    demands = terms(has_headers=True)
    assert outcome(PRIMARY, EQUAL, demands) is GateOutcome.UNDECIDED
    assert outcome(PRIMARY, blocks(20, 6, 60), demands) is GateOutcome.UNDECIDED


TIMES = terms(GateTerms("errors", 0.01), SLOW)


def of_times(slow, bad=0.2, **words):
    """Return the outcome for a canary with so many slow and bad ones among 20 requests a minute."""
    canary = {"errors": blocks(20, bad, 60), "ttft": blocks(20, slow, 60)}
    return outcome({"errors": PRIMARY, "ttft": PRIMARY}, canary, TIMES, **words)


def test_a_lighter_load_hides_a_pass_of_times_but_no_failure():
    assert of_times(0.2) is GateOutcome.PASSES
    assert of_times(0.2, ready=(3, 1)) is GateOutcome.UNDECIDED
    assert of_times(10, ready=(3, 1)) is GateOutcome.FAILS


def test_a_heavier_load_hides_a_failure_of_times_but_no_pass():
    assert of_times(10) is GateOutcome.FAILS
    assert of_times(10, ready=(30, 1)) is GateOutcome.UNDECIDED
    assert of_times(0.2, ready=(30, 1)) is GateOutcome.PASSES


@pytest.mark.parametrize("ready", [(1, 1), (100, 1)])
def test_errors_are_compared_at_any_load(ready):
    assert outcome(PRIMARY, EQUAL, ready=ready) is GateOutcome.PASSES
    assert outcome(PRIMARY, blocks(20, 6, 60), ready=ready) is GateOutcome.FAILS
    assert of_times(0.2, bad=6, ready=ready) is GateOutcome.FAILS
