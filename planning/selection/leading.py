"""Comparison of a profile in the lock with the profiles that the catalogue has for the same model.

A lock is read by few people, and anybody can compute its check sums. The catalogue is what people review. A locked
profile may therefore have other numbers than the catalogue, and may lead nowhere else: to no other source, image,
account or address, and to no other code.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models import trees
from models.paths import Path
from models.problems import echo
from models.selection import LockedProfile
from models.source import bare, scheme
from planning.selection.records import Candidate

_TUNING = frozenset({"accelerator", "kvCache", "parallelism", "resources"})
"""Keys of a profile whose values only choose devices and amounts."""
_AMOUNTS = Path("model", "size"), Path("model", "architecture")
"""Further keys that name amounts alone."""
_GUARDS = Path("model", "insecure"), Path("model", "verify")
"""Keys that decide whether a source is what its publisher published. Their absence is a value, too."""
_ARGUMENTS = Path("engine", "args")
_ENV = Path("engine", "env")
_IMAGE = Path("engine", "image")
_FLAG = re.compile(r"--?[A-Za-z0-9-]+(=[A-Za-z0-9_,.+-]*)?")
"""An argument that names no path, address, repository or JSON."""
_NUMBER = re.compile(r"[0-9]{1,7}|true|false")
"""A text that is no address. Longer numbers are: resolvers read 16843009 as 1.1.1.1 (inet_aton)."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_,+-]*")
"""A text that is no path and no address with a dot or a port."""
_OWNED = frozenset({"kit", "oci", "image"})
"""Schemes whose repositories have only versions of their owners. In a repository of a hub, anybody can open a pull
request, whose commits are then commits of the repository."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A value of a locked profile by which the profile leads elsewhere than a profile of the catalogue."""

    at: Path
    """Path in the keys of the profile."""
    value: object
    """The value; None if it is absent."""
    known: tuple[str, ...]
    """Values of the profile of the catalogue at this path."""

    def __str__(self) -> str:
        """Return path and value, and what the catalogue has. Values that may be credentials are left out."""
        shown = echo(self.at, self.value or "nothing")[2:-1]
        if not shown:
            return str(self.at)
        return f"{self.at} {shown} instead of {', '.join(self.known) or 'nothing'}"


def leads(locked: LockedProfile, candidates: Iterable[Candidate]) -> tuple[Lead, ...]:
    """Return the values by which a locked profile leads elsewhere than each of `candidates`, the profiles of its model.

    They are those of the candidate that has the fewest, which is the profile of the same name if that has no more.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.id != locked.id)
    if not ordered:
        return tuple(_leads(locked.service, {}))
    return min((tuple(_leads(locked.service, candidate.service)) for candidate in ordered), key=len)


def _leads(locked: Mapping[str, Any], reviewed: Mapping[str, Any]) -> Iterator[Lead]:
    """Yield the values by which the keys of a locked profile lead elsewhere than the keys of a reviewed profile."""
    known = dict[Path, set[object]]()
    for at, value in trees.leaves(reviewed, Path()):
        known.setdefault(_kind(at), set()).add(value)
    written = dict(trees.leaves(locked, Path()))
    for at, value in written.items():
        values = known.get(_kind(at), set())
        if not _is_amount(at, value) and not _is_known(at, value, values):
            yield Lead(at, value, tuple(sorted(map(str, values))))
    for at, values in known.items():
        if _is_guard(at) and at not in written and values != {None}:
            yield Lead(at, None, tuple(sorted(map(str, values))))


def _is_amount(at: Path, value: object) -> bool:
    """Tell whether a value only tunes: a number, an amount, or a flag that names no place."""
    if not isinstance(value, str):
        return value is not None and not _is_guard(at)
    if at[0] in _TUNING or any(at.is_within(amount) for amount in _AMOUNTS):
        return True
    return at.is_within(_ARGUMENTS) and bool(_FLAG.fullmatch(value) or _NUMBER.fullmatch(value))


def _is_known(at: Path, value: object, values: Collection[object]) -> bool:
    """Tell whether a value is among the `values` of a reviewed profile, except for versions of images and ModelKits."""
    if value in values:
        return True
    text = str(value)
    if at.parent == _ENV:
        return bool(_NUMBER.fullmatch(text) or (values and _WORD.fullmatch(text)))
    if at == _IMAGE:
        return bare(f"image://{text}") in {bare(f"image://{value}") for value in values}
    is_versioned = at[-1] == "source" and scheme(text) in _OWNED
    return is_versioned and bare(text) in {bare(str(value)) for value in values}


def _is_guard(at: Path) -> bool:
    return any(at.is_within(guard) for guard in _GUARDS)


def _kind(at: Path) -> Path:
    """Return a path without indices, because a list may have its values in another order."""
    return Path(*(part for part in at if not isinstance(part, int)))
