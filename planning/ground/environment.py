"""The environment variables of one container: whose value wins, in which order, and what is wrong with them.

Kubernetes replaces `$(NAME)` in a value by a variable that stands earlier in the list, and in an argument by any
variable of the container; a reference that it cannot resolve stays as it was written. `$$` is a `$` that begins none.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models import env
from models.paths import Path
from models.problems import Problem

EnvValue = str | Mapping[str, Any]
"""Text, or a Kubernetes `valueFrom`."""

CREDENTIAL_IN_CLEAR = (
    "holds a credential in clear",
    "put it into an existing Secret and write {secretKeyRef: {name: ..., key: ...}}",
)
"""What is wrong with a credential as text, and what would be right."""
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]+)\))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_API_SERVER = "KUBERNETES_"
"""Every container is given the address of the API server under this prefix, service links or not."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable, with its value or where that is."""

    name: str
    value: str | None
    source: Mapping[str, Any] | None
    """A Kubernetes `valueFrom`."""


def values(written: Mapping[str, env.EnvValue]) -> dict[str, EnvValue]:
    """Return a spec's variables with every reference in Kubernetes' shape."""
    return {
        name: value if isinstance(value, str) else value.model_dump(by_alias=True, exclude_defaults=True)
        for name, value in written.items()
    }


def ordered(generated: Mapping[str, EnvValue], own: Mapping[str, EnvValue]) -> tuple[Variable, ...]:
    """Return the variables of a container, each behind those that it refers to; otherwise ours, then the user's own."""
    merged, placed = {**generated, **own}, dict[str, Variable]()

    def place(name: str, above: frozenset[str]) -> None:
        if name in placed or name in above:
            return
        for earlier in _references(merged[name]):
            if earlier in merged:
                place(earlier, above | {name})
        placed[name] = _variable(name, merged[name])

    for name in merged:
        place(name, frozenset())
    return tuple(placed.values())


def problems(
    path: Path, generated: Mapping[str, EnvValue], own: Mapping[str, EnvValue], reserved: Mapping[str, str]
) -> list[Problem]:
    """Refuse what cannot be resolved, what is decided elsewhere and credentials in clear. No value is echoed.

    `path` is where the user's own variables are written; `reserved` maps a name to what to do instead of setting it.
    """
    merged = {**generated, **own}
    found = list(_cycles(path, merged, own))
    for name, value in own.items():
        at = path / name
        if name in reserved:
            found.append(Problem(at, "is already decided", f"remove it: {reserved[name]}"))
        elif is_credential_in_clear(name, value):
            found.append(Problem(at, *CREDENTIAL_IN_CLEAR))
        else:
            found += _dangling(at, value, merged)
    return found


def dangling_in(path: Path, arguments: Sequence[str], names: Collection[str]) -> list[Problem]:
    """Refuse references in a container's arguments to variables that it does not have."""
    found = list[Problem]()
    for index, argument in enumerate(arguments):
        found += _dangling(path / index, argument, names)
    return found


def is_credential_in_clear(name: str, value: EnvValue) -> bool:
    """Say whether a value is the credential itself: neither empty nor a reference alone."""
    if not isinstance(value, str) or not value or not env.names_credential(name):
        return False
    whole = _REFERENCE.fullmatch(value)
    return whole is None or whole[1] is None


def _variable(name: str, value: EnvValue) -> Variable:
    return Variable(name, value, None) if isinstance(value, str) else Variable(name, None, value)


def _references(value: EnvValue) -> Iterator[str]:
    """Yield the names that a value refers to."""
    for match in _REFERENCE.finditer(value if isinstance(value, str) else ""):
        if match[1] is not None:
            yield match[1]


def _dangling(at: Path, value: EnvValue, names: Collection[str]) -> Iterator[Problem]:
    for name in dict.fromkeys(_references(value)):
        if name in names or name.startswith(_API_SERVER):
            continue
        if _NAME.fullmatch(name) is None:
            yield Problem(at, "refers to no variable", "write $$(...) for text that Kubernetes shall not replace")
            continue
        close = difflib.get_close_matches(name, names, n=1)
        remedy = f"did you mean $({close[0]})?" if close else f"set {name}, or write $$({name}) for the text itself"
        yield Problem(at, f"refers to no variable of this container ($({name}))", remedy)


def _cycles(path: Path, merged: Mapping[str, EnvValue], own: Mapping[str, EnvValue]) -> Iterator[Problem]:
    """Yield each circle of references once, at the first of its members that the user wrote."""
    told = set[str]()
    for name in own:
        circle = () if name in told else _circle(merged, name)
        told.update(circle)
        if circle:
            remedy = f"remove one of these references, or write $$({circle[-1]}) for the text itself"
            yield Problem(path / name, f"refers to itself ({' → '.join((*circle, name))})", remedy)


def _circle(merged: Mapping[str, EnvValue], start: str) -> tuple[str, ...]:
    """Return the shortest way from a variable through its references back to itself, without that end; or nothing."""
    ways, seen = list[tuple[str, ...]]([(start,)]), set[str]()
    for way in ways:
        for name in _references(merged[way[-1]]):
            if name == start:
                return way
            if name in merged and name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()
