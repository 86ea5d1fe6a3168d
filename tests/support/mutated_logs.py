"""Event logs with random mistakes, made from logs that the engine wrote."""

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

LOGS = Path("tests/cli/logs")
"""Logs of engine 3.230 and provider 4.25."""
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31 - 1, 2**63, 10**400, 1.5, 1e308, "", "0", "²", "9" * 30, "x" * 5000, "\x1b[2J\x1b]8;;x",
    "\u202e\u200b", "\ud800", "<{%" * 50, "**`|`**\n- /close @all <img src=x>", [], {}, [[]], [None], [{}], {"": None},
    {"x": {"name": []}}, ["--max-model-len", "9" * 20, "--gpu-memory-utilization=nan"], [0, "a", {"name": 0}],
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9", {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"},
)  # fmt: skip
"""Values that take the place of others. The last two stand for what a preview does not know, and for a secret."""
SECRET = "hunter2"
"""Beginning of the values of variables, arguments and annotations in the logs, which no report may show."""


@dataclass(frozen=True)
class Mutant:
    """A log with mistakes."""

    seed: int
    text: str


def number_of_mutants(default: int) -> int:
    """Return the number of mutants that a module tries: the variable MUTANTS, else `default`."""
    return int(os.environ.get("MUTANTS") or default)


def mutants(count: int, seed: int = 0) -> Iterator[Mutant]:
    """Yield logs, the same ones for the same seed. `Mutant.seed` alone makes a mutant again."""
    for number in range(seed, seed + count):
        yield mutant(number)


def mutant(seed: int) -> Mutant:
    """Return the log of a seed: a recorded one with one to four mistakes in its events, or in its text."""
    random = Random(seed)
    files = sorted(LOGS.glob("*.jsonl"))
    events = [json.loads(line) for line in random.choice(files).read_text(encoding="utf-8").splitlines()]
    for _ in range(random.randint(1, 4)):
        _change(events, random)
    text = "\n".join(json.dumps(event) for event in events)
    return Mutant(seed, _garbled(text, random) if random.random() < 0.1 else text)


def _change(events: list[Any], random: Random) -> None:
    """Change a random place of a random event."""
    index = random.randrange(len(events) or 1)
    places = list(_places(events[index])) if events else []
    kind = random.random()
    if not places or kind < 0.05:
        events.insert(index, random.choice(VALUES) if random.random() < 0.2 else {})
    elif kind < 0.1:
        del events[index]
    elif kind < 0.15:
        events.insert(index, copy.deepcopy(random.choice(events)))
    else:
        inputs = [place for place in places if place.is_input] if random.random() < 0.8 else []
        place = random.choice(inputs or places)
        _change_value(place.parent, place.key, random)


def _change_value(parent: Any, key: Any, random: Random) -> None:
    kind = random.random()
    if kind < 0.7:
        parent[key] = copy.deepcopy(random.choice(VALUES))
    elif kind < 0.8:
        del parent[key]
    elif kind < 0.87:
        parent[key] = [parent[key]] if random.random() < 0.5 else {"x": parent[key]}
    elif kind < 0.95:
        parent[key] = _nested(random.choice((10, 100, 300)))
    elif isinstance(parent, list):
        parent += [copy.deepcopy(parent[key])] * 2000
    else:
        parent[key] = "x" * 70_000


@dataclass(frozen=True)
class _Place:
    """A value in an event."""

    parent: Any
    key: Any
    is_input: bool
    """Whether the value belongs to the inputs of a resource, which other providers and programs decide."""


def _places(value: Any, *, is_input: bool = False) -> Iterator[_Place]:
    """Yield every value within a value."""
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()
    for key in keys:
        yield _Place(value, key, is_input)
        yield from _places(value[key], is_input=is_input or key == "inputs")


def _nested(depth: int) -> Any:
    value: Any = 0
    for level in range(depth):
        value = [value] if level % 2 else {"metadata": value}
    return value


def _garbled(text: str, random: Random) -> str:
    """Return the text of a log with a mistake that is none of JSON's values."""
    at = random.randrange(len(text) + 1)
    deep = f'{{"resourcePreEvent": {"[" * 100_000}\n'
    numbers = '{"resourcePreEvent": {"metadata": {"op": NaN}}}\n'
    return random.choice(
        (text[:at], text[:at] + "\0" + text[at:], text.replace(":", "::", 1), deep + text, numbers, "\n")
    )
