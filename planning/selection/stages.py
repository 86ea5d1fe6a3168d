"""The filters of a selection, called stages, in their order. Each stage drops candidates for one kind of reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from models import image_references
from models.image_references import ImageReference, ImageReferenceError
from models.selection import Question
from models.source import place, scheme
from models.vocabulary import amount
from planning.ground.cluster_facts import Unknown
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import gibibytes
from planning.hardware.nodes import ClassNode
from planning.selection import profile_memory
from planning.selection.fleet import Fleet
from planning.selection.preferences import preferences
from planning.selection.records import Candidate, Reason, StageVerdict


@dataclass(frozen=True)
class StageFacts:
    """All that a stage needs besides a candidate: the question, the accelerator classes and the nodes."""

    question: Question
    classes: Mapping[str, AcceleratorClass]
    fleet: Fleet
    node_selector: Mapping[str, str]
    """Node labels that the service, canary or prefill requires (`pod.nodeSelector`)."""

    @cached_property
    def image(self) -> ImageReference | None:
        """Return the image by which the question names the model; None if the question contains no image."""
        if self.question.image is None:
            return None
        return image_references.parse(self.question.image)

    def nodes(self, candidate: Candidate) -> tuple[ClassNode, ...] | None:
        """Return the nodes on which a candidate could run; None if nodes are unknown, or come on demand."""
        accelerator = candidate.accelerator
        if accelerator is None or accelerator.provisioned:
            return None
        selector = {**candidate.profile.service.pod.node_selector, **self.node_selector}
        nodes = self.fleet.nodes(candidate.class_name, accelerator, selector)
        return None if isinstance(nodes, Unknown) else nodes


class Stage(NamedTuple):
    """One filter: its name, and a function that returns why a candidate is dropped, or None if the candidate stays."""

    name: str
    judge: Callable[[Candidate, StageFacts], StageVerdict | None]


def images_of(candidate: Candidate) -> frozenset[ImageReference]:
    """Return the images by which a service may name the model of a candidate's profile."""
    service = candidate.profile.service
    source = service.model.source
    texts = [service.engine.image]
    if source is not None and scheme(source) == "image":
        texts.append(place(source))
    images = map(_parse, filter(None, texts))
    return frozenset(image for image in images if image is not None)


def covers(wide: AcceleratorClass, narrow: AcceleratorClass) -> bool:
    """Tell whether `wide` is a class for all products of the vendor of `narrow`, with the same kind of allocation."""
    return wide.product is None and (wide.vendor, wide.allocation) == (narrow.vendor, narrow.allocation)


def _parse(text: str) -> ImageReference | None:
    try:
        return image_references.parse(text)
    except ImageReferenceError:
        return None


def _name(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    named = situation.question.profile
    if named is None or candidate.id == named:
        return None
    return StageVerdict(Reason.NAME, f"selection.profile is {named}")


def _image(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    if situation.image is None or situation.image in images_of(candidate):
        return None
    return StageVerdict(Reason.IMAGE, f"its image is not {situation.question.image}")


def _type(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    question = situation.question
    places = preferences().types
    default = "optimized" if question.profile is None else "unoptimized"
    minimum = question.minimum_type or default
    maturity = candidate.profile.type
    if places[maturity] <= places[minimum]:
        return None
    return StageVerdict(Reason.TYPE, f"its type is {maturity}, below the minimum {minimum}")


def _metric(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    metric = candidate.profile.metric
    return _mismatch(Reason.METRIC, situation.question.metric, metric, metric or "no metric")


def _precision(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    requested = situation.question.precision
    if requested == "auto":
        return None
    precision = candidate.profile.precision
    return _mismatch(Reason.PRECISION, requested, precision, precision or "no precision")


def _device_count(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    count = candidate.profile.device_count
    return _mismatch(Reason.DEVICE_COUNT, situation.question.device_count, count, f"{count} devices")


def _mismatch(reason: Reason, requested: object, value: object, words: str) -> StageVerdict | None:
    """Return a verdict with `reason` if a value is requested and the candidate has another value, else None."""
    if requested is None or value == requested:
        return None
    return StageVerdict(reason, f"{words} instead of {requested}")


def _accelerator(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    question = situation.question
    accelerator = candidate.accelerator
    if accelerator is None:
        return StageVerdict(Reason.UNKNOWN_CLASS, f"no class is called {candidate.class_name}")
    if question.accelerator is not None:
        explicit = situation.classes.get(question.accelerator)
        if candidate.class_name == question.accelerator or (explicit is not None and covers(accelerator, explicit)):
            return None
        return StageVerdict(Reason.ACCELERATOR, f"{candidate.class_name} instead of accelerator {question.accelerator}")
    if not question.accelerators or preferred_place(candidate, situation) is not None:
        return None
    listed = ", ".join(question.accelerators)
    return StageVerdict(Reason.ACCELERATOR, f"{candidate.class_name} is not in selection.accelerators: {listed}")


def preferred_place(candidate: Candidate, situation: StageFacts) -> int | None:
    """Return the index in `selection.accelerators` of a candidate's class, or of a class that covers it; else None."""
    for index, name in enumerate(situation.question.accelerators):
        listed = situation.classes.get(name)
        if name == candidate.class_name:
            return index
        if listed is not None and candidate.accelerator is not None and covers(listed, candidate.accelerator):
            return index
    return None


def _device_memory(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    requested = situation.question.min_device_memory
    accelerator = candidate.accelerator
    if requested is None or accelerator is None:
        return None
    if accelerator.memory is None:
        return StageVerdict(Reason.DEVICE_MEMORY_UNKNOWN, f"the memory of {candidate.class_name} is unknown")
    if accelerator.memory >= amount(requested):
        return None
    return StageVerdict(Reason.DEVICE_MEMORY, f"a device has {gibibytes(accelerator.memory)}, less than {requested}")


def _fit(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:  # noqa: ARG001, as every stage
    """Return a verdict if the devices of a candidate are too small even for the shortest sequence, else None.

    The profile's `model.maxModelLen` is not checked, because a service may set a lower value.
    """
    fit = profile_memory.fit(candidate.profile, candidate.accelerator)
    if isinstance(fit, Unknown) or fit.longest:
        return None
    taken = f"weights take {gibibytes(fit.weights)}, overhead {gibibytes(fit.overhead)}"
    usable = f"the engine may use {gibibytes(fit.usable)} of a device of {candidate.class_name}"
    return StageVerdict(Reason.FIT, f"{taken}; {usable}")


def _cluster(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    nodes = situation.nodes(candidate)
    if nodes is None or nodes:
        return None
    return StageVerdict(Reason.ABSENT, f"no node has the labels and devices of {candidate.class_name}")


def _nodes(candidate: Candidate, situation: StageFacts) -> StageVerdict | None:
    nodes = situation.nodes(candidate)
    chips = candidate.chips_per_pod
    pods = candidate.pods_per_replica
    if nodes is None or not chips:
        return None
    room = sum(node.allocatable // chips for node in nodes)
    if room >= pods:
        return None
    if room:
        return StageVerdict(
            Reason.NODES, f"a replica needs {pods} pods of {chips} devices, but nodes have room for {room}"
        )
    largest = max((node.allocatable for node in nodes), default=0)
    replica = f"{chips} devices in a pod" if pods == 1 else f"{pods} pods of {chips} devices"
    return StageVerdict(Reason.NODES, f"a replica needs {replica}, but the largest node has {largest}")


STAGES = (
    Stage("profile", _name),
    Stage("image", _image),
    Stage("type", _type),
    Stage("metric", _metric),
    Stage("precision", _precision),
    Stage("deviceCount", _device_count),
    Stage("accelerator", _accelerator),
    Stage("deviceMemory", _device_memory),
    Stage("fit", _fit),
    Stage("cluster", _cluster),
    Stage("nodes", _nodes),
)
"""Filters in their order. After these stages, `SCOPE` and `COMPARISON` follow."""
SCOPE = "scope"
COMPARISON = "comparison"
"""Names of the stages after the filters. These stages choose among the remaining candidates."""
