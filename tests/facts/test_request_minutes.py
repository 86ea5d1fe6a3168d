"""Counts of each minute, from samples as a Prometheus scrapes them of engines that count."""

import random
from array import array

import pytest

from facts.request_minutes import GateAnswers, blocks, blocks_of_values, ready_replicas
from planning.ground.cluster_facts import Unknown
from planning.ground.request_counts import Block
from planning.ground.time_series import CounterSeries, Span

START = 1_000_000
SPAN = Span(START, START + 300)
UNREAD = Unknown("Prometheus did not answer")


def series(*samples, instance="a", **labels):
    """Return a series with samples of seconds after the start and values."""
    times, values = zip(*samples, strict=True) if samples else ((), ())
    labels = {"job": "engines", "instance": instance, **labels}
    return CounterSeries(labels, array("d", [START + second for second in times]), array("d", values))


def up(*seconds, instance="a", value=1, **labels):
    return series(*((second, value) for second in seconds), instance=instance, **labels)


ALWAYS = up(*range(-30, 301, 30))


def counts(requests, bad=(), good=(), scrapes=(ALWAYS,), span=SPAN):
    answers = GateAnswers([list(requests)], [list(bad)] if bad else [], [list(good)] if good else [])
    return blocks(answers, list(scrapes), span)


def test_a_counter_increases_in_the_minute_of_its_scrape():
    counter = series((-10, 100), (20, 103), (60, 104), (61, 110), (300, 111), (301, 999))
    assert [block.requests for block in counts([counter])] == [4, 6, 0, 0, 1]


def test_a_counter_that_falls_was_reset():
    counter = series((-10, 100), (20, 103), (50, 2), (80, 5), (110, 0), (140, 1))
    assert [block.requests for block in counts([counter])] == [5, 3, 1, 0, 0]


def test_a_start_that_one_counter_shows_counts_for_all_of_its_target():
    answers = series((-10, 100), (20, 103), (50, 2)), series((-10, 1), (20, 1), (110, 3), status="5xx")
    other = series((-10, 1), (110, 3), instance="b")
    scrapes = ALWAYS, up(-10, 20, 50, 110, instance="b")
    assert [block.requests for block in counts(answers, scrapes=scrapes)][:2] == [5, 3]
    assert [block.requests for block in counts([other, *answers], scrapes=scrapes)][:2] == [5, 5]


def test_a_series_that_begins_while_its_target_is_scraped_began_at_0():
    failures = series((80, 1), (110, 3))
    assert [block.bad for block in counts([series((-10, 0), (110, 50))], [failures])] == [0, 3, 0, 0, 0]


def test_the_first_series_of_a_target_count_from_their_first_sample():
    late = series((80, 5000), (110, 5003), instance="b")
    assert [block.requests for block in counts([late], scrapes=[ALWAYS, up(80, 110, instance="b")])] == [0, 3, 0, 0, 0]


def test_failed_scrapes_are_no_beginning():
    late = series((80, 5000), (110, 5003), instance="b")
    target = series((20, 0), (50, 0), (80, 1), (110, 1), instance="b")
    assert [block.requests for block in counts([late], scrapes=[target, ALWAYS])] == [0, 3, 0, 0, 0]


@pytest.mark.parametrize(("before", "after"), [({}, {"team": "chat"}), ({"team": "chat"}, {})])
def test_a_target_whose_labels_change_keeps_what_it_had_counted_before(before, after):
    counters = series((-10, 5000), (20, 5002), **before), series((80, 5003), (110, 5007), **after)
    scrapes = up(-10, 20, 50, **before), up(80, 110, 140, **after)
    failures = series((110, 3), status="5xx", **after)
    assert counts(counters, [failures], scrapes=scrapes)[:3] == [Block(2, 0), Block(4, 3), Block(0, 0)]


def test_a_minute_in_which_nobody_scraped_has_no_block_and_its_requests_come_in_the_next_one():
    counter = series((-10, 0), (20, 4), (50, 8), (200, 28))
    assert counts([counter], scrapes=[up(-10, 20, 50, 200)]) == [Block(8, 0), None, None, Block(20, 0), None]


def test_requests_that_are_not_fast_enough_are_bad():
    whole = series((-10, 0), (30, 10), (90, 30))
    fast = series((-10, 0), (30, 9), (90, 25), le="1.0")
    assert counts([whole], good=[fast])[:2] == [Block(10, 1), Block(20, 4)]


def test_a_sample_between_two_answers_makes_no_negative_count():
    assert counts([series((-10, 0), (30, 10))], good=[series((-10, 0), (30, 11))])[0] == Block(10, 0)
    assert counts([series((-10, 0), (30, 10))], bad=[series((-10, 0), (30, 11))])[0] == Block(10, 10)


def test_a_histogram_without_the_threshold_is_unknown():
    answers = GateAnswers([[series((-10, 0), (30, 10))]], good=[[]])
    assert isinstance(blocks(answers, [ALWAYS], SPAN), Unknown)
    assert blocks(GateAnswers([[]], good=[[]]), [ALWAYS], SPAN)[0] == Block(0, 0)


def test_a_target_without_requests_has_blocks_without_requests():
    assert counts([]) == [Block(0, 0)] * 5


def test_a_variant_that_nobody_scrapes_is_unknown():
    for scrapes in ([], [up(-30, 0, 30, value=0)]):
        answer = counts([series((-10, 0), (30, 10))], scrapes=scrapes)
        assert answer == Unknown("Prometheus scrapes no target of the variant")


def test_a_time_whose_begin_is_no_longer_stored_is_unknown():
    requests = [series((290, 0), (590, 10))]
    span = Span(START, START + 600)
    assert isinstance(counts(requests, scrapes=[up(290, 590)], span=span), list)
    answer = counts(requests, scrapes=[up(301, 590)], span=span)
    assert answer.reason.startswith("Prometheus has no samples of the variant from the begin of the comparison")


@pytest.mark.parametrize(
    ("answers", "scrapes"),
    [
        (GateAnswers([UNREAD]), [ALWAYS]),
        (GateAnswers([[]], [[], UNREAD]), [ALWAYS]),
        (GateAnswers([[]], good=[UNREAD]), [ALWAYS]),
        (GateAnswers([[]]), UNREAD),
    ],
)
def test_a_count_with_an_unread_answer_is_unread(answers, scrapes):
    assert blocks(answers, scrapes, SPAN) == UNREAD


def test_pods_are_ready_in_minutes_in_which_a_scrape_of_each_port_succeeds():
    first = up(20, 50, 80, 110, 140, instance="10.0.0.1:8000", pod="a")
    second = series((20, 0), (50, 1), (80, 0), (110, 0), instance="10.0.0.2:8000", pod="b")
    other_port = up(80, 140, instance="10.0.0.1:8001", pod="a")
    silent_port = up(140, instance="10.0.0.1:8002", pod="a", value=0)
    assert ready_replicas([first, second, other_port, silent_port], SPAN) == [2, 1, 0, None, None]
    assert ready_replicas(UNREAD, SPAN) == UNREAD


def test_values_of_steps_count_in_their_last_minute():
    requests, bad = series((120, 10), (240, 20)), series((120, 1))
    assert blocks_of_values([requests], [bad], SPAN, 2) == [None, Block(10, 1), None, Block(20, 0), None]


def test_before_the_first_step_is_over_there_are_no_values():
    assert blocks_of_values([], [], Span(START, START + 119), 2) == [None]
    assert isinstance(blocks_of_values([], [], Span(START, START + 120), 2), Unknown)


def test_values_that_are_no_counts_are_unknown():
    value = series((60, 1))
    for requests, bad in (([value, value], []), ([value], [value, value]), ([], []), ([series((60, -1))], [])):
        assert isinstance(blocks_of_values(requests, bad, SPAN, 1), Unknown)
    assert blocks_of_values(UNREAD, [], SPAN, 1) == UNREAD
    assert blocks_of_values([], UNREAD, SPAN, 1) == UNREAD


class CountingEngine:
    """An engine that counts, is scraped, and starts again."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.counters = {"2xx": 0}
        self.total = dict.fromkeys(["2xx", "5xx"], 0)
        self.samples = {"2xx": [], "5xx": []}
        self.scrapes = []

    def serve(self):
        status = "5xx" if self.random.random() < 0.05 else "2xx"
        self.counters[status] = self.counters.get(status, 0) + 1
        self.total[status] += 1

    def scrape(self, second):
        self.scrapes.append((second, 1))
        for status, value in self.counters.items():
            self.samples[status].append((second, value))


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_the_engine_up_to_one_scrape_for_each_restart(seed):
    """An engine restarts, and a Prometheus rests for two minutes; neither loses more than what no scrape saw.

    An engine that had answered less before it started again than since would not be noticed, so it answers some.
    """
    engine = CountingEngine(seed)
    unseen = 0
    since_scrape = 0
    engine.scrape(0)
    for second in range(1, 3601):
        if engine.random.random() < 0.5:
            engine.serve()
            since_scrape += 1
        if engine.random.random() < 0.001 and engine.counters["2xx"] > 100:
            engine.counters = {"2xx": 0}
            unseen += since_scrape
            since_scrape = 0
        if second % 15 == 7 and not 1200 <= second <= 1320:
            engine.scrape(second)
            since_scrape = 0
    span = Span(START, START + 3600)
    counters = {status: series(*samples, status=status) for status, samples in engine.samples.items() if samples}
    answer = blocks(GateAnswers([list(counters.values())], [[counters["5xx"]]]), [series(*engine.scrapes)], span)
    requests = sum(block.requests for block in answer if block is not None)
    bad = sum(block.bad for block in answer if block is not None)
    lost = unseen + since_scrape
    assert sum(engine.total.values()) - lost <= requests <= sum(engine.total.values())
    assert engine.total["5xx"] - lost <= bad <= engine.total["5xx"]
    assert answer.count(None) == 2
