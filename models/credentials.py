"""Recognition of credentials that are written as text. The name or the shape of a value shows that it is a credential.

`credentials.yaml` holds the names and shapes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import yaml

from models import credential_values, text_settings
from models.text_settings import Setting

REFERENCE = re.compile(r"\$(?:\$|\(([^)]+)\)|\([^)]*\Z)")
"""Pattern of `$(NAME)`, which Kubernetes replaces by the value of a variable, and of `$$`, which stands for `$`.

The first group matches only for `$(NAME)`. A `$(` that nothing closes matches with all that follows, so that a search
looks for its end only once.
"""
_HIDDEN = "…"
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_NUMBERED = re.compile(r"_?V?\d{1,3}$")
_SCHEMES = frozenset({"", "basic", "bearer", "token"})
"""Texts, in lower case, that may stand beside a reference to a credential and are none, as in `Bearer $(TOKEN)`."""


class Naming(Enum):
    """Meaning of the keys of a mapping for their values."""

    VARIABLES = auto()
    """The keys are names of variables, flags or headers: a value is what its name says."""
    OBJECT = auto()
    """The keys are those of a Kubernetes object or of settings. Some words are names there, such as `secret`."""
    LABELS = auto()
    """The keys are names of labels or annotations, which anybody may choose: only random text is a credential."""


@dataclass(frozen=True, slots=True)
class _Word:
    """Settings of words at the end of names. The words show that the value of such a name is a credential."""

    alone: bool = True
    """Whether the words are also the name of a credential if they are the whole name."""
    glued: bool = False
    """Whether the words also count if no `_` separates them, from each other or from what is before them."""
    generated: bool = False
    """Whether services issue such credentials: a number, words, a URL or the path of a file is none."""
    random: bool = False
    """Whether only text that looks random is a credential, because such names often have another meaning."""
    objects: bool = True
    """Whether the words show a credential at the end of a key in a Kubernetes object. If not, the value of such a key
    is a name, unless this value looks random."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that suggests a credential."""

    word: _Word
    is_word: bool
    """Whether the name has nothing but these words."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Shape of credentials of one kind."""

    what: str
    contains: tuple[str, ...]
    """Short texts; every credential of this shape contains at least one of them."""
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Table:
    words: Mapping[str, _Word]
    """By the words, the longest first."""
    tails: tuple[str, ...]
    """Texts that may follow the words of a name, each with `_` before it."""
    harmless: tuple[str, ...]
    switches: frozenset[str]
    files: frozenset[str]
    shapes: tuple[_Shape, ...]
    parts: re.Pattern[str]
    """Pattern of the short texts of all shapes. A text that has none of them contains no credential of any shape."""
    setting: re.Pattern[str]
    """Pattern of the beginning of a setting whose name may suggest a credential."""


def is_credential(name: str, value: str, naming: Naming = Naming.VARIABLES) -> bool:
    """Return whether the name or the shape of a value shows a credential. References to credentials do not count."""
    return _is_credential_by_name(name, value, naming) or has_shape(value)


def has_shape(text: str) -> bool:
    """Return whether a text contains a credential that is recognized by its shape, or by its name in the text."""
    return next(_shapes_of(text), None) is not None or next(_settings_of(text), None) is not None


def may_have_shape(text: str) -> bool:
    """Return whether a text may contain a credential that is recognized by its shape, or by its name in the text.

    Texts can be joined by line breaks and checked together: if the result is false, none has such a credential.
    """
    table = _table()
    return table.parts.search(text) is not None or table.setting.search(text) is not None


def hide(text: str) -> str:
    """Return a text with an ellipsis in place of each credential that `has_shape` finds."""
    shown = list[str]()
    end = 0
    for setting in sorted(_settings_of(text), key=lambda setting: setting.start):
        if setting.start >= end:
            shown += (text[end : setting.start], _HIDDEN)
        end = max(end, setting.end)
    text = "".join((*shown, text[end:]))
    for shape in _shapes_of(text):
        text = shape.pattern.sub(_HIDDEN, text)
    return text


def variable_name(name: str) -> str:
    """Return a name in the form of a variable name: `--api-key` and `apiKey` become API_KEY."""
    return _SEPARATORS.sub("_", _WORD_START.sub("_", name)).strip("_").upper()


def _is_credential_by_name(name: str, value: str, naming: Naming) -> bool:
    named = _words_of(name)
    text = value.strip()
    table = _table()
    if named is None or text.lower() in table.switches or credential_values.is_placeholder(text):
        return False
    word = named.word
    if naming is Naming.LABELS or word.random or (naming is Naming.OBJECT and not word.objects):
        return credential_values.is_random(text)
    if word.generated and not credential_values.is_issued(text, table.files, may_be_words=not named.is_word):
        return False
    if not any(match[1] for match in REFERENCE.finditer(value)):
        return True
    rest = REFERENCE.sub(_without_reference, value)
    return rest.strip(" :").lower() not in _SCHEMES


def _without_reference(match: re.Match[str]) -> str:
    """Return the text in place of a match of `REFERENCE`: only a reference is removed."""
    if match[1]:
        return ""
    return match[0]


def _shapes_of(text: str) -> Iterator[_Shape]:
    """Yield the shapes of credentials in a text."""
    table = _table()
    if not table.parts.search(text):
        return
    for shape in table.shapes:
        if any(part in text for part in shape.contains) and shape.pattern.search(text) is not None:
            yield shape


def _settings_of(text: str) -> Iterator[Setting]:
    """Yield the settings in a text whose values are credentials by their names."""
    if not _table().setting.search(text):
        return
    for setting in text_settings.settings(text):
        if _is_credential_by_name(setting.name, setting.value, Naming.OBJECT):
            yield setting


@lru_cache(4096)
def _words_of(name: str) -> _Name | None:
    """Return the words of credentials at the end of a name; None if there are none, or if they are harmless."""
    table = _table()
    variable = _without_tails(variable_name(name))
    forms = [variable]
    if not variable.endswith("SS"):
        forms.append(variable.removesuffix("S"))
    if any(_ends_with(form, harmless) for form in forms for harmless in table.harmless):
        return None
    for words, word in table.words.items():
        for form in forms:
            is_glued = word.glued and form.replace("_", "").endswith(words.replace("_", ""))
            if (is_glued or _ends_with(form, words)) and (word.alone or form != words):
                return _Name(word, is_word=form == words)
    return None


def _without_tails(variable: str) -> str:
    """Return a name without the number or the words after what it names: API_KEY_V2 and API_KEY_OLD become API_KEY."""
    while True:
        tail = next((tail for tail in _table().tails if variable.endswith(tail)), None)
        if tail is None:
            shorter = _NUMBERED.sub("", variable)
        else:
            shorter = variable.removesuffix(tail)
        if shorter in {"", variable}:
            return variable
        variable = shorter


def _ends_with(name: str, words: str) -> bool:
    return f"_{name}".endswith(f"_{words}")


def _texts(rows: Iterable[Mapping[str, Any]], key: str) -> Iterator[str]:
    """Yield the texts of all rows of a table."""
    for row in rows:
        yield from row[key]


def _pattern_of_setting(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the last of some words before a colon or an equals sign."""
    ends = sorted({text.rpartition("_")[2] for text in words})
    after = r"""[\w.-]{0,32}+[\\"']{0,4}+[ \t]{0,4}+[:=]"""
    return re.compile(rf"(?i:{'|'.join(ends)}){after}")


@cache
def _table() -> _Table:
    text = files("models").joinpath("credentials.yaml").read_text(encoding="utf-8")
    tree: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506, both are safe
    shapes = tuple(_Shape(row["what"], tuple(row["contains"]), re.compile(row["pattern"])) for row in tree["shapes"])
    words = {text: {key: value for key, value in row.items() if key != "source"} for text, row in tree["words"].items()}
    return _Table(
        words={text: _Word(**words[text]) for text in sorted(words, key=len, reverse=True)},
        tails=tuple(f"_{tail}" for tail in tree["tails"]),
        harmless=tuple(_texts(tree["harmless"], "names")),
        switches=frozenset(_texts(tree["switches"], "texts")),
        files=frozenset(_texts(tree["files"], "ends")),
        shapes=shapes,
        parts=re.compile("|".join(re.escape(part) for shape in shapes for part in shape.contains)),
        setting=_pattern_of_setting(words),
    )
