"""Flags of vLLM's command line, in all spellings that its parser takes.

vLLM reads `_` as `-` before the first dot of a name, `--flag value` as `--flag=value`, and `--flag.key=value` as a
piece of a JSON object (vllm 0.30.0, vllm/utils/argparse_utils.py, FlexibleArgumentParser.parse_args).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FLAG = re.compile(r"--?[A-Za-z][^\s=]*(?:=.*)?", re.DOTALL)


@dataclass(frozen=True)
class EngineFlag:
    """A flag with its values. Arguments that belong to no flag form a flag whose name is empty."""

    name: str
    """The flag with `-` for `_`, without the key of a piece."""
    tokens: tuple[str, ...]
    """The flag and its values as they were written."""

    @property
    def value(self) -> str:
        """The text after `=`, or the arguments after the flag."""
        _, separator, attached = self.tokens[0].partition("=")
        if separator:
            return attached
        return " ".join(self.tokens[1:])

    @property
    def text(self) -> str:
        """The flag as one argument."""
        return f"{self.name}={self.value}"


def parse(arguments: Sequence[str]) -> list[EngineFlag]:
    """Split arguments into flags, in order. Each argument belongs to one of them."""
    flags = list[EngineFlag]()
    for token in arguments:
        if FLAG.fullmatch(token):
            flags.append(EngineFlag(_name(token), (token,)))
        elif flags and "=" not in flags[-1].tokens[0]:
            flags[-1] = replace(flags[-1], tokens=(*flags[-1].tokens, token))
        else:
            flags.append(EngineFlag("", (token,)))
    return flags


def names(row: Mapping[str, Any]) -> set[str]:
    """Return the names of the flag of a row of `adjustments.toml`."""
    return {row["flag"], *row.get("aliases", ())}


def _name(token: str) -> str:
    return token.partition("=")[0].partition(".")[0].replace("_", "-")
