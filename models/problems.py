"""What is wrong in a configuration, in the words of the person who wrote it.

Exception
└── ConfigError    every problem of one configuration, found together
"""

from collections.abc import Iterable
from dataclasses import dataclass

_LONGEST_ECHO = 80
_MAY_HOLD_CREDENTIALS = frozenset({"args", "env", "secrets"})


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake: where it is, what is wrong, and what would be right."""

    path: str
    what: str
    remedy: str
    depends_on: tuple[str, ...] = ()
    """Paths that the verdict read; it is void where one of them is itself mistaken."""

    def __str__(self) -> str:
        return f"{self.path}: {self.what}; {self.remedy}"


class ConfigError(Exception):
    """Every problem of one configuration. `str()` is one line a problem, in the order of the paths."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as the user would: `services.qwen.engine.args[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def echo(path: Iterable[str | int], value: object) -> str:
    """Return ` (value)` for a message, or nothing where the value is long, structured or may hold a credential."""
    if any(part in _MAY_HOLD_CREDENTIALS for part in path) or isinstance(value, dict | list | tuple):
        return ""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    authority = text.partition("://")[2].partition("/")[0]
    return "" if "@" in authority or not text or len(text) > _LONGEST_ECHO else f" ({text})"
