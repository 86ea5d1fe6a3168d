"""Losses of a later tree's suite beside the baseline's."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.baseline.ids import function_of, named, unfolded

Data = Mapping[str, Any]
LISTS = ("tests", "dropped", "changed")
COMPARED = 60
"""Mutants that are compared: the first ones that are in both trees and were judged in the baseline."""


@dataclass(frozen=True)
class Map:
    """How things of the baseline are called later."""

    tests: Sequence[tuple[str, str]]
    """Regular expressions, each with what stands there later; every one that matches applies."""
    dropped: Sequence[tuple[str, str]]
    """Ids that are gone, each with what asserts the same."""
    modules: Mapping[str, Sequence[str]]
    functions: Mapping[str, str]
    mutants: Mapping[str, Sequence[str]]
    """By function of a mutant: where its expression is later, how it is written, and the kind of change if another."""
    texts: Mapping[str, str]
    """Texts of the baseline, by those of the later tree that replace them."""
    leaves: Mapping[str, Sequence[tuple[str, str]]]
    """By name of a golden, or `schema`: regular expressions in its leaves, each with what stands there later."""
    changed: Sequence[tuple[str, str]]
    """Regular expressions of whole losses that are no weakness of the suite, each with the reason."""

    @classmethod
    def of(cls, tree: Mapping[str, Any]) -> "Map":
        """Return the map that a YAML tree says."""
        modules = {old: [new] if isinstance(new, str) else new for old, new in (tree.get("modules") or {}).items()}
        lists = {name: [(rule[0], rule[1]) for rule in tree.get(name) or []] for name in LISTS}
        rest = {name: tree.get(name) or {} for name in ("functions", "mutants", "texts", "leaves")}
        return cls(modules=modules, **lists, **rest)

    def test(self, old: str) -> str:
        """Return what a test's id is now."""
        for pattern, new in self.tests:
            old = re.sub(pattern, new, old)
        return old

    def replacement(self, old: str) -> str | None:
        """Return what asserts the same as a test that is gone; nothing where it is not."""
        return next((why for pattern, why in self.dropped if re.search(pattern, old)), None)

    def leaf(self, file: str, old: str) -> str:
        """Return what a leaf of a golden or the schema is now."""
        for pattern, new in self.leaves.get(file, ()):
            old = re.sub(pattern, new, old)
        return old

    def unexplained(self, losses: Iterable[str]) -> Iterator[str]:
        """Yield the losses that have no reason, and the reasons for which there is no loss."""
        patterns = {pattern: re.compile(pattern) for pattern, _ in self.changed}
        used: set[str] = set()
        for loss in losses:
            reasons = {name for name, pattern in patterns.items() if pattern.fullmatch(loss)}
            used |= reasons
            if not reasons:
                yield loss
        yield from (f"names.yaml: nothing is lost that {name} explains" for name in patterns if name not in used)

    def module(self, old: str) -> Sequence[str]:
        """Return the modules that a module has become, by the longest name in the map that it begins with."""
        found = max((name for name in self.modules if f"{old}.".startswith(f"{name}.")), key=len, default=None)
        return [old] if found is None else [new + old[len(found) :] for new in self.modules[found]]


def less(old: Data, new: Data, names: Map) -> Iterator[str]:
    """Yield everything that the later tree has less of."""
    yield from _cases(old, new, names)
    yield from _fewer("mutations of", _column(old, "rendered leaves", 0), _column(new, "rendered leaves", 0))
    yield from (f"rendered leaves: {n} survive of {name}" for name, (_, n) in new["rendered leaves"].items() if n)
    yield from _fewer("edits of the leaf", old["leaf edits"], new["leaf edits"])
    for exceptions in ("rendered exceptions", "leaf exceptions"):
        yield from (f"{exceptions}: {name} is new" for name in sorted({*new[exceptions]} - {*old[exceptions]}))
    pairs = paired(old["max examples"], new["max examples"], names)
    examples = {later: old["max examples"][name] for name, later in pairs.items()}
    yield from _fewer("examples of", examples, new["max examples"])
    yield from _coverage(old["coverage"], new["coverage"])
    yield from other_errors(old["errors"], new["errors"])


def paired(old: Iterable[str], new: Iterable[str], names: Map) -> dict[str, str]:
    """Return what ids of the baseline are later; ids that are not found become those that the rules make of them.

    A test that only one module has is found by its name, whatever that module is called.
    """
    before = Counter(named(case) for case in old)
    now, moved = set(new), defaultdict[str, list[str]](list)
    for case in new:
        moved[named(case)].append(case)
    pairs = {case: names.test(case) for case in old if names.replacement(case) is None}
    for case, later in pairs.items():
        others = moved[named(later)]
        if later not in now and len(others) == 1 and before[named(case)] == 1:
            pairs[case] = others[0]
    return pairs


def _cases(old: Data, new: Data, names: Map) -> Iterator[str]:
    now = set(unfolded(new["ids"]))
    found: dict[str, str] = {}
    for case, later in paired(unfolded(old["ids"]), now, names).items():
        if later not in now:
            yield f"unmapped: {case} -> {later}"
        elif later in found:
            yield f"unmapped: {case} and {found[later]} are both {later}"
        found.setdefault(later, case)
    for count in ("cases", "controls"):
        yield from _fewer("number of", {count: old[count]}, {count: new[count]})
    for mark in ("skip", "skipif", "xfail"):
        yield from _fewer("marks", {mark: new["marks"].get(mark, 0)}, {mark: old["marks"].get(mark, 0)})
    functions = {function_of(case) for case in now}
    for control, later in paired(old["control functions"], functions, names).items():
        if later not in functions:
            yield f"negative control: {control} is gone"


def _fewer(what: str, old: Mapping[str, int], new: Mapping[str, int]) -> Iterator[str]:
    for name, count in old.items():
        if new.get(name, 0) < count:
            yield f"{what} {name}: {new.get(name, 0)} instead of {count}"


def _column(data: Data, name: str, index: int) -> dict[str, int]:
    return {key: counts[index] for key, counts in data[name].items()}


def _coverage(old: Mapping[str, Data], new: Mapping[str, Data]) -> Iterator[str]:
    for layer, counts in old.items():
        (now, unreached), (before, then) = share(new.get(layer, {})), share(counts)
        if now < before:
            yield f"coverage of {layer}: {now:.2%} instead of {before:.2%} ({unreached} unreached instead of {then})"


def share(counts: Data) -> tuple[float, int]:
    """Return the share of statements and branches that tests reach, and the number of those that they do not."""
    every = counts.get("statements", 0) + counts.get("branches", 0)
    unreached = counts.get("missed", 0) + counts.get("untaken", 0)
    return (1 - unreached / every if every else 0), unreached


def other_errors(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the mistakes whose stack or message has another digest."""
    for name, digests in old.items():
        if name not in new:
            yield f"errors: {name} is gone"
            continue
        for part, before, now in zip(("stack", "message"), digests, new[name], strict=True):
            if before != now:
                yield f"errors: {name} has another {part}"


def survivors(old: Sequence[Data], new: Sequence[Data]) -> Iterator[str]:
    """Yield the mutants that were killed and are not any more; too few mutants are told, too."""
    if len(new) < COMPARED:
        yield f"mutants: {len(new)} of {COMPARED} are in both trees"
    before = {identity(row): row for row in old}
    for row in new:
        killer = before[identity(row)]["by"]
        if before[identity(row)]["verdict"] == "killed" and row["verdict"] != "killed":
            yield f"mutant of {row['module']}.{row['function']}: survives what {killer} found"


def identity(row: Data) -> tuple[Any, ...]:
    """Return what makes a mutant the same one."""
    return tuple(row[name] for name in ("module", "function", "operator", "node", "turn"))
