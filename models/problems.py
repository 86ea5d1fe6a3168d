"""What is wrong in a configuration, in the words of the person who wrote it.

Exception
└── ConfigError    every problem of one configuration, found together
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from models import env
from models.paths import Path

_LONGEST_ECHO = 80
_MAY_HOLD_CREDENTIALS = frozenset({"args", "env", "secrets", "setHeaders"})


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake or warning: where it is, what is wrong, and what would be right."""

    path: Path
    """A place in the configuration, or in one part the name of what has none there; empty where `what` says it."""
    what: str
    remedy: str = ""
    depends_on: tuple[Path, ...] = ()
    """Paths that the verdict read; it is void where one of them is itself mistaken."""
    said: bool = False
    """Whether only a value that is written right there is a mistake: what is inherited may be without effect."""
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where, instead = f"{self.path}: " if self.path else "", f"; {self.remedy}" if self.remedy else ""
        line = f"{where}{self.what}{instead}"
        return line if line.isprintable() else "".join(one if one.isprintable() else "?" for one in line)


class ConfigError(Exception):
    """Every problem of one configuration. `str()` is one line a problem, in the order of the paths."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def warning(path: Path, what: str, remedy: str = "") -> Problem:
    """Return the problem of what works, and what whoever wrote it should know."""
    return Problem(path, what, remedy, severity="warning")


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that stop a run."""
    return [problem for problem in problems if problem.severity == "error"]


def warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that stop nothing."""
    return [problem for problem in problems if problem.severity == "warning"]


def echo(path: Sequence[str | int], value: object) -> str:
    """Return ` (value)` for a message, or nothing where the value is long, structured or may hold a credential."""
    if isinstance(value, dict | list | tuple) or _may_be_credential([*path], value):
        return ""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    authority = text.partition("://")[2].partition("/")[0]
    return "" if "@" in authority or not text or len(text) > _LONGEST_ECHO else f" ({text})"


def _may_be_credential(path: Sequence[str | int], value: object) -> bool:
    """Say whether a value is where credentials may be. A number is none in a variable whose name speaks of none."""
    if isinstance(value, bool | int | float) and path[-2:-1] == ["env"]:
        return env.names_credential(str(path[-1]))
    return any(part in _MAY_HOLD_CREDENTIALS for part in path)
