"""Planning of a stack: pure functions that validate a stack across fields, and return its frozen plan."""

from models.load import Loaded
from planning import rules
from planning.ground.marks import StackName
from planning.plans import ServicePlan, StackPlan, VariantPlan, decide
from planning.resolve import resolve

__all__ = ["ServicePlan", "StackPlan", "VariantPlan", "plan"]


def plan(loaded: Loaded, name: StackName) -> StackPlan:
    """Return the plan of the stack called `name`.

    Raises `ConfigError` with all problems: those found while loading, and those of `planning.rules`.
    """
    resolved = resolve(loaded.stack)
    loaded.finish(rules.problems(resolved))
    if resolved.release is None:
        raise ValueError("this channel is unknown")
    return decide(resolved, resolved.release, name, loaded.profiles)
