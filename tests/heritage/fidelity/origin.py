"""Origin of the leaves of a mapped object: our renderer, or the mapping."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.heritage.fidelity import canonical
from tests.heritage.fidelity.canonical import Leaf
from tests.heritage.fidelity.deviation import copied, mapped, stages
from tests.heritage.fidelity.mapping import DEVIATIONS
from tests.heritage.fidelity.scenarios import SCENARIOS


@dataclass(frozen=True, slots=True)
class Origin:
    """The leaves of one object of theirs, without labels and selectors, which are all their own."""

    count: int
    same: int
    """Leaves that no deviation touches."""
    ours: int
    """Leaves that change when ours do, those that no deviation touches included."""
    items: tuple[str, ...]
    """Deviations that make a difference to the object."""
    unread: tuple[str, ...]
    """Leaves that no deviation touches and that can be something else without a difference."""


def other(manifest: Any) -> Iterator[tuple[Leaf, Any]]:
    """Yield every leaf of an object, and the object with another value there."""
    for leaf in canonical.leaves(manifest):
        changed = copied(manifest)
        holder = changed
        for key in leaf.at[:-1]:
            holder = holder[key]
        holder[leaf.at[-1]] = _another(holder[leaf.at[-1]])
        yield leaf, changed


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


def labelling(path: str) -> bool:
    """Say whether a leaf is a label, or selects by labels."""
    return any(part in path for part in ("/labels/", "/matchLabels/", "/spec/selector/"))


def used(manifest: Any, part: str, scenario: str) -> tuple[str, ...]:
    """Return the deviations that make a difference to an object, by their items."""
    texts = [canonical.text(stage) for stage in stages(manifest, part, scenario, DEVIATIONS)]
    pairs = zip(DEVIATIONS, texts, texts[1:], strict=False)
    return tuple(dict.fromkeys(each.item for each, before, after in pairs if before != after))


@cache
def _rendered(scenario: str) -> dict[str, Any]:
    return SCENARIOS[scenario].ours()


@cache
def origin(scenario: str, part: str) -> Origin:
    """Return where the leaves of an object come from."""
    manifest = _rendered(scenario)[part]
    through = stages(manifest, part, scenario, DEVIATIONS)
    same = canonical.kept(through)
    theirs = canonical.leaves(through[-1])
    before = {leaf.at: leaf.value for leaf in theirs}
    places, read = set[tuple[str | int, ...]](), Counter[tuple[str, str]]()
    for leaf, changed in other(manifest):
        found = _values(changed, part, scenario)
        if found is not None and found.keys() == before.keys():
            places |= {at for at in before if found[at] != before[at]}
        read[leaf.path, leaf.value] += found != before
    counted_leaves = [leaf for leaf in theirs if not labelling(leaf.path)]
    return Origin(
        count=len(counted_leaves),
        same=sum(number for (path, _), number in same.items() if not labelling(path)),
        ours=sum(leaf.at in places or (leaf.path, leaf.value) in same for leaf in counted_leaves),
        items=used(manifest, part, scenario),
        unread=tuple(path for path, _ in same - read),
    )


def _values(changed: Any, part: str, scenario: str) -> dict[tuple[str | int, ...], str] | None:
    """Return what is where in a mapped object; nothing where the mapping does not know the object any more."""
    try:
        theirs = mapped(changed, part, scenario, DEVIATIONS)
    except (AttributeError, IndexError, KeyError, ValueError):
        return None
    return {leaf.at: leaf.value for leaf in canonical.leaves(theirs)}


def table() -> str:
    """Return where the leaves of all objects come from, as a table."""
    lines = ["| Scenario | Object | Leaves | Ours | Untouched | Deviations |", "|---|---|---|---|---|---|"]
    for name, scenario in SCENARIOS.items():
        for part in scenario.fingerprints:
            found = origin(name, part)
            numbers = f"{found.count} | {found.ours} | {found.same}"
            lines.append(f"| {name} | {part} | {numbers} | {'; '.join(found.items)} |")
    return "".join(f"{line}\n" for line in lines)
