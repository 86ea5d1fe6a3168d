"""The table of a selection as plain values.

The values include counters and a hint. aim-engine, AMD's operator for inference, computes both but never shows them.
"""

from typing import Any

from models.pins import plain
from planning.selection import messages
from planning.selection.decisions import Decision
from planning.selection.records import Evaluation, TableRow
from planning.selection.stages import SCOPE

_AFTER_TYPE = "type"
_AFTER_WISHES = "fit"
_AFTER_CLUSTER = "nodes"
"""The stages after which aim-engine counts the remaining candidates."""


def of_table(evaluation: Evaluation, decision: Decision | None) -> dict[str, Any]:
    """Return the decision and the table of candidates for one service, canary or prefill."""
    locked = None if decision is None else decision.locked
    return {
        "question": plain(evaluation.question),
        "outcome": outcome(evaluation),
        "profile": None if decision is None else decision.chosen.id,
        "locked": locked is not None,
        "hint": "" if evaluation.chosen is not None else messages.remedy(evaluation),
        "unchecked": evaluation.unchecked,
        "diagnostics": diagnostics(evaluation),
        "candidates": [_row(row) for row in evaluation.rows],
    }


def outcome(evaluation: Evaluation) -> str:
    """Return `selected` for one best profile, `tie` for several, or `none`."""
    if evaluation.chosen is not None:
        return "selected"
    return "tie" if evaluation.tied else "none"


def diagnostics(evaluation: Evaluation) -> dict[str, Any]:
    """Return how many candidates remain: under the names of aim-engine's counters, and after each stage."""
    remaining = evaluation.remaining
    named = remaining["image"]
    return {
        "totalCandidates": remaining["total"],
        "afterUnoptimizedFilter": remaining[_AFTER_TYPE],
        "afterOverridesFilter": remaining[_AFTER_WISHES],
        "afterGPUAvailabilityFilter": remaining[_AFTER_CLUSTER],
        "afterScopePreference": remaining[SCOPE],
        "unoptimizedTemplatesWereFiltered": remaining[_AFTER_TYPE] < named,
        "stages": dict(remaining),
    }


def _row(row: TableRow) -> dict[str, Any]:
    candidate = row.candidate
    return {
        "id": candidate.id,
        "scope": str(candidate.scope),
        "file": candidate.file or None,
        "replaces": list(candidate.replaces),
        "source": candidate.profile.source,
        "accelerator": candidate.class_name,
        "deviceCount": candidate.profile.device_count,
        "type": candidate.profile.type,
        "metric": candidate.profile.metric,
        "precision": candidate.profile.precision,
        "stage": row.stage,
        "reason": str(row.reason),
        "detail": row.detail,
        "scores": None if row.scores is None else dict(row.scores),
        "rank": row.rank,
    }
