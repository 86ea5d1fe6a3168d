"""The inference stacks of one run of a Pulumi program. All of them are registered, or none."""

import asyncio
import contextlib
import weakref
from collections.abc import Generator, Iterable, Sequence

import pulumi

from composition import defects, instances
from composition.instances import Sibling
from models.problems import Problem

CONFIGURATION = "The configuration is mistaken, nothing was changed"
CLUSTER = "The cluster is not as this stack needs it, nothing was changed"


class Program:
    """The inference stacks that a program has made so far, and the mistakes in them."""

    def __init__(self) -> None:
        self._siblings = list[Sibling]()
        self._mistakes = dict[str, list[str]]()

    def refuse(self, headline: str, lines: Iterable[str]) -> None:
        """Note mistakes. After a mistake, no inference stack of the program is registered."""
        self._mistakes.setdefault(headline, []).extend(lines)

    def add(self, sibling: Sibling) -> list[Problem]:
        """Add an inference stack, and return its conflicts with earlier inference stacks."""
        taken = instances.problems(sibling, self._siblings)
        self._siblings.append(sibling)
        return taken

    def sound(self) -> pulumi.Output[list[pulumi.Resource]]:
        """Return an Output on which every inference stack depends.

        The Output resolves after the program has made its last inference stack. If any inference stack has a mistake,
        the Output fails with the mistakes of all inference stacks, so that no inference stack is registered.
        """
        return pulumi.Output.from_input(self._check())

    async def _check(self) -> list[pulumi.Resource]:
        """Raise `RunError` if there is a mistake. This coroutine starts when the program awaits something, or ends."""
        if self._mistakes:
            raise pulumi.RunError("\n".join(report(headline, lines) for headline, lines in self._mistakes.items()))
        return []


_PROGRAMS = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Program]()
"""Programs by the event loop of their run. Only in tests does one process run several programs."""


def of_run() -> Program:
    """Return the `Program` of the running event loop. If the loop has none, make it first."""
    return _PROGRAMS.setdefault(asyncio.get_running_loop(), Program())


def report(headline: str, lines: Iterable[object]) -> str:
    """Return a headline with lines below it."""
    return f"{headline}:\n" + "\n".join(f"  - {line}" for line in lines)


def refusal(problems: Sequence[Problem]) -> pulumi.RunError:
    """Return the error of a mistaken configuration."""
    return pulumi.RunError(report(CONFIGURATION, problems))


@contextlib.contextmanager
def without_traceback() -> Generator[None]:
    """Turn every exception into a `RunError`, which Pulumi's engine prints without a traceback."""
    try:
        yield
    except pulumi.RunError:
        raise
    except Exception as error:  # noqa: BLE001, the engine would print the traceback of any other exception
        raise pulumi.RunError(report(defects.HEADLINE, defects.lines(error))) from None
