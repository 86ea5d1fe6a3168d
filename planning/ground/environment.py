"""Environment variables of one container: precedence of values, order, and validation.

Kubernetes replaces the reference `$(NAME)` by the value of the variable `NAME`. An argument can refer to any
variable of the container. The value of a variable can refer only to variables that precede this variable in the list.
Any other reference stays literal text. `$$` stands for a `$` that begins no reference.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from models import env
from models.credentials import REFERENCE
from models.paths import Path
from models.problems import Problem

EnvValue = str | Mapping[str, Any]
"""Value of a variable: a text, or a Kubernetes `valueFrom`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_API_SERVER = "KUBERNETES_"
"""Prefix of the variables with the API server's address. Kubernetes sets these variables in every container, even if
`enableServiceLinks` is false."""


class Variable(NamedTuple):
    """One variable, with a literal value or a source. The record is a tuple for speed, because there are many."""

    name: str
    value: str | None
    """Literal value; None if the variable has a source."""
    source: Mapping[str, Any] | None
    """A Kubernetes `valueFrom`; None if the variable has a literal value."""


def values(spec: Mapping[str, env.EnvValue]) -> dict[str, EnvValue]:
    """Return the variables of a spec; a value is a text, or a `valueFrom` as in the Kubernetes API."""
    return {
        name: value if isinstance(value, str) else value.model_dump(by_alias=True, exclude_defaults=True)
        for name, value in spec.items()
    }


def container_variables(generated: Mapping[str, EnvValue], explicit: Mapping[str, EnvValue]) -> tuple[Variable, ...]:
    """Return the variables of a container, each after the variables that it refers to.

    Apart from that, generated variables precede the user's variables. If the user sets a generated variable, the user's
    value is used.
    """
    merged, placed = {**generated, **explicit}, dict[str, Variable]()
    if not [value for value in merged.values() if isinstance(value, str) and "$(" in value]:
        return tuple(starmap(_variable, merged.items()))

    def place(name: str, referrers: frozenset[str]) -> None:
        if name in placed or name in referrers:
            return
        for reference in _references(merged[name]):
            if reference in merged:
                place(reference, referrers | {name})
        placed[name] = _variable(name, merged[name])

    for name in merged:
        place(name, frozenset())
    return tuple(placed.values())


def literal(text: str) -> str:
    """Return an argument, or the value of a variable, that Kubernetes expands to `text` itself.

    Source: k8s.io/kubernetes v1.36.3, third_party/forked/golang/expansion/expand.go (`$$` stands for `$`).
    """
    return text.replace("$", "$$")


def problems(
    path: Path, generated: Mapping[str, EnvValue], explicit: Mapping[str, EnvValue], reserved: Mapping[str, str]
) -> list[Problem]:
    """Reject references that cannot be resolved, and variables with reserved names. No message contains a value.

    `path` is the place of the user's variables; `reserved` maps each reserved name to its remedy.
    """
    merged = {**generated, **explicit}
    found = list(_cycles(path, merged, explicit))
    for name, value in explicit.items():
        at = path / name
        if name in reserved:
            found.append(Problem(at, "is set by this program", f"remove it: {reserved[name]}"))
        else:
            found += dangling(at, value, merged)
    return found


def dangling_in(path: Path, arguments: Sequence[str], names: Collection[str]) -> list[Problem]:
    """Reject references to unknown variables in a container's arguments. `names` are the container's variables."""
    found = list[Problem]()
    for index, argument in enumerate(arguments):
        if "$(" in argument:
            found += dangling(path / index, argument, names)
    return found


def dangling(at: Path, value: EnvValue, names: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each reference in `value` to an unknown variable. `names` are the container's variables."""
    for name in dict.fromkeys(_references(value)):
        if name in names or name.startswith(_API_SERVER):
            continue
        if _NAME.fullmatch(name) is None:
            yield Problem(at, "refers to no variable", "write $$(...) for text that Kubernetes shall not replace")
            continue
        close = difflib.get_close_matches(name, names, n=1)
        remedy = f"did you mean $({close[0]})?" if close else f"set {name}, or write $$({name}) for the text itself"
        yield Problem(at, f"refers to no variable of this container ($({name}))", remedy)


def _variable(name: str, value: EnvValue) -> Variable:
    return Variable(name, value, None) if isinstance(value, str) else Variable(name, None, value)


def _references(value: EnvValue) -> Iterator[str]:
    """Yield the names of the variables that a value refers to."""
    if isinstance(value, str) and "$(" in value:
        yield from (match[1] for match in REFERENCE.finditer(value) if match[1] is not None)


def _cycles(path: Path, merged: Mapping[str, EnvValue], explicit: Mapping[str, EnvValue]) -> Iterator[Problem]:
    """Yield one problem for each cycle of references, at the first variable in `explicit` that belongs to the cycle."""
    reported = set[str]()
    for name in explicit:
        cycle = () if name in reported else _cycle(merged, name)
        reported.update(cycle)
        if cycle:
            remedy = f"remove one of these references, or write $$({cycle[-1]}) for the text itself"
            yield Problem(path / name, f"refers to itself ({' → '.join((*cycle, name))})", remedy)


def _cycle(merged: Mapping[str, EnvValue], start: str) -> tuple[str, ...]:
    """Return the shortest cycle of references that begins with the variable `start`; empty if there is none."""
    chains, seen = list[tuple[str, ...]]([(start,)]), set[str]()
    for chain in chains:
        for name in _references(merged[chain[-1]]):
            if name == start:
                return chain
            if name in merged and name not in seen:
                seen.add(name)
                chains.append((*chain, name))
    return ()
