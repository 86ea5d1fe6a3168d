"""Objectives (priorities by name) and aliases (other names of models) that an endpoint picker applies to requests."""

from models.problems import Problem, warning
from planning.ground.names import CANARY
from planning.routes.records import Alias, Objective, PoolRequests
from planning.variant.context import VariantContext

_VERSION = "v1alpha2"
"""Version of InferenceObjective and InferenceModelRewrite in every API group that has them."""


def plan(variant: VariantContext) -> PoolRequests:
    """Return objectives and aliases of a variant's pool.

    The canary's pool has the same aliases, because requests under each of these names may go to the canary.
    """
    objectives = (
        Objective(key, variant.names.objective(key), spec.priority)
        for key, spec in sorted(variant.spec.objectives.items())
    )
    aliases = (
        Alias(rewrite.model, {target.model: target.weight for target in rewrite.targets})
        for rewrite in variant.service.rewrites
    )
    return PoolRequests(f"{variant.release.picker.objectives_group}/{_VERSION}", tuple(objectives), tuple(aliases))


def warnings(variant: VariantContext) -> tuple[Problem, ...]:
    """Return a warning if a service has objectives and a weighted canary. An objective belongs to only one pool."""
    canary = variant.service.canary
    if variant.variant_name == CANARY or canary is None or not canary.weight or not variant.spec.objectives:
        return ()
    what = "a request names that of one pool; where its weight sends it to the canary, it has priority 0"
    return (warning(variant.path / "objectives", what),)
