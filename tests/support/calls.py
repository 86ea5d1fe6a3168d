"""Calls of functions of this project while an action runs, and the calls among them that do the same work again."""

import dis
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
ROOMS = ("composition", "facts", "judging", "manifests", "models", "planning")
LEAST_WORK = 40
"""Instructions of a function that does work. A shorter one looks something up, or only calls others."""
_STARTED = 0
"""Argument of the instruction RESUME where a function starts. A generator that goes on has another one there."""


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a function of this project."""

    code: CodeType
    arguments: tuple[Any, ...]
    caller: "Call | None"
    """The call of this project in which this one happened."""

    @property
    def module(self) -> str:
        """Return the dotted name of the function's module."""
        return _module(self.code)

    @property
    def function(self) -> str:
        """Return module and qualified name of the function."""
        return f"{self.module}.{self.code.co_qualname}"


def record(action: Callable[[], object]) -> list[Call]:
    """Return the calls while `action` runs, in order. Comprehensions and lambdas belong to the function around them."""
    # The frames are kept, so that no later frame has the identity of one of them.
    calls = dict[FrameType, Call]()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and _module(code) and code.co_code[frame.f_lasti + 1] == _STARTED:
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            arguments = tuple(frame.f_locals.get(name) for name in names)
            calls[frame] = Call(code, arguments, _caller(frame, calls))

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return [*calls.values()]


@cache
def _module(code: CodeType) -> str:
    """Return the dotted name of a function's module; empty for code of others and for parts of a function."""
    path = Path(code.co_filename)
    if code.co_name.startswith("<") or not path.is_relative_to(ROOT):
        return ""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") if parts[0] in ROOMS else ""


def _caller(frame: FrameType, calls: Mapping[FrameType, Call]) -> Call | None:
    outer = frame.f_back
    while outer is not None:
        if outer in calls:
            return calls[outer]
        outer = outer.f_back
    return None


def repetitions(calls: list[Call]) -> Iterator[tuple[Call, int]]:
    """Yield the first of several calls that do the same work, and how many they are.

    The same work is done for the same records of configuration or the same trees, with equal other arguments; equal
    specs of two services are not the same. What a repeated call calls in its turn is no repetition of its own.
    """
    keys = _Keys()
    first = dict[Any, Call]()
    again = set[Call]()
    times = dict[Call, int]()
    for call in calls:
        if call.caller in again:
            again.add(call)
        elif _works(call.code) and (key := keys.of_call(call)) is not None:
            original = first.setdefault(key, call)
            times[original] = times.get(original, 0) + 1
            if original is not call:
                again.add(call)
    yield from ((call, count) for call, count in times.items() if count > 1)


@cache
def _works(code: CodeType) -> bool:
    return sum(1 for _ in dis.get_instructions(code)) >= LEAST_WORK


@dataclass(frozen=True, slots=True)
class _Identity:
    """Identity of a spec or of a tree."""

    number: int


class _Keys:
    """Keys of arguments, equal for those that are equal; of a spec or a tree only for the very same one."""

    def __init__(self) -> None:
        self._known = dict[int, Hashable]()

    def of_call(self, call: Call) -> Hashable | None:
        """Return the key of a call; None if it has neither a spec nor a tree."""
        keys = tuple(self._of(argument) for argument in call.arguments)
        return (call.code, keys) if _has_identity(keys) else None

    def _of(self, value: Any) -> Hashable:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._made(value)
        return known

    def _made(self, value: Any) -> Hashable:
        if isinstance(value, BaseModel) and not value.model_fields_set:
            return type(value), value.model_dump_json()
        if isinstance(value, Mapping | list) and not value:
            return type(value)
        if isinstance(value, BaseModel | Mapping | list):
            return _Identity(id(value))
        if is_dataclass(value):
            return type(value), *(self._of(getattr(value, field.name)) for field in fields(value))
        if isinstance(value, tuple):
            return type(value), *(self._of(item) for item in value)
        return value if value.__hash__ else _Identity(id(value))


def _has_identity(key: Hashable) -> bool:
    return isinstance(key, _Identity) or (isinstance(key, tuple) and any(_has_identity(item) for item in key))
