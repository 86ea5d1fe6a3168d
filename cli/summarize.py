"""Command `summarize`: a report on a run of the engine, from its event log, for a pull request or a terminal.

The log is the file that `pulumi preview` or `pulumi refresh --preview-only` writes with `--event-log FILE`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cli import documents, stackfile, stackname, summary_blocks
from cli.documents import Block, Heading, Items
from composition import Composition, Given, LockFile, Refusal, compose
from facts import facts_file, platform_file
from judging.report import drift, events, summary
from judging.report.drift import Drift
from judging.report.events import EventError, Events
from judging.report.summary import Composed
from models.paths import Path as ConfigPath
from models.platform import Outputs
from models.problems import ConfigError, Problem
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.marks import StackName

_WRITERS = {"markdown": documents.markdown, "text": documents.text}
FORMATS = tuple(_WRITERS)
"""Formats of a report."""
DRIFTED = 7
"""Exit code if objects have changed since their deployment. `pulumi preview --expect-no-changes` has the same code."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the command."""

    stack: str
    """Stack file, or the name of a stack."""
    log: str
    """Path of the event log; `-` for standard input."""
    facts: str | None
    """Path of a file with the facts of the cluster; None if there is none."""
    platform: str | None
    """Path of a file with the outputs of the platform; None if there is none."""
    format: str
    longest: int = summary_blocks.LONGEST


def report(options: Options) -> str:
    """Return the report on a run.

    Raises `ConfigError` if the log or a file that an option names cannot be read, if the log has neither a step nor an
    error, or if the stack has mistakes and the log has no errors.
    """
    found, known = _events(options.log), NOTHING_READ
    if options.facts is not None:
        known = facts_file.from_option(options.facts, "--facts")
    problems = _problems(found)
    try:
        composed = _plan(options, known)
    except ConfigError as error:
        # If the log has errors, the run has already reported the mistakes of the stack.
        problems += () if found.errors else error.problems
        composed = None
    if problems:
        raise ConfigError(problems)
    is_refused = bool(found.errors) and not found.changes
    made = summary.of_events(found) if composed is None or is_refused else summary.summarize(found, composed)
    return summary_blocks.fitting(made, _WRITERS[options.format], options.longest)


def drift_report(options: Options) -> tuple[str, int]:
    """Return the report on the drift that a refresh found, and the exit code: `DRIFTED` if there is any, else 0.

    Raises `ConfigError` if the log cannot be read, or has neither a step nor an error.
    """
    log = _events(options.log)
    if problems := _problems(log):
        raise ConfigError(problems)
    found = drift.of_events(log)
    text = _WRITERS[options.format](tuple(_drift_blocks(found)))
    return documents.cut(text, options.longest), DRIFTED if found else 0


def _problems(found: Events) -> tuple[Problem, ...]:
    """Return the problem of a log that says nothing of a run. Every run that begins has a step of the stack itself."""
    return () if found.steps or found.errors else (_mistake("has neither a step nor an error of a run"),)


def _drift_blocks(found: tuple[Drift, ...]) -> Iterator[Block]:
    if not found:
        yield Heading("as deployed")
        return
    yield Heading(f"{len(found)} object{'' if len(found) == 1 else 's'} changed by hand")
    yield Items(tuple(("-" if each.is_gone else "~", str(each)) for each in found))


def _events(log: str) -> Events:
    try:
        text = sys.stdin.read() if log == "-" else Path(log).read_text(encoding="utf-8")
        return events.read(text.splitlines())
    except OSError as error:
        what = f"could not be read ({type(error).__name__})"
    except UnicodeDecodeError:
        what = "is no text"
    except EventError as error:
        what = str(error)
    raise ConfigError([_mistake(what)])


def _mistake(what: str) -> Problem:
    return Problem(ConfigPath("--events"), what, "name the file that pulumi preview --event-log wrote")


def _plan(options: Options, known: ClusterFacts) -> Composed:
    """Return the stack and its plan. Raises `ConfigError` with the mistakes of the stack."""
    file = stackfile.locate(options.stack)
    platform = None if options.platform is None else platform_file.read(Path(options.platform))
    composition = stackfile.parse(file).apply(partial(_compose, known, stackname.of(file, None), platform))
    return Composed(composition.stack, composition.plan, known)


def _compose(known: ClusterFacts, name: StackName, platform: Outputs | None, tree: object) -> Composition:
    composition = compose(tree, Given(known), name, platform=platform, lock=LockFile(Path.cwd()))
    if isinstance(composition, Refusal):
        raise composition.error
    return composition
