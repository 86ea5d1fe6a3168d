"""What tells a pool's endpoint picker about requests: InferenceObjectives and an InferenceModelRewrite."""

from collections.abc import Iterator
from typing import Any

from manifests import about
from manifests.objects import Rendered, compact
from planning.ground import parts
from planning.ground.api_groups import POOL_GROUP
from planning.ground.order import Id
from planning.plans import VariantPlan
from planning.routes.records import Alias, Objective


def objects(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the objectives and the rewrites of a variant's pool."""
    for one in variant.requests.objectives:
        yield _objective(variant, one)
    if variant.requests.aliases:
        yield _rewrite(variant, variant.requests.aliases)


def _objective(variant: VariantPlan, one: Objective) -> Rendered:
    manifest = {
        "apiVersion": variant.requests.api_version,
        "kind": "InferenceObjective",
        "metadata": about.of(variant, about.ROUTE, one.name),
        "spec": {"priority": one.priority, "poolRef": _pool(variant)},
    }
    # No key has a dot, so that no two objectives meet.
    return Rendered(Id(variant.owner, parts.OBJECTIVE, one.key), manifest, f"objective.{one.key}")


def _rewrite(variant: VariantPlan, aliases: tuple[Alias, ...]) -> Rendered:
    """Render all rewrites of a pool, under its name: each generation has its own, because it serves beside others."""
    manifest = {
        "apiVersion": variant.requests.api_version,
        "kind": "InferenceModelRewrite",
        "metadata": about.of(variant, about.ROUTE, variant.names.pool),
        "spec": {"poolRef": _pool(variant), "rules": [_rule(one) for one in aliases]},
    }
    return Rendered(
        Id(variant.owner, parts.MODEL_REWRITE), manifest, f"{variant.generation_prefix}{parts.MODEL_REWRITE.suffix}"
    )


def _rule(one: Alias) -> dict[str, Any]:
    return {
        "matches": [{"model": {"type": "Exact", "value": one.model}}],
        "targets": [compact({"modelRewrite": model, "weight": weight}) for model, weight in one.targets.items()],
    }


def _pool(variant: VariantPlan) -> dict[str, str]:
    return {"group": POOL_GROUP, "kind": "InferencePool", "name": variant.names.pool}
