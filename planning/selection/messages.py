"""Messages about selections: errors with a message for each candidate, and warnings about locked profiles."""

from collections.abc import Iterable, Iterator

from models.problems import Problem, warning
from models.selection import LockedProfile
from planning.selection.leading import Lead
from planning.selection.preferences import preferences
from planning.selection.records import Candidate, Evaluation, Reason, TableRow
from planning.selection.seats import Seat

_MINIMUM = "selection.minimumType"


def failure(seat: Seat, evaluation: Evaluation) -> Iterator[Problem]:
    """Yield the problem of a question without an answer, and then a problem for each candidate in `evaluation`."""
    at = seat.path / "selection"
    tied = evaluation.tied
    number = {2: "two", 3: "three"}.get(len(tied), str(len(tied)))
    equal = f"{number} profiles are equally good ({_names(tied)})"
    yield Problem(at, equal if tied else _nothing_left(evaluation), remedy(evaluation))
    yield from (Problem(at, row_text(row), row.detail) for row in evaluation.rows)


def row_text(row: TableRow) -> str:
    """Return a row as one line of text. The line does not contain the row's detail."""
    place = row.candidate.file or row.candidate.scope
    stage = row.stage
    if row.rank is not None:
        stage = f"rank {row.rank}, {stage}"
    return f"{row.candidate.id} ({place}): {stage}, {row.reason}"


def remedy(evaluation: Evaluation) -> str:
    """Return what to write so that exactly one candidate is selected."""
    if evaluation.tied:
        return f"set {' or '.join([*_fields_that_differ(evaluation.tied), 'selection.profile'])}"
    rows = evaluation.rows
    question = evaluation.question
    if question.profile is not None and all(row.candidate.id != question.profile for row in rows):
        return f"no profile of this model is called {question.profile}; use {_names(row.candidate for row in rows)}"
    of_type = [row.candidate.profile.type for row in rows if row.reason is Reason.TYPE]
    if of_type and len(of_type) == sum(row.reason is not Reason.NAME for row in rows):
        least = min(of_type, key=lambda name: preferences().types[name])
        return f"set {_MINIMUM}: {least} to use profiles of lower types (dropped: {len(of_type)})"
    return "change the values that dropped the profiles, or write accelerator and model.source"


def _nothing_left(evaluation: Evaluation) -> str:
    count = len(evaluation.rows)
    model = evaluation.question.model
    if count == 1:
        return f"the only profile of {model} was dropped"
    return f"all {count} profiles of {model} were dropped"


def _fields_that_differ(tied: Iterable[Candidate]) -> Iterator[str]:
    """Yield the keys of `selection` that would distinguish equally good candidates."""
    profiles = [candidate.profile for candidate in tied]
    if len({profile.device_count for profile in profiles}) > 1:
        yield "selection.deviceCount"


def _names(candidates: Iterable[Candidate]) -> str:
    return ", ".join(sorted(candidate.id for candidate in candidates))


def lock_stale(seat: Seat, file: str, command: str) -> Problem:
    """Return the problem of a lock whose profile answers a question that has changed since."""
    return Problem(seat.path / "selection", f"has changed since {file} was written", f"run `{command}`")


def lock_missing(seat: Seat, file: str, command: str) -> Problem:
    """Return the problem of a lock that has no profile for a question."""
    return Problem(seat.path / "selection", f"has no profile in {file}", f"run `{command}`")


def lock_misled(seat: Seat, leads: Iterable[Lead], file: str) -> Problem:
    """Return the problem of a locked profile that leads elsewhere than the profiles of its model in the catalogue."""
    what = f"has a profile in {file} that leads elsewhere than the catalogue ({', '.join(map(str, leads))})"
    remedy = f"restore {file} from git, or select again with `python -m cli lock` and --update {seat.path[1]}"
    return Problem(seat.path / "selection", what, remedy)


def unlocked_without_nodes(seat: Seat, chosen: Candidate, reason: str) -> Problem:
    """Return the warning about a profile that was selected although the nodes are unknown."""
    what = f"{chosen.id} was selected although the nodes are unknown: {reason}"
    return warning(seat.path / "selection", what, "run `python -m cli lock` where the cluster can be read")


def lock_warnings(
    seat: Seat, locked: LockedProfile, evaluation: Evaluation, *, changed: bool, command: str
) -> Iterator[Problem]:
    """Yield warnings about a locked profile: it is gone, has changed, does not fit, or another profile is better."""
    at = seat.path / "selection"
    update = f"run `{command}` to select again"
    row = next((row for row in evaluation.rows if row.candidate.id == locked.id), None)
    if row is None:
        yield warning(at, f"{locked.id} is locked, but no longer in the catalogue", update)
    elif row.rank is None:
        what = f"{locked.id} is locked, but would be dropped ({row.stage}, {row.reason}: {row.detail})"
        yield warning(at, what, update)
    best = evaluation.chosen
    if best is not None and best.id != locked.id and (row is None or row.rank is None or row.rank > 1):
        yield warning(at, f"{best.id} would be selected instead of {locked.id}, which is locked", update)
    if row is not None and changed:
        yield warning(at, f"{locked.id} has changed in the catalogue since it was locked", update)
