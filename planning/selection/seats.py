"""Questions for profiles: which services, canaries and prefills of a stack need a profile, and what they require."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models import image_references
from models.image_references import ImageReferenceError
from models.layers import Layer
from models.outline import (
    Outline,
    PartialCache,
    PartialModel,
    PartialRole,
    PartialStack,
    PartialStorage,
    PartialVariant,
)
from models.paths import Path
from models.problems import Problem, echo
from models.selection import Question, Selection
from models.source import place, scheme, served_name
from planning.selection.catalogue import ProfileTable

_EXAMPLE = ", such as hf://Qwen/Qwen3-0.6B"
_MOST_NAMES = 2
"""Maximum number of similar names that a message lists."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A service, a canary or a prefill for which a profile is selected."""

    path: Path
    question: Question
    node_selector: Mapping[str, str]
    """Node labels that the service, canary or prefill requires (`pod.nodeSelector`)."""
    parent: Path | None
    """Path of the service or canary whose profile this seat shares if both questions are equal.

    None if the seat can share no profile.
    """

    def has_question_of(self, other: "Seat") -> bool:
        """Tell whether a profile for this seat is a profile for another seat, too."""
        return (self.question, self.node_selector) == (other.question, other.node_selector)


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of a stack."""

    seats: Mapping[Path, Seat]
    """Seats by path. Each service comes before its prefill and its canary."""
    problems: tuple[Problem, ...]
    failed: tuple[Path, ...]
    """Paths of services, canaries and prefills that have no question because of a mistake."""
    without: tuple[Path, ...]
    """Paths of canaries that get no profile, although their service gets a profile."""

    def other_seat(self, seat: Seat) -> Seat | None:
        """Return the seat of the parent of `seat`, if both have the same question; else None."""
        if seat.parent is None or seat.parent not in self.seats:
            return None
        parent = self.seats[seat.parent]
        return parent if parent.has_question_of(seat) else None


def questions(merged: Layer, outline: Outline, catalogue: ProfileTable) -> Questions:
    """Return the questions of a stack.

    `merged` is the tree of the stack before profiles are merged into it, and `outline` is the outline of this tree.
    """
    collector = _Collector(merged, outline, catalogue)
    for key, service in outline.stack.services.items():
        at = Path("services", key)
        collector.add_variant(at, service, None)
        if service.canary is not None:
            collector.add_variant(at / "canary", service.canary, at)
    return collector.questions


def may_need_profiles(stack: PartialStack) -> bool:
    """Tell whether any service of a stack may need a profile. If not, no catalogue is read."""
    variants = (variant for service in stack.services.values() for variant in (service, service.canary))
    return any(_may_need_profile(variant) for variant in variants if variant is not None)


def _may_need_profile(variant: PartialVariant) -> bool:
    if not variant.runs_pods:
        return False
    model = variant.model or PartialModel.default()
    has_source = model.source is not None or variant.storage.is_shared
    is_named = model.name is not None or scheme(str(model.source)) != "image"
    roles = (variant, variant.prefill or variant)
    return not has_source or not is_named or any(map(_may_select, roles))


def _may_select(role: PartialRole) -> bool:
    """Tell whether a role has wishes for a profile, or no accelerator."""
    return role.selection is not None or role.accelerator is None


class _Collector:
    """Collects the questions of a stack."""

    def __init__(self, merged: Layer, outline: Outline, catalogue: ProfileTable) -> None:
        self._merged = merged
        self._outline = outline
        self._catalogue = catalogue
        self._seats = dict[Path, Seat]()
        self._problems = list[Problem]()
        self._failed = list[Path]()
        self._without = list[Path]()

    @property
    def questions(self) -> Questions:
        """Return the collected questions."""
        return Questions(self._seats, tuple(self._problems), tuple(self._failed), tuple(self._without))

    def add_variant(self, at: Path, variant: PartialVariant, parent: Path | None) -> None:
        """Add the questions of a service or canary, and of its prefill.

        For a canary, `parent` is the path of its service. For a service, `parent` is None.
        """
        inherits = parent in self._seats
        if variant.model is None or not variant.runs_pods or self._has_merge_problem(at):
            return
        is_explicit = self._is_explicit(at, variant)
        try:
            named = self._model(at, variant.model, variant, is_explicit=is_explicit, is_requested=inherits)
        except _MistakeError as mistake:
            self._fail(at, variant, parent, mistake.problem)
            return
        if named is not None:
            self._add(at, variant, named, parent)
        elif inherits:
            self._without.append(at)
        prefill = variant.prefill
        if prefill is None:
            return
        if named is not None:
            self._add(at / "prefill", prefill, named, at)
        elif self._is_explicit(at / "prefill", prefill):
            self._add_prefill(at, variant.model, variant, prefill)

    def _fail(self, at: Path, variant: PartialVariant, parent: Path | None, problem: Problem) -> None:
        """Note the problem of a variant, unless its service has it already, and that its roles have no question."""
        if parent is None or parent not in self._failed:
            self._problems.append(problem)
        self._failed.append(at)
        if variant.prefill is not None:
            self._failed.append(at / "prefill")

    def _add_prefill(self, at: Path, model: PartialModel, variant: PartialVariant, prefill: PartialRole) -> None:
        """Add the question of a prefill whose service needs no profile itself."""
        is_explicit = self._is_of_service(at / "selection")
        try:
            named = self._model(at, model, variant, is_explicit=is_explicit, is_requested=True)
        except _MistakeError as mistake:
            self._problems.append(mistake.problem)
            return
        if named is not None:
            self._add(at / "prefill", prefill, named, None)

    def _add(self, at: Path, role: PartialRole, named: "_Named", parent: Path | None) -> None:
        if self._outline.is_mistaken(at / "selection"):
            # The validation of the stack reports the mistake.
            self._failed.append(at)
            return
        selection = role.selection or Selection.default()
        if selection.accelerators and role.accelerator is not None:
            what = f"cannot be used with accelerator{echo(at, role.accelerator)}, which allows one class"
            at_list = at / "selection" / "accelerators"
            self._problems.append(Problem(at_list, what, "remove one of them", depends_on=(at / "accelerator",)))
        if unknown := list(self._unknown_classes(at, selection)):
            self._problems += unknown
            self._failed.append(at)
            return
        question = Question.default(
            **selection.__dict__, model=named.model, image=named.image, accelerator=role.accelerator
        )
        self._seats[at] = Seat(at, question, role.pod.node_selector, parent)

    def _has_merge_problem(self, at: Path) -> bool:
        """Tell whether the merge has reported a mistake in keys that a question depends on."""
        keys = ("model", "accelerator", "selection")
        return any(problem.path.is_within(at / key) for problem in self._merged.problems for key in keys)

    def _is_explicit(self, at: Path, role: PartialRole) -> bool:
        """Tell whether a service, canary or prefill has `selection`, and does not inherit it from `defaults`."""
        path = at / "selection"
        is_set = role.selection is not None or self._outline.is_mistaken(path)
        return is_set and self._is_of_service(path)

    def _is_of_service(self, path: Path) -> bool:
        """Tell whether a value would be written in a service, and not in `defaults`."""
        return self._merged.locate(path, absent=False).path[:1] == ("services",)

    def _unknown_classes(self, at: Path, selection: Selection) -> Iterator[Problem]:
        known = self._catalogue.classes
        for index, name in enumerate(selection.accelerators):
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                remedy = f"use {near[0]}" if near else "write classes such as nvidia-l40s"
                path = at / "selection" / "accelerators" / index
                yield Problem(path, f"unknown class{echo(path, name)}", remedy)

    def _model(
        self, at: Path, model: PartialModel, variant: PartialVariant, *, is_explicit: bool, is_requested: bool
    ) -> "_Named | None":
        """Return the model of a variant that needs a profile; None if the variant needs none.

        If `is_requested` is true, a variant whose model is in the catalogue needs a profile even if it sets source and
        accelerator. Raises `_MistakeError` if a profile is needed, but the variant names no model, or a model that the
        catalogue lacks.
        """
        if self._has_mistaken_source(at, model, variant.storage):
            return None
        source = model.source
        if source is None:
            source = self._source_of_cache(variant.storage)
        if source is not None and scheme(source) == "image":
            return _of_image(at, source, model.name, self._catalogue, is_explicit=is_explicit)
        named = model.name if source is None else served_name(model.name, source)
        if named is None and source is not None:
            return None
        if named is None:
            what = "has neither name nor source"
            remedy = "set name to a model of the catalogue, or set source"
            examples = "(name: Qwen/Qwen3-0.6B, or source: hf://Qwen/Qwen3-0.6B)"
            raise _MistakeError(Problem(at / "model", what, f"{remedy} {examples}"))
        if self._catalogue.has(named):
            lacks_keys = source is None or not self._has_accelerator(at, variant)
            return _Named(named) if lacks_keys or is_requested or is_explicit else None
        if source is None or is_explicit:
            raise _MistakeError(_unknown_model(at, named, source, self._catalogue))
        return None

    def _has_accelerator(self, at: Path, variant: PartialVariant) -> bool:
        return variant.accelerator is not None or self._outline.is_mistaken(at / "accelerator")

    def _has_mistaken_source(self, at: Path, model: PartialModel, storage: PartialStorage) -> bool:
        """Tell whether the name or the source of a model is invalid. The source may be that of a shared cache."""
        paths = [at / "model" / "name", at / "model" / "source"]
        if model.source is None and storage.is_shared:
            paths.append(Path("caches", str(storage.cache), "source"))
        return any(map(self._outline.is_mistaken, paths))

    def _source_of_cache(self, storage: PartialStorage) -> str | None:
        """Return the source of the shared cache that a variant uses; None if the variant uses no such cache."""
        if not storage.is_shared:
            return None
        return self._outline.stack.caches.get(str(storage.cache), PartialCache.default()).source


@dataclass(frozen=True, slots=True)
class _Named:
    """A model of the catalogue, and the image by which a service names it."""

    model: str
    image: str | None = None


class _MistakeError(Exception):
    """A model that cannot be found."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _of_image(at: Path, source: str, name: str | None, catalogue: ProfileTable, *, is_explicit: bool) -> _Named | None:
    """Return the model that a service names by its image; None if the service needs no profile."""
    path = at / "model" / "source"
    text = place(source)
    try:
        image = image_references.parse(text)
    except ImageReferenceError as error:
        remedy = "write image://registry/repository with a tag or digest, such as image://ghcr.io/org/model-server:v1"
        raise _MistakeError(Problem(path, f"names no image ({error})", remedy)) from None
    models = catalogue.of_image(image)
    if name is not None and is_explicit and not catalogue.has(name):
        raise _MistakeError(_unknown_model(at, name, source, catalogue))
    if name is not None:
        return _Named(name, text) if is_explicit else None
    if len(models) > 1:
        what = f"is the image of several models of the catalogue ({', '.join(models)})"
        raise _MistakeError(Problem(path, what, "set model.name to one of these models"))
    if not models and is_explicit:
        what = f"is the image of no model of the catalogue{echo(path, text)}"
        raise _MistakeError(Problem(path, what, "remove selection, or add a profile with this image"))
    return _Named(models[0], text) if models else None


def _unknown_model(at: Path, name: str, source: str | None, catalogue: ProfileTable) -> Problem:
    near = difflib.get_close_matches(name, catalogue.models, n=_MOST_NAMES)
    nearest = f"use {' or '.join(near)}, or " if near else ""
    path = at / "model" / "name"
    what = f"is not in the catalogue{echo(path, name)}"
    shown = echo(path, name)
    if source is not None:
        return Problem(path, what, f"{nearest}remove selection")
    example = _EXAMPLE
    if name.count("/") == 1 and shown:
        example = f": hf://{name}"
    return Problem(path, what, f"{nearest}add model.source{example}")
