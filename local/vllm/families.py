"""Families of models, and the small model of random numbers that stands for each of them (`families.toml`)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import files, processes
from local.errors import LocalError
from local.vllm import flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local.vllm.installation import Version

TABLE = Path(__file__).with_name("families.toml")
PROGRAM = Path(__file__).with_name("tiny_model.py")
STAMP = "written"
"""File of a complete model. It has the SHA-256 of the program and of its arguments."""


@dataclass(frozen=True)
class Family:
    """One row of `families.toml`."""

    name: str
    pattern: str
    """Regular expression at the beginning of a model's name, or after a slash in it, in upper or lower case."""
    architecture: str
    """Class of transformers."""
    config: Mapping[str, Any]
    """Fields of transformers' configuration that differ from its defaults."""
    source: str
    since: str = "0"
    """First version that runs the family on CPUs."""
    requests: Sequence[str] = ("chat", "completions")
    """Kinds of requests that the small model answers: chat, completions, embeddings."""
    cannot: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why a CPU cannot run the family, by argument; the empty argument stands for any."""

    def has(self, model: str) -> bool:
        """Return whether a model is of this family, by its name."""
        return re.search(rf"(^|/)({self.pattern})", model, re.IGNORECASE) is not None

    def obstacle(self, arguments: Sequence[str], version: str | None = None) -> str | None:
        """Return why a version of vLLM cannot run the family on a CPU with these arguments; None if it can.

        Without a version, the newest one counts.
        """
        if version is not None and _numbers(version) < _numbers(self.since):
            return f"vLLM runs {self.name} on CPUs since {self.since}"
        texts = {"", *(flag.text for flag in flags.parse(arguments))}
        reasons = (reason for argument, reason in self.cannot.items() if argument in texts)
        return next(reasons, None)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


@cache
def families() -> tuple[Family, ...]:
    """Return all families. A name belongs to the first family whose pattern it has."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["family"]
    for row in rows:
        row["config"] |= dict.fromkeys(row.pop("nulls", ()))
    return tuple(Family(**row) for row in rows)


def family(model: str) -> Family:
    """Return the family of a model by its name, such as `Qwen/Qwen3-0.6B`. Raises LocalError with the families."""
    row = next((row for row in families() if row.has(model)), None)
    if row is None:
        names = ", ".join(row.name for row in families())
        raise LocalError(f"no small model stands for {model}; {TABLE.name} has the families {names}")
    return row


def write_model(directory: Path, row: Family, version: Version) -> None:
    """Write the small model of a family into a directory, unless the directory has it.

    The directory is empty or has such a model. Raises LocalError with the end of the program's output.
    """
    arguments = [row.architecture, json.dumps(row.config, sort_keys=True)]
    stamp = "\n".join([files.sha256(PROGRAM), version.name, *arguments])
    if files.text(directory / STAMP) == stamp:
        return
    command = [str(version.python), str(PROGRAM), str(directory), *arguments]
    # Torch makes a directory beside other temporary files.
    with tempfile.TemporaryDirectory() as temporary:
        environment = os.environ | {"TMPDIR": temporary}
        run = subprocess.run(
            processes.tied_command(command), env=environment, capture_output=True, text=True, check=False
        )
    if run.returncode:
        raise LocalError(f"the small model of {row.name} could not be written:\n{run.stderr[-2000:]}")
    files.write(directory / STAMP, stamp)
