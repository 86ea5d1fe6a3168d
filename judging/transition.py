"""Warnings about effects of a deployment that its preview does not show, such as a second set of pods."""

from collections.abc import Iterator, Sequence

from models.paths import Path
from models.problems import Problem, gap, warning
from planning.ground import labels
from planning.ground.api_groups import GATEWAY_GROUP, POOL_GROUP
from planning.ground.cluster_facts import LiveObjects, Pools, Unknown
from planning.ground.pools import verdict
from planning.plans import StackPlan, VariantPlan
from planning.serving import Workload


def has_generations(plan: StackPlan) -> bool:
    """Tell whether any variant has a generation. If none has, the pools in the cluster need not be read."""
    return any(variant.names.generation is not None for service in plan.services for variant in service.variants)


def judge(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
    """Yield the warnings about the objects of a stack in the cluster, except those about generations."""
    yield from refusals(live)
    yield from refused_pools(live)
    yield from replicas(plan, live)
    yield from metering(plan, live)
    yield from ports(plan, live)


def generations(plan: StackPlan, pools: Pools | Unknown) -> Iterator[Problem]:
    """Yield a warning for every variant whose new pods cannot share a KV cache with its running pods.

    If `pools` is `Unknown`, yield a warning for every variant that has a generation.
    """
    for service in plan.services:
        for variant in service.variants:
            if variant.names.generation is None:
                continue
            if isinstance(pools, Unknown):
                yield gap(variant.path, "generations of running pods", pools.reason)
            else:
                yield from _new_generation(variant, pools)


def refusals(live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning if the user has no right to list objects of some kinds, so that these objects went unchecked."""
    if live.refused:
        yield gap(Path(), "changes by others to objects", "the API server refused to list them", live.refused)


def refused_pools(live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning for every pool that the controller of a gateway refuses. Requests to such a pool fail."""
    for (group, kind, namespace, name), pool in sorted(live.objects.items()):
        if (group, kind) == (POOL_GROUP, "InferencePool"):
            is_accepted, reason = verdict(pool.content)
            if is_accepted is False:
                yield warning(Path(f"{kind} {namespace}/{name}"), f"the gateway does not accept this pool ({reason})")


def metering(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning for every metered service whose route in the cluster does not lead to the interceptor yet."""
    if plan.interceptor is None:
        return
    target = f"Service {plan.interceptor.namespace}/{plan.interceptor.service}"
    for service in plan.services:
        route = service.route
        primary = service.primary
        current = None
        if route is not None:
            current = live.objects.get((GATEWAY_GROUP, "HTTPRoute", route.namespace, route.name))
        if current is None or primary.metered_as is None:
            continue
        backends = {
            f"{ref.get('kind', 'Service')} {ref.get('namespace', primary.names.namespace)}/{ref['name']}"
            for rule in current.content["spec"].get("rules") or ()
            for ref in rule.get("backendRefs") or ()
        }
        if backends - {target}:
            refused = ""
            if primary.policies:
                refused = "; network policies refuse these requests until the route changes"
            what = f"its requests move from {', '.join(sorted(backends - {target}))} to {target}{refused}"
            remedy = "make sure that the interceptor answers, and that clients are authenticated in front of it"
            yield warning(primary.path / "interceptor", what, remedy)


def replicas(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning for every workload whose number of replicas somebody else changed.

    A run sets the configured number only if it refreshes (`--refresh`), or if it changes the workload anyway.
    """
    for service in plan.services:
        for variant in service.variants:
            for workload in variant.workloads:
                yield from _replica_warnings(variant, workload, live)


def ports(plan: StackPlan, live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning for every pool whose ports change while its pods still serve the old ports.

    A new generation has no such problem, because it gets a new pool while the old pool still exists.
    """
    for service in plan.services:
        for variant in service.variants:
            names = variant.names
            current = live.objects.get((POOL_GROUP, "InferencePool", names.namespace, names.pool))
            if current is None:
                continue
            old = tuple(port["number"] for port in current.content["spec"].get("targetPorts", ()))
            if old and old != variant.target_ports:
                changes = f"from {_range(old)} to {_range(variant.target_ports)}"
                what = f"the pool's ports change {changes} before its pods are replaced"
                remedy = "requests to the old pods may fail; let a canary take the requests meanwhile"
                yield warning(variant.path, what, remedy)


def _range(numbers: Sequence[int]) -> str:
    first = min(numbers)
    last = max(numbers)
    if first == last:
        return str(first)
    return f"{first}-{last}"


def _replica_warnings(variant: VariantPlan, workload: Workload, live: LiveObjects) -> Iterator[Problem]:
    namespace = variant.names.namespace
    place = (workload.api_version.partition("/")[0], workload.kind, namespace, workload.name)
    current = live.objects.get(place)
    writer = None
    if current is not None:
        writer = current.writer("spec", "replicas")
    if workload.replicas is None or current is None or writer is None:
        return
    number = current.content["spec"]["replicas"]
    if number == workload.replicas:
        return
    name = f"{workload.kind} {namespace}/{workload.name}"
    what = (
        f"{number} replica{'' if number == 1 else 's'} will become {workload.replicas}: {writer} scaled {name}, and a "
        "run that refreshes the state or changes the object undoes this"
    )
    yield warning(workload.path / "replicas", what)


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
    devices = ""
    if device_count:
        devices = f", with up to {device_count} more devices in use meanwhile"
    what = (
        f"its new pods cannot share a KV cache with the pods of {old_pools}: pool {names.pool} is added{devices}, "
        "then requests move to it, then the old pods end"
    )
    yield warning(variant.path, what)
