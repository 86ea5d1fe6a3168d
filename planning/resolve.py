"""Resolution of a stack, done once: contexts, accelerator classes and routes that rules and plans read."""

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
    """A stack with everything that rules and plans read of it."""

    stack: Stack
    classes: Mapping[str, AcceleratorClass]
    subjects: tuple[Subject, ...]
    """Every service, each followed by its canary."""
    release: Release | None
    """Facts of the release channel. None if the channel is unknown; then there are no contexts."""
    contexts: Contexts
    routes: Mapping[str, Route]
    """Routes by service key."""
    route_problems: tuple[Problem, ...]


def resolve(stack: Stack) -> Resolved:
    """Resolve a stack, which may contain mistakes."""
    classes, subjects = accelerators.classes(stack.accelerators), tuple(variant.subjects(stack))
    if stack.release not in channels():
        return Resolved(stack, classes, subjects, None, Contexts({}, {}, {}), {}, ())
    release = channel(stack.release)
    contexts = variant.resolve(subjects, release, classes)
    return Resolved(stack, classes, subjects, release, contexts, *routes.resolve(contexts))
