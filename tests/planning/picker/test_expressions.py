"""Expressions of usage are refused for wrong syntax and for names that nobody declares, at which pickers end."""

import pytest

from planning.picker.expressions import cel


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "usage",
        "usage.prompt_tokens + 2 * usage.completion_tokens",
        "usage.total_tokens > 100 && !(usage.cached_tokens == 0) || true",
        "has(usage.prompt_tokens_details) ? usage.prompt_tokens_details.cached_tokens : 0",
        "usage['total_tokens'] - -1.5e3",
        "[1, 2u, 0x1f].exists(count, count in [usage.total_tokens])",
        "{'a': usage.a, \"b\": [1, 2]}['a']",
        "int(usage.total_tokens) % 7 <= size('a?b:(c')",
        "[].map(each, each)",
        "r'\\d+' != b\"bytes\"",
    ],
)
def test_an_expression_of_the_language_is_taken(expression):
    assert cel(expression) == expression


@pytest.mark.parametrize(
    "expression",
    [
        " ",
        "usage.",
        "usage +",
        "usage usage",
        "(usage",
        "[usage",
        "usage[1",
        "usage.size(1",
        "{'a' usage}",
        "{'a': }",
        "usage ? 1",
        "usage ? 1 : ",
        "usages.total_tokens",
        "count > 1",
        "[1].exists(count, other == 1)",
        "length(usage)",
        "1(usage)",
        "'open",
        "usage # 1",
        "usage; 1",
    ],
)
def test_a_mistake_of_syntax_or_a_name_that_nobody_declares_is_refused(expression):
    with pytest.raises(ValueError):  # noqa: PT011, the readers of parameters have one error
        cel(expression)


def test_only_a_text_is_an_expression():
    with pytest.raises(ValueError):  # noqa: PT011, as above
        cel(7)
