"""Objectives (priorities by name) and aliases (other names of models) that an endpoint picker applies to requests."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem, warning
from planning.routes.records import Alias, PoolObjective, PoolRequests
from planning.variant.context import VariantContext

_VERSION = "v1alpha2"
"""Version of InferenceObjective and InferenceModelRewrite in every API group that has them."""


def plan(variant: VariantContext) -> PoolRequests:
    """Return objectives and aliases of a variant's pool. Both are empty if the variant has no pool.

    The canary's pool has the same aliases as the primary's, because requests for each alias may go to the canary.
    """
    if not variant.has_pool:
        return PoolRequests("", (), ())
    objectives = (
        PoolObjective(key, variant.names.objective(key), spec.priority)
        for key, spec in sorted(variant.spec.objectives.items())
    )
    aliases = (
        Alias(rewrite.model, {target.model: target.weight for target in rewrite.targets})
        for rewrite in variant.service.rewrites
    )
    return PoolRequests(f"{variant.release.picker.objectives_group}/{_VERSION}", tuple(objectives), tuple(aliases))


def judge(variant: VariantContext, canary: VariantContext | None) -> Iterator[Problem]:
    """Yield warnings about objectives and rewrites that apply to only some requests of a service, or to none.

    `variant` is the primary of the service, `canary` its canary.
    """
    if not variant.has_pool:
        return
    yield from _unread(variant)
    if canary is not None and canary.has_pool and canary.release.name != variant.release.name:
        yield from _unread(canary)
    if canary is not None and variant.share.canary and variant.spec.objectives:
        # An objective belongs to one pool only.
        what = "an objective belongs to one pool, so requests that reach the canary by weight have priority 0"
        yield warning(variant.path / "objectives", what)


def _unread(variant: VariantContext) -> Iterator[Problem]:
    """Yield warnings about objectives and rewrites that the picker of the release does not read."""
    facts = variant.release.picker.unread_requests
    if facts is None or variant.spec.endpoint_picker.image is not None:
        return
    rewrites_at = Path("services", variant.key, "rewrites")
    for at, values in (
        (variant.path / "objectives", variant.spec.objectives),
        (rewrites_at, variant.service.rewrites),
    ):
        if values:
            yield warning(at, f"no picker of {variant.release.name} reads them", facts.remedy)
