"""Reader of an engine's arguments: flags that keys of the configuration set become these keys."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from migration.accounts import HIDDEN, Original
from models import flags
from models.base import Spec
from models.flags import Flag
from models.paths import Path
from models.trees import EMPTY
from models.vocabulary import Items
from planning.ground import tables
from planning.releases import engine_kinds

Key = tuple[str, ...]
Value = str | int | float | bool
_NUMBER = re.compile(r"[0-9]{1,9}")
_LENGTH = re.compile(r"([0-9]{1,9})(?:\.0*)?([kmgKMG]?)")
_DECIMAL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?|\.[0-9]{1,6}")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
"""Factors of units that vLLM reads in numbers (vllm 0.33.0, engine/arg_utils.py, `human_readable_int`)."""
Token = tuple[Path, str]
"""A word of a command line, with its place in a document."""
_NAMES_OF_MODEL = frozenset({"--model", "--served-model-name"})
_OTHER_MODEL = "model.source and model.name say another model, and a model has one name"
_REPEATED = "the flag is repeated, and the last value counts"
_ADVICE = "set "
"""Beginning of the advice about a flag that a key decides, in the tables of engines."""


class _FormsFile(Spec):
    """The table of the forms of values."""

    forms: dict[str, str]
    adding: Items[str]
    """Flags that add a value to those of earlier ones."""
    dropped: dict[str, str]
    """Reasons by flag."""
    variables: dict[str, str]
    """Reasons by the names of environment variables that mean nothing here."""


@dataclass
class ReadArguments:
    """The arguments of an engine as keys, and the rest of them."""

    keys: dict[Key, Value] = field(default_factory=dict[Key, Value])
    """Values by the key of the service, such as `("parallelism", "tensor")`."""
    rest: list[str] = field(default_factory=list[str])
    """ReadArguments that no key sets, for engine.args."""


def read(document: Original, paths: Sequence[Path], model: Mapping[str, Any] = EMPTY) -> ReadArguments:
    """Take the arguments at some paths of a document, which are one command line in this order.

    What is no text is noted as lost, and so is a flag whose value is a credential. `model` is the key model of the
    service: a name or a source of the model in the arguments is noted as lost if it is another one.
    """
    return read_tokens(
        document, [(path, text) for path in paths if (text := _token(document, path)) is not None], model
    )


def tokens(document: Original, path: Path) -> list[Token]:
    """Take a list of texts, each with its place. Those that hold a credential are among them, hidden."""
    document.texts(path)
    places = document.items(path)
    return [(place, text) for place in places if (text := _token(document, place)) is not None]


def read_tokens(document: Original, words: Sequence[Token], model: Mapping[str, Any] = EMPTY) -> ReadArguments:
    """Return the arguments in some words, each with its place in a document, which counts as taken already."""
    arguments = ReadArguments()
    parsed = flags.parse([text for _, text in words])
    last = {flag.switch: flag.index for flag in parsed}
    for flag in parsed:
        places = [path for path, _ in words[flag.index : flag.index + len(flag.tokens)]]
        if last[flag.switch] != flag.index and _is_overridden(flag):
            for place in places:
                document.drop(place, _REPEATED)
        elif flag.name in _NAMES_OF_MODEL and not is_of_model(flag.value or "", model):
            for place in places:
                document.note(place, "cannot", _OTHER_MODEL)
        else:
            _read_flag(document, arguments, flag, places)
    return arguments


def _is_overridden(flag: Flag) -> bool:
    """Tell whether a later flag of the same name takes the place of a flag. Some flags add to earlier ones."""
    return bool(flag.name) and flag.name not in _table().adding and not flag.name.endswith("+")


def is_of_model(text: str, model: Mapping[str, Any]) -> bool:
    """Tell whether a name or a source in arguments is that of a model, or a folder, or a reference to a variable."""
    source = str(model.get("source", "")).partition("://")[2]
    known = {source, source.partition("@")[0], str(model.get("name", source))}
    return not model or text in known or text.startswith("/") or "$(" in text


def _token(document: Original, path: Path) -> str | None:
    if document.is_hidden(path):
        return str(document.peek(path))
    return document.text(path)


def _read_flag(document: Original, arguments: ReadArguments, flag: Flag, places: Sequence[Path]) -> None:
    """Read one flag, whose tokens are at `places`."""
    if any(HIDDEN in token for token in flag.tokens):
        for place in places:
            document.note(place, "cannot", "the value of the flag is a credential in clear")
        return
    dropped = _dropped_flags().get(flag.name)
    if dropped is not None:
        for place in places:
            document.drop(place, dropped)
        return
    key = keys().get(flag.switch)
    value = None
    if key is not None:
        value = _value(key, flag)
    if key is None or value is None:
        arguments.rest += flag.tokens
        return
    arguments.keys[key] = value


@cache
def keys() -> Mapping[str, Key]:
    """Return the keys of a service by the flags of vLLM that they set, aliases included."""
    known = {flag: key for key, flag in engine_kinds.kind(engine_kinds.VLLM).flags.items()}
    for flag, advice in engine_kinds.kind(engine_kinds.VLLM).decided.items():
        if advice.startswith(_ADVICE):
            known.setdefault(flag, advice.removeprefix(_ADVICE))
    forms = _table().forms
    return {flag: tuple(key.split(".")) for flag, key in known.items() if key in forms}


@cache
def _dropped_flags() -> Mapping[str, str]:
    """Return the reasons by flag for flags that mean nothing here."""
    decided = engine_kinds.kind(engine_kinds.VLLM).decided
    follows = {flag: advice for flag, advice in decided.items() if not advice.startswith(_ADVICE)}
    return {**follows, **_table().dropped}


def dropped_variables() -> Mapping[str, str]:
    """Return the reasons by name for environment variables that mean nothing here."""
    return _table().variables


@cache
def _table() -> _FormsFile:
    return tables.read(_FormsFile, "tables/values.yaml", "migration")


def _value(key: Key, flag: Flag) -> Value | None:
    """Return the value of a flag as its key has it; None if the flag has another form."""
    form = _table().forms[".".join(key)]
    if form == "switch":
        return _switch(flag)
    if flag.value is None or flag.name != flag.switch:
        return None
    return _FORMS[form](flag.value)


def _switch(flag: Flag) -> bool | None:
    if flag.value is not None:
        return None
    return flag.name == flag.switch


def _number(text: str) -> int | None:
    if _NUMBER.fullmatch(text):
        return int(text)
    return None


def _length(text: str) -> int | None:
    match = _LENGTH.fullmatch(text)
    if match is None:
        return None
    return int(match[1]) * _UNITS[match[2]]


def _share(text: str) -> float | None:
    if _DECIMAL.fullmatch(text):
        return float(text)
    return None


def _gibibytes(text: str) -> str | None:
    if _DECIMAL.fullmatch(text) and float(text) > 0:
        return f"{float(text):g}Gi"
    return None


_FORMS: Mapping[str, Callable[[str], Value | None]] = {
    "number": _number,
    "length": _length,
    "share": _share,
    "gibibytes": _gibibytes,
}


def unused_forms() -> Iterator[str]:
    """Yield the keys with a form that no flag of the engine sets, which are mistakes of the table."""
    known = {".".join(key) for key in keys().values()}
    yield from (key for key in _table().forms if key not in known)
