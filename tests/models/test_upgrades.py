"""The limit on services that restart at the same time: its numbers and defaults."""

import pytest

from models.load import load
from models.upgrades import Upgrades
from tests.support.stacks import mistakes, tree


def test_an_order_alone_lets_one_service_restart_at_a_time():
    stack = load(tree() | {"upgrades": {"order": ["qwen"]}}).stack
    assert stack.upgrades == Upgrades.default(at_once=1, order=("qwen",))
    assert load(tree() | {"upgrades": {}}).stack.upgrades == Upgrades.default()


def test_a_stack_without_the_word_has_no_limit():
    assert load(tree()).stack.upgrades is None


@pytest.mark.parametrize("number", [0, -1])
def test_no_service_at_a_time_is_refused(number):
    (line,) = mistakes(tree() | {"upgrades": {"atOnce": number}})
    assert line == f"upgrades.atOnce: is not a whole number from 1 to 2147483647 ({number}); write 1 or more"
