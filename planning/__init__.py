"""What is decided about a stack: pure functions from the specs to frozen records, each decision with its reasons."""

from models.load import Loaded
from planning import rules
from planning.plans import ServicePlan, StackPlan, VariantPlan, decide
from planning.resolve import resolve

__all__ = ["ServicePlan", "StackPlan", "VariantPlan", "plan"]


def plan(loaded: Loaded) -> StackPlan:
    """Decide a stack.

    Raises `ConfigError` with every mistake: those found while reading, and those that only the whole stack shows.
    """
    resolved = resolve(loaded.stack)
    loaded.finish(rules.problems(resolved))
    if resolved.release is None:
        raise ValueError("this channel is unknown")
    return decide(resolved, resolved.release)
