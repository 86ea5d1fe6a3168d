"""Command `status`: says whether each service serves, which object is to blame, since when, and what to do."""

import json
import os
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cli import named_stack, status_text
from cli.status_text import Page
from composition import status
from composition.status import ExpectedStack
from facts.kubeconfig import KubeAccess
from judging.status import document
from judging.status.contract import StatusDocument
from judging.status.verdict import ExitCode, Status
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem

HELP = "print whether deployed services serve, and which object is to blame"
_EXIT_CODES = """\
exit codes: 0 if all services serve as configured; 4 if all serve, but something is wrong, if a service only waits, or
if a service of the stack is not deployed, or no stack at all; 5 if a service does not serve and something is to blame;
1 if it cannot be told; 2 and 3 for mistakes; 130 after Ctrl-C, but for --watch, which ends with its last code"""
_PAUSE_SECONDS = 2.0
"""Time between two readings of `--watch`."""


@dataclass(frozen=True, slots=True)
class _Question:
    """The cluster and the services that are asked for."""

    access: KubeAccess
    title: str
    stack: ExpectedStack | None
    """Expectations of the stack file; None for all stacks of the cluster."""
    services: Sequence[str]
    certificates: bool
    """Whether the certificates of listeners are judged, too."""

    def read(self) -> tuple[Status, Sequence[str]]:
        """Return the status, and the keys of planned services of which the cluster has nothing."""
        if self.stack is None:
            return status.read(self.access, certificates=self.certificates), ()
        result = status.of_stack(self.access, self.stack, self.services, certificates=self.certificates)
        missing = status.missing(self.stack, result)
        return result, [key for key in missing if not self.services or key in self.services]


@dataclass(frozen=True, slots=True)
class _Report:
    """A status, and what is printed beside it."""

    code: ExitCode
    """Exit code of the command."""
    status: Status
    page: Page
    answers: Mapping[tuple[str, str], str] | None
    """Result of a request to each service, without the time that it took, by namespace and name of the service; None if
    nobody asked for it."""

    @property
    def document(self) -> StatusDocument:
        """Return the status as a plain tree. Only the time of the reading depends on when it is made."""
        return document.of(self.status, self.code, self.page.missing, self.page.logs, self.answers)

    def text(self, *, as_json: bool) -> str:
        """Return the status as JSON, or as text of the terminal's width."""
        if as_json:
            return json.dumps(self.document, indent=2, ensure_ascii=False) + "\n"
        width = shutil.get_terminal_size().columns
        return "".join(f"{line}\n" for line in status_text.lines(self.status, self.page, width))


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = _EXIT_CODES
    named_stack.add_stack(parser, nargs="?")
    parser.add_argument("services", nargs="*", metavar="SERVICE", help="keys of services; all services if absent")
    parser.add_argument("--context", help="context of the kubeconfig; absent: that of the stack, or the current one")
    named_stack.add_name(parser)
    named_stack.add_facts(parser)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--watch", action="store_true", help="read again every two seconds, and print what changes")
    forms.add_argument("--json", action="store_true", help="print JSON, as `python -m cli schema status` describes it")
    parser.add_argument("--logs", action="store_true", help="add the last lines of the culprit's log")
    parser.add_argument("--certificates", action="store_true", help="read when the certificates of Gateways expire")
    parser.add_argument(
        "--ask", action="store_true", help="send a request to each service at its URL, all within 20 seconds"
    )


def run(options: Namespace) -> int:
    """Print the status of services and return its exit code (`judging.status.verdict.ExitCode`).

    Raises `ConfigError` if the stack cannot be read, or does not have a service.
    """
    target = _target(options)
    if options.watch:
        return _watch(target, options)
    report = _report(target, options)
    _print(report.text(as_json=options.json))
    return report.code


def _target(options: Namespace) -> _Question:
    """Return what the options name. Raises `ConfigError` for a stack that is refused, and for unknown services."""
    if options.stack is None:
        return _Question(KubeAccess(None, options.context), "all stacks", None, (), options.certificates)
    named = named_stack.of(options)
    composition = named.compose(asks_sources=False)
    stack = status.expectations(composition)
    unknown = [key for key in options.services if key not in stack.services]
    if unknown:
        what = f"names no service of the stack ({', '.join(unknown)})"
        raise ConfigError([Problem(ConfigPath("status"), what, f"known: {', '.join(sorted(stack.services))}")])
    context = options.context or composition.stack.cluster.context
    access = KubeAccess(None, context)
    return _Question(access, named.name.label, stack, options.services, options.certificates)


def _report(target: _Question, options: Namespace) -> _Report:
    """Read the cluster, and ask for what the options add."""
    result, missing = target.read()
    logs = answers = timed_answers = None
    if options.logs:
        logs = status.logs(target.access, result)
    if options.ask:
        of_services = status.answers(result, target.stack)
        answers = {place: answer.words for place, answer in of_services.items()}
        timed_answers = {place: answer.text for place, answer in of_services.items()}
    if options.watch:
        # What has not changed is printed as before.
        timed_answers = answers
    code = result.exit_code
    if missing and code is ExitCode.SERVES:
        code = ExitCode.DEGRADED
    return _Report(code, result, Page(target.title, missing, logs, timed_answers), answers)


def _watch(target: _Question, options: Namespace) -> int:
    """Print the status whenever it changes, until the user interrupts or the reader ends; return the last exit code.

    A status that differs only in the time of the reading has not changed.
    """
    code = ExitCode.UNKNOWN
    shown = dict[str, object]()
    try:
        while True:
            report = _report(target, options)
            code = report.code
            content = {**report.document, "readAt": None}
            if content != shown and not _print(report.text(as_json=False)):
                return code
            shown = content
            time.sleep(_PAUSE_SECONDS)
    except KeyboardInterrupt:
        return code


def _print(text: str) -> bool:
    """Print a text at once, and tell whether somebody reads it. A pipe such as that to `head` may be closed."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # At its end, Python flushes the stream again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
