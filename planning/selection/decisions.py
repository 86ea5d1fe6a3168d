"""Decisions: the profile for each service, canary and prefill that needs a profile, from the lock or the catalogue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from models.layers import Layer, Origin
from models.load import ProfileLayers
from models.paths import Path
from models.problems import Problem
from models.profile import ChosenProfile
from models.selection import LockedProfile, Question
from planning.ground.cluster_facts import ClusterFacts
from planning.selection import leading, messages
from planning.selection.catalogue import ProfileTable
from planning.selection.evaluation import evaluate
from planning.selection.fleet import Fleet
from planning.selection.leading import Lead
from planning.selection.records import Candidate, Evaluation, reasons
from planning.selection.seats import Questions, Seat
from planning.selection.stages import StageFacts

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
class Outcome:
    """All decisions of a stack."""

    questions: Questions
    catalogue: ProfileTable
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

    @property
    def layers(self) -> ProfileLayers:
        """Return the layers that the decisions add to a stack, and the problems of questions without an answer."""
        failed = (*self.questions.failed, *self.failures, *self.misled)
        layers = {path: decision.layer for path, decision in self.decisions.items() if decision.seat.path == path}
        layers |= dict.fromkeys(self.questions.without, _NOTHING)
        layers |= {path: Layer(_STAND_IN, Origin(path)) for path in failed}
        repaired = (at for path in failed for at in (path / "accelerator", path / "model" / "source"))
        profiles = {path: decision.chosen for path, decision in self.decisions.items()}
        problems = (*self.questions.problems, *self._failures(), *self._lead_problems())
        return ProfileLayers(layers, problems, tuple(repaired), profiles)

    def _lead_problems(self) -> Iterator[Problem]:
        for path, leads in self.misled.items():
            yield messages.lock_misled(self.questions.seats[path], leads, self.file)

    def _failures(self) -> Iterator[Problem]:
        reported = dict[Path, Question]()
        for path, evaluation in self.failures.items():
            seat = self.questions.seats[path]
            is_repeated = seat.parent is not None and reported.get(seat.parent) == seat.question
            reported[path] = seat.question
            if not is_repeated and evaluation.question.model not in self.catalogue.mistaken:
                yield from messages.failure(seat, evaluation)


def is_locked(seat: Seat, locked: Mapping[Path, LockedProfile]) -> bool:
    """Tell whether a lock has the answer to the question of a seat. `locked` has the profiles in the lock."""
    return seat.path in locked and locked[seat.path].question == seat.question


def open_seats(questions: Questions, locked: Mapping[Path, LockedProfile]) -> Iterator[Seat]:
    """Yield the seats whose questions the lock does not answer. A seat with the question of its parent is left out."""
    for seat in questions.seats.values():
        if not is_locked(seat, locked) and questions.other_seat(seat) is None:
            yield seat


def decide(
    questions: Questions,
    catalogue: ProfileTable,
    locked: Mapping[Path, LockedProfile],
    facts: ClusterFacts,
    file: str = "",
) -> Outcome:
    """Return the decisions of a stack. `locked` has the profiles in the lock, and `file` is the name of its file."""
    decider = _Decider(questions, catalogue, Fleet(facts))
    for seat in questions.seats.values():
        shared = questions.other_seat(seat)
        if is_locked(seat, locked):
            decider.take(seat, locked[seat.path], file)
        elif shared is not None:
            decider.share(seat, shared)
        else:
            decider.select(seat)
    return Outcome(questions, catalogue, decider.decisions, decider.failures, decider.misled, file)


class _Decider:
    """Collects the decisions of a stack."""

    def __init__(self, questions: Questions, catalogue: ProfileTable, fleet: Fleet) -> None:
        self._questions = questions
        self._catalogue = catalogue
        self._fleet = fleet
        self._evaluations = dict[object, Evaluation]()
        self.decisions = dict[Path, Decision]()
        self.failures = dict[Path, Evaluation]()
        self.misled = dict[Path, tuple[Lead, ...]]()

    def take(self, seat: Seat, locked: LockedProfile, file: str) -> None:
        """Take the profile in the lock, unless it leads elsewhere than the catalogue."""
        leads = leading.leads(locked, self._catalogue.candidates(seat.question.model))
        if leads:
            self.misled[seat.path] = leads
        else:
            self.decisions[seat.path] = _of_lock(seat, locked, self._catalogue, file)

    def share(self, seat: Seat, other: Seat) -> None:
        """Take the answer for another seat."""
        if other.path in self.decisions:
            self.decisions[seat.path] = self.decisions[other.path]
        elif other.path in self.failures:
            self.failures[seat.path] = self.failures[other.path]

    def select(self, seat: Seat) -> None:
        """Select a profile from the catalogue. Equal questions are evaluated once."""
        key = (seat.question, tuple(sorted(seat.node_selector.items())))
        if key not in self._evaluations:
            self._evaluations[key] = table(seat, self._catalogue, self._fleet)
        evaluation = self._evaluations[key]
        if evaluation.chosen is None:
            self.failures[seat.path] = evaluation
        else:
            self.decisions[seat.path] = _of_catalogue(seat, evaluation, evaluation.chosen, self._catalogue)


def table(seat: Seat, catalogue: ProfileTable, fleet: Fleet) -> Evaluation:
    """Return the table of all candidates for the question of a seat."""
    situation = StageFacts(seat.question, catalogue.classes, fleet, seat.node_selector)
    return evaluate(catalogue.candidates(seat.question.model), situation)


def tables(outcome: Outcome, facts: ClusterFacts) -> dict[Path, Evaluation]:
    """Return the tables of all questions by path, including the questions that a lock answers."""
    fleet = Fleet(facts)
    evaluations = dict(outcome.failures)
    for path, decision in outcome.decisions.items():
        if decision.evaluation is not None:
            evaluations[path] = decision.evaluation
    return {
        path: evaluations.get(path) or table(seat, outcome.catalogue, fleet)
        for path, seat in outcome.questions.seats.items()
    }


def warnings(outcome: Outcome, facts: ClusterFacts, command: str) -> Iterator[Problem]:
    """Yield warnings about locked profiles that are gone, have changed, do not fit, or are no longer the best.

    Further warnings are about profiles that were selected although the nodes are unknown. `command` is the command that
    writes the lock.
    """
    fleet = Fleet(facts)
    for path, decision in outcome.decisions.items():
        seat = decision.seat
        if seat.path != path:
            continue
        if decision.locked is not None:
            evaluation = table(seat, outcome.catalogue, fleet)
            changed = decision.candidate is None
            update = f"{command} --update {path[1]}"
            yield from messages.lock_warnings(seat, decision.locked, evaluation, changed=changed, command=update)
        elif decision.evaluation is not None and decision.evaluation.unchecked and decision.candidate is not None:
            yield messages.unlocked_without_nodes(seat, decision.candidate, decision.evaluation.unchecked)


def lock_problems(outcome: Outcome, locked: Mapping[Path, LockedProfile], file: str, command: str) -> Iterator[Problem]:
    """Yield a problem for each question that the lock does not answer. `command` is the command to write the lock."""
    for seat in open_seats(outcome.questions, locked):
        if seat.path in locked:
            yield messages.lock_stale(seat, file, command)
        else:
            yield messages.lock_missing(seat, file, command)


def _of_lock(seat: Seat, locked: LockedProfile, catalogue: ProfileTable, file: str) -> Decision:
    namesakes = (candidate for candidate in catalogue.candidates(seat.question.model) if candidate.id == locked.id)
    candidate = next((namesake for namesake in namesakes if namesake.service == locked.service), None)
    layer = Layer(locked.service, Origin(Path(*seat.path[:2], "profile", "service"), file=file))
    if candidate is not None:
        layer = catalogue.layer(candidate)
    chosen = ChosenProfile(locked.id, locked.reasons, locked.source, is_locked=True)
    return Decision(seat, layer, chosen, locked, None, candidate)


def _of_catalogue(seat: Seat, evaluation: Evaluation, candidate: Candidate, catalogue: ProfileTable) -> Decision:
    chosen = ChosenProfile(candidate.id, reasons(candidate), candidate.profile.source, is_locked=False)
    return Decision(seat, catalogue.layer(candidate), chosen, None, evaluation, candidate)
