"""What the endpoint picker of a pool makes of requests: priorities by name, and other names of models."""

from models.problems import Problem, warning
from planning.ground.names import CANARY
from planning.routes.records import Alias, Objective, PoolRequests
from planning.variant.context import VariantContext

_VERSION = "v1alpha2"
"""Of InferenceObjective and InferenceModelRewrite, in every group that has had them."""


def of(own: VariantContext) -> PoolRequests:
    """Decide for one pool. Aliases are told to a canary's picker, too: it gets requests by either name."""
    objectives = (
        Objective(key, own.names.objective(key), wish.priority) for key, wish in sorted(own.spec.objectives.items())
    )
    aliases = (
        Alias(wish.model, {target.model: target.weight for target in wish.targets}) for wish in own.service.rewrites
    )
    return PoolRequests(f"{own.release.picker.objectives_group}/{_VERSION}", tuple(objectives), tuple(aliases))


def warnings(own: VariantContext) -> tuple[Problem, ...]:
    """Say what is allowed and seldom meant."""
    canary = own.service.canary
    if own.variant == CANARY or canary is None or not canary.weight or not own.spec.objectives:
        return ()
    what = "a request names that of one pool; where its weight sends it to the canary, it has priority 0"
    return (warning(own.path / "objectives", what),)
