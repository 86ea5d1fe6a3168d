"""Outages: workloads that a run leaves without a ready replica, as the live objects say. `checks.outage` decides."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from judging.causes import Cause
from judging.report import checks, growth, words
from judging.report.checks import ClusterBefore
from judging.report.growth import Change
from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, gap
from models.stack import Stack
from models.trees import mapping
from planning.ground.cluster_facts import Unknown
from planning.plans import StackPlan

_CHECK = "whether this run leaves a service without a ready replica"
_ROLLING = "write rollout: {type: RollingUpdate}"
_ALLOW = f"write allow: [{Cause.OUTAGE}] for one run"


@dataclass(frozen=True, slots=True)
class Outage:
    """A workload whose ready replicas all end before a new one is ready."""

    path: Path
    """Path of the setting that decides."""
    text: str
    """The outage, as the predicate of a sentence about the path."""
    remedy: str
    """Setting that avoids the outage; empty if the outage is what the setting says."""


def of_run(plan: StackPlan, before: ClusterBefore, stack: Stack) -> tuple[Outage, ...] | Unknown:
    """Return the outages of a run.

    A workload without a ready replica before the run cannot lose one: such a run may be the repair.
    """
    changes = checks.changes_of(plan, before)
    if isinstance(changes, Unknown):
        return changes
    outages = (_outage(change, stack) for change in changes if _ready_now(change))
    return tuple(outage for outage in outages if outage is not None)


def judge(outages: tuple[Outage, ...] | Unknown, mode: Mode, allowed: Collection[str]) -> Iterator[Problem]:
    """Yield the problems of outages. `allowed` are the words in `allow`: with `outage`, an error becomes a warning."""
    if isinstance(outages, Unknown):
        yield gap(Path(), _CHECK, outages.reason)
        return
    severity = SEVERITIES[mode]
    if Cause.OUTAGE in allowed:
        severity = "warning"
    for outage in outages:
        remedies = [outage.remedy, _ALLOW if severity == "error" else ""]
        yield Problem(outage.path, outage.text, ", or ".join(filter(None, remedies)), severity=severity)


def _ready_now(change: Change) -> int:
    """Return the number of replicas that are ready before a run, as the workload's controller counts them."""
    if change.running is None:
        return 0
    return int(mapping(change.running.content.get("status")).get("readyReplicas") or 0)


def _outage(change: Change, stack: Stack) -> Outage | None:
    """Return the outage of a workload that has ready replicas; None if some stay ready."""
    name = change.workload.name
    at = change.workload.path
    if not change.after.high:
        return Outage(at / "replicas", f"ends all replicas of {name}", "")
    size = growth.weights_size(change, stack)
    fate = words.fate("update", change, size)
    if fate.outage is None:
        return None
    about = "about"
    if size is None:
        about = "up to"
    text = f"leaves no replica of {name} ready for {about} {fate.outage} min"
    return Outage(at / "rollout", text, fate.remedy or _ROLLING)
