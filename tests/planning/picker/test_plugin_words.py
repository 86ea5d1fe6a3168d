"""Messages call plugins by nouns."""

import pytest

from planning.picker.plugin_words import example, with_article
from planning.releases import channel


@pytest.mark.parametrize(
    ("group", "noun"), [("scorer", "a scorer"), ("eviction", "an eviction policy"), ("source", "a data source")]
)
def test_a_group_has_a_noun_with_its_article(group, noun):
    assert with_article(group) == noun


def test_an_example_is_a_plugin_that_anybody_may_use():
    table = channel("llm-d-0.10").picker.plugins.table
    name = example(table, ["scorer"]).removeprefix(", such as ")
    assert table[name].groups[0] == "scorer"
    assert (table[name].stability, table[name].deprecated) == ("beta", None)
    assert example(table, ["nothing"]) == ""
