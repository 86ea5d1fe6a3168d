"""Counts of requests in each minute, from the samples of counters.

A sample counts in the minute in which it was scraped, so that a request counts in that minute or, if nobody scraped in
it, in a later one. If a counter of a target falls, its engine has started again: all of its counters began at 0 since
the sample before. A series that begins while its target is scraped already began at 0: engines report a status or a
reason only from the first request on that has it. The first series of a target count from their first sample on,
because nobody knows for how long the target had counted before.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from planning.ground.cluster_facts import Unknown
from planning.ground.request_counts import Block
from planning.ground.time_series import CounterSeries, Span

BEFORE_SECONDS = 300
"""Time before the first minute from which samples are read, too: what a counter had before is in the last of them."""
_MINUTE = 60
_Address = tuple[str, str]
"""Labels `job` and `instance`."""
_Answer = Sequence[CounterSeries] | Unknown


@dataclass(frozen=True, slots=True)
class GateAnswers:
    """Series of the requests that a gate counts. Several answers of one kind are added up."""

    requests: Sequence[_Answer]
    """Series of all requests."""
    bad: Sequence[_Answer] = ()
    """Series of bad requests."""
    good: Sequence[_Answer] = ()
    """Series of the requests that are not bad. Either these or the bad ones are counted."""


def blocks(answers: GateAnswers, scrapes: _Answer, span: Span) -> Sequence[Block | None] | Unknown:
    """Return the requests of each complete minute of a time; None for a minute in which nobody scraped.

    `scrapes` are the series `up` of the targets, whose samples are 1 for scrapes that succeeded.
    """
    unread = next(
        (part for part in (scrapes, *answers.requests, *answers.bad, *answers.good) if isinstance(part, Unknown)), None
    )
    if unread is not None:
        return unread
    targets = _Targets(_series([scrapes]), _series([*answers.requests, *answers.bad, *answers.good]))
    if not targets:
        return Unknown("Prometheus scrapes no target of the variant")
    if _first_scrape(_series([scrapes])) > span.start + BEFORE_SECONDS:
        what = "Prometheus has no samples of the variant from the begin of the comparison"
        return Unknown(f"{what}; keep them for longer, or begin anew by another weight")
    requests = _sums(_series(answers.requests), targets, span)
    bad = _sums(_series(answers.bad), targets, span)
    if answers.good:
        good = _series(answers.good)
        if any(requests) and not good:
            return Unknown("Prometheus has no series of the requests that are fast enough")
        bad = [whole - part for whole, part in zip(requests, _sums(good, targets, span), strict=True)]
    is_scraped = [False] * len(requests)
    for minute, value in _by_minute(_series([scrapes]), span):
        is_scraped[minute] = is_scraped[minute] or value == 1
    return [
        _block(whole, part) if known else None for whole, part, known in zip(requests, bad, is_scraped, strict=True)
    ]


def _first_scrape(scrapes: Sequence[CounterSeries]) -> float:
    """Return the time of the first scrape."""
    return min(series.times[0] for series in scrapes if series.times)


def blocks_of_values(
    requests: _Answer, bad: _Answer, span: Span, step_minutes: int
) -> Sequence[Block | None] | Unknown:
    """Return the requests of each complete minute of a time, from the values of two queries at the ends of steps.

    The requests of a step count in its last minute, and its other minutes are None.
    """
    if isinstance(requests, Unknown):
        return requests
    if isinstance(bad, Unknown):
        return bad
    minutes: list[Block | None] = [None] * (span.seconds // _MINUTE)
    if len(requests) > 1 or len(bad) > 1:
        return Unknown("a query has several results; sum them")
    if not requests and len(minutes) >= step_minutes:
        return Unknown("the query for all requests has no result")
    bad_values = dict(_by_minute(bad, span))
    for minute, value in _by_minute(requests, span):
        bad_value = bad_values.get(minute, 0.0)
        if value < 0 or bad_value < 0:
            return Unknown("a query counts less than 0 requests")
        if (minute + 1) % step_minutes == 0:
            minutes[minute] = _block(value, bad_value)
    return minutes


def ready_replicas(scrapes: _Answer, span: Span) -> Sequence[int | None] | Unknown:
    """Return how many pods answered a scrape in each complete minute; None where nobody scraped.

    A pod whose scrapes fail now and then serves all the same, so all scrapes of one of its ports have to fail.
    """
    if isinstance(scrapes, Unknown):
        return scrapes
    minutes = list[dict[tuple[str, str], bool]]({} for _ in range(span.seconds // _MINUTE))
    for series in scrapes:
        instance = series.labels.get("instance", "")
        port = series.labels.get("pod") or instance, instance
        for minute, value in _by_minute([series], span):
            minutes[minute][port] = minutes[minute].get(port, False) or value == 1
    return [_answering_pods(ports) if ports else None for ports in minutes]


def _answering_pods(ports: Mapping[tuple[str, str], bool]) -> int:
    """Return the number of pods of which all ports answered, by pod and port."""
    silent = {pod for (pod, _), answered in ports.items() if not answered}
    return len({pod for pod, _ in ports} - silent)


def _block(requests: float, bad: float) -> Block:
    """Return a block. Two answers may differ in a sample that came between them, so that bad requests are limited."""
    return Block(requests, min(max(bad, 0.0), requests))


@dataclass(frozen=True, slots=True)
class _ScrapedTarget:
    """A target, and when its counters began."""

    labels: AbstractSet[tuple[str, str]]
    """Labels that the target gives to all of its series."""
    first_scrape: float
    """Time of the first scrape that succeeded."""
    starts: set[tuple[float, float]]
    """Times between which counters began anew: those of two samples of a counter that fell between them."""

    def has_started(self, after: float, until: float) -> bool:
        """Tell whether counters began anew between two times."""
        return any(after <= last and first <= until for last, first in self.starts)


class _Targets:
    """The targets of which a scrape succeeded.

    A target whose labels change is another target from then on, and all of its series are others.
    """

    def __init__(self, scrapes: Sequence[CounterSeries], counters: Sequence[CounterSeries]) -> None:
        self._by_address = defaultdict[_Address, list[_ScrapedTarget]](list)
        for series in scrapes:
            moments = (moment for moment, value in zip(series.times, series.values, strict=True) if value == 1)
            first_scrape = next(moments, None)
            if first_scrape is not None:
                target = _ScrapedTarget(_labels(series), first_scrape, set())
                self._by_address[_address(series)].append(target)
        for series in counters:
            self._note_starts(series)

    def __bool__(self) -> bool:
        return bool(self._by_address)

    def of(self, series: CounterSeries) -> _ScrapedTarget | None:
        """Return the target of a counter: that of most labels, if all labels of several are among the counter's."""
        labels = _labels(series)
        targets = (target for target in self._by_address.get(_address(series), ()) if target.labels <= labels)
        return max(targets, key=lambda target: len(target.labels), default=None)

    def _note_starts(self, series: CounterSeries) -> None:
        target = self.of(series)
        if target is None:
            return
        for (last, former), (first, value) in pairwise(zip(series.times, series.values, strict=True)):
            if value < former:
                target.starts.add((last, first))


def _sums(counters: Sequence[CounterSeries], targets: _Targets, span: Span) -> list[float]:
    """Return by how much counters together increase in each complete minute."""
    sums = [0.0] * (span.seconds // _MINUTE)
    for series in counters:
        for moment, increase in _increases(series, targets.of(series), span.start):
            minute = _minute(moment, span)
            if minute is not None:
                sums[minute] += increase
    return sums


def _increases(series: CounterSeries, target: _ScrapedTarget | None, start: int) -> Iterator[tuple[float, float]]:
    """Yield the time of each sample after a start, and by how much the counter has increased since the last one."""
    former: tuple[float, float] | None = None
    for moment, value in zip(series.times, series.values, strict=True):
        if moment > start:
            yield moment, value - _base(former, (moment, value), target)
        former = (moment, value)


def _base(former: tuple[float, float] | None, sample: tuple[float, float], target: _ScrapedTarget | None) -> float:
    """Return the number from which on a sample counts: that of the sample before, or 0 if the counter began since."""
    moment, value = sample
    if former is None:
        began = target is not None and target.first_scrape < moment
        return 0.0 if began else value
    if value < former[1] or (target is not None and target.has_started(former[0], moment)):
        return 0.0
    return former[1]


def _series(answers: Sequence[_Answer]) -> Sequence[CounterSeries]:
    """Return the series of all answers."""
    return [series for answer in answers if not isinstance(answer, Unknown) for series in answer]


def _by_minute(answer: Sequence[CounterSeries], span: Span) -> Iterator[tuple[int, float]]:
    """Yield the number of the minute, and the value, of each sample in a complete minute of a time."""
    for series in answer:
        for moment, value in zip(series.times, series.values, strict=True):
            minute = _minute(moment, span)
            if minute is not None:
                yield minute, value


def _minute(moment: float, span: Span) -> int | None:
    """Return the number of the complete minute in which a time lies; None if it lies in none."""
    if moment <= span.start:
        return None
    minute = -int(-(moment - span.start) // _MINUTE) - 1
    return minute if minute < span.seconds // _MINUTE else None


def _address(series: CounterSeries) -> _Address:
    return series.labels.get("job", ""), series.labels.get("instance", "")


def _labels(series: CounterSeries) -> AbstractSet[tuple[str, str]]:
    """Return the labels without the name of the metric."""
    return {label for label in series.labels.items() if label[0] != "__name__"}
