"""InferenceObjectives and the InferenceModelRewrite of a pool. The pool's endpoint picker reads these objects."""

from collections.abc import Iterator
from typing import Any

from manifests import about
from manifests.objects import Rendered, compact
from planning.ground import parts
from planning.ground.api_groups import POOL_GROUP
from planning.ground.order import Id
from planning.plans import VariantPlan
from planning.routes.records import Alias, PoolObjective


def objects(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the objectives and the aliases of a variant's pool."""
    for objective in variant.requests.objectives:
        yield _objective(variant, objective)
    if variant.requests.aliases:
        yield _rewrite(variant, variant.requests.aliases)


def _objective(variant: VariantPlan, objective: PoolObjective) -> Rendered:
    manifest = {
        "apiVersion": variant.requests.api_version,
        "kind": "InferenceObjective",
        "metadata": about.metadata(variant, about.ROUTE, objective.name),
        "spec": {"priority": objective.priority, "poolRef": _pool(variant)},
    }
    # Keys hold no dots, so this logical name cannot collide with that of another object.
    return Rendered(Id(variant.owner, parts.OBJECTIVE, objective.key), manifest, f"objective.{objective.key}")


def _rewrite(variant: VariantPlan, aliases: tuple[Alias, ...]) -> Rendered:
    """Render all aliases of a pool as one object.

    The object has the name of its pool, because the pools of two generations, each with such an object, may exist at
    the same time.
    """
    manifest = {
        "apiVersion": variant.requests.api_version,
        "kind": "InferenceModelRewrite",
        "metadata": about.metadata(variant, about.ROUTE, _rewrite_name(variant)),
        "spec": {"poolRef": _pool(variant), "rules": [_rule(alias) for alias in aliases]},
    }
    return Rendered(
        Id(variant.owner, parts.MODEL_REWRITE), manifest, f"{variant.generation_prefix}{parts.MODEL_REWRITE.suffix}"
    )


def _rewrite_name(variant: VariantPlan) -> str:
    """Return the name of the aliases' object. The owner of an existing pool may have one with the pool's name."""
    return variant.names.pool if variant.existing_pool is None else variant.names.base


def _rule(alias: Alias) -> dict[str, Any]:
    return {
        "matches": [{"model": {"type": "Exact", "value": alias.model}}],
        "targets": [compact({"modelRewrite": model, "weight": weight}) for model, weight in alias.targets.items()],
    }


def _pool(variant: VariantPlan) -> dict[str, str]:
    return {"group": POOL_GROUP, "kind": "InferencePool", "name": variant.names.pool}
