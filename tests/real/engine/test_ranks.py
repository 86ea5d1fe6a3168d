"""Data-parallel copies of a model, each on a port of its own."""

import pytest

from tests.support.engine.engines import MODEL

pytestmark = pytest.mark.engine

COPIES = 2
SERVICE = {"accelerator": "nvidia-h100-80gb", "parallelism": {"data": COPIES, "loadBalancing": "external"}}


@pytest.fixture(scope="module")
def engine(new_engine):
    return new_engine(SERVICE)


def test_each_copy_answers_on_its_port(engine):
    for rank in range(COPIES):
        port = engine.port + rank
        answer = engine.ask("/v1/completions", {"model": MODEL, "prompt": "The quick", "max_tokens": 3}, port=port)
        assert answer.status == 200, port
        assert answer.json["usage"]["prompt_tokens_details"] is not None


def test_each_copy_counts_its_own_requests(engine):
    """A request to one port is served by the copy of that port alone."""
    before = [requests_of(engine, rank) for rank in range(COPIES)]
    engine.ask("/v1/completions", {"model": MODEL, "prompt": "The quick", "max_tokens": 3}, port=engine.port + 1)
    after = [requests_of(engine, rank) for rank in range(COPIES)]
    assert [new - old for new, old in zip(after, before, strict=True)] == [0, 1]


def test_no_copy_answers_on_the_port_after_the_last_one(engine):
    with pytest.raises(ConnectionRefusedError):
        engine.ask("/v1/models", port=engine.port + COPIES)


def requests_of(engine, rank):
    """Return the number of requests that a copy has finished."""
    text = engine.ask("/metrics", port=engine.port + rank).body.decode()
    lines = [line for line in text.splitlines() if line.startswith("vllm:request_success_total")]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
