"""Budgets that limit nothing, and services that no budget limits."""

import pytest

from tests.support.stacks import plan, tree

LIMIT = {"devices": {"nvidia": 9}}


def warnings(by, limits, stack=None, **services):
    """Return the warnings about budgets of a stack."""
    budgets = {"budgets": {"by": by, "limits": dict.fromkeys(limits, LIMIT)}}
    trees = {key: {"labels": labels} for key, labels in services.items()}
    planned = plan(tree(**trees) | budgets | ({} if stack is None else {"labels": stack}))
    of_budgets = (str(warning) for warning in planned.warnings)
    return [line for line in of_budgets if line.startswith("budgets") or ".labels" in line]


def test_budgets_that_fit_the_services_have_no_warning():
    """See defects H18."""
    assert warnings("team", ["search", "chat"], qwen={"team": "search"}, bert={"team": "chat"}) == []
    assert warnings("team", ["search"], {"team": "search"}, qwen={}) == []
    assert warnings("team", ["search"], qwen={"team": "search"}, bert={"team": "research-at-home"}) == []
    assert warnings("team", [], qwen={}) == []


@pytest.mark.parametrize(
    ("by", "labels", "remedy"),
    [("taem", {"team": "search"}, "did you mean team?"), ("team", {"app": "search"}, "add a label team")],
)
def test_a_label_that_no_service_has(by, labels, remedy):
    """See defects H18."""
    what = f"budgets.by: is a label of no service, so that nothing is limited ({by})"
    assert warnings(by, ["search"], qwen=labels, bert=labels) == [f"{what}; {remedy}"]


def test_a_limit_for_a_value_that_no_service_has():
    """See defects H18."""
    assert warnings("team", ["serach", "labs"], qwen={"team": "search"}) == [
        "budgets.limits.serach: limits no service, as none has the label team=serach; did you mean search?",
        "budgets.limits.labs: limits no service, as none has the label team=labs; correct it, or remove it",
    ]


def test_services_without_the_label():
    """See defects H18."""
    others = {f"s{number}": {} for number in range(8)}
    what = "budgets.by: is no label of s0, s1, s2, s3, s4, s5 and 2 more, so that no budget limits what they use (team)"
    assert warnings("team", ["search"], qwen={"team": "search"}, **others) == [
        f"{what}; add it to their labels, such as team: search"
    ]


def test_a_service_with_a_misspelt_value():
    """See defects H18."""
    what = "services.bert.labels.team: names no budget (serach), so that none limits this service"
    assert warnings("team", ["search"], qwen={"team": "search"}, bert={"team": "serach"}) == [
        f"{what}; did you mean search?"
    ]
