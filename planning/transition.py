"""What a preview says of changes that make a second set of pods beside the first."""

from collections.abc import Iterator

from models.problems import Problem, warning
from planning.ground import labels
from planning.ground.cluster_facts import Pools, Unknown
from planning.plans import StackPlan, VariantPlan


def has_generations(plan: StackPlan) -> bool:
    """Say whether any pods exchange their cache, so that it matters which pools are there."""
    return any(one.names.generation is not None for service in plan.services for one in service.variants)


def announced(plan: StackPlan, pools: Pools | Unknown) -> Iterator[Problem]:
    """Say for every variant whose pods cannot share a cache with those that run what will happen."""
    for service in plan.services:
        for variant in service.variants:
            if variant.names.generation is None:
                continue
            if isinstance(pools, Unknown):
                what = f"whether pods of another generation run went unchecked: {pools.reason}"
                yield warning(variant.path, what)
            else:
                yield from _beside(variant, pools)


def _beside(variant: VariantPlan, pools: Pools) -> Iterator[Problem]:
    own = variant.names
    mine = {labels.SERVICE: own.service, labels.VARIANT: own.variant}
    found = {
        name: selector.get(labels.GENERATION)
        for (namespace, name), selector in sorted(pools.selectors.items())
        if namespace == own.namespace and mine.items() <= selector.items()
    }
    if not found or own.generation in found.values():
        return
    old = ", ".join(
        f"{name} ({'one role' if generation is None else generation})" for name, generation in found.items()
    )
    count = sum(one.layout.devices_per_pod * one.layout.pods_per_replica * one.max_replicas for one in variant.roles)
    devices = f", with up to {count} more devices in use meanwhile" if count else ""
    what = (
        f"its pods cannot share a KV cache with those of {old}: pool {own.pool} comes up beside it{devices}, "
        "then requests move, then the old pods go"
    )
    yield warning(variant.path, what)
