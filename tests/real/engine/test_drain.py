"""Drain of an engine: a stream that runs when its pod is deleted ends whole."""

import signal
import time

import pytest

from local import processes
from tests.support.engine.engines import MODEL, Stream, eventually

pytestmark = pytest.mark.engine

DRAIN = "45s"
SHUTDOWN = "--shutdown-timeout=45"
SECONDS = 12.0
"""Duration of a stream, if the engine stays as fast as it was."""
LONG = {"model": MODEL, "prompt": "The quick", "ignore_eos": True, "stream": True}


def deleted(engine):
    """Send SIGTERM while a stream runs.

    Return the stream, its length if it is whole, its seconds after SIGTERM, and answers to requests meanwhile.
    """
    tokens = engine.tokens_in(SECONDS)
    with engine.asked("/v1/completions", LONG | {"max_tokens": tokens}) as response:
        stream = Stream(response)
        eventually(stream.begun)
        start = time.monotonic()
        processes.Process.of(engine.server.pid).signal(signal.SIGTERM)
        meanwhile = []
        while not stream.has_ended:
            meanwhile.append((engine.status("/v1/models"), engine.status("/health"), _complete(engine)))
            time.sleep(0.2)
        stream.join(60)
        return stream, tokens, time.monotonic() - start, meanwhile


def _complete(engine):
    try:
        return engine.complete("Is anybody there?", max_tokens=1, timeout=5).status
    except OSError as error:
        return type(error).__name__


def test_a_stream_that_runs_when_the_pod_is_deleted_ends_whole_in_time(new_engine):
    engine = new_engine({"drainTimeout": DRAIN})
    assert SHUTDOWN in engine.container["args"]
    stream, tokens, duration, meanwhile = deleted(engine)
    print(duration, tokens, len(stream.events), meanwhile)
    assert stream.is_whole
    assert len(stream.events) >= tokens
    assert duration < 45
    eventually(engine.server.has_ended, 30)


def test_without_the_timeout_the_stream_is_cut(new_engine):
    engine = new_engine({"drainTimeout": DRAIN}, change=lambda container: container["args"].remove(SHUTDOWN))
    stream, tokens, _, meanwhile = deleted(engine)
    print(tokens, len(stream.events), stream.events[-2:], stream.error, meanwhile)
    assert len(stream.events) < tokens
