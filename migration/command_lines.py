"""Command lines of containers in renderings, as the engine gets them: also those in a shell's script."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models import flags
from models.flags import Flag
from models.trees import mapping, sequence

_PROGRAM = frozenset({"vllm", "serve", "python", "python3", "-m", "vllm.entrypoints.openai.api_server", "--"})
_STARTS = ("vllm serve", "python3 -m vllm.entrypoints.openai.api_server")
"""Beginnings of the engine's command line in a script."""
_ALL_ARGUMENTS = "$@"
_PICKER_FLAGS = frozenset({"--pool-name", "--poolName"})
_ADAPTERS = "--lora-modules"
_SEVERAL_VALUES = frozenset({_ADAPTERS, "--served-model-name"})
"""Flags with several values, each of which is a value of its own."""


def is_engine(container: Mapping[str, Any]) -> bool:
    """Tell whether a container starts an engine that serves."""
    words = _words(container)
    return "serve" in words or any("vllm" in word for word in words)


def is_picker(container: Mapping[str, Any]) -> bool:
    """Tell whether a container is an endpoint picker."""
    return any(word.partition("=")[0] in _PICKER_FLAGS for word in _words(container))


def arguments(container: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments in one form, `--flag=value`, without the program."""
    words = [word for word in _engine_words(container) if word not in _PROGRAM]
    for flag in flags.parse(words):
        if flag.name:
            yield from _values_of_flag(flag)
        else:
            yield from flag.tokens


def _values_of_flag(flag: Flag) -> Iterator[str]:
    """Yield a flag with its value. Further values belong to no flag, but those of flags with several values do."""
    values = flag.tokens[1:]
    if flag.value is None:
        yield flag.name
    elif flag.name == _ADAPTERS:
        yield from (f"{flag.name}={_name_of_adapter(value)}" for value in values or (flag.value,))
    elif len(values) > 1 and flag.name in _SEVERAL_VALUES:
        yield from (f"{flag.name}={value}" for value in values)
    elif len(values) > 1:
        yield f"{flag.name}={_in_one_form(values[0])}"
        yield from values[1:]
    else:
        yield f"{flag.name}={_in_one_form(flag.value)}"


def _name_of_adapter(text: str) -> str:
    """Return the name of an adapter in `name=path` or JSON. Its folder is that of the system that fetches it."""
    text = text.strip("'")
    if not text.startswith("{"):
        return text.partition("=")[0]
    try:
        return str(mapping(json.loads(text)).get("name"))
    except ValueError:
        return text


def _words(container: Mapping[str, Any]) -> list[str]:
    return [str(word) for word in (*sequence(container.get("command")), *sequence(container.get("args")))]


def _engine_words(container: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words after the program; those of the script if a shell starts the engine.

    A variable in a script stands for its value if the container states it.
    """
    words = _words(container)
    for index, word in enumerate(words):
        line = _line_of_engine(word)
        if line is not None:
            yield from _words_of_line(line, _values(container), words[index + 1 :])
            return
    yield from words


def _line_of_engine(script: str) -> str | None:
    """Return the command line of the engine in a script; None if a word is no script that starts one."""
    for start in _STARTS:
        _, separator, after = script.partition(f"{start} ")
        if separator:
            return after.replace("\\\n", " ").partition("\n")[0]
    return None


def _words_of_line(line: str, values: Mapping[str, str], rest: Sequence[str]) -> Iterator[str]:
    """Yield the words of a line of a script. Variables without a known value come first, because they are no values."""
    words = list[str]()
    for word in _split(line):
        name, _, default = word.strip("${}\"'").partition(":-")
        value = values.get(name, default)
        if word.strip("\"'") == _ALL_ARGUMENTS:
            words += rest
        elif not word.startswith("$"):
            words.append(word)
        elif value.startswith("{"):
            words.append(value)
        elif value:
            words += _split(value)
        else:
            yield f"${name}"
    yield from words


def _split(text: str) -> list[str]:
    """Return the words of a line. Quotes that are not closed belong to a text around the line."""
    try:
        return shlex.split(text)
    except ValueError:
        words = (word.strip("\"'").removeprefix("\\") for word in text.split())
        return [word for word in words if word]


def _values(container: Mapping[str, Any]) -> dict[str, str]:
    variables = [mapping(item) for item in sequence(container.get("env"))]
    return {str(variable.get("name")): str(variable["value"]) for variable in variables if "value" in variable}


def _in_one_form(value: str) -> str:
    """Return a value in one form: JSON objects without spaces, and with sorted keys."""
    if not value.startswith("{"):
        return value
    try:
        return json.dumps(json.loads(value), sort_keys=True, separators=(",", ":"))
    except ValueError:
        return value
