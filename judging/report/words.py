"""Words for the consequences of a change for pods and paths, from the table `words.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Literal

from judging.report import times
from judging.report.growth import Change
from judging.report.times import Rates
from models.base import Spec
from models.role import Recreate
from models.vocabulary import Bytes, amount
from planning.ground import tables

Operation = Literal["create", "update", "delete", "replace"]
"""Operation of Pulumi's engine on the object of a workload."""
PathOperation = Literal["create", "update", "delete"]
"""Operation on an address of a route."""


class WordsRow(Spec):
    """A row of the table: conditions, and the words if all conditions hold. An absent condition always holds.

    The head of `words.yaml` explains the conditions.
    """

    operation: Operation
    beside: bool | None = None
    restarts: bool | None = None
    scales: bool | None = None
    before: Literal["none", "some"] | None = None
    rollout: Literal["RollingUpdate", "Recreate"] | None = None
    ready: Literal["none", "some"] | None = None
    words: str
    outage: bool = False
    """Whether no replica is ready at some moment."""
    remedy: bool = False
    """Whether a surge or more replicas would avoid the outage."""


class PathRow(Spec):
    """Words for an operation on an address of a route."""

    operation: PathOperation
    words: str


class _RatesTable(Spec):
    fetch: Bytes
    load: Bytes
    begin: int


class _Table(Spec):
    source: str
    date: date
    proof: Literal["binary", "source", "none"]
    rates: _RatesTable
    rows: list[WordsRow]
    paths: list[PathRow]


@dataclass(frozen=True, slots=True)
class Fate:
    """Consequences of a change for the pods of a workload."""

    text: str
    outage: int | None
    """Minutes without any ready replica; None if some replicas stay ready."""
    remedy: str
    """Advice against the outage; empty if there is no outage, or if no advice helps."""


def rates() -> Rates:
    """Return the rates of the table."""
    rates = _table().rates
    return Rates(int(amount(rates.fetch)), int(amount(rates.load)), rates.begin)


def rows() -> list[WordsRow]:
    """Return the rows of the table in their order."""
    return _table().rows


def path(operation: PathOperation, address: str, destinations: str) -> str:
    """Return what happens to an address. `destinations` says where requests to it go, or what clients get."""
    row = next(row for row in _table().paths if row.operation == operation)
    return row.words.format(address=address, destinations=destinations)


@cache
def _table() -> _Table:
    return tables.read(_Table, "report/words.yaml", "judging")


def fate(operation: Operation, change: Change, size: str | None, *, beside: bool = False) -> Fate:
    """Return what happens to the pods of a workload. `size` is the size of their weights; None if unknown.

    `beside` says whether other pods of the variant, with another name, run until the new pods are ready.
    """
    row = _row(_facts(operation, change, beside=beside))
    seconds = times.start_seconds
    if change.restarts and change.before.high and not beside:
        if row.outage:
            seconds = times.outage_seconds
        else:
            seconds = times.rollout_seconds
    minutes = times.minutes(seconds(change, size, rates()))
    text = row.words.format(minutes=minutes, about="up to" if size is None else "about", **_numbers(change))
    return Fate(text, minutes if row.outage else None, _remedy(change) if row.remedy else "")


def departure(*, beside: bool) -> str:
    """Return what happens to the pods of a deleted workload; `beside` says whether other pods take their place."""
    return _row({"operation": "delete", "beside": beside}).words


def _row(facts: Mapping[str, object]) -> WordsRow:
    """Return the first row whose conditions hold."""
    return next(row for row in rows() if all(getattr(row, name) in {None, value} for name, value in facts.items()))


def _facts(operation: Operation, change: Change, *, beside: bool) -> Mapping[str, object]:
    rollout = change.workload.rollout
    return {
        "operation": operation,
        "beside": beside,
        "restarts": change.restarts,
        "scales": change.before != change.after and change.workload.autoscaler is None,
        "before": "some" if change.before.low else "none",
        "rollout": rollout.type,
        "ready": "some" if ready(change) else "none",
    }


def ready(change: Change) -> int:
    """Return the number of replicas that stay ready at the worst moment, if the smallest number of replicas runs."""
    rollout = change.workload.rollout
    if isinstance(rollout, Recreate):
        return 0
    return max(0, min(change.before.low, change.after.low - rollout.max_unavailable))


def _numbers(change: Change) -> dict[str, object]:
    """Return the numbers that the words can contain."""
    rollout = change.workload.rollout
    step = 0
    if not isinstance(rollout, Recreate):
        step = max(1, rollout.max_surge + rollout.max_unavailable)
    replicas = change.after.low
    return {
        "step": step,
        "ready": ready(change),
        "replicas": f"{replicas} replica{'' if replicas == 1 else 's'}" if not change.before.low else replicas,
        "before": change.before,
        "after": change.after,
    }


def _remedy(change: Change) -> str:
    """Return advice against an outage. A surge helps only if no old pod ends before a new pod is ready."""
    rollout = change.workload.rollout
    more = ""
    if not isinstance(rollout, Recreate):
        more = f"replicas: {rollout.max_unavailable + 1}, or "
    return f"{more}maxSurge: 1 with maxUnavailable: 0 avoids it"
