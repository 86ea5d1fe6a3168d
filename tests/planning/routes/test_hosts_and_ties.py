"""Routes that tie for a request get one warning."""

from itertools import product

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
    found = lines(hosts_and_ties.judge(plan(stack).routes), "warning")
    assert sorted(line.split(".")[1] for line in found) == sorted(f"s{number}" for number in expected)
