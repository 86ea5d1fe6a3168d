"""Decisions: the profile for each service, canary and prefill that needs a profile, from the lock or the catalogue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from models.layers import Layer, Origin
from models.load import Selected
from models.paths import Path
from models.problems import Problem
from models.profile import ChosenProfile
from models.selection import LockedProfile
from planning.ground.cluster_facts import ClusterFacts
from planning.selection import leading, messages
from planning.selection.catalogue import Catalogue
from planning.selection.evaluation import evaluate
from planning.selection.fleet import Fleet
from planning.selection.leading import Lead
from planning.selection.records import Candidate, Evaluation, reasons
from planning.selection.seats import Asked, Seat
from planning.selection.stages import Situation

_STAND_IN = {"model": {"source": "hf://Qwen/Qwen3-0.6B"}, "accelerator": "nvidia"}
"""Keys that replace a missing profile. Mistakes that follow from these keys are not reported."""
_NOTHING = Layer({}, Origin(Path()))


@dataclass(frozen=True, slots=True)
class Decision:
    """The profile of a service, a canary or a prefill."""

    seat: Seat
    layer: Layer
    chosen: ChosenProfile
    locked: LockedProfile | None
    """The profile in the lock; None if the profile was selected from the catalogue."""
    evaluation: Evaluation | None
    """The table of the selection; None for a profile in the lock, because no other profile was compared with it."""
    candidate: Candidate | None
    """The profile in the catalogue; None if the catalogue lacks the profile, or if its keys differ from the lock's."""


@dataclass(frozen=True, slots=True)
class Decided:
    """All decisions of a stack."""

    asked: Asked
    catalogue: Catalogue
    decisions: Mapping[Path, Decision] = field(default_factory=dict[Path, Decision])
    """Decisions by path. A canary or prefill with the question of its service has the service's decision, whose `seat`
    is the seat of the service."""
    failures: Mapping[Path, Evaluation] = field(default_factory=dict[Path, Evaluation])
    """Tables of the candidates for questions without an answer, by path."""
    misled: Mapping[Path, tuple[Lead, ...]] = field(default_factory=dict[Path, tuple[Lead, ...]])
    """Values by which profiles of the lock lead elsewhere than the catalogue, by path. Such a profile is not used."""
    file: str = ""
    """Name of the lock's file."""

    @property
    def profiles_of_lock(self) -> dict[Path, LockedProfile]:
        """Return the profiles for a lock, by path. A canary or prefill with the service's decision gets no profile."""
        return {
            path: decision.locked
            or LockedProfile.default(
                id=decision.chosen.id,
                reasons=decision.chosen.reasons,
                question=decision.seat.question,
                service=dict(decision.layer.tree),
                source=decision.chosen.source,
            )
            for path, decision in self.decisions.items()
            if decision.seat.path == path
        }

    def selection(self) -> Selected:
        """Return the layers that the decisions add to a stack, and the problems of questions without an answer."""
        failed = (*self.asked.failed, *self.failures, *self.misled)
        layers = {path: each.layer for path, each in self.decisions.items() if each.seat.path == path}
        layers |= dict.fromkeys(self.asked.without, _NOTHING)
        layers |= {path: Layer(_STAND_IN, Origin(path)) for path in failed}
        repaired = (at for path in failed for at in (path / "accelerator", path / "model" / "source"))
        chosen = {path: decision.chosen for path, decision in self.decisions.items()}
        problems = (*self.asked.problems, *self._failures(), *self._lead_problems())
        return Selected(layers, problems, tuple(repaired), chosen)

    def _lead_problems(self) -> Iterator[Problem]:
        seats = {seat.path: seat for seat in self.asked.seats}
        for path, leads in self.misled.items():
            yield messages.lock_misled(seats[path], leads, self.file)

    def _failures(self) -> Iterator[Problem]:
        reported = set[Path]()
        for path, evaluation in self.failures.items():
            seat = next(seat for seat in self.asked.seats if seat.path == path)
            parent = None if seat.parent is None else self.failures.get(seat.parent)
            is_repeated = seat.parent in reported and parent is not None and parent.question == seat.question
            reported.add(path)
            if not is_repeated and evaluation.question.model not in self.catalogue.mistaken:
                yield from messages.failure(seat, evaluation)


def is_locked(seat: Seat, locked: Mapping[Path, LockedProfile]) -> bool:
    """Tell whether a lock has the answer to the question of a seat. `locked` has the profiles in the lock."""
    return seat.path in locked and locked[seat.path].question == seat.question


def open_seats(asked: Asked, locked: Mapping[Path, LockedProfile]) -> Iterator[Seat]:
    """Yield the seats whose questions the lock does not answer. A seat with the question of its parent is left out."""
    questions = {seat.path: seat for seat in asked.seats}
    for seat in asked.seats:
        parent = None if seat.parent is None else questions.get(seat.parent)
        if not is_locked(seat, locked) and (parent is None or not _asks_alike(seat, parent)):
            yield seat


def decide(
    asked: Asked, catalogue: Catalogue, locked: Mapping[Path, LockedProfile], facts: ClusterFacts, file: str = ""
) -> Decided:
    """Return the decisions of a stack. `locked` has the profiles in the lock, and `file` is the name of its file."""
    fleet, decisions, failures = Fleet(facts), dict[Path, Decision](), dict[Path, Evaluation]()
    seats, known = {seat.path: seat for seat in asked.seats}, dict[object, Evaluation]()
    misled = dict[Path, tuple[Lead, ...]]()
    for path, seat in seats.items():
        parent = seat.parent
        if parent is not None and parent in seats and _asks_alike(seat, seats[parent]) and not is_locked(seat, locked):
            if parent in decisions:
                decisions[path] = decisions[parent]
            elif parent in failures:
                failures[path] = failures[parent]
            continue
        if is_locked(seat, locked):
            if elsewhere := leading.leads(locked[path], catalogue.candidates(seat.question.model)):
                misled[path] = elsewhere
            else:
                decisions[path] = _of_lock(seat, locked[path], catalogue, file)
            continue
        key = seat.question, tuple(sorted(seat.node_selector.items()))
        evaluation = known.get(key) or known.setdefault(key, table(seat, catalogue, fleet))
        if evaluation.chosen is None:
            failures[path] = evaluation
        else:
            decisions[path] = _of_catalogue(seat, evaluation, evaluation.chosen, catalogue)
    return Decided(asked, catalogue, decisions, failures, misled, file)


def table(seat: Seat, catalogue: Catalogue, fleet: Fleet) -> Evaluation:
    """Return the table of all candidates for the question of a seat."""
    situation = Situation(seat.question, catalogue.classes, fleet, seat.node_selector)
    return evaluate(catalogue.candidates(seat.question.model), situation)


def tables(decided: Decided, facts: ClusterFacts) -> dict[Path, Evaluation]:
    """Return the tables of all questions by path, including the questions that a lock answers."""
    fleet, found = Fleet(facts), dict[Path, Evaluation]()
    for seat in decided.asked.seats:
        decision = decided.decisions.get(seat.path)
        known = decided.failures.get(seat.path) or (None if decision is None else decision.evaluation)
        found[seat.path] = known or table(seat, decided.catalogue, fleet)
    return found


def warnings(decided: Decided, facts: ClusterFacts, command: str) -> Iterator[Problem]:
    """Yield warnings about locked profiles that are gone, have changed, do not fit, or are no longer the best.

    Further warnings are about profiles that were selected although the nodes are unknown. `command` is the command that
    writes the lock.
    """
    fleet = Fleet(facts)
    for path, decision in decided.decisions.items():
        if decision.locked is not None and decision.seat.path == path:
            update = f"{command} --update {path[1]}"
            evaluation = table(decision.seat, decided.catalogue, fleet)
            changed = decision.candidate is None
            yield from messages.lock_warnings(
                decision.seat, decision.locked, evaluation, changed=changed, command=update
            )
        elif decision.evaluation is not None and decision.seat.path == path and decision.evaluation.unchecked:
            chosen = decision.evaluation.chosen
            if chosen is not None:
                yield messages.unlocked_without_nodes(decision.seat, chosen, decision.evaluation.unchecked)


def lock_problems(decided: Decided, locked: Mapping[Path, LockedProfile], file: str, command: str) -> Iterator[Problem]:
    """Yield a problem for each question that the lock does not answer. `command` is the command to write the lock."""
    for seat in open_seats(decided.asked, locked):
        make = messages.lock_stale if seat.path in locked else messages.lock_missing
        yield make(seat, file, command)


def _asks_alike(seat: Seat, other: Seat) -> bool:
    return (seat.question, seat.node_selector) == (other.question, other.node_selector)


def _of_lock(seat: Seat, locked: LockedProfile, catalogue: Catalogue, file: str) -> Decision:
    candidates = (each for each in catalogue.candidates(seat.question.model) if each.id == locked.id)
    candidate = next((each for each in candidates if each.service == locked.service), None)
    layer = Layer(locked.service, Origin(Path(*seat.path[:2], "profile", "service"), file=file))
    if candidate is not None:
        layer = catalogue.layer(candidate)
    chosen = ChosenProfile(locked.id, locked.reasons, locked.source, is_locked=True)
    return Decision(seat, layer, chosen, locked, None, candidate)


def _of_catalogue(seat: Seat, evaluation: Evaluation, candidate: Candidate, catalogue: Catalogue) -> Decision:
    chosen = ChosenProfile(candidate.id, reasons(candidate), candidate.profile.source, is_locked=False)
    return Decision(seat, catalogue.layer(candidate), chosen, None, evaluation, candidate)
