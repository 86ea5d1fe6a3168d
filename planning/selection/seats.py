"""Questions for profiles: which services, canaries and prefills of a stack need a profile, and what they require."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from models import image_references
from models.image_references import ImageReferenceError
from models.layers import Layer
from models.paths import Path
from models.problems import Problem, echo
from models.selection import Question, Selection
from models.source import place, scheme, served_name
from planning.selection.catalogue import Catalogue

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


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a stack."""

    seats: tuple[Seat, ...]
    """Each service comes before its prefill and its canary."""
    problems: tuple[Problem, ...]
    failed: tuple[Path, ...]
    """Paths of services, canaries and prefills that have no question because of a mistake."""
    without: tuple[Path, ...]
    """Paths of canaries that get no profile, although their service gets a profile."""


def ask(merged: Layer, catalogue: Catalogue) -> Asked:
    """Return the questions of a stack. `merged` is the tree of the stack before profiles are merged into it."""
    asker = _Asker(merged, catalogue)
    for key, service in _mapping(merged.tree.get("services")).items():
        at, tree = Path("services", key), _mapping(service)
        asker.ask_variant(at, tree, None)
        if "canary" in tree:
            asker.ask_variant(at / "canary", _mapping(tree["canary"]), at)
    return Asked(tuple(asker.seats), tuple(asker.problems), tuple(asker.failed), tuple(asker.without))


def may_ask(merged: Layer) -> bool:
    """Tell whether any service of a merged stack may need a profile. If not, no catalogue is read."""
    services = map(_mapping, _mapping(merged.tree.get("services")).values())
    return any(_may_ask(variant) for service in services for variant in (service, _mapping(service.get("canary"))))


def _may_ask(tree: Mapping[str, Any]) -> bool:
    if not tree:
        return False
    model = _mapping(tree.get("model"))
    is_named = model.get("name") is not None or not str(model.get("source", "")).startswith("image://")
    has_source = "source" in model or _mapping(tree.get("storage")).get("type") == "shared"
    roles = (tree, _mapping(tree.get("prefill")) or tree)
    return not has_source or not is_named or any("selection" in role or "accelerator" not in role for role in roles)


class _Asker:
    """Collects the questions of a stack."""

    def __init__(self, merged: Layer, catalogue: Catalogue) -> None:
        self._merged, self._catalogue = merged, catalogue
        self.seats, self.problems = list[Seat](), list[Problem]()
        self.failed, self.without = list[Path](), list[Path]()

    def ask_variant(self, at: Path, tree: Mapping[str, Any], parent: Path | None) -> None:
        """Add the questions of a service or canary, and of its prefill.

        For a canary, `parent` is the path of its service. For a service, `parent` is None.
        """
        inherits = parent is not None and any(seat.path == parent for seat in self.seats)
        if not isinstance(tree.get("model"), dict) or self._is_mistaken(at):
            return
        try:
            named = _model(at, tree, self._merged, self._catalogue, is_asked=inherits)
        except _MistakeError as mistake:
            self.problems += [mistake.problem] if parent is None or parent not in self.failed else []
            self.failed += [at, *([at / "prefill"] if "prefill" in tree else [])]
            return
        prefill, has_prefill = _mapping(tree.get("prefill")), isinstance(tree.get("prefill"), dict)
        if named is not None:
            self._add(at, tree, named, parent)
        elif inherits:
            self.without.append(at)
        if has_prefill and named is not None:
            self._add(at / "prefill", prefill, named, at)
        elif _is_explicit(at / "prefill", prefill, self._merged):
            self._ask_prefill(at, tree, prefill)

    def _is_mistaken(self, at: Path) -> bool:
        """Tell whether the merge has reported a mistake in keys that a question depends on."""
        keys = ("model", "accelerator", "selection")
        return any(problem.path.is_within(at / key) for problem in self._merged.problems for key in keys)

    def _ask_prefill(self, at: Path, tree: Mapping[str, Any], prefill: Mapping[str, Any]) -> None:
        """Add the question of a prefill whose service needs no profile itself."""
        whole = {**tree, "selection": prefill["selection"]}
        try:
            named = _model(at, whole, self._merged, self._catalogue, is_asked=True)
        except _MistakeError as mistake:
            self.problems.append(mistake.problem)
            return
        if named is not None:
            self._add(at / "prefill", prefill, named, None)

    def _add(self, at: Path, tree: Mapping[str, Any], named: "_Named", parent: Path | None) -> None:
        accelerator, raw_wishes = tree.get("accelerator"), tree.get("selection", {})
        try:
            wished = Selection.model_validate(raw_wishes)
        except ValidationError:
            # The validation of the stack reports the mistake.
            self.failed.append(at)
            return
        if wished.accelerators and accelerator is not None:
            what = f"cannot be used with accelerator{echo(at, accelerator)}, which allows one class"
            at_list, at_class = at / "selection" / "accelerators", at / "accelerator"
            self.problems.append(Problem(at_list, what, "remove one of them", depends_on=(at_class,)))
        if unknown := list(self._unknown_classes(at, wished)):
            self.problems += unknown
            self.failed.append(at)
            return
        question = Question.default(
            **{**Selection().__dict__, **wished.__dict__},
            model=named.model,
            image=named.image,
            accelerator=accelerator if isinstance(accelerator, str) else None,
        )
        selector = _mapping(_mapping(tree.get("pod")).get("nodeSelector"))
        texts = {key: value for key, value in selector.items() if isinstance(value, str)}
        self.seats.append(Seat(at, question, texts, parent))

    def _unknown_classes(self, at: Path, wished: Selection) -> Iterator[Problem]:
        known = self._catalogue.classes
        for index, name in enumerate(wished.accelerators):
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                remedy = f"use {near[0]}" if near else "write classes such as nvidia-l40s"
                path = at / "selection" / "accelerators" / index
                yield Problem(path, f"unknown class{echo(path, name)}", remedy)


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


def _model(at: Path, tree: Mapping[str, Any], merged: Layer, catalogue: Catalogue, *, is_asked: bool) -> _Named | None:
    """Return the model of a variant that needs a profile; None if the variant needs none.

    If `is_asked` is true, a variant whose model is in the catalogue needs a profile even if it sets source and
    accelerator. Raises `_MistakeError` if a profile is needed, but the variant names no model, or a model that the
    catalogue lacks.
    """
    model, is_explicit = _mapping(tree.get("model")), _is_explicit(at, tree, merged)
    source, name = model.get("source", _source_of_cache(tree, merged)), model.get("name")
    if not isinstance(source, str | None) or not isinstance(name, str | None):
        return None
    if source is not None and scheme(source) == "image":
        return _of_image(at, source, name, catalogue, is_explicit=is_explicit)
    named = served_name(name, source) if source is not None else name
    if named is None:
        if source is not None:
            return None
        what, remedy = "has neither name nor source", "set name to a model of the catalogue, or set source"
        examples = "(name: Qwen/Qwen3-0.6B, or source: hf://Qwen/Qwen3-0.6B)"
        raise _MistakeError(Problem(at / "model", what, f"{remedy} {examples}"))
    if catalogue.has(named):
        needs_one = source is None or "accelerator" not in tree
        return _Named(named) if needs_one or is_asked or is_explicit else None
    if source is None or is_explicit:
        raise _MistakeError(_unknown_model(at, named, source, catalogue))
    return None


def _of_image(at: Path, source: str, name: str | None, catalogue: Catalogue, *, is_explicit: bool) -> _Named | None:
    """Return the model that a service names by its image; None if the service needs no profile."""
    path, text = at / "model" / "source", place(source)
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


def _unknown_model(at: Path, name: str, source: str | None, catalogue: Catalogue) -> Problem:
    near = difflib.get_close_matches(name, catalogue.models, n=_MOST_NAMES)
    nearest = f"use {' or '.join(near)}, or " if near else ""
    path = at / "model" / "name"
    what, shown = f"is not in the catalogue{echo(path, name)}", echo(path, name)
    if source is not None:
        return Problem(path, what, f"{nearest}remove selection")
    is_hub_name = name.count("/") == 1 and bool(shown)
    return Problem(path, what, f"{nearest}add model.source{f': hf://{name}' if is_hub_name else _EXAMPLE}")


def _is_explicit(at: Path, tree: Mapping[str, Any], merged: Layer) -> bool:
    """Tell whether a service, canary or prefill has `selection`, and does not inherit it from `defaults`."""
    return "selection" in tree and merged.locate(at / "selection", absent=False).path[:1] == ("services",)


def _source_of_cache(tree: Mapping[str, Any], merged: Layer) -> object:
    """Return the source of the shared cache that a variant uses; None if the variant uses no such cache."""
    storage = _mapping(tree.get("storage"))
    if storage.get("type") != "shared":
        return None
    return _mapping(_mapping(merged.tree.get("caches")).get(str(storage.get("cache")))).get("source")


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
