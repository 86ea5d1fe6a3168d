"""Planning of a stack: pure functions from specs to frozen plans, with all validation that spans several fields."""

from models.load import Loaded
from planning import rules
from planning.ground.marks import StackName
from planning.plans import ServicePlan, StackPlan, VariantPlan, decide
from planning.resolve import resolve

__all__ = ["ServicePlan", "StackPlan", "VariantPlan", "plan"]


def plan(loaded: Loaded, name: StackName) -> StackPlan:
    """Return the plan of the stack called `name`.

    Raises `ConfigError` with every problem, both those found while loading and those that only the whole stack shows.
    """
    resolved = resolve(loaded.stack)
    loaded.finish(rules.problems(resolved))
    if resolved.release is None:
        raise ValueError("this channel is unknown")
    return decide(resolved, resolved.release, name, loaded.profiles)
