"""Command-line flags as vLLM's argument parser understands a list of tokens.

It takes `_` for `-` before the first dot of a name, `--flag value` for `--flag=value`, `--no-flag` for the contrary of
a switch, `-O3` for `--optimization-level 3`, and a flag whose value is JSON also in pieces: `--flag.key=value`.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from models.paths import Path
from models.problems import Problem

LOW, HIGH = 0, 1
"""The layer that a merged token is from."""
_FLAG = re.compile(r"--?[A-Za-z][^\s=]*(?:=.*)?", re.DOTALL)
_FLAG_AND_MORE = re.compile(r"--?[A-Za-z][^\s=]*\s.*|--", re.DOTALL)
"""What the shell would have cut into several tokens, and the mark behind which no flag is read."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag with its values; tokens that belong to none are a flag without a name."""

    name: str
    """Canonical: `--kebab-case`, whatever was written."""
    tokens: tuple[str, ...]
    """As written."""
    index: int
    """Position of the first token."""

    @property
    def value(self) -> str | None:
        """The text after `=`, or the tokens after the flag; nothing where it has neither."""
        head, separator, attached = self.tokens[0].partition("=")
        if separator and self.name:
            return attached
        if head.startswith("-O") and len(head) > len("-O"):
            return head.removeprefix("-O")
        return " ".join(self.tokens[1:] if self.name else self.tokens) or None

    @property
    def holder(self) -> int:
        """Position of the token that holds the value."""
        return self.index + (len(self.tokens) > 1)

    @property
    def switch(self) -> str:
        """The name without `no-`: what `--x` and `--no-x` both set."""
        return f"--{self.name.removeprefix('--no-')}" if self.name.startswith("--no-") else self.name


@dataclass(frozen=True, slots=True)
class Placed:
    """One token of a merged list, and where it was written."""

    token: str
    layer: int
    index: int


def parse(tokens: Sequence[str]) -> tuple[Flag, ...]:
    """Cut a list of tokens into flags, in order; no token is lost."""
    found = list[Flag]()
    for index, token in enumerate(tokens):
        name = _name(token)
        if name is None and found and _takes_more(found[-1]):
            found[-1] = replace(found[-1], tokens=(*found[-1].tokens, token))
        else:
            found.append(Flag(name or "", (token,), index))
    return tuple(found)


def merge(low: Sequence[str], high: Sequence[str]) -> list[str]:
    """Merge two lists by flag name: what `high` says replaces the same flag of `low` in its place, the rest follows.

    JSON objects merge deeply (RFC 7386), compact, as one token `--flag={…}`.
    """
    return [one.token for one in combine(low, high)]


def combine(low: Sequence[str], high: Sequence[str]) -> list[Placed]:
    """Return what `merge` does, each token with its layer and its index there."""
    if not low or not high:
        return [Placed(token, HIGH if high else LOW, index) for index, token in enumerate(high or low)]
    lower, higher = parse(low), parse(high)
    over = {flag.switch: [one for one in higher if one.switch == flag.switch] for flag in higher}
    under = {flag.switch: flag for flag in lower}
    # Behind another layer's flag a token without a flag would become its value.
    merged = [*_placed(lower, LOW, stray=True), *_placed(higher, HIGH, stray=True)]
    done = {""}
    for flag in lower:
        if flag.switch not in over:
            merged += _placed([flag], LOW)
        elif flag.switch not in done:
            merged += _replaced(under[flag.switch], over[flag.switch])
            done.add(flag.switch)
    return merged + _placed([flag for flag in higher if flag.switch not in done], HIGH)


def broken(low: Sequence[str], high: Sequence[str]) -> list[tuple[int, Flag]]:
    """Return the flags, with their layer, that would merge with the other layer's JSON if they were valid JSON."""
    higher, found = {flag.name: flag for flag in parse(high) if flag.name}, list[tuple[int, Flag]]()
    for lower in parse(low):
        pair = [(LOW, lower), (HIGH, higher[lower.name])] if lower.name in higher else []
        mistaken = [(layer, flag) for layer, flag in pair if json_object(flag) is None]
        if len(mistaken) == 1:
            found += [(layer, flag) for layer, flag in mistaken if (flag.value or "").startswith("{")]
    return found


def problems(path: Path, tokens: Sequence[str], json_flags: Collection[str]) -> list[Problem]:
    """Return what is wrong in one list at `path`, such as `services.qwen.engine.args`. No value is ever echoed."""
    found, seen = list[Problem](), list[Flag]()
    for flag in parse(tokens):
        found += [*_stray(path, flag, json_flags), *_beside(path, flag, seen)]
        if flag.name in json_flags:
            found += not_json(path / flag.holder, flag)
        seen.append(flag)
    return found


def not_json(at: Path, flag: Flag) -> list[Problem]:
    """Return the problem of a flag whose value, written at `at`, is not valid JSON: the place, nothing of the value."""
    try:
        json.loads(flag.value or "")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
    except (ValueError, RecursionError):
        where = "a number or a nesting beyond all bounds"
    else:
        return []
    remedy = f'write it in single quotes, names and text in double ones: \'{flag.name}={{"key": "value"}}\''
    return [Problem(at, f"is not valid JSON ({flag.name}: {where})", remedy)]


def _name(token: str) -> str | None:
    """Return a flag's canonical name, "" for what belongs to no flag, nothing for a value."""
    if _FLAG_AND_MORE.fullmatch(token):
        return ""
    if _FLAG.fullmatch(token) is None:
        return None
    head = token.partition("=")[0]
    if head.startswith("-O"):
        return "--optimization-level"
    plain, dot, key = head.lstrip("-").partition(".")
    return f"--{plain.replace('_', '-')}{dot}{key}"


def _takes_more(flag: Flag) -> bool:
    return not flag.name or ("=" not in flag.tokens[0] and not re.match("-O.", flag.tokens[0]))


def _placed(flags: Sequence[Flag], layer: int, *, stray: bool = False) -> list[Placed]:
    return [
        Placed(token, layer, flag.index + offset)
        for flag in flags
        if bool(flag.name) != stray
        for offset, token in enumerate(flag.tokens)
    ]


def _replaced(low: Flag, high: Sequence[Flag]) -> list[Placed]:
    """Return what takes the place of a low flag: the high ones, or one token with the JSON of both."""
    under, over = json_object(low), json_object(high[0])
    if low.name != high[0].name or len(high) > 1 or under is None or over is None:
        return _placed(high, HIGH)
    head = high[0].tokens[0].partition("=")[0]
    value = json.dumps(_patched(under, over), separators=(",", ":"))
    return [Placed(f"{head}={value}", HIGH, high[0].index)]


def json_object(flag: Flag) -> dict[str, Any] | None:
    """Return a flag's value where it is a JSON object."""
    try:
        value = json.loads(flag.value or "")
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _patched(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Merge two JSON objects as RFC 7386 has it."""
    merged = dict(low)
    for key, value in high.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            below = merged.get(key)
            base = cast("dict[str, Any]", below) if isinstance(below, dict) else {}
            merged[key] = _patched(base, cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


def _stray(path: Path, flag: Flag, json_flags: Collection[str]) -> Iterator[Problem]:
    """Report tokens that belong to no flag; a flag with a JSON value takes one token."""
    remedy = "write --flag=value as one entry, or flag and value as two"
    if not flag.name:
        yield Problem(path / flag.index, "is no flag", remedy)
    elif flag.name in json_flags and len(flag.tokens) > len(("flag", "value")):
        yield Problem(path / (flag.index + 2), "is no flag", remedy)


def _beside(path: Path, flag: Flag, seen: Sequence[Flag]) -> Iterator[Problem]:
    """Report a flag that does not go with an earlier one. Pieces of a list, `--flag.key+`, may come several times."""
    at = path / flag.index
    twins = [one.name for one in seen if flag.name and one.switch == flag.switch]
    if flag.name in twins and not ("." in flag.name and flag.name.endswith("+")):
        yield Problem(at, f"repeats an earlier flag ({flag.name})", "keep one of them")
    elif twins and flag.name not in twins:
        yield Problem(at, f"contradicts an earlier flag ({flag.name}, {twins[0]})", "keep one of them")
    head, dot, _ = flag.name.partition(".")
    others = [one.name for one in seen if one.name.partition(".")[0] == head and ("." in one.name) != bool(dot)]
    if flag.name and others:
        what = f"is written whole and in pieces, of which the engine drops the whole ({flag.name}, {others[0]})"
        yield Problem(at, what, "write all of it as JSON, or all of it in pieces")
