"""Packing of pods onto nodes, compared with trying every order and every place."""

from itertools import permutations
from random import Random

import pytest

from judging.report.packing import PodGroup, Tightness, pack

NODES = frozenset({"a", "b", "c"})


def pods(count, size, nodes="ab", owner="qwen"):
    return PodGroup(owner, size, count, frozenset(nodes))


@pytest.mark.parametrize(
    ("free", "waiting", "verdict"),
    [
        ({"a": 8, "b": 8}, [], Tightness.FITS),
        ({"a": 8, "b": 8}, [pods(4, 4)], Tightness.FITS),
        ({"a": 8, "b": 8}, [pods(5, 4)], Tightness.SHORT),
        ({"a": 7, "b": 7}, [pods(3, 4)], Tightness.SHORT),
        ({"a": 8, "b": 8}, [pods(1, 8), pods(8, 1, owner="bert")], Tightness.TIGHT),
        ({"a": 8, "b": 8}, [pods(1, 8, "a"), pods(8, 1, "b", "bert")], Tightness.FITS),
        ({"a": 8, "b": 0}, [pods(1, 4, "b")], Tightness.SHORT),
        ({"a": 6, "b": 5}, [pods(2, 3), pods(2, 2, owner="bert")], Tightness.TIGHT),
        ({"a": 9}, [pods(1, 5, "a"), pods(1, 3, "a", "m"), pods(1, 2, "a", "n")], Tightness.SHORT),
        ({"a": 1000}, [pods(1000, 1, "a")], Tightness.FITS),
    ],
)
def test_pods_fit_a_cluster(free, waiting, verdict):
    assert pack(free, waiting).verdict is verdict


def test_the_largest_pods_are_placed_first_where_they_leave_the_least():
    packing = pack({"a": 8, "b": 4}, [pods(1, 1, owner="bert"), pods(2, 4)])
    assert packing.places == {"b": [("qwen", 4)], "a": [("qwen", 4), ("bert", 1)]}


def outcomes(free, sizes):
    """Yield for each order and each choice of nodes whether every pod gets a place."""
    if not sizes:
        yield True
        return
    (size, nodes), *later = sizes
    takers = [name for name in nodes if free[name] >= size]
    if not takers:
        yield False
    for name in takers:
        yield from outcomes({**free, name: free[name] - size}, later)


@pytest.mark.parametrize("seed", range(60))
def test_the_verdict_is_that_of_trying_everything(seed):
    draw = Random(seed)
    free = {name: draw.randint(0, 6) for name in sorted(NODES)}
    waiting = [
        pods(draw.randint(1, 2), draw.choice([1, 2, 3, 4]), draw.sample(sorted(NODES), draw.randint(1, 3)), str(number))
        for number in range(2)
    ]
    sizes = [(each.size, each.nodes) for each in waiting for _ in range(each.count)]
    ends = {end for order in set(permutations(sizes)) for end in outcomes(free, list(order))}
    verdict = pack(free, waiting).verdict
    assert (verdict is Tightness.SHORT) is (ends == {False})
    if verdict is Tightness.FITS:
        assert ends == {True}
