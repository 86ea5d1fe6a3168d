"""The verdicts of gates as blocks of a document, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from cli.documents import Block, Heading, Items, Line, Table
from cli.proposals import Proposal
from composition.gates import GateReport
from judging.gates import contract
from judging.gates.contract import ComparedServiceDocument, GateDocument, GateResultDocument, GateState
from judging.gates.records import CanaryVerdict, GateOutcome, GateVerdict, Tally

_WORDS: Mapping[GateOutcome, str] = {
    GateOutcome.PASSES: "not worse",
    GateOutcome.FAILS: "worse",
    GateOutcome.UNDECIDED: "undecided",
    GateOutcome.NOT_MEASURED: "not measured",
}
_STATES: Mapping[GateOutcome, GateState] = {
    GateOutcome.PASSES: "pass",
    GateOutcome.FAILS: "fail",
    GateOutcome.UNDECIDED: "undecided",
    GateOutcome.NOT_MEASURED: "not measured",
}
_TITLES = ("gate", "primary", "canary", "difference", "margin", "verdict")
_POINTS = 100
_OVER = "the time is over without a verdict"
_ANEW = "begin anew by another weight or new pods"


def blocks(stack: str, reports: Sequence[GateReport], proposals: Mapping[str, Proposal]) -> Iterator[Block]:
    """Yield the blocks. `proposals` are those that were asked for, by the key of the service."""
    if not reports:
        yield Line(f"{stack}: no canary has gates")
    for report in reports:
        yield Heading(f"{stack} · {report.service.key} · {_WORDS[report.outcome]}")
        yield Line(_beginning(report))
        if report.verdict is not None and report.verdict.gates:
            yield Table(_TITLES, [_row(gate) for gate in report.verdict.gates])
        remarks = [("!", text) for text in _remarks(report)]
        proposal = proposals.get(report.service.key)
        if proposal is not None:
            remarks += [("~", text) for text in proposal.lines]
        if remarks:
            yield Items(remarks)


def document(stack: str, code: int, reports: Sequence[GateReport], proposals: Mapping[str, Proposal]) -> GateDocument:
    """Return the verdicts as a plain tree."""
    return {
        "gateVersion": contract.VERSION,
        "stack": stack,
        "exitCode": code,
        "services": [_service(report, proposals.get(report.service.key)) for report in reports],
    }


def progress(reports: Sequence[GateReport]) -> str:
    """Return the state of all services in one line."""
    return ", ".join(f"{report.service.key} {_WORDS[report.outcome]}{_rest(report)}" for report in reports)


def _beginning(report: GateReport) -> str:
    """Return since when what is compared."""
    if report.reason:
        return report.reason
    terms = report.service.terms
    minutes = report.verdict.minutes if report.verdict is not None else 0
    since = "" if report.change.at is None else f" since {_time(report.change.at)} UTC ({report.change.words})"
    return f"canary at {terms.weight} %{since}, {minutes} of {terms.bake} min compared after {terms.warmup} min"


def _row(gate: GateVerdict) -> Sequence[str]:
    name = gate.terms.name
    if gate.terms.within:
        name = f"{name} > {gate.terms.within}"
    outcome = gate.outcome
    if outcome is GateOutcome.NOT_MEASURED:
        return (name, "?", "?", "?", _points(gate.terms.margin), f"{_WORDS[outcome]}: {gate.reason}")
    difference = f"≥ {_points(gate.lower)}"
    if gate.upper is not None:
        difference = f"{difference}, ≤ {_points(gate.upper)}"
    return (name, _tally(gate.primary), _tally(gate.canary), difference, _points(gate.terms.margin), _WORDS[outcome])


def _tally(tally: Tally) -> str:
    return f"{tally.share:.2%} of {tally.requests:,.0f}"


def _points(share: float) -> str:
    return f"{share * _POINTS:.2f} points"


def _remarks(report: GateReport) -> Iterator[str]:
    """Yield why the variants are not comparable, and how long a verdict takes."""
    if report.verdict is None:
        return
    yield from (obstacle.text for obstacle in report.verdict.obstacles)
    rest = _rest(report)
    if report.outcome is GateOutcome.UNDECIDED and rest:
        yield f"undecided{rest}"
    if report.outcome is GateOutcome.UNDECIDED and report.verdict.is_over:
        yield _end(report.verdict)


def _end(verdict: CanaryVerdict) -> str:
    """Return what is done about a time that is over without a verdict."""
    if verdict.enough_bake is None:
        return f"{_OVER}; {_ANEW}"
    return f"{_OVER}; a bake of about {verdict.enough_bake:,} min would have been enough; set it, and {_ANEW}"


def _rest(report: GateReport) -> str:
    """Return what lacks until gates can pass, as the end of a sentence; empty if nothing does."""
    if report.verdict is None or report.outcome is not GateOutcome.UNDECIDED:
        return ""
    shortfall = report.verdict.shortfall
    if shortfall is None:
        return ""
    parts = list[str]()
    if shortfall.requests:
        parts.append(f"{shortfall.requests:,} requests")
    if shortfall.minutes is not None and shortfall.minutes:
        parts.append(f"about {shortfall.minutes} min")
    if not parts:
        return ""
    return f": {' and '.join(parts)} more"


def _service(report: GateReport, proposal: Proposal | None) -> ComparedServiceDocument:
    verdict = report.verdict
    tree: ComparedServiceDocument = {
        "service": report.service.key,
        "outcome": _STATES[report.outcome],
        "weight": report.service.terms.weight,
        "since": None if report.change.at is None else report.change.at.isoformat(),
        "lastChange": report.change.words,
        "reason": report.reason or None,
        "minutes": 0,
        "lacking": None,
        "isOver": False,
        "enoughMinutes": None,
        "obstacles": [],
        "gates": [],
        "proposal": None if proposal is None else proposal.tree,
    }
    if verdict is not None:
        tree["minutes"] = verdict.minutes
        if verdict.shortfall is not None:
            tree["lacking"] = {"requests": verdict.shortfall.requests, "minutes": verdict.shortfall.minutes}
        tree["isOver"] = verdict.is_over
        tree["enoughMinutes"] = verdict.enough_bake
        tree["obstacles"] = [obstacle.text for obstacle in verdict.obstacles]
        tree["gates"] = [_gate(gate) for gate in verdict.gates]
    return tree


def _gate(gate: GateVerdict) -> GateResultDocument:
    return {
        "name": gate.terms.name,
        "outcome": _STATES[gate.outcome],
        "reason": gate.reason or None,
        "margin": gate.terms.margin,
        "primary": {"requests": gate.primary.requests, "bad": gate.primary.bad},
        "canary": {"requests": gate.canary.requests, "bad": gate.canary.bad},
        "difference": {"atLeast": gate.lower, "atMost": gate.upper},
    }


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"
