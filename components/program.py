"""The inference stacks of one run of a Pulumi program. All of them are registered, or none.

A process of the package does not see the program. It makes an inference stack when the program asks for it, and does
not know whether another one follows. There, an inference stack with a mistake does not hold up the others.
"""

import asyncio
import contextlib
import sys
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pulumi

from components import state
from composition import defects, instances, lost_services
from composition.instances import Sibling
from models.problems import LogLine, Problem, errors, warnings
from planning.ground.cluster_facts import Unknown
from planning.ground.marks import StackName
from planning.ground.recorded import Recorded

if TYPE_CHECKING:
    from concurrent.futures import Future

CONFIGURATION = "The configuration is mistaken, nothing was changed"
CLUSTER = "The cluster is not as this stack needs it, nothing was changed"
WINDOWS = "No window of this stack is open, nothing was changed"
LOSSES = "This run would end running services, nothing was changed"
_PAUSE_SECONDS = 0.05


@dataclass(slots=True)
class ProgramRun:
    """The knowledge of one process about one run of a Pulumi program."""

    siblings: list[Sibling] = field(default_factory=list[Sibling])
    """Inference stacks so far, without those with mistakes in their configuration."""
    reading: "Future[Recorded | Unknown] | None" = None
    """The state before the run; None if nobody has asked for it."""


class Program:
    """The inference stacks that a program has made so far, and the mistakes in them."""

    def __init__(self, run: ProgramRun | None = None) -> None:
        """Begin with no inference stack.

        With a `run`, this is one inference stack of a program that this process does not see as a whole. The run has
        the inference stacks before it.
        """
        self._is_whole = run is None
        self._run = run or ProgramRun()
        self._siblings = list[Sibling]()
        self._mistakes = dict[str, list[str]]()
        self._printed = set[str]()

    def state(self, name: StackName) -> Callable[[], Recorded | Unknown]:
        """Begin to read the state of the running stack, unless that has begun. The returned function waits for it."""
        if self._run.reading is None:
            self._run.reading = state.begin_reading(name)
        return self._run.reading.result

    def refuse(self, headline: str, lines: Iterable[str]) -> None:
        """Note mistakes. After a mistake, no inference stack of the program is registered."""
        self._mistakes.setdefault(headline, []).extend(lines)

    def add(self, sibling: Sibling) -> list[Problem]:
        """Add an inference stack, and return its conflicts with earlier inference stacks."""
        taken = instances.problems(sibling, self._run.siblings)
        self._siblings.append(sibling)
        self._run.siblings.append(sibling)
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
        if self._is_whole and lost_services.absent_instances(self._siblings) and not _has_ended():
            # The program may make these inference stacks later. Pulumi deletes objects only after the end of a program
            # without an error, so the end is early enough.
            pulumi.Output.from_input(self._check_at_the_end())
        else:
            self._check_losses()
        return []

    async def _check_at_the_end(self) -> None:
        while not _has_ended():  # noqa: ASYNC110, the SDK has no event for the end of a program
            await asyncio.sleep(_PAUSE_SECONDS)
        self._check_losses()

    def _check_losses(self) -> None:
        """Raise `RunError` if the run would end running services. Print each warning once."""
        with without_traceback():
            problems = list(self._losses())
        for line in map(LogLine.write, warnings(problems)):
            if line not in self._printed:
                self._printed.add(line)
                pulumi.log.warn(line)
        if lines := errors(problems):
            raise pulumi.RunError(report(LOSSES, lines))

    def _losses(self) -> Iterator[Problem]:
        """Yield the running services that the run would end, as far as this process sees the program."""
        if self._is_whole:
            yield from lost_services.problems(self._siblings)
            return
        for sibling in self._siblings:
            others = [other for other in self._run.siblings if other is not sibling]
            yield from lost_services.problems_of(sibling, others)


_PROGRAMS = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Program]()
"""Programs by the event loop of their run. Only in tests does one process run several programs."""
_PART = ContextVar[Program | None]("_PART", default=None)
"""Program of a task that makes one inference stack of a program in another process."""


def of_run() -> Program:
    """Return the `Program` of the running task, or else of the running event loop. If the loop has none, make it."""
    return _PART.get() or _PROGRAMS.setdefault(asyncio.get_running_loop(), Program())


def begin_part(run: ProgramRun) -> None:
    """Let the running task make one inference stack of a program that this process does not see as a whole."""
    _PART.set(Program(run))


def _has_ended() -> bool:
    """Tell whether the whole program has run. The SDK registers the outputs of the root resource then."""
    return bool(getattr(pulumi.runtime.get_root_resource(), "_outputs_registered", True))


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


@contextlib.contextmanager
def without_positions() -> Generator[None]:
    """Register resources without the places in source files from which they are registered.

    Pulumi's SDK sends the stack of calls with each resource, and the engine keeps it in the state. It would be a
    quarter of the state, with paths of the machine, and no line of it would be the user's. The SDK reads the stack with
    `traceback.extract_stack`, which honours this limit. With a limit of 0 the SDK would fail.
    """
    limit = getattr(sys, "tracebacklimit", None)
    sys.tracebacklimit = 1
    try:
        yield
    finally:
        sys.tracebacklimit = limit
