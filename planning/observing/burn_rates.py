"""Recorded series of requests, and the shares of requests above which an objective burns too fast."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from pydantic import Field

from models.base import Spec
from models.objectives import Latency, Slo
from models.vocabulary import milliseconds
from planning.ground import tables
from planning.observing import metrics
from planning.observing.metrics import RECORDED, SeriesScope

_HOURS_OF_A_DAY = 24
_PERCENT = 100
_DIGITS = 6
"""Digits of a threshold that count."""


class Pace(Spec):
    """A part of what may fail in the window of an objective, and the time in which it failed."""

    percent: int
    hours: int


class RecordRow(Spec):
    """A recorded series as a template."""

    name: str
    needs: list[str] = Field(default=[])
    """Names of values and facts without which a variant does not have the series."""
    expression: str
    """Template of the query for a window (`planning.observing.metrics`)."""


class Handlers(Spec):
    """Paths of an engine's server that ask for no answer of the model, as regular expressions."""

    handlers: list[str]
    source: str


class Refusals(Spec):
    """Codes of a picker's refusals that a client sees as a status of 500 or more."""

    codes: list[str]
    source: str


class BurnRates(Spec):
    """The table."""

    windows: list[str]
    """Durations of Prometheus for which requests are recorded."""
    paces: dict[str, Pace]
    """Paces by the ending of the name of their placeholder."""
    records: list[RecordRow]
    helpers: Handlers
    refusals: Refusals


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded series."""

    name: str
    expression: str
    """A query of Prometheus."""
    labels: Mapping[str, str]
    """Labels of the series, which tell whose it is."""


def table() -> BurnRates:
    """Return the table of recorded series and paces."""
    return tables.read(BurnRates, "observing/burn-rates.yaml")


def recordings(scope: SeriesScope, values: Mapping[str, str]) -> Iterator[Recording]:
    """Yield the recorded series of a variant for all windows. `values` are values of placeholders and facts."""
    names = set[str]()
    for row in table().records:
        if row.name in names or not values.keys() >= set(row.needs):
            continue
        queries = [(window, _query(row, window, scope, values)) for window in table().windows]
        for window, query in queries:
            if query is not None:
                names.add(row.name)
                yield Recording(f"{RECORDED}:{row.name}:rate{window}", query, scope.matchers)


def _query(row: RecordRow, window: str, scope: SeriesScope, values: Mapping[str, str]) -> str | None:
    return metrics.resolve(row.expression, scope, {**values, "window": window})


def request_values() -> dict[str, str]:
    """Return the values of placeholders that tell requests apart."""
    return {"helpers": "|".join(table().helpers.handlers), "refusals": "|".join(table().refusals.codes)}


def bound_values(slo: Slo) -> dict[str, str]:
    """Return the bounds of the objectives for times, as regular expressions for the label `le`."""
    return {f"{name}_bound": _bound(latency) for name, latency in latencies(slo).items()}


def thresholds(slo: Slo) -> dict[str, str]:
    """Return the values of placeholders for the alerts about objectives.

    A threshold of 1 or more cannot be exceeded. The alerts of a severity are left out if that is so for both of its
    paces.
    """
    values = {"window": slo.window}
    objectives = {name: latency.percent for name, latency in latencies(slo).items()}
    if slo.availability is not None:
        objectives["availability"] = slo.availability
    for name, percent in objectives.items():
        budget = 1 - Decimal(str(percent)) / _PERCENT
        shares = {pace: factor(pace, slo) * budget for pace in table().paces}
        for severity in ("page", "ticket"):
            paces = [pace for pace in shares if pace.startswith(severity)]
            if min(shares[pace] for pace in paces) < 1:
                values |= {f"{name}_{pace}": _number(shares[pace]) for pace in paces}
    for name, latency in latencies(slo).items():
        values[f"{name}_within"] = latency.within
    return values


def factor(pace: str, slo: Slo) -> Decimal:
    """Return how many times as fast as its window allows an objective burns at a pace."""
    row = table().paces[pace]
    hours = int(slo.window.removesuffix("d")) * _HOURS_OF_A_DAY
    return Decimal(row.percent * hours) / (_PERCENT * row.hours)


def latencies(slo: Slo) -> dict[str, Latency]:
    """Return the objectives for times that a service has, by name."""
    objectives = {"ttft": slo.ttft, "tpot": slo.tpot}
    return {name: latency for name, latency in objectives.items() if latency is not None}


def within_seconds(latency: Latency) -> Decimal:
    """Return the longest time of a request that fulfils an objective, in seconds."""
    return Decimal(milliseconds(latency.within)) / 1000


def _bound(latency: Latency) -> str:
    """Return a regular expression for the bound of a bucket in the text of a query.

    Prometheus 3 stores whole numbers with `.0`, and Prometheus 2 as the target writes them: Go without, Python with it
    (prometheus v0.315.1, model/labels and model/textparse, normalizeFloatsInLabelValues).
    """
    text = _number(within_seconds(latency))
    if "." in text:
        return text.replace(".", r"\\.")
    return rf"{text}(\\.0)?"


def _number(value: Decimal) -> str:
    """Return a number as text, with as many digits as count and without an exponent."""
    return f"{Decimal(f'{value:.{_DIGITS}g}').normalize():f}"
