"""LoRA adapters, loaded and asked by name."""

import pytest

from tests.support.engine.adapters import make_adapter
from tests.support.engine.engines import MODEL, qwen

pytestmark = pytest.mark.engine

ADAPTERS = {"sql": {"source": "hf://acme/sql-lora"}, "tone": {"source": "hf://acme/tone-lora"}}
SERVICE = {"model": {"name": MODEL, "source": "hf://org/model", "lora": {"adapters": ADAPTERS}}}
PROMPT = "The quick brown fox jumps over"


@pytest.fixture(scope="module")
def engine(new_engine, tmp_path_factory):
    directory = tmp_path_factory.mktemp("adapters")
    fields = qwen().config
    adapters = {
        f"/adapters/{name}": make_adapter(directory / name, fields, seed=seed) for seed, name in enumerate(ADAPTERS)
    }
    return new_engine(SERVICE, adapters=adapters)


def test_adapters_are_listed_beside_their_model(engine):
    rows = {row["id"]: row["parent"] for row in engine.ask("/v1/models").json["data"]}
    assert rows == {MODEL: None, "sql": MODEL, "tone": MODEL}


def test_each_adapter_answers_by_its_name_and_otherwise_than_its_model_and_the_other_adapter(engine):
    answers = {}
    for name in (MODEL, "sql", "tone"):
        answer = engine.complete(PROMPT, name, max_tokens=20, temperature=0)
        assert answer.status == 200
        assert answer.json["model"] == name
        answers[name] = answer.json["choices"][0]["text"]
    assert len(set(answers.values())) == len(answers), answers


def test_an_unknown_adapter_is_not_found(engine):
    answer = engine.complete(PROMPT, "poetry")
    assert answer.status == 404
    assert "poetry" in answer.json["error"]["message"]
