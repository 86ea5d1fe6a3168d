"""Stacks are compared within a round, and each round begins with another one."""

from functools import partial

from benchmarks import checking


def test_each_round_runs_everything_and_begins_with_another():
    calls = []
    works = {name: partial(calls.append, name) for name in ("a", "b", "c")}
    rounds = checking._alternating(works, 3)
    assert calls == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert [set(seconds) for seconds in rounds] == [{"a", "b", "c"}] * 3


def test_a_row_has_medians_and_the_medians_of_differences():
    names = [*checking._VARIANTS]
    rounds = [{name: first + index for index, name in enumerate(names)} for first in (1.0, 5.0, 2.0)]
    others = [name for name in names if name != "checked"]
    assert checking._row(10, rounds, others) == (
        10, "2.00", "3.00", "4.00", "5.00", "-1.00", "-2.00", "-3.00"
    )  # fmt: skip


def test_all_variants_are_stacks_of_the_same_services():
    trees = checking._trees(2)
    assert {tuple(tree["services"]) for tree in trees.values()} == {("s0", "s1")}
    assert trees["checked"] == trees["again"] != trees["skipped"] != trees["unread"]
