"""A role, or a canary, does not get the inherited flags that it names."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import engine, told

ARGS = ["--dbo-decode-token-threshold=32", "--seed", "7", "--enforce-eager"]


def arguments(stack, role, variant="primary"):
    templates = [item["spec"]["template"] for item in rendered(stack) if item["kind"] == "Deployment"]
    for template in templates:
        labels = template["metadata"]["labels"]
        if (labels.get("llm-d.ai/role"), labels.get("inference-stacks.io/variant")) == (role, variant):
            return engine(template)["args"]
    raise AssertionError(role)


def of_user(tokens):
    return [token for token in tokens if token in ARGS]


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["--dbo-decode-token-threshold"], ["--seed", "7", "--enforce-eager"]),
        (["--seed", "--enforce_eager"], ["--dbo-decode-token-threshold=32"]),
    ],
)
def test_prefill_drops_flags_with_their_values(names, left):
    stack = tree(qwen={"engine": {"args": ARGS}, "prefill": {"engine": {"withoutArgs": names}}})
    assert of_user(arguments(stack, "prefill")) == left
    assert of_user(arguments(stack, "decode")) == ARGS


def test_a_canary_drops_flags_and_adds_its_own():
    canary = {"weight": 10, "engine": {"withoutArgs": ["--seed"], "args": ["--seed=8"]}}
    stack = tree(qwen={"engine": {"args": ARGS}, "canary": canary})
    tokens = arguments(stack, "decode", "canary")
    assert "--seed=8" in tokens
    assert of_user(tokens) == ["--dbo-decode-token-threshold=32", "--enforce-eager"]


def test_problems_of_the_remaining_arguments_keep_their_place():
    service = {
        "engine": {"args": ["--enforce-eager", "--no-such-flag"]},
        "prefill": {"engine": {"withoutArgs": ["--enforce-eager"]}},
    }
    assert any(line.startswith("services.qwen.engine.args[1]: is no flag") for line in told(tree(qwen=service)))


@pytest.mark.parametrize("name", ["serve", "--trace"])
def test_a_word_or_a_flag_that_is_not_inherited_is_refused(name):
    custom = {"type": "custom", "image": "registry.example/server:v1", "args": ["serve", "--eager"]}
    service = {"engine": custom, "kvCache": {"connector": "nixlv2"}, "prefill": {"engine": {"withoutArgs": [name]}}}
    message = f"services.qwen.prefill.engine.withoutArgs[0]: is no flag in the inherited arguments ({name}); remove it"
    assert message in told(tree(qwen=service))


@pytest.mark.parametrize("name", ["--api-key hunter2", " --api-key\thunter2"])
def test_a_value_beside_a_flag_is_not_echoed(name):
    (line,) = told(tree(qwen={"prefill": {"engine": {"withoutArgs": [name]}}}))
    assert line == (
        "services.qwen.prefill.engine.withoutArgs[0]: is no flag in the inherited arguments (--api-key); remove it"
    )
