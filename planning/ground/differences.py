"""Differences between the facts of two readings, such as the facts of a preview and of the run after that preview."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from planning.ground.cluster_facts import PARTS, ClusterFacts, Unknown

_VOLATILE = frozenset({"metrics", "requested"})
"""Fields of `ClusterFacts` that change with the load. They are not compared."""


def differences(before: ClusterFacts, after: ClusterFacts) -> Iterator[str]:
    """Yield a line for each entry that is new, gone or different.

    If a part of the facts is unknown in only one reading, yield one line for the part.
    """
    for name in ("apis", *PARTS):
        if name in _VOLATILE:
            continue
        parts = [getattr(facts, name) for facts in (before, after)]
        known = [part for part in parts if not isinstance(part, Unknown)]
        if len(known) == len(parts):
            yield from _part_differences(name, *(_entries(part) for part in known))
        elif known:
            yield f"{name}: unknown in the {'second' if known[0] is parts[0] else 'first'} reading"


def _part_differences(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*before, *after}):
        if key not in after:
            yield f"{name}: {key} is gone"
        elif key not in before:
            yield f"{name}: {key} is new"
        elif before[key] != after[key]:
            yield f"{name}: {key} is different"


def _entries(part: Any) -> Mapping[str, Any]:  # noqa: ANN401, any part
    """Return the entries in one part of the facts, by name."""
    (field,) = part.__slots__
    value = getattr(part, field)
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in cast("Mapping[Any, Any]", value).items()}
    return {_name(entry): entry for entry in value}


def _name(entry: Any) -> str:  # noqa: ANN401, any entry of a part
    if isinstance(entry, str):
        return entry
    if isinstance(entry, tuple):
        return "/".join(map(str, cast("tuple[Any, ...]", entry)))
    if hasattr(entry, "ref"):
        return str(entry.ref)
    names = ("namespace", "driver", "pool", "name")
    return "/".join(str(getattr(entry, part)) for part in names if hasattr(entry, part))
