"""Served names, prompt token details, API key, and requests that are longer than the context."""

from pathlib import Path

import pytest

from tests.support.engine.engines import CONTEXT, MODEL

pytestmark = pytest.mark.engine

KEY = "sk-test-0123456789"
HEADERS = {"Authorization": f"Bearer {KEY}"}
SECURED = {"engine": {"env": {"VLLM_API_KEY": {"secretKeyRef": {"name": "api-key", "key": "key"}}}}}
DETAILS = "--enable-prompt-tokens-details"
PROMPT = {"model": MODEL, "prompt": "The quick brown fox", "max_tokens": 3}


@pytest.fixture(scope="module")
def engine(new_engine):
    return new_engine(SECURED, secrets={"key": KEY})


@pytest.fixture(scope="module")
def bare_engine(new_engine):
    """Return the engine of the last tests: the one before has ended."""
    return new_engine(change=lambda container: container["args"].remove(DETAILS))


def test_the_served_name_is_listed_and_answers_and_another_name_is_unknown(engine):
    names = [row["id"] for row in engine.ask("/v1/models", headers=HEADERS).json["data"]]
    assert names == [MODEL]
    assert engine.ask("/v1/completions", PROMPT, headers=HEADERS).status == 200
    for name in ("/models", "org/other"):
        answer = engine.ask("/v1/completions", PROMPT | {"model": name}, headers=HEADERS)
        assert answer.status == 404
        assert answer.json["error"]["type"] == "NotFoundError"


def test_usage_has_details_of_prompt_tokens(engine):
    usage = engine.ask("/v1/completions", PROMPT, headers=HEADERS).json["usage"]
    assert set(usage["prompt_tokens_details"]) >= {"cached_tokens"}


def test_a_key_is_required_where_the_stack_has_one(engine):
    assert engine.ask("/v1/completions", PROMPT).status == 401
    assert engine.ask("/v1/completions", PROMPT, headers={"Authorization": "Bearer sk-another"}).status == 401
    assert engine.ask("/v1/completions", PROMPT, headers=HEADERS).status == 200


def test_probes_succeed_although_a_key_is_required(engine):
    assert engine.ask("/v1/models").status == 401
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert engine.succeeds(probe), probe


def test_no_process_of_the_engine_has_the_key_in_its_command_line(engine):
    titles = engine.titles().values()
    assert len(titles) > 1
    assert not [title for title in titles if KEY in title]
    assert KEY in Path(f"/proc/{engine.server.pid}/environ").read_text(encoding="utf-8", errors="replace")
    assert KEY not in engine.log()


@pytest.mark.parametrize("length", [CONTEXT + 1, 3 * CONTEXT])
def test_a_request_that_is_longer_than_the_context_is_refused_and_the_engine_lives_on(engine, length):
    answer = engine.ask("/v1/completions", PROMPT | {"prompt": [5] * length}, headers=HEADERS)
    assert answer.status == 400
    assert str(CONTEXT) in answer.json["error"]["message"]
    longest = PROMPT | {"prompt": [5] * (CONTEXT - 3)}
    assert engine.ask("/v1/completions", longest, headers=HEADERS).status == 200


def test_without_our_flag_usage_has_no_details(bare_engine):
    assert not bare_engine.ask("/v1/completions", PROMPT).json["usage"].get("prompt_tokens_details")


def test_without_a_key_in_the_stack_none_is_required(bare_engine):
    assert bare_engine.ask("/v1/completions", PROMPT).status == 200
