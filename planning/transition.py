"""Warnings about changes that create a second set of pods next to the running one."""

from collections.abc import Iterator

from models.problems import Problem, warning
from planning.ground import labels
from planning.ground.cluster_facts import Pools, Unknown
from planning.plans import StackPlan, VariantPlan


def has_generations(plan: StackPlan) -> bool:
    """Tell whether any variant has a generation, so that the pools in the cluster matter."""
    return any(variant.names.generation is not None for service in plan.services for variant in service.variants)


def warnings(plan: StackPlan, pools: Pools | Unknown) -> Iterator[Problem]:
    """Yield a warning for every variant whose pods cannot share a KV cache with its running pods."""
    for service in plan.services:
        for variant in service.variants:
            if variant.names.generation is None:
                continue
            if isinstance(pools, Unknown):
                what = f"whether pods of another generation run went unchecked: {pools.reason}"
                yield warning(variant.path, what)
            else:
                yield from _new_generation(variant, pools)


def _new_generation(variant: VariantPlan, pools: Pools) -> Iterator[Problem]:
    names = variant.names
    pool_labels = {labels.SERVICE: names.service, labels.VARIANT: names.variant_name}
    pool_generations = {
        name: selector.get(labels.GENERATION)
        for (namespace, name), selector in sorted(pools.selectors.items())
        if namespace == names.namespace and pool_labels.items() <= selector.items()
    }
    if not pool_generations or names.generation in pool_generations.values():
        return
    old_pools = ", ".join(
        f"{name} ({'one role' if generation is None else generation})" for name, generation in pool_generations.items()
    )
    device_count = sum(
        workload.layout.devices_per_pod * workload.layout.pods_per_replica * workload.max_replicas
        for workload in variant.workloads
    )
    devices = f", with up to {device_count} more devices in use meanwhile" if device_count else ""
    what = (
        f"its pods cannot share a KV cache with those of {old_pools}: pool {names.pool} comes up beside it{devices}, "
        "then requests move, then the old pods go"
    )
    yield warning(variant.path, what)
