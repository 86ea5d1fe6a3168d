"""Command lines of engines: what a container of an engine runs, as a process of this machine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local.vllm import flags
from local.vllm.flags import EngineFlag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from local.vllm.installation import Version

TABLE = Path(__file__).with_name("adjustments.toml")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount path of the containers
REFERENCE = re.compile(r"\$\$|\$\(([\w.-]+)\)")
"""An escaped `$`, or a reference to a variable."""
Container = Mapping[str, Any]


@dataclass(frozen=True)
class Adjustment:
    """A difference between the container's command and that of the process."""

    text: str
    """The argument or variable as the process gets it."""
    reason: str


@dataclass(frozen=True)
class EngineCommand:
    """Arguments and environment of an engine's process."""

    arguments: tuple[str, ...]
    """The program and its arguments."""
    environment: Mapping[str, str]
    adjustments: tuple[Adjustment, ...]
    """Differences from the container."""
    model: Path
    """Directory that the engine reads the model from."""


@cache
def table() -> Mapping[str, Any]:
    """Return the rows of `adjustments.toml`."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def engine_command(
    container: Container,
    version: Version,
    root: Path,
    *,
    address: str,
    read_variable: Callable[[Mapping[str, Any]], str],
) -> EngineCommand:
    """Return the process that stands for a container whose command is `vllm serve`.

    Paths of mounts become paths below the directory `root`. `read_variable` returns the value of an item of `env` that
    has no `value`.
    """
    places = _places(container, root)
    adjustments = [
        Adjustment(f"{place} for {mount}", "the process sees the files of this machine")
        for mount, place in places.items()
    ]
    command, values = command_and_environment(container, read_variable)
    arguments, argument_adjustments = _adjusted_arguments([_with_places(text, places) for text in command[2:]], address)
    environment, variable_adjustments = _adjusted_environment(
        {name: _with_places(value, places) for name, value in values.items()}
    )
    return EngineCommand(
        (str(version.program), "serve", *arguments),
        environment,
        (*adjustments, *argument_adjustments, *variable_adjustments),
        Path(arguments[0]),
    )


def command_and_environment(
    container: Container, read_variable: Callable[[Mapping[str, Any]], str]
) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a container as kubelet passes them to the process."""
    values = _environment(container, read_variable)
    texts = (*container.get("command", ()), *container.get("args", ()))
    return [_with_values(text, values) for text in texts], values


def _environment(container: Container, read_variable: Callable[[Mapping[str, Any]], str]) -> dict[str, str]:
    """Return the variables of a container; a value may refer to variables before it."""
    values = dict[str, str]()
    for item in container.get("env", ()):
        if "valueFrom" in item:
            values[item["name"]] = read_variable(item)
        else:
            values[item["name"]] = _with_values(item.get("value", ""), values)
    return values


def _with_values(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values of variables in the place of `$(NAME)`, as kubelet writes them.

    An unknown name stays as it is, and `$$` stands for `$` (Kubernetes, third_party/forked/golang/expansion).
    """

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return values.get(match[1], match[0])

    return REFERENCE.sub(value, text)


def _places(container: Container, root: Path) -> dict[str, str]:
    """Return the directories of this machine, by mount path; shared memory stays where it is."""
    mounts = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
    return {mount: f"{root}{mount}" for mount in mounts if mount != SHARED_MEMORY}


def _with_places(text: str, places: Mapping[str, str]) -> str:
    """Return a text in which mount paths are replaced by directories of this machine."""
    head, separator, value = text.rpartition("=")
    for mount, place in places.items():
        if value == mount or value.startswith(f"{mount}/"):
            return f"{head}{separator}{place}{value.removeprefix(mount)}"
    return text


def _adjusted_arguments(arguments: Sequence[str], address: str) -> tuple[list[str], list[Adjustment]]:
    parsed = flags.parse(arguments)
    adjustments = list[Adjustment]()
    for row in table()["argument"]:
        same = [flag for flag in parsed if _is_of(flag, row)]
        if not same and not row.get("add"):
            continue
        rest = [flag for flag in parsed if flag not in same]
        if row.get("drop"):
            tokens = " ".join(token for flag in same for token in flag.tokens)
            adjustments.append(Adjustment(f"without {tokens}", row["reason"]))
        else:
            text = _argument(row, address)
            index = len(rest)
            if same:
                index = parsed.index(same[0])
            rest.insert(index, EngineFlag(row["flag"], (text,)))
            adjustments.append(Adjustment(text, row["reason"]))
        parsed = rest
    for row in table()["text"]:
        value = row["value"].format(address=address)
        for index, flag in enumerate(parsed):
            if _is_of(flag, row) and row["text"] in flag.value:
                parsed[index] = EngineFlag(flag.name, tuple(token.replace(row["text"], value) for token in flag.tokens))
                adjustments.append(Adjustment(" ".join(parsed[index].tokens), row["reason"]))
    return [token for flag in parsed for token in flag.tokens], adjustments


def _adjusted_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], list[Adjustment]]:
    result = dict(environment)
    adjustments = list[Adjustment]()
    for row in table()["variable"]:
        if "name" in row:
            result[row["name"]] = row["value"]
            adjustments.append(Adjustment(f"{row['name']}={row['value']}", row["reason"]))
            continue
        for name in environment:
            if name.startswith(row["prefix"]):
                adjustments.append(Adjustment(f"without {name}={result.pop(name)}", row["reason"]))
    return result, adjustments


def _argument(row: Mapping[str, Any], address: str) -> str:
    if "value" not in row:
        return row["flag"]
    return f"{row['flag']}={row['value'].format(address=address)}"


def _is_of(flag: EngineFlag, row: Mapping[str, Any]) -> bool:
    """Return whether a row of the table is about a flag with this value."""
    return flag.name in flags.names(row) and row.get("only", flag.value) == flag.value
