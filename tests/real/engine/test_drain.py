"""Drain of an engine: a stream that runs when its pod is deleted ends whole."""

import signal
import time

import pytest

from local import processes
from tests.support.engine.engines import KILLED, MODEL, SHUTDOWN, USAGE, Stream
from tests.support.waits import eventually

pytestmark = pytest.mark.engine

DRAIN = "45s"
TOKENS = 500
"""Length of a stream. It ends within the drain if the engine makes 12 tokens a second."""
LONG = {"model": MODEL, "prompt": "The quick", "max_tokens": TOKENS, "ignore_eos": True} | USAGE


def deleted(engine):
    """Send SIGTERM while a stream runs, and SIGKILL if it still runs after `KILLED` seconds, as kubelet does.

    Return the stream, its seconds after SIGTERM, and answers to requests meanwhile.
    """
    with engine.asked("/v1/completions", LONG) as response:
        stream = Stream(response)
        eventually(stream.begun)
        start = time.monotonic()
        processes.Process.of(engine.server.pid).signal(signal.SIGTERM)
        meanwhile = []
        while not stream.has_ended and time.monotonic() < start + KILLED:
            meanwhile.append((engine.status("/v1/models"), engine.status("/health"), engine.outcome()))
            time.sleep(0.2)
        duration = time.monotonic() - start
        if not stream.has_ended:
            engine.end()
        stream.join(60)
        return stream, duration, meanwhile


def test_a_stream_that_runs_when_the_pod_is_deleted_ends_whole_in_time(new_engine):
    engine = new_engine({"drainTimeout": DRAIN})
    assert SHUTDOWN in engine.container["args"]
    stream, duration, meanwhile = deleted(engine)
    assert stream.tokens == TOKENS
    assert duration < 45
    assert (200, 200, 500) in meanwhile
    eventually(engine.server.has_ended, KILLED - duration)


def test_without_the_timeout_the_stream_is_cut(new_engine):
    """The engine drops the request, and keeps the connection until it is killed."""
    engine = new_engine({"drainTimeout": DRAIN}, change=lambda container: container["args"].remove(SHUTDOWN))
    stream, *_ = deleted(engine)
    assert stream.tokens != TOKENS
