"""Parser of command-line flags. It reads a list of tokens as vLLM's argument parser does.

vLLM reads `_` as `-` before the first dot of a name, `--flag value` as `--flag=value`, `--no-flag` as the opposite of
`--flag`, and `-O3` as `--optimization-level 3`. A flag with a JSON object as its value may also be written in pieces:
`--flag.key=value`.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from models.trees import mapping

LOW = 0
HIGH = 1
"""The two layers of a merge; `HIGH` overrides `LOW`."""
_FLAG = re.compile(r"--?[A-Za-z][^\s=]*(?:=.*)?", re.DOTALL)
_FLAG_AND_MORE = re.compile(r"--?[A-Za-z][^\s=]*\s.*|--", re.DOTALL)
"""A token with a flag and more text, such as `--flag value` in one token; or `--`, after which vLLM reads no flags."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag with its values. Tokens that belong to no flag form a flag whose name is empty."""

    name: str
    """Canonical name in `--kebab-case`; the tokens may spell it otherwise."""
    tokens: tuple[str, ...]
    """The flag and its values as the user wrote them."""
    index: int
    """Position of the first token in the list."""

    @property
    def value(self) -> str | None:
        """The text after `=`, or the tokens after the flag; None if there are neither."""
        head, separator, attached = self.tokens[0].partition("=")
        if separator and self.name:
            return attached
        if head.startswith("-O") and len(head) > len("-O"):
            return head.removeprefix("-O")
        values = self.tokens[1:] if self.name else self.tokens
        return " ".join(values) or None

    @property
    def value_index(self) -> int:
        """Position of the token that holds the value."""
        return self.index + (len(self.tokens) > 1)

    @property
    def switch(self) -> str:
        """The name without `no-`. It is the same for `--x` and `--no-x`."""
        if self.name.startswith("--no-"):
            return f"--{self.name.removeprefix('--no-')}"
        return self.name


@dataclass(frozen=True, slots=True)
class MergedToken:
    """One token of a merged list, with its position in the layer from which it comes."""

    token: str
    layer: int
    """`LOW` or `HIGH`."""
    index: int


def parse(tokens: Sequence[str]) -> tuple[Flag, ...]:
    """Split a list of tokens into flags, in order. Every token belongs to one of the flags."""
    return _parse(tuple(tokens))


@lru_cache(1024)
def _parse(tokens: tuple[str, ...]) -> tuple[Flag, ...]:
    """Split tokens into flags. Results are cached, because many checks read the same arguments of a role."""
    flags = list[Flag]()
    for index, token in enumerate(tokens):
        name = _flag_name(token)
        if name is None and flags and _takes_values(flags[-1]):
            flags[-1] = replace(flags[-1], tokens=(*flags[-1].tokens, token))
        else:
            flags.append(Flag(name or "", (token,), index))
    return tuple(flags)


def merge(low: Sequence[str], high: Sequence[str]) -> list[str]:
    """Merge two lists by flag name. A flag of `high` takes the place of the same flag of `low`; new flags follow.

    If both values are JSON objects, they merge deeply (RFC 7386) into one token `--flag={…}`.
    """
    if not low or not high:
        return list(low or high)
    return [merged.token for merged in merge_with_origins(low, high)]


def merge_with_origins(low: Sequence[str], high: Sequence[str]) -> list[MergedToken]:
    """Merge two lists as `merge` does, and return each token with its layer and its position in that layer."""
    if not low or not high:
        layer = HIGH if high else LOW
        return [MergedToken(token, layer, index) for index, token in enumerate(high or low)]
    low_flags = parse(low)
    high_flags = parse(high)
    overrides = {flag.switch: [other for other in high_flags if other.switch == flag.switch] for flag in high_flags}
    last_low = {flag.switch: flag for flag in low_flags}
    # Tokens that belong to no flag come first. After a flag of the other layer, they would become values of that flag.
    merged = [*_merged_tokens(low_flags, LOW, stray=True), *_merged_tokens(high_flags, HIGH, stray=True)]
    overridden = {""}
    for flag in low_flags:
        if flag.switch not in overrides:
            merged += _merged_tokens([flag], LOW)
        elif flag.switch not in overridden:
            merged += _override(last_low[flag.switch], overrides[flag.switch])
            overridden.add(flag.switch)
    return merged + _merged_tokens([flag for flag in high_flags if flag.switch not in overridden], HIGH)


def malformed_json(low: Sequence[str], high: Sequence[str]) -> list[tuple[int, Flag]]:
    """Return layer and flag of each malformed JSON object.

    A flag is returned only if the same flag has a valid JSON object in the other layer. Without that object, `merge`
    would merge nothing, even if the malformed object were valid.
    """
    high_flags = {flag.name: flag for flag in parse(high) if flag.name}
    malformed = list[tuple[int, Flag]]()
    for low_flag in parse(low):
        if low_flag.name not in high_flags:
            continue
        pair = ((LOW, low_flag), (HIGH, high_flags[low_flag.name]))
        no_object = [(layer, flag) for layer, flag in pair if json_object(flag) is None]
        if len(no_object) == 1:
            malformed += [(layer, flag) for layer, flag in no_object if (flag.value or "").startswith("{")]
    return malformed


def problems(path: Path, tokens: Sequence[str], json_flags: Collection[str]) -> list[Problem]:
    """Return the problems of the arguments at `path`, such as `services.qwen.engine.args`. No problem shows a value."""
    mistakes = list[Problem]()
    earlier = list[Flag]()
    for flag in parse(tokens):
        mistakes += [*_stray_tokens(path, flag, json_flags), *_conflicts(path, flag, earlier)]
        if flag.name in json_flags:
            mistakes += json_problems(path / flag.value_index, flag)
        earlier.append(flag)
    return mistakes


def json_problems(at: Path, flag: Flag) -> list[Problem]:
    """Return a problem if the value of a flag is not valid JSON, otherwise an empty list.

    `at` is the path of the value. The problem names the position of the error and shows nothing of the value.
    """
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


def _flag_name(token: str) -> str | None:
    """Return the canonical name of the flag that a token starts.

    None if the token is a value of the flag before it. "" if the token belongs to no flag.
    """
    if _FLAG_AND_MORE.fullmatch(token):
        return ""
    if _FLAG.fullmatch(token) is None:
        return None
    head = token.partition("=")[0]
    if head.startswith("-O"):
        return "--optimization-level"
    plain, dot, key = head.lstrip("-").partition(".")
    return f"--{plain.replace('_', '-')}{dot}{key}"


def _takes_values(flag: Flag) -> bool:
    """Return whether the tokens after a flag are its values.

    A flag that contains its value, as in `--flag=value` and `-O3`, takes no values from later tokens.
    """
    return not flag.name or ("=" not in flag.tokens[0] and not re.match("-O.", flag.tokens[0]))


def _merged_tokens(flags: Sequence[Flag], layer: int, *, stray: bool = False) -> list[MergedToken]:
    """Return the tokens of one layer that belong to a flag, or, with `stray`, the tokens that belong to no flag."""
    return [
        MergedToken(token, layer, flag.index + offset)
        for flag in flags
        if bool(flag.name) != stray
        for offset, token in enumerate(flag.tokens)
    ]


def _override(low: Flag, high: Sequence[Flag]) -> list[MergedToken]:
    """Return the tokens that replace a flag of the low layer.

    These are the tokens of the high flags. If the high layer has the flag once, and both layers have a JSON object as
    its value, the result is one token with the merged JSON.
    """
    low_object = json_object(low)
    high_object = json_object(high[0])
    if low.name != high[0].name or len(high) > 1 or low_object is None or high_object is None:
        return _merged_tokens(high, HIGH)
    head = high[0].tokens[0].partition("=")[0]
    value = json.dumps(_merge_patch(low_object, high_object), separators=(",", ":"))
    return [MergedToken(f"{head}={value}", HIGH, high[0].index)]


def json_object(flag: Flag) -> dict[str, Any] | None:
    """Return a flag's value if it is a JSON object, else None."""
    try:
        value = json.loads(flag.value or "")
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _merge_patch(low: Mapping[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    """Merge two JSON objects by RFC 7386."""
    merged = dict(low)
    for key, value in high.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            low_value = merged.get(key)
            merged[key] = _merge_patch(mapping(low_value), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


def _stray_tokens(path: Path, flag: Flag, json_flags: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for tokens that belong to no flag.

    The value of a flag with a JSON value is one token, so the tokens after this value belong to no flag.
    """
    remedy = "write --flag=value as one entry, or flag and value as two"
    if not flag.name:
        yield Problem(path / flag.index, "is no flag", remedy)
    elif flag.name in json_flags and len(flag.tokens) > len(("flag", "value")):
        yield Problem(path / (flag.index + 2), "is no flag", remedy)


def _conflicts(path: Path, flag: Flag, earlier: Sequence[Flag]) -> Iterator[Problem]:
    """Yield problems of a flag that repeats or contradicts an earlier flag.

    A flag `--flag.key+`, which adds an entry to a list, may be repeated.
    """
    at = path / flag.index
    twins = [other.name for other in earlier if flag.name and other.switch == flag.switch]
    if flag.name in twins and not ("." in flag.name and flag.name.endswith("+")):
        yield Problem(at, f"repeats an earlier flag ({flag.name})", "keep one of them")
    elif twins and flag.name not in twins:
        yield Problem(at, f"contradicts an earlier flag ({flag.name}, {twins[0]})", "keep one of them")
    head, dot, _ = flag.name.partition(".")
    names = [other.name for other in earlier]
    other_forms = [name for name in names if name.partition(".")[0] == head and ("." in name) != bool(dot)]
    if flag.name and other_forms:
        what = (
            "is written both as one JSON value and in pieces, and the engine ignores the JSON value "
            f"({flag.name}, {other_forms[0]})"
        )
        yield Problem(at, what, "write all of it as JSON, or all of it in pieces")
