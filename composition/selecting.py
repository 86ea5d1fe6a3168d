"""Selection of profiles for a configuration.

A question asks which profile a service, a canary or a prefill gets. If the lock answers all questions, the nodes of the
cluster are not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any, cast

from pydantic import ValidationError

from composition.sources import Sources
from composition.target import Target
from facts import catalogue_files
from models import cleartext
from models.accelerators import ResourceClaim
from models.engine_yaml import Document
from models.layers import Layer, Origin
from models.load import NO_LAYERS, ProfileLayers, validation_problems
from models.lock import Lock, file_name
from models.outline import Outline, PartialCatalogue
from models.paths import Path
from models.problems import SEVERITIES, ConfigError, Mode, Problem, errors, warnings
from models.profile import CatalogueFile
from models.selection import LockedProfile
from models.stack_layers import merge_stack
from models.trees import at, mapping
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.needs import Needs
from planning.hardware import accelerators
from planning.selection import decisions, seats, shipped
from planning.selection.catalogue import Declared, ProfileTable
from planning.selection.decisions import Decision, Outcome
from planning.selection.records import Evaluation, Scope
from planning.selection.shipped import ShippedFile


@dataclass(frozen=True, slots=True)
class ProfileSelection:
    """The selection of profiles for a stack."""

    layers: ProfileLayers = NO_LAYERS
    outcome: Outcome | None = None
    """None for a stack that selects no profiles."""
    documents: tuple[Document, ...] = ()
    """The files that `catalogue.files` names."""
    stale: tuple[Problem, ...] = ()
    """Warnings about questions that the lock does not answer."""

    def with_documents(self, files: Sources) -> Sources:
        """Return the layers below a stack file, with the files of its catalogue added."""
        if self.documents:
            return replace(files, documents=(*files.documents, *self.documents))
        return files

    @property
    def profiles_of_lock(self) -> Mapping[Path, LockedProfile]:
        """Return the profiles to write into a lock."""
        if self.outcome is None:
            return {}
        return self.outcome.profiles_of_lock

    def warnings(self, facts: ClusterFacts, stack_name: str) -> tuple[Problem, ...]:
        """Return warnings about locked profiles, and about profiles that were selected without facts of the nodes."""
        if self.outcome is None:
            return ()
        return tuple(decisions.warnings(self.outcome, facts, f"python -m cli lock {stack_name}"))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A selection, with the evaluation of all candidates and the decision for each question."""

    selection: ProfileSelection
    tables: Mapping[Path, Evaluation]
    decisions: Mapping[Path, Decision]


def select(  # noqa: PLR0913, PLR0917 - what a selection depends on
    tree: object,
    files: Sources,
    lock: Lock | None,
    stack_name: str,
    target: Target,
    earlier: Sequence[Problem] = (),
    updated: Sequence[str] | None = None,
) -> ProfileSelection:
    """Return the profiles for the services of a stack. A profile in the lock is used instead of a new selection.

    `stack_name` is the name of the stack without organization and project. Only the command `lock` passes `updated`:
    the names of the blocks whose profiles are selected again. If there are `earlier` problems, the cluster is not read.
    If a file of the catalogue cannot be read, raises `ConfigError` with that problem and the `earlier` problems.
    """
    if not isinstance(tree, dict) or not tree:
        return ProfileSelection()
    merged = merge_stack(cast("dict[str, Any]", tree), files.sources)
    outline = Outline.of(merged.tree)
    if not seats.may_need_profiles(outline.stack) and not outline.stack.catalogue.files:
        return ProfileSelection(ProfileLayers(merged=merged))
    try:
        catalogue, documents, problems = _catalogue(merged, outline)
    except ConfigError as error:
        raise ConfigError([*earlier, *error.problems]) from None
    questions = seats.questions(merged, outline, catalogue)
    if not questions.seats and not questions.problems and not problems:
        return ProfileSelection(ProfileLayers(merged=merged), documents=documents)
    answers = _answers(lock, updated)
    facts = NOTHING_READ
    if not earlier and any(True for _ in decisions.open_seats(questions, answers)):
        facts = _nodes(outline, catalogue, target)
    outcome = decisions.decide(questions, catalogue, answers, facts, "" if lock is None else lock.file)
    stale = tuple[Problem, ...]()
    if lock is not None and updated is None:
        stale = tuple(_lock_problems(outcome, lock, answers, outline.stack.checks.lock, stack_name))
    layers = outcome.layers
    layers = replace(layers, problems=(*problems, *layers.problems, *errors(stale)))
    return ProfileSelection(layers, outcome, documents, tuple(warnings(stale)))


def explain(tree: object, files: Sources, lock: Lock | None, stack_name: str, target: Target) -> Explanation:
    """Return the selection for a stack, with evaluations for all questions, including those that the lock answers."""
    selection = select(tree, files, lock, stack_name, target)
    outcome = selection.outcome
    if outcome is None:
        return Explanation(selection, {}, {})
    outline = Outline.of(merge_stack(cast("dict[str, Any]", tree), files.sources).tree)
    facts = _nodes(outline, outcome.catalogue, target)
    return Explanation(selection, decisions.tables(outcome, facts), outcome.decisions)


def _answers(lock: Lock | None, updated: Sequence[str] | None) -> Mapping[Path, LockedProfile]:
    """Return the profiles in a lock, without the profiles of `updated` blocks."""
    if lock is None:
        return {}
    return {path: locked for path, locked in lock.profiles.items() if path[1] not in (updated or ())}


def _lock_problems(
    outcome: Outcome, lock: Lock, answers: Mapping[Path, LockedProfile], mode: Mode, stack_name: str
) -> Iterator[Problem]:
    """Yield the problems of questions that the lock does not answer, with the severity that `mode` sets."""
    if mode == "skip":
        return
    command = f"python -m cli lock {stack_name}"
    for problem in decisions.lock_problems(outcome, answers, lock.file or file_name(stack_name), command):
        yield replace(problem, severity=SEVERITIES[mode])


def _catalogue(merged: Layer, outline: Outline) -> tuple[ProfileTable, tuple[Document, ...], tuple[Problem, ...]]:
    """Return the catalogue of a stack, the files that it names, and the problems of their profiles."""
    spec = outline.stack.catalogue
    documents = tuple[Document, ...]()
    if spec.files:
        documents = catalogue_files.read(spec.files, File())
    declared = [*_of_stack(merged, spec)]
    for document in documents:
        declared += _of_file(Scope.FILE, document)
    if spec.shipped:
        for document in shipped.files():
            declared += _of_file(Scope.SHIPPED, document)
    problems = (problem for document in documents for problem in _file_problems(document))
    classes = accelerators.classes(outline.classes)
    return ProfileTable(declared, classes), documents, (*problems, *_duplicates(declared))


def _of_stack(merged: Layer, spec: PartialCatalogue) -> Iterator[Declared]:
    for name in spec.profiles:
        yield Declared(name, Scope.STACK, merged.child("catalogue").child("profiles").child(name))


def _of_file(scope: Scope, document: Document | ShippedFile) -> Iterator[Declared]:
    for name, profile in mapping(at(document.tree, "profiles")).items():
        yield Declared(str(name), scope, Layer(profile, Origin(Path("profiles", str(name)), file=document.file)))


def _file_problems(document: Document) -> Iterator[Problem]:
    """Yield the problems of the profiles of a file, and of credentials in it, also in profiles that nobody selects."""
    for problem in cleartext.problems(mapping(document.tree)):
        yield replace(problem, file=document.file)
    try:
        CatalogueFile.model_validate(document.tree)
    except ValidationError as error:
        yield from validation_problems(document.tree, error, Path("catalogue"), document.file)


def _duplicates(declared: Sequence[Declared]) -> Iterator[Problem]:
    """Yield a problem for each profile id that is in two files of `catalogue.files`."""
    holders = dict[str, str]()
    for profile in declared:
        if profile.scope is not Scope.FILE:
            continue
        file = profile.layer.origin.file
        holder = holders.setdefault(profile.id, file)
        if holder != file:
            yield Problem(profile.layer.origin.at, f"is in {holder}, too", "choose another id", file=file)


def _nodes(outline: Outline, catalogue: ProfileTable, target: Target) -> ClusterFacts:
    """Read the nodes of the cluster; nothing if the key `cluster` is invalid, which the stack's validation reports."""
    if outline.is_mistaken(Path("cluster")):
        return NOTHING_READ
    has_claims = any(isinstance(known.allocation, ResourceClaim) for known in catalogue.classes.values())
    return target.facts(outline.stack.cluster, Needs(nodes=True, slices=has_claims))
