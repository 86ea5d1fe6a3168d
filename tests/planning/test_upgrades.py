"""Rules for the order in which a run restarts services."""

from models.load import load
from planning import upgrades
from tests.support.stacks import tree


def told(**words):
    stack = load(tree(qwen={}, bert={}) | ({"upgrades": words} if words else {})).stack
    return [str(problem) for problem in upgrades.judge(stack)]


def test_every_name_is_a_service_and_comes_once():
    assert told() == []
    assert told(order=["qwen"]) == []
    assert told(order=["qwem", "qwen", "search", "qwen"]) == [
        "upgrades.order[0]: unknown service (qwem); did you mean qwen?",
        "upgrades.order[2]: unknown service (search); name a key of services, or remove it",
        "upgrades.order[3]: names a service twice (qwen); keep one of them",
    ]
