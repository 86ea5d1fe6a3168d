"""Recognition of credentials that are written as text. The name or the shape of a value shows that it is a credential.

`credentials.yaml` holds the names and shapes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

REFERENCE = re.compile(r"\$(?:\$|\(([^)]+)\)|\([^)]*\Z)")
"""Pattern of `$(NAME)`, which Kubernetes replaces by the value of a variable, and of `$$`, which stands for `$`.

The first group matches only for `$(NAME)`. A `$(` that nothing closes matches with all that follows, so that a search
looks for its end only once.
"""
_HIDDEN = "…"
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_PATH = re.compile(r"(/[A-Za-z0-9._-]+)+")
_SWITCHES = frozenset({"", "0", "1", "false", "true", "no", "yes", "off", "on", "none", "null"})
"""Values that switch something on or off, in lower case.

They are no credentials, even if the variable is named like a credential, such as HF_HUB_DISABLE_IMPLICIT_TOKEN.
"""
_SCHEMES = frozenset({"", "basic", "bearer", "token"})
"""Texts, in lower case, that may stand beside a reference to a credential and are none, as in `Bearer $(TOKEN)`."""


@dataclass(frozen=True, slots=True)
class _Word:
    """Settings of words at the end of names. The words show that the value of such a name is a credential."""

    alone: bool = True
    """Whether the words are also the name of a credential if they are the whole name."""
    path: bool = False
    """Whether the value may also be the path of a file, which is no credential."""
    number: bool = False
    """Whether the value may also be a number, which is no credential."""
    objects: bool = True
    """Whether the words also show a credential at the end of a key in a Kubernetes object. If not, the value of such a
    key is a name."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Shape of credentials of one kind."""

    contains: tuple[str, ...]
    """Short texts; every credential of this shape contains at least one of them."""
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Table:
    words: Mapping[str, _Word]
    harmless: tuple[str, ...]
    shapes: tuple[_Shape, ...]
    parts: re.Pattern[str]
    """Pattern of the short texts of all shapes. A text that has none of them contains no credential of any shape."""


def is_named(name: str, *, in_object: bool = False) -> bool:
    """Return whether the name of a variable, a flag, a header or a key suggests that its value is a credential.

    `in_object` is true for keys that are not names of variables, flags or headers, such as keys of Kubernetes objects.
    """
    return _word(name, in_object=in_object) is not None


def is_credential(name: str, value: str, *, in_object: bool = False) -> bool:
    """Return whether the name or the shape of a value shows a credential. References to credentials do not count."""
    if has_shape(value):
        return True
    word = _word(name, in_object=in_object)
    if word is None or value.strip().lower() in _SWITCHES:
        return False
    if (word.path and _PATH.fullmatch(value)) or (word.number and value.strip().isdecimal()):
        return False
    if not any(match[1] for match in REFERENCE.finditer(value)):
        return True
    rest = REFERENCE.sub(lambda match: "" if match[1] else match[0], value)
    return rest.strip(" :").lower() not in _SCHEMES


def has_shape(text: str) -> bool:
    """Return whether a text contains a credential that is recognized by its shape."""
    return next(_shapes_of(text), None) is not None


def may_have_shape(text: str) -> bool:
    """Return whether a text may contain a credential that is recognized by its shape.

    Texts can be joined and checked together: if the result is false, none of them has such a credential.
    """
    return _table().parts.search(text) is not None


def hide(text: str) -> str:
    """Return a text with an ellipsis in place of each credential that is recognized by its shape."""
    for shape in _shapes_of(text):
        text = shape.pattern.sub(_HIDDEN, text)
    return text


def variable_name(name: str) -> str:
    """Return a name in the form of a variable name: `--api-key` and `apiKey` become API_KEY."""
    return _SEPARATORS.sub("_", _WORD_START.sub("_", name)).strip("_").upper()


def _shapes_of(text: str) -> Iterator[_Shape]:
    """Yield the shapes of credentials in a text."""
    for shape in _table().shapes if may_have_shape(text) else ():
        if any(part in text for part in shape.contains) and shape.pattern.search(text) is not None:
            yield shape


@lru_cache(4096)
def _word(name: str, *, in_object: bool) -> _Word | None:
    table, variable = _table(), variable_name(name)
    if any(_ends_with(variable, harmless) for harmless in table.harmless):
        return None
    for text, word in table.words.items():
        is_end = _ends_with(variable, text) and (word.alone or variable != text)
        if is_end and (word.objects or not in_object):
            return word
    return None


def _ends_with(name: str, words: str) -> bool:
    return f"_{name}".endswith(f"_{words}")


@cache
def _table() -> _Table:
    text = files("models").joinpath("credentials.yaml").read_text(encoding="utf-8")
    tree: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506, both are safe
    shapes = tuple(_Shape(tuple(shape["contains"]), re.compile(shape["pattern"])) for shape in tree["shapes"])
    return _Table(
        words={words: _Word(**settings) for words, settings in tree["words"].items()},
        harmless=tuple(words for group in tree["harmless"] for words in group),
        shapes=shapes,
        parts=re.compile("|".join(re.escape(part) for shape in shapes for part in shape.contains)),
    )
