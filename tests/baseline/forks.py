"""Pytest plugin: instead of one run of what was collected, a forked child per mutant, until its first failing test.

The mutated code takes the place of the function's own in the child's memory; what was computed while modules were
imported stays, so a mutant that survives here is tried again in changed files (`tests.baseline.verdicts`).
"""

import gc
import json
import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

import pytest

JOBS = "BASELINE_JOBS"
"""Variable that names the file of jobs; beside it, with another suffix, come the verdicts."""
CONTROL = "control"
"""Job without a mutant: every test that failed passes again."""
SECONDS = 60
"""Processor time that a test may take beyond ten times what it took before."""


@dataclass(frozen=True)
class Job:
    """A mutant as the source of its module, and the tests to ask in their order, each with its usual seconds."""

    name: str
    module: str
    function: str
    source: str
    tests: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """Fate of a mutant: killed by a test, survived, or not to be had in memory."""

    name: str
    verdict: str
    test: str = ""


class Forks:
    """Asks the tests of every job, and writes a line per verdict."""

    def __init__(self, jobs: Path) -> None:
        self.jobs = [Job(**job) for job in json.loads(jobs.read_text(encoding="utf-8"))]
        self.out = jobs.with_suffix(".verdicts")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        killers: dict[str, float] = {}
        for job in self.jobs:
            verdict = self.ask(session, job)
            killers |= {verdict.test: job.tests[verdict.test]} if verdict.test else {}
        self.ask(session, Job(CONTROL, "", "", "", killers))
        return True

    def ask(self, session: pytest.Session, job: Job) -> Verdict:
        """Return and write the verdict on a job."""
        verdict = in_a_child(job.name, lambda: asked(session, job))
        with self.out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(vars(verdict)) + "\n")
        return verdict


def pytest_configure(config: pytest.Config) -> None:
    """Take over where a file of jobs is named."""
    if path := os.environ.get(JOBS):
        config.pluginmanager.register(Forks(Path(path)))


def in_a_child(name: str, asking: Callable[[], Iterator[str]]) -> Verdict:
    """Return the verdict of a child; one that dies is killed by the test that it was in."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            for word in asking():
                os.write(write, f"{word}\n".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as reader:
        words = reader.read().splitlines()
    os.waitpid(child, 0)
    last = words[-1] if words else "absent"
    return Verdict(name, last) if last in {"survived", "absent"} else Verdict(name, "killed", last)


def asked(session: pytest.Session, job: Job) -> Iterator[str]:
    """Yield the id of every test before it is asked, up to the first that fails; the last word otherwise."""
    if job.source and not put(job):
        yield "absent"
        return
    items = {item.nodeid: item for item in session.items}
    tests = [items[test] for test in job.tests if test in items]
    for item, following in zip(tests, [*tests[1:], None], strict=False):
        yield item.nodeid
        limit(job.tests[item.nodeid])
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            session._setupstate.teardown_exact(None)
            return
    yield "survived"


def limit(seconds: float) -> None:
    """End the process when its next test takes much more processor time than it took before."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS + int(10 * seconds), resource.RLIM_INFINITY))


def put(job: Job) -> bool:
    """Give a function the code that it has in a source; tell whether there was such a function."""
    code = next(found for found in codes(compile(job.source, job.module, "exec")) if found.co_qualname == job.function)
    # What the suite has frozen after collection is in no generation that can be listed.
    gc.unfreeze()
    functions = [
        found
        for found in gc.get_objects()
        if isinstance(found, FunctionType) and (found.__module__, found.__qualname__) == (job.module, job.function)
    ]
    fitting = [found for found in functions if found.__code__.co_freevars == code.co_freevars]
    for found in fitting:
        found.__code__ = code
    return bool(fitting)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and every code inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
