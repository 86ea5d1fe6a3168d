"""Contests of rules with their mutants: a mutant that comes to another result in any case is noticed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.prometheus.cases import broken, numbers
from tests.support.prometheus.mutants import Mutant, Rule
from tests.support.prometheus.promtool import Suite, failures

NewSuite = Callable[[str, Sequence[Rule]], Suite]
"""Makes the suite of a case, of its name, and of rules that must all come to its result."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A rule, its mutants and its cases."""

    rule: Rule
    mutants: Sequence[Mutant]
    cases: Sequence[NewSuite]


def survivors(binary: Path, contests: Mapping[str, Contest], directory: Path) -> list[str]:
    """Return the mutants that no case notices, each with its rule and its change.

    Each case is tried with the mutants that no case before it noticed.
    """
    unnoticed = {name: list(contest.mutants) for name, contest in contests.items()}
    for turn in range(max(len(contest.cases) for contest in contests.values())):
        waiting = [name for name, contest in contests.items() if turn < len(contest.cases) and unnoticed[name]]
        _try_cases(binary, turn, {name: contests[name] for name in waiting}, unnoticed, directory / str(turn))
    return [f"{name}: {mutant.change}" for name, mutants in unnoticed.items() for mutant in mutants]


def _try_cases(
    binary: Path, turn: int, contests: Mapping[str, Contest], unnoticed: dict[str, list[Mutant]], directory: Path
) -> None:
    """Remove the mutants that a case of each contest notices.

    promtool ends a test when a rule cannot be evaluated, so that a case with such a mutant is tried again without it.
    """
    attempt = 0
    waiting = list(contests)
    while waiting:
        rules = {name: [contests[name].rule, *(mutant.rule for mutant in unnoticed[name])] for name in waiting}
        suites = [contests[name].cases[turn](name, rules[name]) for name in waiting]
        results = failures(binary, suites, directory / str(attempt))
        waiting = [name for name in waiting if broken(results[name])]
        for name, texts in results.items():
            noticed = numbers(texts)
            assert 0 not in noticed, texts
            unnoticed[name] = [mutant for index, mutant in enumerate(unnoticed[name], 1) if index not in noticed]
        attempt += 1
