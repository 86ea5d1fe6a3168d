"""Meaning of the texts that kubelets, container runtimes and the programs in containers write about a container."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from re import Match

from models.base import Spec
from planning.ground import tables

_SIGNALS = 128
"""Shells and container runtimes add the number of the signal that ended a program to this number."""


class Meaning(Spec):
    """A row: texts that mean a state."""

    text: str
    """Regular expression that is found in the texts."""
    state: str
    source: str


class FetchFailure(Spec):
    """A row: texts of a program that could not fetch weights."""

    text: str
    """Regular expression that is found in the texts."""
    words: str
    """The mistake, as a sentence."""
    advice: str
    """Advice, as a sentence."""
    source: str


class _Table(Spec):
    images: list[Meaning]
    missing: list[Meaning]
    passing: list[Meaning]
    fetches: list[FetchFailure]
    exits: dict[int, str]


def image_state(text: str) -> str:
    """Return the id of the state of a pod whose image could not be pulled for the reason in a text."""
    entry = _first(_table().images, text)
    return "image-pull" if entry is None else entry[0].state


def missing(text: str) -> tuple[str, Match[str]] | None:
    """Return the id of the state and the match with the name or the key of a Secret or ConfigMap that does not exist.

    None if the text does not say that one does not exist.
    """
    entry = _first(_table().missing, text)
    return None if entry is None else (entry[0].state, entry[1])


def is_passing(text: str) -> bool:
    """Tell whether a text is about something that the kubelet mends by itself within seconds."""
    return _first(_table().passing, text) is not None


def fetch_failure(text: str) -> FetchFailure | None:
    """Return what the last words of a program say about why it could not fetch weights; None if nothing is known.

    Tracebacks of Python quote code with its line numbers, in indented lines: neither says anything of the failure.
    """
    words = "\n".join(line for line in text.splitlines() if not line.startswith("  "))
    return next((row for row in _table().fetches if re.search(row.text, words)), None)


def exit_words(code: int) -> str:
    """Return an exit code in words, such as `exit code 137 (SIGKILL, somebody killed it)`."""
    known = _table().exits.get(code)
    if known is None and code > _SIGNALS:
        known = f"signal {code - _SIGNALS}"
    return f"exit code {code}" if known is None else f"exit code {code} ({known})"


def _first(rows: Iterable[Meaning], text: str) -> tuple[Meaning, Match[str]] | None:
    for row in rows:
        match = re.search(row.text, text)
        if match is not None:
            return row, match
    return None


@cache
def _table() -> _Table:
    return tables.read(_Table, "status/tables/kubelet.yaml", "judging")


def groups(match: Match[str]) -> Mapping[str, str]:
    """Return the named groups of a match, without those that matched nothing."""
    return {name: text for name, text in match.groupdict().items() if text is not None}
