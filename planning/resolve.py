"""From a stack to everything that its plan and its rules read, resolved once."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.problems import Problem
from models.stack import Stack
from planning import routes, variant
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.releases import Release, channel, channels
from planning.routes import Route
from planning.variant import Contexts, Subject


@dataclass(frozen=True, slots=True)
class Resolved:
    """A stack, and what is made of it once for rules and plans."""

    stack: Stack
    classes: Mapping[str, AcceleratorClass]
    subjects: tuple[Subject, ...]
    """Every service, each followed by its canary."""
    release: Release | None
    """Absent: the channel is unknown, and there are no contexts."""
    contexts: Contexts
    routes: Mapping[str, Route]
    """By the key of their service."""
    route_problems: tuple[Problem, ...]


def resolve(stack: Stack) -> Resolved:
    """Resolve a stack, mistaken or not."""
    classes, subjects = accelerators.classes(stack.accelerators), tuple(variant.subjects(stack))
    if stack.release not in channels():
        return Resolved(stack, classes, subjects, None, Contexts({}, {}, {}), {}, ())
    release = channel(stack.release)
    contexts = variant.resolve(subjects, release, classes)
    return Resolved(stack, classes, subjects, release, contexts, *routes.resolve(contexts))
