"""Reader of the samples that a Prometheus has of counters, and of the values of expressions, by its HTTP API.

Samples are read as they were scraped, with a range selector such as `name{…}[3600s]`, and not by `increase`. That
function looks only at the samples within its range, and extends what it sees to the range's borders (prometheus
v3.15.1, promql/functions.go, extrapolatedRate). With blocks of a minute it would lose or double what falls between the
last sample of a block and the first of the next one, and it would never see the first failure of a pod, with which the
series of failures begins. Counted from samples, a number is what the engines counted, up to one scrape.

The token of the variable `PROMETHEUS_TOKEN` goes only to a server that the caller names, never to one that only the
configuration names, because a configuration may come from somebody else. It goes nowhere by plain http except on this
machine, and no redirect carries it on.
"""

import http
import json
import os
import time
import urllib.error
import urllib.request
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, IncompleteRead
from math import isfinite
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from facts import hosts, side_by_side
from facts.transport import ForeignServerError, RefusedAddressError, Run, Transport
from models.paths import Path as ConfigPath
from models.printable import printable
from models.problems import ConfigError, Problem
from models.trees import mapping, sequence, texts
from planning.ground.cluster_facts import Unknown
from planning.ground.time_series import CounterSeries, Span

TOKEN = "PROMETHEUS_TOKEN"  # noqa: S105, the name of a variable
"""Variable with the bearer token for the Prometheus."""
AUTHORITY = "PROMETHEUS_CA_FILE"
"""Variable with the path of the certificates that vouch for the Prometheus, in PEM."""
DEADLINE_SECONDS = 60.0
"""Time for all questions together."""
_ATTEMPTS = 3
_PAUSE_SECONDS = 0.5
"""Pause between two attempts. A broken connection, or a status from 500 on, says nothing of the next one."""
_LARGEST = 16 * 2**20
"""Maximum size of an answer in bytes: an hour of 400 series that are scraped every 15 seconds has half of it."""
_LONGEST_REASON = 2**16
"""Bytes of a refusal that are read."""
_SHOWN = 200
"""Characters of a server's text in a reason."""
_LARGEST_VALUE = 1e15
"""Largest value of a sample. Up to it, sums and squares of counts stay exact enough and finite."""
_PART_SECONDS = 3600
"""Time of one request. Longer times are read in parts, so that an answer stays small."""
_MOST_SAMPLES = 10_000_000
"""Maximum number of samples of all answers, 160 MB."""


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """A Prometheus, and the identity of whoever asks it."""

    url: str
    """URL without the path of the API; it may have a path of its own."""
    token: str | None = field(default=None, repr=False)
    """Bearer token; None if the server gets none."""
    authority: Path | None = None
    """File with the certificates that vouch for the server; None for those of the system."""


class _Query(NamedTuple):
    """A question: the samples of a selector in a time, or the values of an expression at the ends of its steps."""

    text: str
    span: Span
    step: int | None
    """Seconds between two values of an expression; None for the samples of a selector."""

    @property
    def path(self) -> str:
        """Return path and parameters of the request."""
        if self.step is None:
            query = {"query": f"{self.text}[{self.span.seconds}s]", "time": str(self.span.end)}
            return f"/api/v1/query?{urlencode(query)}"
        start = str(self.span.start + self.step)
        query = {"query": self.text, "start": start, "end": str(self.span.end), "step": str(self.step)}
        return f"/api/v1/query_range?{urlencode(query)}"


class _RefusalError(Exception):
    """The server answered, but not with samples. `text` is what it wrote, which may have the token."""

    def __init__(self, reason: str, text: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text


def server(url: str, *, is_named_by_caller: bool) -> PrometheusServer:
    """Return the server at a URL, with the identity that the environment names.

    `is_named_by_caller` tells whether the caller wrote the URL; without it, only the configuration names the server.
    Raises `ConfigError` for a URL that is not one of http or https, or has credentials, for a token that must not go to
    the server, and for a file of certificates that does not exist.
    """
    at = ConfigPath("--prometheus")
    if not is_named_by_caller:
        at = ConfigPath("observability", "prometheus", "serverAddress")
    origin = hosts.origin(url)
    if origin is None:
        raise ConfigError([Problem(at, "is no URL of http or https", "write one, such as http://127.0.0.1:9090")])
    if "@" in url or "?" in url or "#" in url:
        what = "has more than scheme, host, port and path"
        raise ConfigError([Problem(at, what, f"leave the rest out; {TOKEN} has the token")])
    token = os.environ.get(TOKEN, "").strip() or None
    if token is not None:
        _check_token(at, token, url, is_named_by_caller=is_named_by_caller)
    return PrometheusServer(url.rstrip("/"), token, _authority())


def _check_token(at: ConfigPath, token: str, url: str, *, is_named_by_caller: bool) -> None:
    """Raise `ConfigError` if a token must not go to the server at a URL, or cannot be sent at all."""
    origin = hosts.origin(url)
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError([Problem(ConfigPath(TOKEN), "has characters that no token has", "set it to the token alone")])
    if origin is None or not origin.is_confidential:
        what = f"would get the token of {TOKEN} by plain http"
        raise ConfigError([Problem(at, what, f"name a URL of https, or unset {TOKEN}")])
    if not is_named_by_caller and not hosts.is_trusted(url):
        what = f"would get the token of {TOKEN}, although only the configuration names it"
        remedy = f"name it with --prometheus, or in {hosts.TRUSTED}; or unset {TOKEN}"
        raise ConfigError([Problem(at, what, remedy)])


def _authority() -> Path | None:
    """Return the file of certificates that the environment names. Raises `ConfigError` if it is none."""
    name = os.environ.get(AUTHORITY, "").strip()
    if not name:
        return None
    try:
        Run(0, name).tls_context()
    except (OSError, ValueError):
        what = f"is no file with certificates in PEM ({printable(name)})"
        raise ConfigError([Problem(ConfigPath(AUTHORITY), what, "name such a file, or unset it")]) from None
    return Path(name)


def samples(
    asked: PrometheusServer, selectors: Collection[str], span: Span, seconds: float = DEADLINE_SECONDS
) -> Mapping[str, Sequence[CounterSeries] | Unknown]:
    """Return the series of each selector that have samples in a time, ordered by labels.

    A selector is one of an instant vector, such as `name{label="value"}`. All questions together have `seconds`.
    A failed read does not raise; the series are `Unknown`. In an offline run, all are.
    """
    parts = {selector: [_Query(selector, part, None) for part in _parts(span)] for selector in selectors}
    return _answers(asked, parts, seconds)


def values(
    asked: PrometheusServer, expressions: Collection[str], span: Span, step: int, seconds: float = DEADLINE_SECONDS
) -> Mapping[str, Sequence[CounterSeries] | Unknown]:
    """Return the values of expressions every `step` seconds, which must divide an hour, from the first step's end on.

    Deadline and failures are those of `samples`.
    """
    parts = {text: [_Query(text, part, step) for part in _parts(span) if part.seconds >= step] for text in expressions}
    return _answers(asked, parts, seconds)


def _parts(span: Span) -> Iterator[Span]:
    """Yield the parts of a time in ascending order."""
    for start in range(span.start, span.end, _PART_SECONDS):
        yield Span(start, min(start + _PART_SECONDS, span.end))


def _answers(
    asked: PrometheusServer, parts: Mapping[str, Sequence[_Query]], seconds: float
) -> Mapping[str, Sequence[CounterSeries] | Unknown]:
    """Return the series of each text from the answers to its parts."""
    if hosts.is_offline():
        return dict.fromkeys(parts, Unknown("this run is offline"))
    run = Run(seconds, asked.authority)
    reader = _Querier(asked, run)
    answers = side_by_side.answers([part for entry in parts.values() for part in entry], run, reader.answer)
    late = Unknown(f"Prometheus did not answer within {seconds:g} seconds")
    return {text: _join([answers.get(part, late) for part in entry]) for text, entry in parts.items()}


def _join(answers: Sequence[Sequence[CounterSeries] | Unknown]) -> Sequence[CounterSeries] | Unknown:
    """Return the series of a time from those of its parts; the first reason if a part is unknown.

    Ranges of Prometheus 2 include their start, so that a sample may come twice. Series without samples are left out.
    """
    series = dict[tuple[tuple[str, str], ...], CounterSeries]()
    for answer in answers:
        if isinstance(answer, Unknown):
            return answer
        for part in answer:
            if not part.times:
                continue
            key = tuple(sorted(part.labels.items()))
            whole = series.setdefault(key, CounterSeries(part.labels, array("d"), array("d")))
            for moment, value in zip(part.times, part.values, strict=True):
                if not whole.times or moment > whole.times[-1]:
                    whole.times.append(moment)
                    whole.values.append(value)
    return [series[key] for key in sorted(series)]


class _Querier:
    """A client of one Prometheus for one run."""

    def __init__(self, asked: PrometheusServer, run: Run) -> None:
        self._server = asked
        self._run = run
        self._origin = hosts.origin(asked.url)
        self._count = 0

    def answer(self, part: _Query) -> Sequence[CounterSeries] | Unknown:
        """Return the series of a part. What a server sends may raise anything, so every error is a reason."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._series(part)
            except _RefusalError as error:
                return Unknown(f"Prometheus {error.reason}{self._excerpt(error.text)}")
            except Exception as error:  # noqa: BLE001, a thread that ends by an error leaves questions without an answer
                if not _may_pass(error) or attempt == _ATTEMPTS - 1:
                    return Unknown(f"Prometheus could not be read ({_reason(error)})")
            time.sleep(min(_PAUSE_SECONDS, self._run.seconds_left()))
        raise AssertionError

    def _series(self, part: _Query) -> Sequence[CounterSeries]:
        url = f"{self._server.url}{part.path}"
        request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310, of http or https
        if self._server.token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._server.token}")
        transport = Transport(self._run, lambda _: True, only=self._origin)
        try:
            with transport.open(request) as response:
                content = _content(response)
        except urllib.error.HTTPError as error:
            with error:
                if error.code >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                raise _refusal(error) from None
        series = list(_series(content))
        self._count += sum(len(entry.times) for entry in series)
        if self._count > _MOST_SAMPLES:
            raise _RefusalError(f"has more than {_MOST_SAMPLES:,} samples of the time")
        return series

    def _excerpt(self, text: str | None) -> str:
        """Return the beginning of a server's text after a colon; empty if there is none.

        A server may send the token back. It is replaced before the text is cut, so that no part of it remains.
        """
        if text is None:
            return ""
        if self._server.token is not None:
            text = text.replace(self._server.token, "…")
        return f": {printable(text[:_SHOWN])}"


def _content(response: HTTPResponse) -> object:
    """Return the JSON of an answer."""
    content = response.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise _RefusalError(f"answered with more than {_LARGEST // 2**20} MiB")
    if response.length:
        raise IncompleteRead(b"")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise _RefusalError("answered with something else than JSON") from None


def _series(answer: object) -> Iterator[CounterSeries]:
    """Yield the series of an answer (prometheus v3.15.1, web/api/v1/api.go, Response; docs/querying/api.md)."""
    content = mapping(answer)
    data = mapping(content.get("data"))
    if content.get("status") != "success" or data.get("resultType") != "matrix":
        raise _RefusalError("answered with something else than samples")
    for text in sequence(content.get("warnings")):
        # Such an answer may lack series, for example those of a store that does not answer.
        raise _RefusalError("warns that its answer may be incomplete", str(text))
    for entry in map(mapping, sequence(data.get("result"))):
        labels = texts(entry.get("metric"))
        if "metric" not in entry or "histograms" in entry:
            raise _RefusalError("answered with a series that is no counter")
        times = array("d")
        values = array("d")
        for point in sequence(entry.get("values")):
            moment, value = _point(point)
            if times and moment <= times[-1]:
                raise _RefusalError("answered with samples in no order")
            times.append(moment)
            values.append(value)
        yield CounterSeries(labels, times, values)


def _point(point: object) -> tuple[float, float]:
    """Return time and value of a sample, which is a list of a number and a text."""
    try:
        moment, text = sequence(point)
        numbers = float(moment), float(text)
    except (TypeError, ValueError):
        raise _RefusalError("answered with a sample that is no number") from None
    if not all(map(isfinite, numbers)):
        raise _RefusalError("answered with a sample that is no number")
    if abs(numbers[1]) > _LARGEST_VALUE:
        raise _RefusalError(f"answered with a sample above {_LARGEST_VALUE:.0e}")
    return numbers


def _refusal(error: urllib.error.HTTPError) -> _RefusalError:
    """Return the refusal of an error status, with the text that Prometheus writes about a wrong query."""
    if error.code in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        return _RefusalError(f"answered {error.code}; {TOKEN} has the token of whoever may ask")
    try:
        text = mapping(json.loads(error.read(_LONGEST_REASON))).get("error")
    except (OSError, ValueError, RecursionError, HTTPException):
        text = None
    return _RefusalError(f"answered {error.code}", text if isinstance(text, str) else None)


def _may_pass(error: Exception) -> bool:
    """Tell whether a question may be answered if it is repeated."""
    if isinstance(error, RefusedAddressError | ForeignServerError):
        return False
    return isinstance(error, OSError | HTTPException)


def _reason(error: Exception) -> str:
    """Return the reason of a failure: fixed words, or the name of an error, because its text may have the token."""
    if isinstance(error, urllib.error.HTTPError):
        return f"it answered {error.code}"
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, Exception) else error
    if isinstance(cause, ForeignServerError):
        return "it sends requests to another server"
    if isinstance(cause, RefusedAddressError):
        return "its address is never asked"
    if isinstance(cause, ConnectionRefusedError):
        return "it opens no connection"
    return type(cause).__name__
