"""Rehearsal of an upgrade: what becomes of each service if a stack gets another release channel or engine."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from judging.report import cache_format, edits, growth, running, words
from judging.report.cache_format import CacheFate
from judging.report.growth import NOTHING, Change, Range
from judging.report.running import WORKLOADS, RunningPods
from manifests.objects import Rendered
from models.problems import Problem
from models.stack import Stack
from planning.ground.cluster_facts import Place
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.releases import engine_versions


@dataclass(frozen=True, slots=True)
class Composed:
    """A stack as it was composed: plan and objects."""

    stack: Stack
    plan: StackPlan
    objects: tuple[Rendered, ...]


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """A workload whose pods end or begin with the upgrade."""

    kind: str
    name: str
    text: str
    """What happens to its pods."""
    edits: tuple[str, ...]
    """Differences between its old and its new pods."""


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """The upgrade of a service."""

    service: str
    channel: tuple[str, str]
    """Release channel of the primary before and after."""
    engine: tuple[str, str]
    """Version of vLLM before and after; empty if it is unknown."""
    workloads: tuple[WorkloadStep, ...]
    """Engines first, then endpoint pickers."""
    additional: Mapping[str, Range]
    """Devices that are needed beside the running ones while pods are replaced, by accelerator class."""
    cache: CacheFate | None
    """What becomes of cached keys and values; None if no engine restarts."""
    warnings: tuple[Problem, ...]
    """Warnings that the stack has only after the upgrade."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An upgrade, by service in the order of the stack file."""

    services: tuple[ServiceStep, ...]
    warnings: tuple[Problem, ...]
    """Warnings about the whole stack that it has only after the upgrade."""

    @property
    def restarting(self) -> tuple[Place, ...]:
        """Return nothing but services: those with pods that end or begin."""
        return tuple()


def rehearse(old: Composed, new: Composed) -> Rehearsal:
    """Compare a stack before and after an upgrade. Both have the same services."""
    old_objects = _workloads(old.objects)
    new_objects = _workloads(new.objects)
    changes = _changes(old, new, old_objects, new_objects)
    known = {str(problem) for problem in old.plan.warnings}
    fresh = [problem for problem in new.plan.warnings if str(problem) not in known]
    former = {service.key: service for service in old.plan.services}
    steps = tuple(
        _service(former[service.key], service, changes, (old_objects, new_objects), fresh, new.stack)
        for service in new.plan.services
    )
    return Rehearsal(steps, tuple(problem for problem in fresh if problem.path[:1] != ("services",)))
