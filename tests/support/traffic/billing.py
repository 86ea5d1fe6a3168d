"""Requests of many shapes, and what an interceptor does with each: its answer, what it forwards, and its bill."""

import contextlib
import http.client
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.traffic.model_servers import ModelServer

CORPUS = Path("tests/support/traffic/corpus/billing.yaml")
IDENTITY = {"X-Saturn-Auth-Id": "auth", "X-Saturn-Resource-Id": "res"}
HOST = "llm.example.com"
SHAPES = 14
TIMEOUT = 10.0
Row = Mapping[str, Any]
"""Row of a bill: `request_id`, and the keys of `ROW`."""
ROW = ("model", "prompt", "cached", "completion", "finish", "aborted")


@dataclass(frozen=True, slots=True)
class Case:
    """A request to an engine, and the verdict of the real interceptor."""

    name: str
    request: Mapping[str, Any]
    forces_usage: bool
    verdict: Mapping[str, Any] | None

    @property
    def body(self) -> bytes:
        """Return the body as it is sent."""
        return str(self.request.get("body", '{"prompt": "why"}')).encode(self.request.get("encoding", "utf-8"))


def corpus() -> Mapping[str, Any]:
    """Return the requests with their verdicts."""
    return yaml.load(CORPUS.read_text(encoding="utf-8"), yaml.CSafeLoader)


def cases() -> list[Case]:
    """Return every request, each with an engine that forces usage and with one that does not."""
    found = list[Case]()
    for entry in corpus()["cases"]:
        for forces, key in ((False, "verdict"), (True, "forced")):
            found.append(Case(entry["name"], entry["request"], forces, entry.get(key, entry.get("verdict"))))
    return found


def shapes(*, forces_usage: bool) -> list[Case]:
    """Return the requests of the contract's table, which are the first ones."""
    return [case for case in cases() if case.forces_usage is forces_usage][:SHAPES]


def table() -> list[str]:
    """Return the rows of the contract's table."""
    pairs = zip(shapes(forces_usage=False), shapes(forces_usage=True), strict=True)
    return [f"| {plain.name} | {_billed(plain)} | {_billed(forced)} |" for plain, forced in pairs]


def _billed(case: Case) -> str:
    assert case.verdict is not None
    row = case.verdict["bill"]
    if row is None:
        return "not billed"
    if not row["prompt"]:
        return "billed 0"
    return "billed for what was made until then" if row["aborted"] else "billed"


def observed(port: int, engine: ModelServer, case: Case, rows: Callable[[], Sequence[Row]]) -> Mapping[str, Any]:
    """Send the request of a case to an interceptor at a port of loopback; returns what a verdict states.

    `rows` returns the rows of the bill once the interceptor is through with its requests.
    """
    before = len(rows())
    engine.forces_usage = case.forces_usage
    engine.compresses = case.request.get("compresses", False)
    engine.seen.clear()
    leaves = case.request.get("leaves")
    # A client that leaves early has an engine that waits: before its answer, or after the first event.
    signal = engine.free if leaves == "before" else engine.released
    engine.free.set()
    engine.released.set()
    if leaves is not None:
        signal.clear()
    answer = _asked(port, engine, case)
    row = [*rows()[before:]]
    assert len(row) <= 1, row
    seen = engine.seen[0] if engine.seen else None
    if row and answer.get("id") not in {None, row[0]["request_id"]}:
        raise AssertionError((row, answer))
    return {
        **{key: value for key, value in answer.items() if key != "id"},
        "engine": _seen(seen, answer.get("id")) if seen else None,
        "bill": {key: row[0][key] for key in ROW} if row else None,
    }


def _asked(port: int, engine: ModelServer, case: Case) -> dict[str, Any]:
    """Return what the client sees."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    with contextlib.closing(connection):
        connection.putrequest(
            case.request.get("method", "POST"),
            case.request.get("path", "/v1/completions"),
            skip_host=True,
            skip_accept_encoding=True,
        )
        headers = {"Host": HOST, "Content-Type": "application/json", **IDENTITY, **case.request.get("headers", {})}
        for name, value in {**headers, "Content-Length": str(len(case.body))}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(case.body)
        if case.request.get("leaves") == "before":
            _until(lambda: engine.seen)
            return {}
        response = connection.getresponse()
        if case.request.get("leaves") == "after":
            response.readline()
            return {"status": response.status, "id": response.headers["X-Request-Id"]}
        text = response.read()
    return _answer(response, text, case)


def _answer(response: http.client.HTTPResponse, text: bytes, case: Case) -> dict[str, Any]:
    request_id = response.headers["X-Request-Id"]
    given = case.request.get("headers", {}).get("X-Request-Id")
    made = "none" if request_id is None else "the client's" if request_id == given else "made"
    answer = {"status": response.status, "id": request_id, "requestId": made}
    if response.headers["Location"] is not None:
        answer["location"] = response.headers["Location"]
    if response.headers.get("Content-Type", "").startswith("text/plain"):
        answer["says"] = text.decode()
    return answer


def _seen(seen: Mapping[str, Any], request_id: str | None) -> dict[str, Any]:
    """Return what reached the engine."""
    headers = dict(seen["headers"])
    assert headers["host"] == HOST
    assert headers["x-forwarded-for"].endswith("127.0.0.1")
    assert request_id in {None, headers["x-request-id"]}
    encoding = headers.get("accept-encoding")
    return {"path": seen["path"], "options": seen["options"], "acceptEncoding": encoding}


def _until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@contextlib.contextmanager
def engine(case: Case) -> Iterator[ModelServer]:
    """Run an engine on a free port of loopback; it refuses connections where the case says that it is down."""
    server = ModelServer("engine", "127.0.0.1", 0)
    if case.request.get("down"):
        server.end()
    try:
        yield server
    finally:
        server.free.set()
        server.released.set()
        if not case.request.get("down"):
            server.end()
