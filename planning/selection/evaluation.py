"""Selection of a profile: filters in order, then the nearest scope, then the preferences.

The answer does not depend on the order of the candidates.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from planning.selection.preferences import preferences
from planning.selection.records import SCOPES, Candidate, Evaluation, Reason, TableRow
from planning.selection.stages import COMPARISON, SCOPE, STAGES, Stage, StageFacts, preferred_place

SCORES = ("selection.accelerators", "type", "accelerator", "metric", "precision", "default")
"""Names of the scores, the most important first."""
_Scores = tuple[int, int, tuple[int, int, str], int, int, int]


def evaluate(candidates: Iterable[Candidate], situation: StageFacts, stages: tuple[Stage, ...] = STAGES) -> Evaluation:
    """Return the table of a selection among the profiles of a model, with the selected profile, if there is one."""
    ordered = sorted(candidates, key=_identity)
    remaining = ordered
    dropped = list[list[TableRow]]()
    counts = {"total": len(ordered)}
    for stage in stages:
        remaining, rows = _filter(remaining, stage, situation)
        dropped.append(rows)
        counts[stage.name] = len(remaining)
    remaining, rows = _nearest(remaining)
    dropped.append(rows)
    counts[SCOPE] = len(remaining)
    compared, best = _compare(remaining, situation)
    chosen = None
    if len(best) == 1:
        chosen = best[0]
        best = ()
    return Evaluation(
        question=situation.question,
        rows=(*compared, *(row for rows in reversed(dropped) for row in rows)),
        chosen=chosen,
        tied=best,
        remaining=counts,
        unchecked=situation.fleet.unknown,
    )


def _identity(candidate: Candidate) -> tuple[int, str]:
    return SCOPES.index(candidate.scope), candidate.id


def _filter(candidates: list[Candidate], stage: Stage, situation: StageFacts) -> tuple[list[Candidate], list[TableRow]]:
    passed = list[Candidate]()
    rows = list[TableRow]()
    for candidate in candidates:
        verdict = stage.judge(candidate, situation)
        if verdict is None:
            passed.append(candidate)
        else:
            rows.append(TableRow(candidate, stage.name, verdict.reason, verdict.detail))
    return passed, rows


def _nearest(candidates: list[Candidate]) -> tuple[list[Candidate], list[TableRow]]:
    """Return the candidates of the nearest scope, and rows of the others."""
    if not candidates:
        return [], []
    # The candidates are sorted by scope, the nearest first.
    nearest = candidates[0].scope
    detail = f"a profile of scope {nearest} remains"
    others = [candidate for candidate in candidates if candidate.scope is not nearest]
    rows = [TableRow(candidate, SCOPE, Reason.SCOPE, detail) for candidate in others]
    return [candidate for candidate in candidates if candidate.scope is nearest], rows


def _compare(candidates: list[Candidate], situation: StageFacts) -> tuple[list[TableRow], tuple[Candidate, ...]]:
    """Return rows by rank, and the candidates of the first rank."""
    if not candidates:
        return [], ()
    scores_of = {candidate.id: _scores(candidate, situation) for candidate in candidates}
    ordered = sorted(candidates, key=lambda candidate: (scores_of[candidate.id], candidate.id))
    groups = [
        (scores, list(group)) for scores, group in groupby(ordered, key=lambda candidate: scores_of[candidate.id])
    ]
    best = tuple(groups[0][1])
    rows = list[TableRow]()
    rank = 1
    for scores, group in groups:
        rows += _rows(group, scores, rank, best, groups[0][0])
        rank += len(group)
    return rows, best


def _rows(
    group: list[Candidate], scores: _Scores, rank: int, best: tuple[Candidate, ...], best_scores: _Scores
) -> Iterator[TableRow]:
    named = {name: score[0] if isinstance(score, tuple) else score for name, score in zip(SCORES, scores, strict=True)}
    if rank > 1:
        pairs = zip(SCORES, scores, best_scores, strict=True)
        decisive = next(name for name, score, best_score in pairs if score != best_score)
        reason = Reason.RANK
        detail = f"{best[0].id} is preferred by its score `{decisive}`"
    elif len(group) > 1:
        reason = Reason.TIE
        detail = f"{', '.join(candidate.id for candidate in group)} have the same scores"
    else:
        reason = Reason.BEST
        detail = ""
    yield from (TableRow(candidate, COMPARISON, reason, detail, named, rank) for candidate in group)


def _scores(candidate: Candidate, situation: StageFacts) -> _Scores:
    """Return the scores of a candidate; lower scores are better."""
    orders = preferences()
    profile = candidate.profile
    return (
        preferred_place(candidate, situation) or 0,
        orders.types[profile.type],
        _tier(candidate),
        orders.metrics.get(profile.metric or "", len(orders.metrics)),
        orders.precisions[profile.precision or "auto"],
        int(not profile.is_default),
    )


def _tier(candidate: Candidate) -> tuple[int, int, str]:
    """Return a sort key for a candidate's accelerator class.

    Classes without a preference come after the preferred classes: more memory first, then by name.
    """
    places = preferences().accelerators
    place = places.get(candidate.class_name)
    if place is not None:
        return place, 0, ""
    memory = 0
    if candidate.accelerator is not None:
        memory = candidate.accelerator.memory or 0
    return len(places), -memory, candidate.class_name
