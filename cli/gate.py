"""Command `gate`: says whether the canary of a service is worse than its primary, and proposes its next weight."""

import gc
import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from cli import documents, gate_blocks, named_stack, proposals
from cli.proposals import Proposal
from composition import Composition, gates
from composition.gates import GatedStack, GateReport
from facts import prometheus
from facts.kubeconfig import KubeAccess
from facts.prometheus import PrometheusServer
from judging.gates.records import GateOutcome
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem

HELP = "compare canaries with their primaries by counts of requests"
_PAUSE_SECONDS = 30.0
"""Time between two questions of `--wait`."""
_PATIENCE = timedelta(minutes=30)
"""Time for which `--wait` goes on after the end of the comparison, for a canary that gets too few requests."""
_EXIT_CODES = """\
exit codes: 0 if no canary is worse, or none has gates; 6 if a verdict takes more requests or minutes, if the time is
over without one, or if the variants cannot be compared; 8 if a canary is worse; 1 if a canary was not measured, because
the cluster or the Prometheus does not tell; 2 and 3 for mistakes; 130 after Ctrl-C"""
_WRITERS = {"markdown": documents.markdown, "text": documents.text}


class GateExitCode(IntEnum):
    """Meaning of the exit code for all services, the worst last."""

    PASSES = 0
    UNDECIDED = 6
    NOT_MEASURED = 1
    FAILS = 8


_CODES: Mapping[GateOutcome, GateExitCode] = {
    GateOutcome.PASSES: GateExitCode.PASSES,
    GateOutcome.UNDECIDED: GateExitCode.UNDECIDED,
    GateOutcome.NOT_MEASURED: GateExitCode.NOT_MEASURED,
    GateOutcome.FAILS: GateExitCode.FAILS,
}


@dataclass(frozen=True, slots=True)
class _AskedGates:
    """The canaries that are judged, and whom to ask."""

    access: KubeAccess
    gated: GatedStack
    server: PrometheusServer
    keys: Sequence[str]

    def reports(self) -> Sequence[GateReport]:
        """Read cluster and Prometheus, and return the verdicts."""
        return gates.judge(self.access, self.gated, self.server, self.keys)

    def deadline(self) -> datetime:
        """Return the time at which `--wait` ends: warm-up and comparison from now on, and some patience."""
        minutes = [
            service.terms.warmup + service.terms.bake
            for service in self.gated.services
            if not self.keys or service.key in self.keys
        ]
        return datetime.now(UTC) + timedelta(minutes=max(minutes)) + _PATIENCE


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = _EXIT_CODES
    named_stack.add_stack(parser)
    parser.add_argument("services", nargs="*", metavar="SERVICE", help="keys of services; all with gates if absent")
    text = "URL of the Prometheus; absent: observability.prometheus.serverAddress"
    parser.add_argument("--prometheus", metavar="URL", help=text)
    minutes = int(_PATIENCE.total_seconds() // 60)
    end = f"up to {minutes} minutes after warmup and bake"
    text = f"ask every 30 seconds until all pass, one fails or the time is over without a verdict, {end}"
    parser.add_argument("--wait", action="store_true", help=text)
    text = "absent: text; json is as `python -m cli schema gate` describes it"
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help=text)
    text = "write the next weight into the stack file, or where it extends; 0 if the canary is worse"
    parser.add_argument("--propose", nargs="?", const="", metavar="FILE", help=text)
    parser.add_argument("--context", help="context of the kubeconfig; absent: that of the stack, or the current one")
    named_stack.add_name(parser)
    named_stack.add_facts(parser)


def run(options: Namespace) -> int:
    """Print the verdicts and return the exit code.

    Raises `ConfigError` if the stack cannot be read, has not the gates that are named, or names no Prometheus, and if a
    weight cannot be edited in its place.
    """
    proposals.check_file(options.propose, options.stack)
    named = named_stack.of(options)
    composition = named.compose(asks_sources=False)
    gated = gates.of(composition)
    _check_services(composition, gated, options.services)
    reports: Sequence[GateReport] = ()
    if gated.services:
        reports = _reports(_question(composition, gated, options), is_patient=options.wait)
    codes = (_CODES[report.outcome] for report in reports)
    code = max(codes, key=list(GateExitCode).index, default=GateExitCode.PASSES)
    proposed = dict[str, Proposal]()
    problems = list[Problem]()
    for report in reports if options.propose is not None else ():
        try:
            proposal = proposals.propose(named, options.stack, report)
        except ConfigError as error:
            problems += error.problems
        else:
            proposed |= {report.service.key: proposal} if proposal is not None else {}
    sys.stdout.write(_text(named.name.label, code, reports, proposed, options.format))
    if problems:
        raise ConfigError(problems)
    return code


def _question(composition: Composition, gated: GatedStack, options: Namespace) -> _AskedGates:
    """Return the question that the options ask. Raises `ConfigError` if nothing names a Prometheus."""
    server = _server(composition, options.prometheus)
    context = options.context or composition.stack.cluster.context
    return _AskedGates(KubeAccess(None, context), gated, server, options.services)


def _reports(question: _AskedGates, *, is_patient: bool) -> Sequence[GateReport]:
    """Return the verdicts, those of `--wait` if the caller is patient."""
    reports = question.reports()
    if is_patient:
        return _wait(question, reports)
    return reports


def _check_services(composition: Composition, gated: GatedStack, keys: Sequence[str]) -> None:
    """Raise `ConfigError` for services that the stack does not have, and for services without gates."""
    known = composition.stack.services
    unknown = [key for key in keys if key not in known]
    if unknown:
        what = f"names no service of the stack ({', '.join(unknown)})"
        raise ConfigError([Problem(ConfigPath("gate"), what, f"known: {', '.join(sorted(known))}")])
    with_gates = {service.key for service in gated.services}
    problems = [_lack(key, composition) for key in keys if key not in with_gates]
    if problems:
        raise ConfigError(problems)


def _lack(key: str, composition: Composition) -> Problem:
    at = ConfigPath("services", key, "canary")
    if composition.stack.services[key].canary is None:
        return Problem(at, "is missing", "add a canary with gates")
    return Problem(at / "gates", "is missing", "add it, such as gates: {bake: 60m}")


def _server(composition: Composition, url: str | None) -> PrometheusServer:
    """Return the Prometheus that `--prometheus` or the stack names. Raises `ConfigError` if neither does."""
    if url is not None:
        return prometheus.server(url, is_named_by_caller=True)
    configured = composition.stack.observability.prometheus
    if configured is None:
        at = ConfigPath("observability", "prometheus", "serverAddress")
        raise ConfigError([Problem(at, "is missing", "add it, or name the Prometheus with --prometheus URL")])
    return prometheus.server(configured.server_address, is_named_by_caller=False)


def _wait(question: _AskedGates, reports: Sequence[GateReport]) -> Sequence[GateReport]:
    """Ask again until all canaries pass or can pass no more, one fails, or time is up; return the last verdicts."""
    end = question.deadline()
    print(f"waits until {end:%Y-%m-%d %H:%M} UTC at most", file=sys.stderr)
    while not _is_decided(reports) and datetime.now(UTC) < end:
        print(f"{datetime.now(UTC):%H:%M:%S} {gate_blocks.progress(reports)}", file=sys.stderr, flush=True)
        time.sleep(_PAUSE_SECONDS)
        # Commands run without the garbage collector, but not for hours.
        gc.collect()
        reports = question.reports()
    return reports


def _is_decided(reports: Sequence[GateReport]) -> bool:
    if any(report.outcome is GateOutcome.FAILS for report in reports):
        return True
    return all(map(_has_ended, reports))


def _has_ended(report: GateReport) -> bool:
    """Tell whether a canary that does not fail passes, or can pass no more."""
    if report.outcome is GateOutcome.UNDECIDED:
        return report.verdict is not None and report.verdict.is_over
    return report.outcome is GateOutcome.PASSES


def _text(
    title: str, code: GateExitCode, reports: Sequence[GateReport], proposed: Mapping[str, Proposal], form: str
) -> str:
    if form == "json":
        tree = gate_blocks.document(title, code, reports, proposed)
        return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
    return _WRITERS[form](tuple(gate_blocks.blocks(title, reports, proposed)))
