"""Command `summarize`: a report on a run of the engine, from its event log, for a pull request or a terminal.

The log is the file that `pulumi preview` or `pulumi refresh --preview-only` writes with `--event-log FILE`.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from cli import documents, fail_on, named_stack, summary_blocks
from cli.documents import Block, Heading, Items
from judging.report import drift, events, summary
from judging.report.drift import Drift
from judging.report.events import EventError, Events
from judging.report.findings import JudgedReport
from judging.report.summary import ComposedStack
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts

HELP = "print a report on a run of the engine, from its event log"
_WRITERS = {"markdown": documents.markdown, "text": documents.text}
FORMATS = tuple(_WRITERS)
"""Formats of a report."""
DRIFTED = 7
"""Exit code if objects have changed since their deployment. `pulumi preview --expect-no-changes` has the same code."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    log = "the file that `pulumi preview --event-log FILE` wrote; - for standard input"
    parser.add_argument("--events", dest="log", metavar="FILE", required=True, help=log)
    named_stack.add_facts(parser)
    parser.add_argument("--format", choices=FORMATS, default="markdown", help="absent: markdown")
    changes = "report changes that a refresh found; the exit code is 7 if there are any"
    parser.add_argument("--drift", action="store_true", help=changes)
    fail_on.add_option(parser)


def run(options: Namespace) -> int:
    """Print a report on a run, and return the exit code.

    It is `DRIFTED` if `--drift` finds changed objects, `fail_on.FOUND` if the report has a finding that `--fail-on`
    names, else 0. Raises `ConfigError` if the log or a file that an option names cannot be read, if the log has neither
    a step nor an error, or if the stack has mistakes and the log has no errors.
    """
    chosen = fail_on.parse(options.fail_on, is_drift_alone=options.drift)
    log = _events(options.log)
    if options.drift:
        return _print_drift(log, options.format)
    facts = named_stack.facts_of(options) or NOTHING_READ
    problems = _problems(log)
    composed = None
    try:
        composed = _compose(options.stack, options.platform, facts)
    except ConfigError as error:
        # If the log has errors, the run has already reported the mistakes of the stack.
        if not log.errors:
            problems = (*problems, *error.problems)
    if problems:
        raise ConfigError(problems)
    is_refused = bool(log.errors) and not log.changes
    if composed is None or is_refused:
        report = summary.of_events(log)
    else:
        report = summary.summarize(log, composed)
    sys.stdout.write(summary_blocks.fitting(report, _WRITERS[options.format], summary_blocks.LONGEST))
    return fail_on.exit_code(chosen, JudgedReport(report, log, facts))


def _print_drift(log: Events, form: str) -> int:
    """Print the report on the drift that a refresh found, and return the exit code. Raises `ConfigError` as `run`."""
    if problems := _problems(log):
        raise ConfigError(problems)
    changes = drift.of_events(log)
    text = _WRITERS[form](tuple(_drift_blocks(changes)))
    sys.stdout.write(documents.cut(text, summary_blocks.LONGEST))
    if changes:
        return DRIFTED
    return 0


def _problems(log: Events) -> tuple[Problem, ...]:
    """Return the problem of a log that says nothing of a run. Every run that begins has a step of the stack itself."""
    if log.steps or log.errors:
        return ()
    return (_mistake("has neither a step nor an error of a run"),)


def _drift_blocks(changes: tuple[Drift, ...]) -> Iterator[Block]:
    if not changes:
        yield Heading("as deployed")
        return
    yield Heading(f"{summary_blocks.number_of(len(changes), 'object')} changed by hand")
    yield Items(tuple((change.sign, str(change)) for change in changes))


def _events(log: str) -> Events:
    try:
        if log == "-":
            return events.read(sys.stdin.read().splitlines())
        return events.read(Path(log).read_text(encoding="utf-8").splitlines())
    except OSError as error:
        what = f"could not be read ({type(error).__name__})"
    except UnicodeDecodeError:
        what = "is no text"
    except EventError as error:
        what = str(error)
    raise ConfigError([_mistake(what)])


def _mistake(what: str) -> Problem:
    return Problem(ConfigPath("--events"), what, "name the file that pulumi preview --event-log wrote")


def _compose(stack: str, platform: str | None, facts: ClusterFacts) -> ComposedStack:
    """Return the stack and its plan. Raises `ConfigError` with the mistakes of the stack."""
    composition = named_stack.read(stack, facts=facts, platform=platform).compose()
    return ComposedStack(composition.stack, composition.plan, facts)
