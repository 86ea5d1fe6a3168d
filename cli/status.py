"""Command `status`: says whether each service serves, which object is to blame, since when, and what to do."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from datetime import datetime

from composition import status
from facts.kubeconfig import KubeAccess
from judging.status.records import Component, Finding
from judging.status.states import Level
from judging.status.verdict import ServiceStatus, Status

HELP = "print whether deployed services serve, and which object is to blame"
_SIGNS = {Level.NORMAL: "✓", Level.DEGRADED: "!", Level.BROKEN: "✗"}


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("services", nargs="*", metavar="SERVICE", help="names of services; all services if absent")
    parser.add_argument("--context", help="context of the kubeconfig; its current one if absent")


def run(options: Namespace) -> int:
    """Print the status of services and return its exit code (`judging.status.verdict.ExitCode`)."""
    result = status.read(KubeAccess(None, options.context), services=options.services)
    sys.stdout.writelines(f"{line}\n" for line in _lines(result))
    return result.exit_code


def _lines(result: Status) -> Iterator[str]:
    for service in result.services:
        yield from _service(service, result.read_at)
    for kind, reason in result.unread.items():
        yield f"? {kind}: {reason}"


def _service(service: ServiceStatus, now: datetime) -> Iterator[str]:
    state = {True: "serves", False: "does not serve", None: "cannot be told"}[service.serves]
    yield f"{_SIGNS[service.level]} {service.view.name}  {state}{_since(service.since, now)}"
    for component in service.components:
        yield f"    {_component(component)}"
    if service.culprit is not None:
        yield f"    culprit  {_words(service.culprit)}"
        yield f"    do       {service.culprit.remedy or 'wait'}"


def _component(component: Component) -> str:
    counts = "" if component.ready is None else f"{component.ready}/{component.desired or component.ready}"
    words = "; ".join(map(_words, component.findings)) or component.note
    return f"{component.link:9} {component.role:8} {counts:5} {_SIGNS[component.level]} {words}"


def _words(finding: Finding) -> str:
    return f"{finding.object} {finding.words} [{finding.state.id}]"


def _since(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return ""
    minutes = int((now - moment).total_seconds()) // 60
    return f" since {moment:%H:%M} ({minutes} min)"
