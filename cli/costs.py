"""Command `costs`: compares the hours of devices that a stack is expected to have with those that a Prometheus saw.

The command reads no cluster.
"""

import re
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from cli import documents, named_stack
from cli.documents import Block, Line, Table
from composition import Composition
from facts import prometheus
from facts.prometheus import PrometheusServer
from judging.report import spending
from judging.report.spending import Spending
from models.paths import Path
from models.problems import ConfigError, Problem
from planning import money
from planning.ground.cluster_facts import Unknown
from planning.ground.time_series import Span

HELP = "compare the expected hours and costs of devices with those that a Prometheus saw"
_DEFAULT = "30d"
_DURATION = re.compile(r"[1-9][0-9]{0,3}[hd]")
_EVALUATION = 60
"""Seconds before now at which the queries are evaluated at the latest."""
_UNKNOWN = 1
"""Exit code if the Prometheus could not be read."""
_TITLES = ("service", "class", "read", "expected", "seen", "", "cost expected", "cost seen")
_ALMOST = Decimal("1.05")
"""Factor within which hours count as expected: pods come and go between two counts."""
_NOTE = (
    "read: hours in which the Prometheus read anything of the service; expected: hours of devices in that time with "
    "the smallest and the largest number of replicas; seen: hours of devices, counted by {source}."
)
_SOURCES = {True: "what pods on nodes request", False: "the pods that are scraped"}
"""Ends of the note by whether hours are those of pods' requests."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    named_stack.add_name(parser)
    since = f"time before now, in hours or days, such as 12h or 7d; absent: {_DEFAULT}"
    parser.add_argument("--since", metavar="TIME", type=_duration, default=_DEFAULT, help=since)
    url = f"the Prometheus; absent: that of observability.prometheus. {prometheus.TOKEN} has its token"
    parser.add_argument("--prometheus", metavar="URL", help=url)
    named_stack.add_surroundings(parser)


def _duration(text: str) -> str:
    """Return a duration of Prometheus. Raises `ValueError` if `text` is none in hours or days."""
    if _DURATION.fullmatch(text) is None:
        raise ValueError(text)
    return text


def run(options: Namespace) -> int:
    """Print the comparison, and return the exit code: 1 if the Prometheus could not be read.

    Raises `ConfigError` with all mistakes of the user.
    """
    composition = named_stack.of(options).compose(asks_sources=False)
    asked = spending.queries(composition.plan, options.since)
    if not asked.workloads:
        print("no service has devices")
        return 0
    results = _results(_server(options, composition), asked.expressions)
    if isinstance(results, Unknown):
        print(results.reason, file=sys.stderr)
        return _UNKNOWN
    rows = list(spending.compare(composition.plan, asked, results))
    sys.stdout.write(documents.text(_blocks(rows, composition.plan.prices.currency)))
    return 0


def _server(options: Namespace, composition: Composition) -> PrometheusServer:
    configured = composition.stack.observability.prometheus
    if options.prometheus is not None:
        return prometheus.server(options.prometheus, is_named_by_caller=True)
    if configured is None:
        remedy = "write --prometheus, or observability.prometheus.serverAddress"
        raise ConfigError([Problem(Path("costs"), "needs the URL of a Prometheus", remedy)])
    return prometheus.server(configured.server_address, is_named_by_caller=False)


def _results(server: PrometheusServer, expressions: Iterable[str]) -> Mapping[str, float] | Unknown:
    """Return the present results of queries. A query without a result is absent."""
    now = int(time.time())
    answers = prometheus.values(server, frozenset(expressions), Span(now - _EVALUATION, now), _EVALUATION)
    results = dict[str, float]()
    for expression, series in answers.items():
        if isinstance(series, Unknown):
            return series
        if series:
            results[expression] = series[0].values[-1]
    return results


def _blocks(rows: Iterable[Spending], currency: str) -> Iterator[Block]:
    """Yield the comparison as a document."""
    listed = sorted(rows, key=lambda row: (row.service, row.accelerator))
    yield Table(_TITLES, [_cells(row, currency) for row in listed])
    for by_requests in sorted({row.by_requests for row in listed if row.hours}):
        services = ", ".join(dict.fromkeys(row.service for row in listed if row.by_requests is by_requests))
        yield Line(f"{services}: {_NOTE.format(source=_SOURCES[by_requests])}")
    missing = [row.service for row in listed if not row.hours]
    if missing:
        yield Line(f"Of {', '.join(dict.fromkeys(missing))}, the Prometheus read nothing in that time.")


def _cells(row: Spending, currency: str) -> tuple[str, ...]:
    expected = _range(f"{row.low:.0f}", f"{row.high:.0f}")
    cells = (row.service, row.accelerator, f"{row.hours:.1f} h", f"{expected} h", f"{row.seen:.1f} h", _verdict(row))
    if row.price is None:
        return (*cells, "no price", "")
    low, high, seen = (money.text(hours * row.price, currency) for hours in (row.low, row.high, row.seen))
    return (*cells, _range(low, high), seen)


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _verdict(row: Spending) -> str:
    """Return whether more or fewer hours were seen than expected."""
    if not row.hours:
        return "not read"
    if row.seen > row.high * _ALMOST:
        return "more"
    if row.seen * _ALMOST < row.low:
        return "fewer"
    return "as expected"
