"""Startup, readiness and liveness probes, asked as kubelet asks them."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from local.vllm.server import limit_seconds
from tests.support.engine.commands import PROBES
from tests.support.waits import eventually

pytestmark = pytest.mark.engine

PATHS = ("/v1/models", "/health")
REFUSED = "ConnectionRefusedError"
REQUESTS = 32
ROUNDS = 10
"""Rounds of probes under load."""
STOPPED_SECONDS = 12.0
"""Seconds for which the engine core hangs: longer than a period of a probe."""
PAUSE = 0.3
"""Seconds between two rounds of probes."""


@dataclass
class Timeline:
    """Answers to probes, by phase in the life of an engine."""

    statuses: dict[str, list[tuple[int | str, ...]]] = field(default_factory=dict)
    """Statuses of `PATHS`, each time they were asked."""
    results: dict[str, list[tuple[bool, ...]]] = field(default_factory=dict)
    """Whether `PROBES` succeeded, each time they were asked."""
    requests: dict[str, int | str] = field(default_factory=dict)
    """Outcome of a request."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration of a phase."""
    probe_seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Time to the answer of each of `PROBES`, each time it was asked."""

    def note(self, phase, engine):
        self.statuses.setdefault(phase, []).append(tuple(engine.status(path) for path in PATHS))
        self.results.setdefault(phase, []).append(tuple(self._probe(phase, engine, probe) for probe in PROBES))

    def _probe(self, phase, engine, probe):
        start = time.monotonic()
        result = engine.succeeds(probe)
        seconds = time.monotonic() - start
        self.probe_seconds.setdefault(phase, {}).setdefault(probe, []).append(seconds)
        return result


@pytest.fixture(scope="module")
def engine(new_engine):
    return new_engine({"engine": {"maxNumSeqs": 8}}, wait=False)


@pytest.fixture(scope="module")
def timeline(engine):
    timeline = Timeline()
    _load(timeline, engine)
    _be_busy(timeline, engine)
    core = engine.core
    core.signal(signal.SIGSTOP)
    _hang(timeline, engine)
    core.signal(signal.SIGCONT)
    assert engine.complete("Are you back?").status == 200
    core.signal(signal.SIGKILL)
    _die(timeline, engine)
    return timeline


def _load(timeline, engine):
    """Ask until the engine is ready."""
    start = time.monotonic()
    while not timeline.results.get("loading", [(False,)])[-1][0]:
        assert not engine.server.has_ended(), engine.log()[-3000:]
        timeline.note("loading", engine)
        time.sleep(PAUSE)
    timeline.seconds["loading"] = time.monotonic() - start
    timeline.note("ready", engine)


def _be_busy(timeline, engine):
    """Ask while more requests run than the engine takes at once."""
    enough = threading.Event()

    def ask(number):
        statuses = []
        while not enough.is_set():
            statuses.append(engine.complete(f"question {number}", max_tokens=30, ignore_eos=True).status)
        return statuses

    with ThreadPoolExecutor(REQUESTS) as pool:
        clients = [pool.submit(ask, number) for number in range(REQUESTS)]
        for _ in range(ROUNDS):
            timeline.note("under load", engine)
            time.sleep(PAUSE)
        enough.set()
    assert {status for client in clients for status in client.result()} == {200}


def _hang(timeline, engine):
    """Ask while the engine core hangs."""
    until = time.monotonic() + STOPPED_SECONDS
    while time.monotonic() < until:
        timeline.note("core hangs", engine)
        timeline.requests["core hangs"] = engine.outcome(timeout=1)
        time.sleep(PAUSE)


def _die(timeline, engine):
    """Ask after the end of the engine core, then send a request, and wait for the container's end."""
    start = time.monotonic()
    eventually(lambda: engine.status("/health") != 200, limit_seconds(engine.container["livenessProbe"]), pause=0)
    timeline.note("core killed", engine)
    timeline.requests["core killed"] = engine.outcome()
    eventually(engine.server.has_ended, limit_seconds(engine.container["livenessProbe"]))
    timeline.seconds["core killed"] = time.monotonic() - start
    timeline.note("ended", engine)


def test_nothing_answers_before_the_model_is_loaded(timeline):
    *loading, _ = timeline.statuses["loading"]
    assert len(loading) > 5
    assert set(loading) == {(REFUSED, REFUSED)}
    *results, last = timeline.results["loading"]
    assert set(results) == {(False, False, False)}
    assert last[0]


def test_all_probes_succeed_as_soon_as_the_engine_is_ready(timeline):
    assert timeline.statuses["ready"] == [(200, 200)]
    assert timeline.results["ready"] == [(True, True, True)]


def test_the_startup_probe_has_time_for_loading(timeline, engine):
    assert timeline.seconds["loading"] < limit_seconds(engine.container["startupProbe"])


def test_all_probes_succeed_in_time_under_load(timeline, engine):
    assert set(timeline.results["under load"]) == {(True, True, True)}
    for probe, seconds in timeline.probe_seconds["under load"].items():
        assert len(seconds) == ROUNDS
        assert max(seconds) < engine.container[probe]["timeoutSeconds"], probe


def test_no_probe_notices_that_the_engine_core_hangs(timeline):
    assert set(timeline.statuses["core hangs"]) == {(200, 200)}
    assert timeline.requests["core hangs"] == "TimeoutError"


def test_the_liveness_probe_notices_that_the_engine_core_ended(timeline):
    """`/v1/models` answers as before, because the API server answers it by itself."""
    assert timeline.statuses["core killed"] == [(200, 503)]
    assert timeline.results["core killed"] == [(True, True, False)]
    assert timeline.requests["core killed"] != 200


def test_the_container_ends_by_itself_before_liveness_would_restart_it(timeline, engine):
    assert engine.server.has_ended()
    assert timeline.seconds["core killed"] < limit_seconds(engine.container["livenessProbe"])
    assert timeline.statuses["ended"] == [(REFUSED, REFUSED)]
    assert timeline.results["ended"] == [(False, False, False)]
