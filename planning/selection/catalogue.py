"""The catalogue of a stack: profiles of all scopes, by model. Only profiles of requested models are validated."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from models import image_references
from models.image_references import ImageReference, ImageReferenceError
from models.layers import Layer
from models.profile import Profile
from models.role import Parallelism
from models.source import place, scheme
from models.trees import at, mapping
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
        model = at(self.layer.tree, "model")
        if not isinstance(model, str):
            return None
        return model

    @property
    def service(self) -> Mapping[str, Any]:
        """Return the keys that a service gets from the profile."""
        return mapping(at(self.layer.tree, "service"))


class ProfileTable:
    """The profiles of a stack. If several profiles have the same id, only the profile of the nearest scope counts."""

    def __init__(self, declared: Iterable[Declared], classes: Mapping[str, AcceleratorClass]) -> None:
        nearest = dict[str, Declared]()
        replaced = dict[str, list[str]]()
        for profile in sorted(declared, key=lambda profile: SCOPES.index(profile.scope)):
            if nearest.setdefault(profile.id, profile) is not profile:
                replaced.setdefault(profile.id, []).append(profile.layer.origin.file or str(profile.scope))
        self.declared: Mapping[str, Declared] = nearest
        self._replaced = replaced
        self.classes = classes
        self._ids = dict[str, list[str]]()
        for profile in nearest.values():
            if profile.model is not None:
                self._ids.setdefault(profile.model, []).append(profile.id)
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
        profiles = self.declared.values()
        return tuple(sorted({str(profile.model) for profile in profiles if image in _images(profile.service)}))

    def candidates(self, model: str) -> tuple[Candidate, ...]:
        """Return the profiles of a model. Invalid profiles are left out."""
        if model not in self._candidates:
            candidates = [self._candidate(self.declared[name]) for name in self._ids.get(model, ())]
            if None in candidates:
                self.mistaken.add(model)
            self._candidates[model] = tuple(candidate for candidate in candidates if candidate is not None)
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
        chips_per_pod = 0
        pods_per_replica = 1
        if accelerator is not None:
            spread = devices.spread_of(parallelism, None, accelerator)
            layout = devices.layout(spread, parallelism, None, accelerator)
            chips_per_pod = layout.chips_per_pod
            pods_per_replica = layout.pods_per_replica
        return Candidate(
            id=declared.id,
            scope=declared.scope,
            file=declared.layer.origin.file,
            profile=profile,
            service=_complete_keys(declared.service, profile, parallelism),
            accelerator=accelerator,
            chips_per_pod=chips_per_pod,
            pods_per_replica=pods_per_replica,
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
    keys = {**service, "model": {"name": profile.model, **mapping(service.get("model"))}}
    if parallelism.tensor is not None and parallelism.tensor > 1:
        keys["parallelism"] = {**mapping(service.get("parallelism")), "tensor": parallelism.tensor}
    return keys


def _images(service: Mapping[str, Any]) -> frozenset[ImageReference]:
    """Return the images that a profile names: the image of the engine, and an image that holds the weights."""
    texts = [at(service, "engine", "image")]
    source = at(service, "model", "source")
    if isinstance(source, str) and scheme(source) == "image":
        texts.append(place(source))
    images = set[ImageReference]()
    for text in texts:
        with suppress(ImageReferenceError):
            if isinstance(text, str):
                images.add(image_references.parse(text))
    return frozenset(images)
