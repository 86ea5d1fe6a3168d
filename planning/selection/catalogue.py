"""The catalogue of a stack: profiles of all scopes, by model. Only profiles of requested models are validated."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from models import image_references
from models.image_references import ImageReference, ImageReferenceError
from models.layers import Layer
from models.profile import Profile
from models.role import Parallelism
from models.source import place, scheme
from planning.hardware import devices
from planning.hardware.accelerators import AcceleratorClass
from planning.selection.records import SCOPES, Candidate, Scope


@dataclass(frozen=True, slots=True)
class Declared:
    """A profile as a file has it, before its validation."""

    id: str
    scope: Scope
    layer: Layer
    """Values of the profile, with their places in the file."""

    @property
    def model(self) -> str | None:
        """Return the name of the profile's model; None if the file has no valid name."""
        found = _mapping(self.layer.tree).get("model")
        return found if isinstance(found, str) else None

    @property
    def service(self) -> Mapping[str, Any]:
        """Return the keys that a service gets from the profile."""
        return _mapping(_mapping(self.layer.tree).get("service"))


class Catalogue:
    """The profiles of a stack. If several profiles have the same id, only the profile of the nearest scope counts."""

    def __init__(self, declared: Iterable[Declared], classes: Mapping[str, AcceleratorClass]) -> None:
        nearest = dict[str, Declared]()
        replaced = dict[str, list[str]]()
        for each in sorted(declared, key=lambda found: SCOPES.index(found.scope)):
            if nearest.setdefault(each.id, each) is not each:
                replaced.setdefault(each.id, []).append(each.layer.origin.file or str(each.scope))
        self.declared: Mapping[str, Declared] = nearest
        self._replaced = replaced
        self.classes = classes
        self._ids = dict[str, list[str]]()
        for each in nearest.values():
            if each.model is not None:
                self._ids.setdefault(each.model, []).append(each.id)
        self._candidates = dict[str, tuple[Candidate, ...]]()
        self.mistaken = set[str]()
        """Models with an invalid profile, among the models whose candidates were requested.

        If such a model gets no profile, no problem says so, because the invalid profile has a problem of its own.
        """

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of all models, sorted."""
        return tuple(sorted(self._ids))

    def has(self, model: str) -> bool:
        """Tell whether a model has a profile."""
        return model in self._ids

    def of_image(self, image: ImageReference) -> tuple[str, ...]:
        """Return the sorted names of the models that have a profile with this image."""
        return tuple(sorted({str(each.model) for each in self.declared.values() if image in _images(each.service)}))

    def candidates(self, model: str) -> tuple[Candidate, ...]:
        """Return the profiles of a model. Invalid profiles are left out."""
        if model not in self._candidates:
            found = [self._candidate(self.declared[name]) for name in self._ids.get(model, ())]
            if None in found:
                self.mistaken.add(model)
            self._candidates[model] = tuple(each for each in found if each is not None)
        return self._candidates[model]

    def _candidate(self, declared: Declared) -> Candidate | None:
        try:
            profile = Profile.model_validate(declared.layer.tree)
        except ValidationError:
            if declared.scope is Scope.SHIPPED:
                raise
            return None
        accelerator = self.classes.get(profile.service.accelerator)
        parallelism = _parallelism(profile)
        layout = None if accelerator is None else devices.layout(parallelism, None, accelerator)
        return Candidate(
            id=declared.id,
            scope=declared.scope,
            file=declared.layer.origin.file,
            profile=profile,
            service=_complete_keys(declared.service, profile, parallelism),
            accelerator=accelerator,
            chips_per_pod=0 if layout is None else layout.chips_per_pod,
            pods_per_replica=1 if layout is None else layout.pods_per_replica,
            replaces=tuple(self._replaced.get(declared.id, ())),
        )

    def layer(self, candidate: Candidate) -> Layer:
        """Return the keys that a service gets from a profile, as a layer."""
        return Layer(candidate.service, self.declared[candidate.id].layer.origin.child("service"))


def _parallelism(profile: Profile) -> Parallelism:
    """Return the parallelism of a profile. If the profile does not set `tensor`, the number of devices decides it."""
    layout = profile.service.parallelism
    count = profile.device_count
    if layout.tensor is not None or not count:
        return layout
    return layout.model_copy(update={"tensor": count // (layout.pipeline * layout.data)})


def _complete_keys(service: Mapping[str, Any], profile: Profile, parallelism: Parallelism) -> dict[str, Any]:
    """Return the keys that a service gets from a profile, with the name of the model and the computed `tensor`."""
    found = {**service, "model": {"name": profile.model, **_mapping(service.get("model"))}}
    if parallelism.tensor is not None and parallelism.tensor > 1:
        found["parallelism"] = {**_mapping(service.get("parallelism")), "tensor": parallelism.tensor}
    return found


def _images(service: Mapping[str, Any]) -> frozenset[ImageReference]:
    """Return the images that a profile names: the image of the engine, and an image that holds the weights."""
    source = _mapping(service.get("model")).get("source")
    texts = [_mapping(service.get("engine")).get("image")]
    texts += [place(source)] if isinstance(source, str) and scheme(source) == "image" else []
    found = set[ImageReference]()
    for text in texts:
        try:
            found |= {image_references.parse(text)} if isinstance(text, str) else set()
        except ImageReferenceError:
            continue
    return frozenset(found)


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
