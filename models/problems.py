"""Problems of a configuration: errors and warnings, each with the path of the value that is wrong.

Exception
└── ConfigError    every problem of one configuration, found together
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from models import credentials
from models.paths import Path
from models.printable import printable

_LONGEST_ECHO = 80
_WENT_UNCHECKED = " went unchecked"
_UNCHECKED_LINE = re.compile(rf"(?>(?P<check>.+?){_WENT_UNCHECKED})(?P<objects> for [^:;()]+)?: (?P<reason>.+)")
"""Pattern of a text that `gap` made. The group without a name keeps the search linear in the text."""
_MAY_HOLD_CREDENTIALS = frozenset({"args", "env", "secrets", "setHeaders", "volumeAttributes"})
_FILES = frozenset({"volumes", "files"})
"""Keys of the path to the text of a file in a volume."""
_NAMED = frozenset({"env", "flags", "headers", "setHeaders"})
"""Mappings whose keys are names of values. Such a name may show that its value is a credential."""


Mode = Literal["strict", "warn", "skip"]
"""Value of a key of `checks`: whether a check finds errors, finds warnings, or does not run."""
SEVERITIES: Mapping[Mode, Literal["error", "warning"]] = {"strict": "error", "warn": "warning", "skip": "warning"}
"""Severity that a mode gives to a problem."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One error or warning: its path, what is wrong, and what to write instead."""

    path: Path
    """Path in the configuration.

    For a problem outside the configuration, the path is a single name, such as the name of a file. The path is empty if
    `what` names the place.
    """
    what: str
    """The mistake, as the predicate of a sentence about the path: `is missing`."""
    remedy: str = ""
    """Advice for the user: `add it`."""
    depends_on: tuple[Path, ...] = ()
    """Other paths that the check read; the problem is dropped if a value at one of them is invalid."""
    explicit_only: bool = False
    """Whether the problem is dropped if the value at the path is inherited.

    For example, a service may inherit from `defaults` a value that has no effect on the service.
    """
    when_inherited: "Problem | None" = field(default=None, compare=False)
    """The problem that is reported instead if the service inherits the value at the path."""
    names_service: bool = field(default=False, compare=False)
    """Whether `what` names the service that has the problem."""
    severity: Literal["error", "warning"] = "error"
    """Errors stop a run, warnings are printed."""
    kind: Literal["mistake", "unchecked"] = "mistake"
    """Whether something is wrong, or a check did not run."""
    file: str = ""
    """Name of the file that the value is from; empty for the stack file."""

    def __str__(self) -> str:
        # Keys, `what` and `remedy` are searched separately: a match in the joined line could span several of them.
        line = credentials.hide(self.what)
        if self.file and line.endswith(")"):
            line = f"{line[:-1]}, from {self.file})"
        elif self.file:
            line = f"{line} (from {self.file})"
        if self.path:
            line = f"{_without_credentials(self.path)}: {line}"
        if self.remedy:
            line = f"{line}; {credentials.hide(self.remedy)}"
        return printable(line)


def _without_credentials(path: Path) -> Path:
    """Return a path without the credentials in its keys."""
    if not credentials.may_have_shape(str(path)):
        return path
    return Path(*(part if isinstance(part, int) else credentials.hide(part) for part in path))


class ConfigError(Exception):
    """All errors of one configuration; `str()` has one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def warning(path: Path, what: str, remedy: str = "") -> Problem:
    """Return a warning about a configuration that works."""
    return Problem(path, what, remedy, severity="warning")


def gap(path: Path, check: str, reason: str, objects: Sequence[str] = ()) -> Problem:
    """Return a warning about a check that did not run. Its text is `<check> went unchecked: <reason>`.

    `objects` name what went unchecked, if the check ran for other objects.
    """
    what = f"{check}{_WENT_UNCHECKED}"
    if objects:
        what = f"{what} for {', '.join(objects)}"
    return Problem(path, f"{what}: {reason}", severity="warning", kind="unchecked")


class LogLine:
    """The line of a problem in the engine's log, which holds nothing but texts.

    The line of a check that did not run begins with a character that nobody sees. `str(problem)` never has this
    character, because `printable` replaces it. So whatever a user or another program writes, reports tell such a line
    from all others.
    """

    _MARK = "\N{WORD JOINER}"

    @classmethod
    def write(cls, problem: Problem) -> str:
        """Return the line of a problem."""
        return f"{cls._MARK}{problem}" if problem.kind == "unchecked" else str(problem)

    @classmethod
    def gap_words(cls, line: str) -> str | None:
        """Return check and reason of a check that did not run; None for any other line."""
        if not line.startswith(cls._MARK):
            return None
        parts = _UNCHECKED_LINE.fullmatch(line.removeprefix(cls._MARK))
        return None if parts is None else f"{parts['check']}{parts['objects'] or ''} ({parts['reason']})"


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the errors among some problems."""
    return [problem for problem in problems if problem.severity == "error"]


def warnings(problems: Iterable[Problem]) -> list[Problem]:
    """Return the warnings among some problems."""
    return [problem for problem in problems if problem.severity == "warning"]


def echo(path: Sequence[str | int], value: object) -> str:
    """Return ` (value)` for a message, or "" for a value that is long, is structured or may hold a credential."""
    if isinstance(value, dict | list | tuple) or _may_be_credential([*path], value):
        return ""
    text = str(value)
    if isinstance(value, bool):
        text = text.lower()
    authority = text.partition("://")[2].partition("/")[0]
    is_hidden = "@" in authority or not text or len(text) > _LONGEST_ECHO or credentials.has_shape(text)
    return "" if is_hidden else f" ({text})"


def _may_be_credential(path: Sequence[str | int], value: object) -> bool:
    """Return whether the value at a path may be a credential.

    A number or boolean is a credential only if the name of its variable, flag or header says so.
    """
    if isinstance(value, bool | int | float) and path[-2:-1] and path[-2] in _NAMED:
        return credentials.is_credential(str(path[-1]), str(value))
    return _FILES.issubset(path) or any(part in _MAY_HOLD_CREDENTIALS for part in path)
