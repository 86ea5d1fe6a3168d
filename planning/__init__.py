"""Planning of a stack: pure functions that check fields against other fields, and return a frozen plan of the stack."""

from dataclasses import replace

from models.load import Loaded
from models.problems import errors
from planning import deciding, plan_warnings, rules
from planning.ground.marks import StackName
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.resolve import about, resolve

__all__ = ["ServicePlan", "StackPlan", "VariantPlan", "plan"]


def plan(loaded: Loaded, name: StackName) -> StackPlan:
    """Return the plan of the stack called `name`.

    Raises `ConfigError` with all problems: problems that were found while loading, and errors of `planning.rules`.
    """
    resolved = resolve(loaded.stack)
    judgements = [*about("", loaded.warnings), *rules.judge(resolved)]
    loaded.finish(errors(judgement.problem for judgement in judgements))
    if resolved.release is None:
        raise ValueError("this channel is unknown")
    # `finish` has dropped the remaining errors: they are about inherited values without an effect.
    judgements = [judgement for judgement in judgements if judgement.problem.severity == "warning"]
    decided = deciding.decide(resolved, resolved.release, name, loaded.profiles)
    judgements += plan_warnings.judge(decided, resolved, resolved.release)
    return replace(decided, judgements=tuple(sorted(judgements, key=lambda judgement: judgement.service)))
