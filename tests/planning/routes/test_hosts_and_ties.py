"""Routes that tie for a request get one warning."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.routes import hosts_and_ties
from tests.support.stacks import lines, plan, tree

HOST = "llm.example.com"


def at(path, *hostnames, headers=None, **more):
    """Return a service with a route on a path."""
    route = {"hostnames": list(hostnames), "matches": [{"path": path, "headers": headers or {}}]}
    return {"route": route} | more


def told(**services):
    return lines(plan(tree(**services)).warnings, "warning")


def by_headers(count, **shared):
    return {f"s{number}": at("/v1", HOST, headers={f"x-{number}": "1", **shared}) for number in range(count)}


def test_many_routes_that_tie_are_one_warning():
    """See defects H21."""
    (line,) = told(**by_headers(300))
    assert line == (
        "services.s99.route.matches[0].path: is one of 300 matches that tie for requests that have several of the "
        "headers x-0, x-1, x-10 and 297 more: the oldest route wins (services.s0, services.s1, services.s2 and 296 "
        "more); use another path, or require all of these headers in one of the routes"
    )


NAMES = st.sampled_from(["x-a", "x-b", "x-c", "x-d"])


HEADERS = st.dictionaries(NAMES, st.sampled_from("12"), max_size=3)


def ties(first, second):
    """Compare the headers of two matches on one path."""
    may_meet = all(second.get(name, value) == value for name, value in first.items())
    return may_meet and len(first) == len(second) and first.keys() != second.keys()


@given(st.lists(HEADERS, min_size=2, max_size=6, unique_by=lambda headers: tuple(sorted(headers.items()))))
def test_groups_of_ties_are_those_that_a_comparison_of_all_pairs_finds(matches):
    """See defects H21."""
    groups = {number: {number} for number in range(len(matches))}
    for first, second in product(range(len(matches)), repeat=2):
        if ties(matches[first], matches[second]):
            union = groups[first] | groups[second]
            groups |= dict.fromkeys(union, union)
    expected = {max(group) for group in groups.values() if len(group) > 1}
    stack = tree(**{f"s{number}": at("/v1", headers=headers) for number, headers in enumerate(matches)})
    messages = lines(hosts_and_ties.judge(plan(stack).routes), "warning")
    assert sorted(line.split(".")[1] for line in messages) == sorted(f"s{number}" for number in expected)


def test_a_host_that_takes_the_longer_paths_of_others_is_told():
    """See defects C10."""
    led = {"route": {"hostnames": [HOST]}}
    assert told(qwen={"route": {"hostnames": [HOST], "matches": [{}]}}, bert={}, gpt=led) == [
        (
            "services.qwen.route.matches[0].path: takes all requests for llm.example.com, also for the longer paths of "
            "services.bert; add llm.example.com to the hostnames of these routes, or use another path"
        )
    ]


@pytest.mark.parametrize(
    ("route", "other_route"),
    [
        (
            {"hostnames": [HOST], "matches": [{"path": "/v1"}]},
            {"hostnames": ["*.example.com"], "matches": [{"path": "/v1"}]},
        ),
        ({"hostnames": [HOST], "matches": [{"path": "/v1"}]}, {"matches": [{"path": "/v1"}]}),
        ({"hostnames": [HOST], "matches": [{"headers": {"x-a": "1"}}]}, {}),
    ],
)
def test_what_precedence_settles_is_no_problem(route, other_route):
    """See defects C10."""
    assert told(qwen={"route": route}, bert={"route": other_route}) == []
    assert told(qwen={"route": other_route}, bert={"route": route}) == []


def by(**headers):
    return {"route": {"hostnames": [HOST], "matches": [{"headers": headers}]}}


def test_different_headers_that_tie_on_one_path_are_told():
    """See defects C10."""
    assert told(bert=by(**{"x-team": "a"}), qwen=by(**{"x-user": "b"})) == [
        (
            "services.qwen.route.matches[0].path: ties with services.bert for requests that have the headers x-team, "
            "x-user: the older route wins; use another path, or require all of these headers in one of the routes"
        )
    ]


@pytest.mark.parametrize(
    ("headers", "other_headers"),
    [
        ({"x-team": "a"}, {"x-team": "b"}),
        ({"x-team": "a"}, {"x-team": "a", "x-user": "b"}),
        ({"x-team": "a", "x-tier": "1"}, {"x-team": "b", "x-user": "b"}),
    ],
)
def test_headers_that_no_request_has_at_once_or_that_differ_in_number_do_not_tie(headers, other_headers):
    """See defects C10."""
    assert told(bert=by(**headers), qwen=by(**other_headers)) == []
