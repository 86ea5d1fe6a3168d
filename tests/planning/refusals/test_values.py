"""Values of any shape are judged without an internal error."""

import pytest

from models.paths import Path
from planning.refusals import values
from tests.support.stacks import lines


@pytest.mark.parametrize(
    ("value", "high", "message"),
    [
        (1, None, None),
        (0, None, "at: is below 1 (0); write 1 or more"),
        (0, 9, "at: is not from 1 to 9 (0); write a number from 1 to 9"),
        (10, 9, "at: is not from 1 to 9 (10); write a number from 1 to 9"),
        (9, 9, None),
        (True, 9, None),
        ("0", 9, None),
    ],
)
def test_whole_numbers_lie_in_their_range(value, high, message):
    messages = lines(values.between(Path("at"), value, 1, high), "error")
    assert messages == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("value", "known", "message"),
    [
        ("a", ("a", "b"), None),
        (7, ("a",), None),
        ("c", ("a",), "at: is not known to Kubernetes (c); write a"),
        ("c", ("a", "b", "d"), "at: is not known to Kubernetes (c); write a, b or d"),
    ],
)
def test_a_text_is_one_of_the_known_texts(value, known, message):
    messages = lines(values.one_of(Path("at"), value, known), "error")
    assert messages == ([] if message is None else [message])


def test_items_that_are_no_mappings_are_skipped():
    assert list(values.trees(Path("at"), [1, {"a": 1}, None])) == [(Path("at", 1), {"a": 1})]
