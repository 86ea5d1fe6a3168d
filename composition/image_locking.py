"""Digests of images in a lock: asked for by `python -m cli lock --images`, checked, and written into rendered pods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from facts import source_sizes
from manifests import image_pins
from manifests.assembly import Component, objects
from manifests.objects import Rendered
from models import source
from models.image_references import ImageReferenceError, parse
from models.lock import Lock, file_name
from models.paths import Path
from models.pins import ImagePin
from models.problems import Mode, Problem, warning
from models.stack import Stack
from planning.ground.cluster_facts import Unknown
from planning.weights import locks
from planning.weights.contents import Answered, Content
from planning.weights.sizes import Unusable, Wanted

_KEY = "images"
_HOLDERS = frozenset({"image", "oci"})
"""Schemes of sources that are images with weights."""
_MOST_NAMES = 6
"""Maximum number of images that a message lists."""


@dataclass(frozen=True, slots=True)
class ImageLock:
    """Pins of images for a new lock."""

    pins: Mapping[str, ImagePin]
    """Pins by reference."""
    problems: tuple[Problem, ...] = ()
    """Problems of images whose registry does not say a digest. They keep the pins that they had."""
    warnings: tuple[Problem, ...] = ()


class _WantedDigest(Wanted):
    """A question for the digest of an image."""

    __slots__ = ()

    def unknown(self, reason: str) -> Unknown:
        """Return the answer of a failed read."""
        return Unknown(f"gets no digest: {reason}")


def references(rendered: Iterable[Rendered], stack: Stack) -> dict[str, bool]:
    """Return the images that a lock can pin, each with whether its pods have credentials for registries.

    Images that hold weights are sources, which have pins of their own.
    """
    lockables = locks.lockables(stack)
    sources = {source.place(lockable.source) for lockable in lockables if source.scheme(lockable.source) in _HOLDERS}
    return image_pins.references(rendered, sources)


def keep(images: Mapping[str, bool], before: Mapping[str, ImagePin], command: str) -> ImageLock:
    """Return the earlier pins of images that pods still have. `command` writes the lock."""
    if not before:
        return ImageLock({})
    present = {reference: before[reference] for reference in images if reference in before}
    warnings = (*_loss_warnings(before.keys() - images.keys()), *_gap_warnings(images.keys() - present, command))
    return ImageLock(present, warnings=warnings)


def ask(images: Mapping[str, bool], before: Mapping[str, ImagePin], time: str) -> ImageLock:
    """Return the pins of images with the digests that their registries say at `time`."""
    pins = {reference: before[reference] for reference in images if reference in before}
    answers = _ask(images)
    for reference, content in answers.items():
        if isinstance(content, Content):
            pins[reference] = _pin(reference, before.get(reference), content, time)
    changed = [reference for reference, pin in pins.items() if before.get(reference) != pin]
    warnings = (*_loss_warnings(before.keys() - images.keys()), *_restart_warnings(changed))
    return ImageLock(pins, tuple(_failures(answers)), warnings)


def apply(
    components: tuple[Component, ...], stack: Stack, lock: Lock | None, stack_name: str
) -> tuple[tuple[Component, ...], tuple[Problem, ...]]:
    """Return the components with the digests of a lock, and problems of images that the lock lacks.

    Without images in the lock nothing changes. `checks.lock` sets the severity of the problems.
    """
    if lock is None or not lock.images:
        return components, ()
    problems = _missing(components, stack, lock, stack_name)
    return image_pins.pin(components, {reference: pin.digest for reference, pin in lock.images.items()}), problems


def differences(rendered: Iterable[Rendered], stack: Stack, lock: Lock, command: str) -> Iterator[Problem]:
    """Ask the registries of all pinned images, and yield the differences from a lock. `command` writes the lock."""
    images = references(rendered, stack)
    for reference in sorted(images.keys() - lock.images.keys()):
        yield Problem(Path(_KEY, reference), f"has no block in {lock.file}", f"run `{command} --images`")
    for reference in sorted(lock.images.keys() - images.keys()):
        yield Problem(Path(_KEY, reference), f"is in {lock.file}, and no pod has it", f"run `{command}`")
    answers = _ask({reference: images[reference] for reference in images if reference in lock.images})
    for reference, content in answers.items():
        pin = lock.images[reference]
        if isinstance(content, Content) and _digest(content) != pin.digest:
            what = f"has moved since {pin.asked} ({pin.digest} to {_digest(content)})"
            yield Problem(Path(_KEY, reference), what, f"run `{command} --images`, which rolls out the new content")
    yield from _failures(answers)


def _missing(components: Iterable[Component], stack: Stack, lock: Lock, stack_name: str) -> tuple[Problem, ...]:
    mode = stack.checks.lock
    if mode == "skip":
        return ()
    command = f"python -m cli lock {stack_name} --images"
    images = references(objects(components), stack)
    others = {_repository(reference): reference for reference in lock.images}
    return tuple(
        _problem(reference, others.get(_repository(reference)), lock.file or file_name(stack_name), command, mode)
        for reference in images
        if reference not in lock.images
    )


def _problem(reference: str, other: str | None, file: str, command: str, mode: Mode) -> Problem:
    """Return the problem of an image without a pin. `other` is an image of the same repository that has one."""
    what = f"has no digest in {file}"
    if other is not None:
        what = f"differs from {file}, which has {other}"
    severity = "error" if mode == "strict" else "warning"
    return Problem(Path(_KEY, reference), what, f"run `{command}`", severity=severity)


def _repository(reference: str) -> str:
    """Return registry and repository of an image; the reference itself if it is none."""
    try:
        image = parse(reference)
    except ImageReferenceError:
        return reference
    return f"{image.registry}/{image.repository}"


def _ask(images: Mapping[str, bool]) -> dict[str, Answered]:
    questions = {
        reference: _WantedDigest(_with_tag(f"image://{reference}"), private=private)
        for reference, private in images.items()
    }
    answers = source_sizes.contents(questions.values())
    return {reference: answers[question] for reference, question in questions.items()}


def _with_tag(image: str) -> str:
    """Return the source of an image with a tag: without one, a container has the tag `latest`."""
    has_tag = ":" in image.rpartition("/")[2]
    if has_tag:
        return image
    return f"{image}:latest"


def _pin(reference: str, earlier: ImagePin | None, content: Content, time: str) -> ImagePin:
    digest = _digest(content)
    if earlier is not None and earlier.digest == digest:
        return earlier
    return ImagePin.default(was=reference, digest=digest, asked=time, origin=content.origin, moved=earlier is not None)


def _digest(content: Content) -> str:
    return content.source.partition("@")[2]


def _failures(answers: Mapping[str, Answered]) -> Iterator[Problem]:
    for reference, answer in answers.items():
        if isinstance(answer, Unusable):
            yield Problem(Path(_KEY, reference), answer.what, answer.remedy)
        elif isinstance(answer, Unknown):
            yield Problem(Path(_KEY, reference), answer.reason)


def _loss_warnings(references: Iterable[str]) -> Iterator[Problem]:
    names = sorted(references)
    if names:
        yield warning(Path(_KEY), f"lose the digests of images that no pod has any more ({_enumeration(names)})")


def _gap_warnings(references: Iterable[str], command: str) -> Iterator[Problem]:
    names = sorted(references)
    if names:
        what = f"get no digest for images that are new ({_enumeration(names)})"
        yield warning(Path(_KEY), what, f"run `{command} --images`")


def _restart_warnings(references: Iterable[str]) -> Iterator[Problem]:
    names = sorted(references)
    if names:
        what = f"get new digests, so that the next run restarts the pods with {_enumeration(names)}"
        yield warning(Path(_KEY), what)


def _enumeration(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
