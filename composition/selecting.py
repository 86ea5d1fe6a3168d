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
from models.accelerators import ResourceClaim, UserClass
from models.engine_yaml import Document
from models.layers import Layer, Origin
from models.load import NOTHING_SELECTED, Selected, validation_problems
from models.lock import Lock, file_name
from models.paths import Path
from models.problems import ConfigError, Problem, errors, warning, warnings
from models.profile import CatalogueFile
from models.selection import LockedProfile
from models.stack import Cluster
from models.stack_layers import merge_stack
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.needs import Needs
from planning.hardware import accelerators
from planning.selection import decisions, seats, shipped
from planning.selection.catalogue import Catalogue, Declared
from planning.selection.decisions import Decided, Decision
from planning.selection.records import Evaluation, Scope


@dataclass(frozen=True, slots=True)
class Selecting:
    """The selection of profiles for a stack."""

    selected: Selected = NOTHING_SELECTED
    decided: Decided | None = None
    """None for a stack that selects no profiles."""
    documents: tuple[Document, ...] = ()
    """The files that `catalogue.files` names."""
    stale: tuple[Problem, ...] = ()
    """Warnings about questions that the lock does not answer."""

    def with_documents(self, files: Sources) -> Sources:
        """Return the layers below a stack file, with the files of its catalogue added."""
        return replace(files, documents=(*files.documents, *self.documents)) if self.documents else files

    @property
    def profiles_of_lock(self) -> Mapping[Path, LockedProfile]:
        """Return the profiles to write into a lock."""
        return {} if self.decided is None else self.decided.profiles_of_lock

    def warnings(self, facts: ClusterFacts, stack_name: str) -> tuple[Problem, ...]:
        """Return warnings about locked profiles, and about profiles that were selected without facts of the nodes."""
        if self.decided is None:
            return ()
        return tuple(decisions.warnings(self.decided, facts, f"python -m cli lock {stack_name}"))


@dataclass(frozen=True, slots=True)
class Explained:
    """A selection, with the evaluation of all candidates and the decision for each question."""

    selecting: Selecting
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
) -> Selecting:
    """Return the profiles for the services of a stack. A profile in the lock is used instead of a new selection.

    `stack_name` is the name of the stack without organization and project. Only the command `lock` passes `updated`:
    the names of the blocks whose profiles are selected again. If there are `earlier` problems, the cluster is not read.
    If a file of the catalogue cannot be read, raises `ConfigError` with that problem and the `earlier` problems.
    """
    if not isinstance(tree, dict) or not tree:
        return Selecting()
    merged = merge_stack(cast("dict[str, Any]", tree), files.sources)
    if not seats.may_ask(merged) and not _files(merged):
        return Selecting(Selected(merged=merged))
    try:
        catalogue, documents, problems = _catalogue(merged)
    except ConfigError as error:
        raise ConfigError([*earlier, *error.problems]) from None
    asked = seats.ask(merged, catalogue)
    if not asked.seats and not asked.problems and not problems:
        return Selecting(Selected(merged=merged), documents=documents)
    answers = _answers(lock, updated)
    is_open = any(True for _ in decisions.open_seats(asked, answers))
    facts = _nodes(merged, catalogue, target) if is_open and not earlier else NOTHING_READ
    decided = decisions.decide(asked, catalogue, answers, facts, "" if lock is None else lock.file)
    stale = () if updated is not None else tuple(_lock_problems(merged, decided, lock, answers, stack_name))
    selected = decided.selection()
    found = replace(selected, problems=(*problems, *selected.problems, *errors(stale)))
    return Selecting(found, decided, documents, tuple(warnings(stale)))


def explain(tree: object, files: Sources, lock: Lock | None, stack_name: str, target: Target) -> Explained:
    """Return the selection for a stack, with evaluations for all questions, including those that the lock answers."""
    chosen = select(tree, files, lock, stack_name, target)
    if chosen.decided is None:
        return Explained(chosen, {}, {})
    merged = merge_stack(cast("dict[str, Any]", tree), files.sources)
    facts = _nodes(merged, chosen.decided.catalogue, target)
    return Explained(chosen, decisions.tables(chosen.decided, facts), chosen.decided.decisions)


def _answers(lock: Lock | None, updated: Sequence[str] | None) -> Mapping[Path, LockedProfile]:
    """Return the profiles in a lock, without the profiles of `updated` blocks."""
    if lock is None:
        return {}
    return {path: locked for path, locked in lock.profiles.items() if path[1] not in (updated or ())}


def _lock_problems(
    merged: Layer, decided: Decided, lock: Lock | None, answers: Mapping[Path, LockedProfile], stack_name: str
) -> Iterator[Problem]:
    """Yield the problems of questions that the lock does not answer, with the severity that `checks.lock` sets."""
    mode = _mapping(merged.tree.get("checks")).get("lock", "warn")
    if lock is None or mode == "skip":
        return
    command = f"python -m cli lock {stack_name}"
    for problem in decisions.lock_problems(decided, answers, lock.file or file_name(stack_name), command):
        yield problem if mode == "strict" else warning(problem.path, problem.what, problem.remedy)


def _catalogue(merged: Layer) -> tuple[Catalogue, tuple[Document, ...], tuple[Problem, ...]]:
    """Return the catalogue of a stack, the files that it names, and the problems of their profiles."""
    spec, names = _mapping(merged.tree.get("catalogue")), _files(merged)
    documents = catalogue_files.read(names, File()) if names else ()
    tables = () if spec.get("shipped") is False else shipped.files()
    declared = [
        *_of_stack(merged, spec),
        *(each for document in documents for each in _of_file(Scope.FILE, document.file, document.tree)),
        *(each for document in tables for each in _of_file(Scope.SHIPPED, document.file, document.tree)),
    ]
    problems = (problem for document in documents for problem in _file_problems(document))
    return Catalogue(declared, accelerators.classes(_classes(merged))), documents, (*problems, *_duplicates(declared))


def _files(merged: Layer) -> list[str]:
    """Return the names of the files of a stack's catalogue."""
    names = _mapping(merged.tree.get("catalogue")).get("files")
    return [name for name in cast("list[object]", names) if isinstance(name, str)] if isinstance(names, list) else []


def _of_stack(merged: Layer, spec: Mapping[str, Any]) -> Iterator[Declared]:
    for name in _mapping(spec.get("profiles")):
        yield Declared(name, Scope.STACK, merged.child("catalogue").child("profiles").child(name))


def _of_file(scope: Scope, file: str, tree: object) -> Iterator[Declared]:
    for name, profile in _mapping(_mapping(tree).get("profiles")).items():
        yield Declared(str(name), scope, Layer(profile, Origin(Path("profiles", str(name)), file=file)))


def _file_problems(document: Document) -> Iterator[Problem]:
    """Yield the problems of the profiles of a file, and of credentials in it, also in profiles that nobody selects."""
    for problem in cleartext.problems(_mapping(document.tree)):
        yield replace(problem, file=document.file)
    try:
        CatalogueFile.model_validate(document.tree)
    except ValidationError as error:
        yield from validation_problems(document.tree, error, Path("catalogue"), document.file)


def _duplicates(declared: Sequence[Declared]) -> Iterator[Problem]:
    """Yield a problem for each profile id that is in two files of `catalogue.files`."""
    holders = dict[tuple[Scope, str], str]()
    for each in declared:
        file = each.layer.origin.file
        holder = holders.setdefault((each.scope, each.id), file)
        if holder != file and each.scope is Scope.FILE:
            yield Problem(each.layer.origin.at, f"is in {holder}, too", "choose another id", file=file)


def _classes(merged: Layer) -> dict[str, UserClass]:
    """Return the valid accelerator classes of a stack. The validation of the stack reports the invalid ones."""
    found = dict[str, UserClass]()
    for name, spec in _mapping(merged.tree.get("accelerators")).items():
        try:
            found[name] = UserClass.model_validate(spec)
        except ValidationError:
            continue
    return found


def _nodes(merged: Layer, catalogue: Catalogue, target: Target) -> ClusterFacts:
    """Read the nodes of the cluster; nothing if the key `cluster` is invalid, which the stack's validation reports."""
    try:
        spec = Cluster.model_validate(merged.tree.get("cluster", {}))
    except ValidationError:
        return NOTHING_READ
    has_claims = any(isinstance(each.allocation, ResourceClaim) for each in catalogue.classes.values())
    return target.facts(spec, Needs(nodes=True, slices=has_claims))


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
