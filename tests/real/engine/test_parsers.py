"""Tool and reasoning parsers of the shipped profiles."""

from pathlib import Path

import pytest
import yaml

from tests.support.engine import parsers
from tests.support.engine.engines import MODEL

pytestmark = pytest.mark.engine

FLAGS = {"--tool-call-parser": "tool", "--reasoning-parser": "reasoning"}
CALL = ["weather", {"city": "Ghent"}]
HERMES = '<tool_call>\n{"name": "weather", "arguments": {"city": "Ghent"}}\n</tool_call>'
LLAMA = '{"name": "weather", "parameters": {"city": "Ghent"}}'
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n"
    '```json\n{"city": "Ghent"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
THINK = ["<think>", "</think>"]
THOUGHT = "I look it up."
TEXTS = {
    ("hermes", None): ([], HERMES),
    ("hermes", "qwen3"): (THINK, f"<think>{THOUGHT}</think>{HERMES}"),
    ("llama3_json", None): (["<|python_tag|>"], LLAMA),
    ("mistral", None): (["[TOOL_CALLS]"], '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Ghent"}}]'),
    ("deepseek_v3", "deepseek_r1"): (
        [*THINK, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"],
        f"<think>{THOUGHT}</think>{DEEPSEEK}",
    ),
}
"""Special tokens and text of an answer that calls a tool, by the parsers of a profile."""
UNREAD = {("openai", "openai_gptoss")}
"""Parsers that read tokens of gpt-oss alone. Their vocabulary is no package's."""
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]
PLAIN = "It is warm."


def shipped():
    """Return the pairs of a tool parser and a reasoning parser that shipped profiles have."""
    pairs = set()
    for path in Path("catalogue").glob("*.yaml"):
        for profile in yaml.safe_load(path.read_text(encoding="utf-8"))["profiles"].values():
            arguments = profile["service"].get("engine", {}).get("args", ())
            names = dict(text.partition("=")[::2] for text in arguments)
            pairs.add(tuple(names.get(flag) for flag in FLAGS))
    return pairs - {(None, None)}


def question(pair, **text):
    return {kind: name for kind, name in zip(FLAGS.values(), pair, strict=True) if name} | text


@pytest.fixture(scope="module")
def engine(new_engine):
    arguments = ["--enable-auto-tool-choice", "--tool-call-parser=hermes", "--reasoning-parser=qwen3"]
    return new_engine({"engine": {"args": arguments}})


def test_the_engine_knows_every_parser_of_a_shipped_profile(model):
    pairs = sorted(shipped(), key=str)
    assert set(pairs) == TEXTS.keys() | UNREAD
    assert parsers.ask([question(pair) for pair in pairs], model) == [{"known": True}] * len(pairs)
    unknown = [("no-such-parser", None), (None, "hermes")]
    assert parsers.ask([question(pair) for pair in unknown], model) == [{"known": False}] * len(unknown)


def test_parsers_find_the_calls_and_the_reasoning_in_an_answer(model):
    questions = [question(pair, special=special, text=text) for pair, (special, text) in TEXTS.items()]
    for pair, answer in zip(TEXTS, parsers.ask(questions, model), strict=True):
        assert answer["calls"] == [CALL], pair
        assert not answer["content"], pair
        thought = THOUGHT if pair[1] else None
        assert answer["reasoning"] == thought, pair


def test_parsers_find_no_call_in_a_plain_answer_or_in_one_of_another_model(model):
    questions = [question(pair, special=special, text=PLAIN) for pair, (special, _) in TEXTS.items() if not pair[1]]
    questions.append(question(("hermes", None), special=[], text=LLAMA))
    *answers, other = parsers.ask(questions, model)
    assert [(answer["calls"], answer["content"]) for answer in answers] == [([], PLAIN)] * len(answers)
    assert (other["calls"], other["content"]) == ([], LLAMA)


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_server_with_parsers_answers_a_request_with_tools(engine, choice):
    """A model of random numbers calls no tool, unless the engine makes it."""
    messages = [{"role": "user", "content": "What is the weather?"}]
    body = {"model": MODEL, "messages": messages, "tools": TOOLS, "tool_choice": choice, "max_tokens": 20}
    answer = engine.ask("/v1/chat/completions", body)
    assert answer.status == 200, answer
    message = answer.json["choices"][0]["message"]
    assert message["role"] == "assistant"
    assert message.get("tool_calls", []) == []
    assert {"content", "reasoning"} <= message.keys()


def test_without_the_flags_a_request_that_lets_the_model_choose_is_refused(new_engine):
    plain = new_engine()
    messages = [{"role": "user", "content": "What is the weather?"}]
    body = {"model": MODEL, "messages": messages, "tools": TOOLS, "tool_choice": "auto", "max_tokens": 5}
    answer = plain.ask("/v1/chat/completions", body)
    assert answer.status == 400
    assert "--enable-auto-tool-choice" in answer.json["error"]["message"]
