"""Environment variables of one container: precedence of values, order, and validation.

Kubernetes replaces the reference `$(NAME)` by the value of the variable `NAME`. An argument can refer to any
variable of the container. The value of a variable can refer only to variables that precede this variable in the list.
Any other reference stays literal text. `$$` stands for a `$` that begins no reference.
"""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from models import env
from models.credentials import REFERENCE
from models.paths import Path
from models.problems import Problem

EnvValue = str | Mapping[str, Any]
"""Value of a variable: a text, or a Kubernetes `valueFrom`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_CYCLES = 20
"""Maximum number of cycles that are reported for one container."""
_MOST_SUGGESTIONS = 20
"""Maximum number of problems of one container with a suggestion, because a search for a similar name takes long."""
_MOST_NAMES = 12
"""Maximum number of variables that a message about a cycle lists."""
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
    secret_at: Path | None = None
    """Path in the configuration of the name of the Secret in `source`; None if `source` has no Secret."""


def values(spec: Mapping[str, env.EnvValue]) -> dict[str, EnvValue]:
    """Return the variables of a spec; a value is a text, or a `valueFrom` as in the Kubernetes API."""
    return {
        name: value if isinstance(value, str) else value.model_dump(by_alias=True, exclude_defaults=True)
        for name, value in spec.items()
    }


def container_variables(
    generated: Mapping[str, EnvValue], explicit: Mapping[str, EnvValue], at: Path, secret_at: Path | None = None
) -> tuple[Variable, ...]:
    """Return the variables of a container, each after the variables that it refers to.

    Apart from that, generated variables precede the user's variables. If the user sets a generated variable, the user's
    value is used. `at` is the path of the user's variables, and `secret_at` that of the Secret in generated variables.
    """
    merged = {**generated, **explicit}
    names: Iterable[str] = merged
    if [value for value in merged.values() if isinstance(value, str) and "$(" in value]:
        names = _order(merged)
    return tuple(_variable(name, merged[name], at if name in explicit else None, secret_at) for name in names)


def _order(merged: Mapping[str, EnvValue]) -> Iterable[str]:
    """Return the names of all variables, each after the variables that it refers to, unless there is a cycle."""
    placed = dict[str, None]()
    for name in merged:
        if name not in placed:
            _place(name, merged, placed)
    return placed


def _place(first: str, merged: Mapping[str, EnvValue], placed: dict[str, None]) -> None:
    """Add a variable to `placed`, after the variables that it refers to, directly or through other variables.

    The walk is a loop, because a chain of references may be longer than Python's stack.
    """
    # The variables that wait for each other, the first one first, each with its references that were not yet followed.
    waiting = [(first, _references(merged[first]))]
    names = {first}
    while waiting:
        name, references = waiting[-1]
        reference = next((other for other in references if other in merged and other not in placed), None)
        if reference is None:
            placed[name] = None
            waiting.pop()
        elif reference not in names:
            waiting.append((reference, _references(merged[reference])))
            names.add(reference)


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
    mistakes = list(_cycles(path, merged, explicit))
    for name, value in explicit.items():
        at = path / name
        if name in reserved:
            mistakes.append(Problem(at, "is set by this program", f"remove it: {reserved[name]}"))
        else:
            mistakes += dangling(at, value, merged, suggests=len(mistakes) < _MOST_SUGGESTIONS)
    return mistakes


def dangling_in(path: Path, arguments: Sequence[str], names: Collection[str]) -> list[Problem]:
    """Reject references to unknown variables in a container's arguments. `names` are the container's variables."""
    mistakes = list[Problem]()
    for index, argument in enumerate(arguments):
        if "$(" in argument:
            mistakes += dangling(path / index, argument, names, suggests=len(mistakes) < _MOST_SUGGESTIONS)
    return mistakes


def dangling(at: Path, value: EnvValue, names: Collection[str], *, suggests: bool = True) -> Iterator[Problem]:
    """Yield a problem for each reference in `value` to an unknown variable. `names` are the container's variables.

    If `suggests` is true, the remedy names the variable with the most similar name.
    """
    for index, name in enumerate(dict.fromkeys(_references(value))):
        if name in names or name.startswith(_API_SERVER):
            continue
        if _NAME.fullmatch(name) is None:
            yield Problem(at, "refers to no variable", "write $$(...) for text that Kubernetes shall not replace")
            continue
        close = difflib.get_close_matches(name, names, n=1) if suggests and index < _MOST_SUGGESTIONS else ()
        remedy = f"did you mean $({close[0]})?" if close else f"set {name}, or write $$({name}) for the text itself"
        yield Problem(at, f"refers to no variable of this container ($({name}))", remedy)


def _variable(name: str, value: EnvValue, at: Path | None, secret_at: Path | None) -> Variable:
    """Return a variable. `at` is the path of the user's variables; None if the variable is generated."""
    if isinstance(value, str):
        return Variable(name, value, None)
    if "secretKeyRef" not in value:
        return Variable(name, None, value)
    return Variable(name, None, value, secret_at if at is None else Path(*at, name, "secretKeyRef", "name"))


def _references(value: EnvValue) -> Iterator[str]:
    """Yield the names of the variables that a value refers to."""
    if isinstance(value, str) and "$(" in value:
        yield from (match[1] for match in REFERENCE.finditer(value) if match[1] is not None)


def _cycles(path: Path, merged: Mapping[str, EnvValue], explicit: Mapping[str, EnvValue]) -> Iterator[Problem]:
    """Yield one problem for each cycle of references, at the first variable in `explicit` that belongs to the cycle.

    If there are many cycles, only `_MOST_CYCLES` of them are reported.
    """
    groups = _groups(merged)
    cycles = 0
    reported = set[str]()
    for name in explicit:
        cycle = () if name in reported or cycles == _MOST_CYCLES else _cycle(merged, name, groups)
        if cycle:
            cycles += 1
            reported.update(cycle)
            remedy = f"remove one of these references, or write $$({cycle[-1]}) for the text itself"
            yield Problem(path / name, f"refers to itself ({_chain_text((*cycle, name))})", remedy)


def _groups(merged: Mapping[str, EnvValue]) -> Mapping[str, str]:
    """Return the group of each variable. Two variables are in one group if each leads to the other by references.

    These are strongly connected components, by Kosaraju's algorithm. A group has the name of one of its variables.
    """
    referrers = dict[str, list[str]]()
    groups = dict[str, str]()
    for name, value in merged.items():
        for reference in _references(value):
            referrers.setdefault(reference, []).append(name)
    for group in reversed(list(_order(merged))):
        names = [group]
        for name in names:
            if name not in groups:
                groups[name] = group
                names += referrers.get(name, ())
    return groups


def _chain_text(chain: Sequence[str]) -> str:
    """Return the names of a cycle for a message. If there are many, those in the middle are left out."""
    names = chain if len(chain) <= _MOST_NAMES else (*chain[: _MOST_NAMES - 2], "…", *chain[-2:])
    return " → ".join(names)


def _cycle(merged: Mapping[str, EnvValue], start: str, groups: Mapping[str, str]) -> tuple[str, ...]:
    """Return the shortest cycle of references that begins with the variable `start`; empty if there is none."""
    referrers = dict[str, str]()
    names = [start]
    for name in names:
        for reference in _references(merged[name]):
            if reference == start:
                return _chain(referrers, name)
            if groups.get(reference) == groups[start] and reference not in referrers:
                referrers[reference] = name
                names.append(reference)
    return ()


def _chain(referrers: Mapping[str, str], last: str) -> tuple[str, ...]:
    """Return the variables from the one without a referrer to `last`."""
    chain = [last]
    while chain[-1] in referrers:
        chain.append(referrers[chain[-1]])
    return tuple(reversed(chain))
