"""Planning of a stack: pure functions that check fields against other fields, and return a frozen plan of the stack."""

from dataclasses import replace

from models.load import Loaded
from planning import rules
from planning.ground.marks import StackName
from planning.plans import ServicePlan, StackPlan, VariantPlan, decide
from planning.resolve import resolve

__all__ = ["ServicePlan", "StackPlan", "VariantPlan", "plan"]


def plan(loaded: Loaded, name: StackName) -> StackPlan:
    """Return the plan of the stack called `name`.

    Raises `ConfigError` with all problems: problems that were found while loading, and problems of `planning.rules`.
    """
    resolved = resolve(loaded.stack)
    loaded.finish(rules.problems(resolved))
    if resolved.release is None:
        raise ValueError("this channel is unknown")
    decided = decide(resolved, resolved.release, name, loaded.profiles)
    return replace(decided, own_warnings=(*loaded.warnings, *decided.own_warnings)) if loaded.warnings else decided
