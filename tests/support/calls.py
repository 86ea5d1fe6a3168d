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
    specs of two services are not the same, nor are defaults that two services share. What a repeated call calls in its
    turn is no repetition of its own.
    """
    keys = _Keys()
    works = dict[Hashable, list[Call]]()
    again = set[Call]()
    times = dict[Call, int]()
    for call in calls:
        if call.caller in again:
            again.add(call)
        elif _works(call.code) and (key := keys.of_call(call)) is not None:
            equal = works.setdefault(key, [])
            original = next((earlier for earlier in equal if not keys.are_apart(earlier, call)), call)
            times[original] = times.get(original, 0) + 1
            if original is call:
                equal.append(call)
            else:
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
        keys = self._of_all(call)
        return (call.code, keys) if _has_identity(keys) else None

    def are_apart(self, first: Call, second: Call) -> bool:
        """Tell whether two calls with equal arguments are about two subjects that happen to be equal.

        They are if an argument is a default or not the very same object, and one function leads to both of them with
        other arguments, as for two variants or pods.
        """
        pairs = zip(first.arguments, second.arguments, strict=True)
        if all(_is_plain(value) or (value is equal and not _is_default(value)) for value, equal in pairs):
            return False
        above, below = _fork(first, second)
        return above.code is below.code and self._of_all(above) != self._of_all(below)

    def _of_all(self, call: Call) -> Hashable:
        return tuple(self._of(argument) for argument in call.arguments)

    def _of(self, value: Any) -> Hashable:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._made(value)
        return known

    def _made(self, value: Any) -> Hashable:
        if _is_default(value):
            return type(value), value.model_dump_json() if isinstance(value, BaseModel) else ""
        if isinstance(value, BaseModel | Mapping | list):
            return _Identity(id(value))
        if is_dataclass(value):
            return type(value), *(self._of(getattr(value, field.name)) for field in fields(value))
        if isinstance(value, tuple):
            return type(value), *(self._of(item) for item in value)
        return value if value.__hash__ else _Identity(id(value))


def _has_identity(key: Hashable) -> bool:
    return isinstance(key, _Identity) or (isinstance(key, tuple) and any(_has_identity(item) for item in key))


def _is_default(value: object) -> bool:
    """Tell whether a value is a spec without a field that a user set, or an empty tree. Many specs share it."""
    if isinstance(value, BaseModel):
        return not value.model_fields_set
    return isinstance(value, Mapping | list) and not value


def _is_plain(value: object) -> bool:
    """Tell whether a value is a text, a number or None, which is never the record of a subject."""
    return value is None or isinstance(value, str | int | float)


def _fork(first: Call, second: Call) -> tuple[Call, Call]:
    """Return the calls that lead to two calls, below the last call that leads to both; or the two calls."""
    above = _with_callers(first)
    below = _with_callers(second)
    pairs = zip(reversed(above), reversed(below), strict=False)
    return next(((left, right) for left, right in pairs if left is not right), (first, second))


def _with_callers(call: Call | None) -> list[Call]:
    """Return a call, its caller, the caller of the caller, and so on."""
    calls = list[Call]()
    while call is not None:
        calls.append(call)
        call = call.caller
    return calls
