"""Command lines of engines: what a container of an engine runs, as a process of this machine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from local.vllm.installation import Version

TABLE = Path(__file__).with_name("adjustments.toml")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount path of the containers
REFERENCE = re.compile(r"\$(\$)|\$\(([A-Za-z_][\w.-]*)\)")
"""An escaped `$`, or a reference to a variable of a container (Kubernetes' API reference, Container, `args`)."""
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
def _table() -> Mapping[str, Any]:
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
    has no `value`. References to variables are replaced, as kubelet does it.
    """
    places = _places(container, root)
    adjustments = [
        Adjustment(f"{place} for {mount}", "the process sees the files of this machine")
        for mount, place in places.items()
    ]
    command, variables = resolve_references(container, read_variable)
    environment = {name: _with_places(text, places) for name, text in variables.items()}
    texts = [_with_places(text, places) for text in command[2:]]
    arguments, argument_adjustments = _adjusted_arguments(texts, address)
    environment, variable_adjustments = _adjusted_variables(environment)
    return EngineCommand(
        (str(version.program), "serve", *arguments),
        environment,
        (*adjustments, *argument_adjustments, *variable_adjustments),
        Path(arguments[0]),
    )


def resolve_references(
    container: Container, read_variable: Callable[[Mapping[str, Any]], str]
) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a container, with the values of the variables that they refer to."""
    environment = dict[str, str]()
    for item in container.get("env", ()):
        if "value" in item:
            environment[item["name"]] = _resolve(item["value"], environment)
        else:
            environment[item["name"]] = read_variable(item)
    command = [*container.get("command", ()), *container.get("args", ())]
    return [_resolve(text, environment) for text in command], environment


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


def _resolve(text: str, environment: Mapping[str, str]) -> str:
    """Return a text with the values of the variables that it refers to; a reference to another name stays."""
    return REFERENCE.sub(lambda match: match[1] or environment.get(match[2], match[0]), text)


def _adjusted_arguments(arguments: Sequence[str], address: str) -> tuple[list[str], list[Adjustment]]:
    result = list(arguments)
    adjustments = list[Adjustment]()
    for row in _table()["argument"]:
        index = _index(result, row)
        if index is None:
            if not row.get("add"):
                continue
            result.append(_argument(row, row["flag"], address))
            index = len(result) - 1
        elif row.get("drop"):
            adjustments.append(Adjustment(f"without {result.pop(index)}", row["reason"]))
            continue
        else:
            result[index] = _argument(row, result[index], address)
        adjustments.append(Adjustment(result[index], row["reason"]))
    return result, adjustments


def _adjusted_variables(environment: Mapping[str, str]) -> tuple[dict[str, str], list[Adjustment]]:
    result = dict(environment)
    adjustments = list[Adjustment]()
    for row in _table()["variable"]:
        if not row.get("drop"):
            result[row["name"]] = row["value"]
            adjustments.append(Adjustment(f"{row['name']}={row['value']}", row["reason"]))
            continue
        for name in environment:
            if name.startswith(row["prefix"]):
                adjustments.append(Adjustment(f"without {name}={result.pop(name)}", row["reason"]))
    return result, adjustments


def _argument(row: Mapping[str, Any], argument: str, address: str) -> str:
    """Return an argument as a row of the table has it."""
    if "text" in row:
        return argument.replace(row["text"], row["value"].format(address=address))
    if "value" not in row:
        return row["flag"]
    return f"{row['flag']}={row['value'].format(address=address)}"


def _index(arguments: Iterable[str], row: Mapping[str, Any]) -> int | None:
    """Return the position of the argument that a row of the table is about; None if there is none."""
    for index, text in enumerate(arguments):
        flag, _, value = text.partition("=")
        if flag == row["flag"] and row.get("text", "") in value and value == row.get("only", value):
            return index
    return None
