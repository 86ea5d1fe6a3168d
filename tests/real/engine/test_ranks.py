"""Data-parallel copies of a model, each on a port of its own."""

import pytest

from tests.support.engine.engines import MODEL, make_model
from tests.support.waits import eventually

pytestmark = pytest.mark.engine

COPIES = 2
PROMPT = {"model": MODEL, "prompt": "The quick", "max_tokens": 3}
SERVICE = {
    "accelerator": "nvidia-h100-80gb",
    "parallelism": {"data": COPIES, "loadBalancing": "external", "expert": True},
}


@pytest.fixture(scope="module")
def engine(new_engine, tmp_path_factory):
    """Return the engine of a model that claims to have experts.

    vLLM takes no other model so, and CPUs cannot exchange tokens among experts (`all_gatherv` of vLLM 0.30.0).
    """
    return new_engine(SERVICE, weights=make_model(tmp_path_factory.mktemp("experts") / "model", num_experts=2))


def requests_of(engine, rank):
    """Return the number of requests that a copy has finished."""
    text = engine.ask("/metrics", port=engine.port + rank).body.decode()
    lines = [line for line in text.splitlines() if line.startswith("vllm:request_success_total")]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_each_copy_answers_on_its_port(engine):
    for rank in range(COPIES):
        port = engine.port + rank
        answer = engine.ask("/v1/completions", PROMPT, port=port)
        assert answer.status == 200, port
        assert answer.json["usage"]["prompt_tokens_details"] is not None


def test_each_copy_counts_its_own_requests(engine):
    """A request to one port is served by the copy of that port alone."""
    before = [requests_of(engine, rank) for rank in range(COPIES)]
    engine.ask("/v1/completions", PROMPT, port=engine.port + 1)
    after = [requests_of(engine, rank) for rank in range(COPIES)]
    assert [new - old for new, old in zip(after, before, strict=True)] == [0, 1]


def test_no_copy_answers_on_the_ports_after_the_last_one(engine):
    """The supervisor of the copies has the first of these ports, for probes alone."""
    supervisor = engine.port + COPIES
    assert engine.container["readinessProbe"]["httpGet"]["port"] == supervisor
    assert engine.succeeds("readinessProbe")
    assert engine.ask("/v1/completions", PROMPT, port=supervisor).status == 404
    with pytest.raises(ConnectionRefusedError):
        engine.ask("/v1/completions", PROMPT, port=supervisor + 1)


def test_an_engine_refuses_copies_of_a_model_without_experts(new_engine):
    """The program refuses such a model if it knows its configuration, and warns of a model that it does not know."""
    other = new_engine(SERVICE, wait=False)
    eventually(other.server.has_ended)
    assert "Non-MoE models do not support external data parallel mode" in other.log()
