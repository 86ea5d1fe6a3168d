"""Decision about a whole stack: the plans of its variants and services."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from models.paths import Path
from models.profile import NO_PROFILES, ChosenProfile
from models.source import served_name
from planning import interceptor, namespaces, network, observing, picker, routes, serving
from planning.ground.marks import Identity, StackName
from planning.ground.names import PRIMARY
from planning.interceptor import InterceptorGrant, InterceptorPlan
from planning.network import gke, monitoring
from planning.network.gke import LoadBalancing
from planning.observing import ObservedVariant, boards, watched
from planning.observing.board_records import Boards
from planning.observing.watched import WatchedService
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.releases import Release
from planning.resolve import Resolved
from planning.routes import requests
from planning.serving import Workload, cold_start
from planning.variant import VariantContext
from planning.weights import claims, pins
from planning.weights.claims import StoragePlan


def decide(
    resolved: Resolved, release: Release, name: StackName, profiles: Mapping[Path, ChosenProfile] = NO_PROFILES
) -> StackPlan:
    """Return the plan of a stack that has passed the rules. `name` is the name of the stack.

    `profiles` are the selected profiles, by the path of the service, canary or prefill.
    """
    stack = resolved.stack
    mirroring = routes.mirroring_namespaces(resolved.routing.routes.values())
    services = tuple(_service(key, resolved, mirroring.get(key, set()), profiles) for key in sorted(stack.services))
    dashboards = boards.plan(
        stack.observability.dashboards, watched_services(services, resolved), name, stack.namespace
    )
    caches = tuple(claims.of_cache(key, stack, release, resolved.fill_requests) for key in sorted(stack.caches))
    metering = interceptor.plan(stack, resolved.contexts.of(PRIMARY), name)
    primaries = (service.primary for service in services)
    searched = {primary.names.namespace for primary in primaries if primary.search_id is not None}
    grants = tuple(interceptor.grants.plan(stack.interceptor, searched, name))
    return StackPlan(
        identity=Identity(name, tuple(stack.formerly)),
        release=stack.release,
        classes=resolved.classes,
        labels=stack.labels,
        namespaces=namespaces.to_create(stack, _used_namespaces(services, caches, metering, dashboards)),
        namespace_origins=namespaces.origins(stack),
        sections=_sections(services, caches, grants),
        retain_namespaces=stack.namespace_options.retain,
        protect_namespaces=stack.namespace_options.protect,
        services=services,
        interceptor=metering,
        interceptor_network=network.of_interceptor(metering, resolved.contexts),
        grants=grants,
        caches=caches,
        prices=stack.prices,
        boards=dashboards,
    )


def _sections(
    services: Iterable[ServicePlan], caches: Iterable[StoragePlan], grants: Iterable[InterceptorGrant]
) -> dict[str, Path]:
    """Return the path of the section of the configuration of each owner of objects."""
    variants = {variant.owner: variant.path for service in services for variant in service.variants}
    metering = dict.fromkeys((interceptor.OWNER, *(grant.owner for grant in grants)), Path("interceptor"))
    overview = {boards.OWNER: Path("observability", "dashboards")}
    return {**variants, **{cache.owner: cache.fill.path for cache in caches}, **metering, **overview}


def _used_namespaces(
    services: Iterable[ServicePlan],
    caches: Iterable[StoragePlan],
    metering: InterceptorPlan | None,
    dashboards: Boards | None,
) -> Iterator[str]:
    """Yield the namespaces of all objects of a stack, without one that must exist, as the configuration says."""
    yield from (service.primary.names.namespace for service in services)
    yield from (cache.namespace for cache in caches)
    if metering is not None and metering.deployment is not None:
        yield metering.namespace
    if dashboards is not None and not dashboards.in_existing_namespace:
        yield dashboards.overview.namespace


def _service(
    key: str, resolved: Resolved, mirroring: Collection[str], profiles: Mapping[Path, ChosenProfile]
) -> ServicePlan:
    contexts = resolved.contexts
    primary_context = contexts.primary(key)
    primary = _variant(primary_context, resolved, profiles)
    canary_context = contexts.canary(key)
    canary = None
    if canary_context is not None:
        canary = _with_shared_weights(primary, _variant(canary_context, resolved, profiles))
    scraped = _scraped_variants(resolved, primary, canary)
    spec = resolved.stack.services[key]
    return ServicePlan(
        key=key,
        primary=primary,
        canary=canary,
        share=primary_context.share,
        route=resolved.routing.routes.get(key),
        mirrored_from=tuple(sorted({*mirroring} - {primary_context.namespace})),
        observing=observing.plan(resolved.stack.observability.rules, scraped, spec.slo),
        gate_counters=observing.counters(scraped, spec),
    )


def watched_services(services: Iterable[ServicePlan], resolved: Resolved) -> Iterator[WatchedService]:
    """Yield the services with pods that the stack makes, as dashboards see them.

    Series of pods that nobody scrapes here come from the cluster. Of a pool that exists already, there are none.
    """
    for service in services:
        scraped = _scraped_variants(resolved, service.primary, service.canary)
        if scraped:
            engines = {variant.context.variant_name: resolved.engines_of(variant.context) for variant in scraped}
            slo = resolved.stack.services[service.key].slo
            watched_service = watched.of_service(scraped, engines, slo, has_rules=service.observing is not None)
            if watched_service.pods:
                yield watched_service


def _scraped_variants(
    resolved: Resolved, primary: VariantPlan, canary: VariantPlan | None
) -> tuple[ObservedVariant, ...]:
    """Return the primary and the canary of a service, as far as they are scraped."""
    contexts = resolved.contexts
    pairs = [(contexts.primary(primary.key), primary), (contexts.canary(primary.key), canary)]
    return tuple(
        ObservedVariant(
            context=context,
            workloads=plan.workloads,
            versions={name: engine.role.engine_version for name, engine in resolved.engines_of(context).items()},
            picker=plan.endpoint_picker,
            storage=plan.storage,
            monitoring=plan.monitoring,
        )
        for context, plan in pairs
        if context is not None and plan is not None and plan.monitoring is not None
    )


def _variant(context: VariantContext, resolved: Resolved, profiles: Mapping[Path, ChosenProfile]) -> VariantPlan:
    spec = context.spec
    stack = context.stack
    location = claims.location(context, resolved.fill_requests)
    request_times = cold_start.of_requests(context)
    roles = {
        name: serving.plan(engine, location, request_times) for name, engine in resolved.engines_of(context).items()
    }
    picker_plan = _picker(context, resolved)
    monitoring_plan = monitoring.plan(spec, roles, stack.observability.metrics)
    return VariantPlan(
        key=context.key,
        owner=context.owner,
        release=context.release.name,
        has_own_release=spec.release is not None,
        path=context.path,
        names=context.names,
        user_labels={**stack.labels, **spec.labels},
        user_annotations=spec.annotations,
        model=served_name(spec.model.name, spec.model.source) or context.key,
        source=spec.model.source,
        pins=pins.of_served(spec, context.key),
        accelerators={role.name: role.spec.accelerator for role in context.roles},
        profiles={role.name: profiles[role.profile_path] for role in context.roles if role.profile_path in profiles},
        roles=roles,
        storage=claims.of_variant(context, resolved.fill_requests),
        weights_of=_weights_owner(context),
        existing_pods=spec.existing_pods,
        existing_pool=context.existing_pool,
        port=spec.port,
        ports_annotation=_ports_annotation(context, roles.values()),
        endpoint_picker=picker_plan,
        gke=_load_balancing(context, roles.values()),
        requests=requests.plan(context),
        monitoring=monitoring_plan,
        policies=network.plan(context, roles, picker_plan, monitoring_plan),
        metered_as=context.metered_as,
        search_id=context.search_id,
        domain=stack.cluster.domain,
    )


def _picker(context: VariantContext, resolved: Resolved) -> picker.Picker | None:
    if not context.has_picker:
        return None
    return picker.plan(resolved.pickers[context.id])


def _weights_owner(context: VariantContext) -> str:
    """Return the owner of the claim with a variant's weights; the variant itself if there is no claim."""
    cache = claims.cache_of(context.spec)
    if cache is None:
        return context.owner
    return claims.cache_owner(cache)


def _ports_annotation(context: VariantContext, workloads: Iterable[Workload]) -> str | None:
    """Return the key of the annotation with the ports of a pod; None if the pool of the workloads has one port."""
    if all(len(workload.target_ports) == 1 for workload in workloads):
        return None
    return context.release.picker.ports.annotation


def _load_balancing(context: VariantContext, workloads: Iterable[Workload]) -> LoadBalancing | None:
    if context.gateway is None or context.gateway.provider != "gke" or context.existing_pool is not None:
        return None
    return gke.plan(context.spec, next(iter(workloads), None))


def _with_shared_weights(primary: VariantPlan, canary: VariantPlan) -> VariantPlan:
    """Return the canary's plan. It has no storage if primary and canary would have the same fill Job.

    The canary then uses the primary's weights. Two Jobs are the same if they fill the same claim and have the same
    name. The name contains a hash of the source.
    """
    canary_storage = canary.storage
    primary_storage = primary.storage
    if (
        canary_storage is None
        or primary_storage is None
        or (canary_storage.fill.claim, canary_storage.fill.name)
        != (primary_storage.fill.claim, primary_storage.fill.name)
    ):
        return canary
    return replace(canary, storage=None, weights_of=primary.owner)
