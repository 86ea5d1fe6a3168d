"""Plans of variants, services and the whole stack."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from models.paths import Path
from models.pins import Pin
from models.problems import Problem, warning, warnings
from models.profile import NO_PROFILES, ChosenProfile
from models.service import Variant
from models.source import served_name
from models.stack import Stack
from planning import interceptor, money, network, picker, routes, serving, variant, weights
from planning.ground import labels, parts
from planning.ground.flows import Policy
from planning.ground.marks import Identity, StackName
from planning.ground.names import PRIMARY, Names, address
from planning.ground.order import Id, Relations
from planning.interceptor import InterceptorGrant, InterceptorPlan
from planning.network import gke, monitoring
from planning.network.gke import LoadBalancing
from planning.network.interceptor import InterceptorNetwork
from planning.network.monitoring import Monitoring
from planning.picker import Picker
from planning.releases import Release, tracing, unproven
from planning.resolve import Resolved
from planning.routes import Route, requests
from planning.routes.records import PoolRequests
from planning.serving import Workload
from planning.variant import VariantContext
from planning.variant.canary import Share
from planning.weights import claims
from planning.weights.claims import StoragePlan


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """Plan of a primary or a canary, from which all of its objects are rendered."""

    key: str
    """Key of the service."""
    owner: str
    """Owner of the objects: the service key, or `<key>.canary`, which is no service key, because keys have no dot."""
    path: Path
    """Path of the variant in the configuration."""
    names: Names
    user_labels: Mapping[str, str]
    """Labels that users wrote for the service and the stack. The service's labels win over the stack's labels."""
    user_annotations: Mapping[str, str]
    """Annotations that users wrote for the service."""
    model: str
    """Name under which the engine serves the model."""
    source: str
    """Source of the weights."""
    pins: Mapping[str, Pin]
    """Pins of the model and of its adapters, by the name that clients send. A source that pods fetch without a digest
    is left out. Empty if the stack has no lock."""
    accelerators: Mapping[str, str]
    """Name of the accelerator class of each role."""
    profiles: Mapping[str, ChosenProfile]
    """Serving profiles by role. Roles for which no profile was selected are left out."""
    decode: Workload
    """Workload of the decode role. If there is no prefill role, it is the only workload."""
    prefill: Workload | None
    storage: StoragePlan | None
    """The Job that fetches the weights into a claim, and the claim if the stack creates it. None if the variant has no
    such Job, or shares the Job of a cache or of the primary."""
    weights_of: str
    """Owner of the weights' claim and of the Job that fills the claim: this variant, the primary, or a cache. If there
    is no claim, the owner is this variant."""
    port: int
    """Port on which the serving pods receive requests from the Service. It is the first port of the pool."""
    ports_annotation: str | None
    """Key of the annotation that lists the ports of a serving pod. None if the pool has one port, or if the picker of
    the release reads no such annotation."""
    endpoint_picker: Picker | None
    """None if the variant has no picker. Then there is no pool, and requests go to a Service of the decode pods."""
    gke: LoadBalancing | None
    """Settings of GKE's load balancer. None if the gateway is not GKE's."""
    requests: PoolRequests
    """Objectives of the pool, and the pool's rewrites of model names."""
    monitoring: Monitoring | None
    """Scraping of metrics from the pods. None if the stack has no scraper."""
    policies: tuple[Policy, ...]
    """Network policies of serving pods and picker. Empty if the stack has no network policies."""
    metered_as: str | None
    """Id by which the interceptor bills requests of the variant. None if these requests are not metered."""
    resource_id: str | None
    """Value of the label by which the interceptor searches for the variant's Service; equal to `metered_as`. None if
    the interceptor does not search for the Service."""
    domain: str
    """DNS domain of the cluster."""
    warnings: tuple[Problem, ...]

    @property
    def picker(self) -> Picker:
        """Return the plan of the endpoint picker. Raises `ValueError` if the variant has no picker."""
        if self.endpoint_picker is None:
            raise ValueError("this variant has no endpoint picker")
        return self.endpoint_picker

    @property
    def variant_prefix(self) -> str:
        """Return the prefix of a canary's logical names; empty for the primary."""
        return "" if self.names.variant_name == PRIMARY else f"{self.names.variant_name}-"

    @property
    def generation_prefix(self) -> str:
        """Return the prefix for logical names of objects that exist once for each generation.

        During a rollout, the objects of two generations exist at the same time. The prefix is empty if the variant has
        no generation.
        """
        return "" if self.names.generation is None else f"{self.names.generation}-"

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads of all roles."""
        return (self.decode,) if self.prefill is None else (self.decode, self.prefill)

    @property
    def target_ports(self) -> tuple[int, ...]:
        """Return the ports of the pool: every port on which pods of at least one role get requests."""
        return max((workload.target_ports for workload in self.workloads), key=len)

    def preview_inputs(self) -> dict[str, Any]:
        """Return the variant's inputs as previews show them: model, source, accelerator and the size of each role."""
        inputs: dict[str, Any] = {
            "model": self.model,
            "source": self.source,
            "accelerator": self.accelerators[labels.DECODE],
            "roles": {
                workload.role: {
                    "replicas": workload.replicas,
                    "podsPerReplica": workload.layout.pods_per_replica,
                    "devicesPerPod": workload.layout.devices_per_pod,
                }
                for workload in self.workloads
            },
        }
        if self.profiles:
            inputs["profiles"] = {role: profile.text for role, profile in self.profiles.items()}
        return inputs if self.names.generation is None else {**inputs, "generation": self.names.generation}

    def host(self, name: str) -> str:
        """Return the DNS name of a Service in the variant's namespace."""
        return f"{address(name, self.names.namespace)}.{self.domain}"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """Plan of a service: primary, canary and route."""

    key: str
    primary: VariantPlan
    canary: VariantPlan | None
    share: Share
    """Shares of primary and canary in the requests."""
    route: Route | None
    mirrored_from: tuple[str, ...]
    """Other namespaces that contain routes which mirror requests to the service."""
    own_warnings: tuple[Problem, ...]
    """Warnings about the service itself, and not about its variants."""

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings about the service and about its variants."""
        return (*self.own_warnings, *(warning for variant in self.variants for warning in variant.warnings))

    @property
    def variants(self) -> tuple[VariantPlan, ...]:
        """Return the primary and, if there is one, the canary."""
        return (self.primary,) if self.canary is None else (self.primary, self.canary)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads of all roles of all variants."""
        return tuple(workload for variant in self.variants for workload in variant.workloads)

    @property
    def route_id(self) -> Id:
        """Return the id of the HTTPRoute. The stack contains an object with this id only if the service has a route."""
        return Id(self.primary.owner, parts.ROUTE)

    def preview_inputs(self) -> dict[str, Any]:
        """Return the inputs of the service's component as previews show them.

        The canary's weight is left out: previews show it in the HTTPRoute.
        """
        inputs = self.primary.preview_inputs()
        return inputs if self.canary is None else {**inputs, "canary": self.canary.preview_inputs()}


@dataclass(frozen=True, slots=True)
class StackPlan:
    """Plan of a stack."""

    identity: Identity
    """The name of the stack, and its former names."""
    release: str
    """Name of the release channel."""
    labels: Mapping[str, str]
    """Labels that users wrote for the whole stack."""
    namespaces: tuple[str, ...]
    """Namespaces to create."""
    namespace_origins: Mapping[str, Path]
    """Path in the configuration of the name of each namespace that has objects of the stack."""
    retain_namespaces: bool
    """Whether the namespaces stay in the cluster after they are removed from the stack."""
    protect_namespaces: bool
    """Whether Pulumi refuses to delete the namespaces."""
    services: tuple[ServicePlan, ...]
    """Plans of the services, ordered by key."""
    interceptor: InterceptorPlan | None
    """None if no requests are metered."""
    interceptor_network: InterceptorNetwork
    grants: tuple[InterceptorGrant, ...]
    """Permissions of the interceptor to read Services. Empty if the interceptor does not search for Services."""
    caches: tuple[StoragePlan, ...]
    """Claims of the caches and the Jobs that fill these claims, ordered by the keys of the caches."""
    own_warnings: tuple[Problem, ...]
    """Warnings about the release and about settings of the whole stack."""

    @property
    def routes(self) -> tuple[Route, ...]:
        """Return the routes of the services. A service without a route is left out."""
        return tuple(service.route for service in self.services if service.route is not None)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings about the stack and about its services."""
        return (*self.own_warnings, *(warning for service in self.services for warning in service.warnings))

    def section(self, object_id: Id) -> Path:
        """Return the path of the section of the configuration that decides about an object."""
        if object_id.part is parts.NAMESPACE:
            return Path("namespaceOptions", "create")
        return self.sections.get(object_id.owner, Path())

    @property
    def sections(self) -> Mapping[str, Path]:
        """Return the path of the section of the configuration of each owner of objects."""
        variants = {variant.owner: variant.path for service in self.services for variant in service.variants}
        caches = {cache.owner: cache.fill.path for cache in self.caches}
        metering = dict.fromkeys((interceptor.OWNER, *(grant.owner for grant in self.grants)), Path("interceptor"))
        return {**variants, **caches, **metering}

    @property
    def relations(self) -> Relations:
        """Return the relations between owners that determine the order of the stack's objects."""
        variants = [variant for service in self.services for variant in service.variants]
        routed = [(service, service.route) for service in self.services if service.route is not None]
        return Relations(
            namespaces={
                **{variant.owner: variant.names.namespace for variant in variants},
                **{cache.owner: cache.namespace for cache in self.caches},
                **{grant.owner: grant.namespace for grant in self.grants},
                **({} if self.interceptor is None else {interceptor.OWNER: self.interceptor.namespace}),
            },
            weights={variant.owner: variant.weights_of for variant in variants},
            further_owners={
                service.route_id: tuple(canary.owner for canary in service.variants[1:]) for service, _ in routed
            },
            further_predecessors={
                Id(interceptor.OWNER, parts.INTERCEPTOR): tuple(
                    Id(grant.owner, parts.INTERCEPTOR_ROLE_BINDING) for grant in self.grants
                ),
                **{
                    service.route_id: (*self._before_metered(service), *_before_mirror(route))
                    for service, route in routed
                },
            },
        )

    def _before_metered(self, service: ServicePlan) -> tuple[Id, ...]:
        """Return the objects of the interceptor that must exist before a service's route."""
        is_metered = self.interceptor is not None and service.primary.metered_as is not None
        return self.interceptor.precedes_routes if self.interceptor is not None and is_metered else ()


def _before_mirror(route: Route) -> tuple[Id, ...]:
    """Return the objects that must exist before a route, because the route mirrors requests to another service."""
    key = None if route.mirror is None else route.mirror.key
    return () if key is None else (Id(key, parts.SERVICE), Id(key, parts.MIRROR_GRANT))


def decide(
    resolved: Resolved, release: Release, name: StackName, profiles: Mapping[Path, ChosenProfile] = NO_PROFILES
) -> StackPlan:
    """Return the plan of a stack that has passed the rules. `name` is the name of the stack.

    `profiles` are the selected profiles, by the path of the service, canary or prefill.
    """
    stack = resolved.stack
    mirroring = routes.mirroring_namespaces(resolved.routes.values())
    services = tuple(_service(key, resolved, mirroring.get(key, set()), profiles) for key in sorted(stack.services))
    caches = tuple(claims.of_cache(key, stack, release) for key in sorted(stack.caches))
    namespaces = {service.primary.names.namespace for service in services} | {cache.namespace for cache in caches}
    vendors = {workload.accelerator.vendor for service in services for workload in service.workloads}
    metering = interceptor.plan(stack, resolved.contexts.of(PRIMARY), name)
    if metering is not None and metering.deployment is not None:
        namespaces.add(metering.namespace)
    interceptor_network = network.of_interceptor(metering, resolved.contexts)
    return StackPlan(
        identity=Identity(name, tuple(stack.formerly)),
        release=stack.release,
        labels=stack.labels,
        namespaces=tuple(sorted(namespaces)) if stack.namespace_options.create else (),
        namespace_origins=_namespace_origins(stack),
        retain_namespaces=stack.namespace_options.retain,
        protect_namespaces=stack.namespace_options.protect,
        services=services,
        interceptor=metering,
        interceptor_network=interceptor_network,
        grants=tuple(_grants(stack, services, name)),
        caches=caches,
        own_warnings=(
            *_unproven_facts(release, vendors),
            *money.warnings(stack),
            *tracing.warnings(stack.observability.tracing, release),
            *claims.warnings(resolved.contexts.variants.values(), caches),
            *network.warnings(stack, _policies(services, caches, interceptor_network)),
            *interceptor.warnings(stack, metering),
            *weights.cache_warnings(stack),
            *_route_warnings(resolved),
        ),
    )


def _namespace_origins(stack: Stack) -> dict[str, Path]:
    """Return the path of the name of each namespace: of the first service that has it, else of the stack's key."""
    origins = dict[str, Path]()
    for key, service in stack.services.items():
        if service.namespace is not None:
            origins.setdefault(service.namespace, Path("services", key, "namespace"))
    origins.setdefault(stack.namespace, Path("namespace"))
    if stack.interceptor is not None:
        origins.setdefault(stack.interceptor.namespace, Path("interceptor", "namespace"))
    return origins


def _route_warnings(resolved: Resolved) -> Iterator[Problem]:
    """Yield warnings about routes that take requests from each other."""
    yield from routes.precedence_warnings(resolved.routes.values())
    yield from routes.nesting_warnings(resolved.routes.values())


def _policies(
    services: Iterable[ServicePlan], caches: Iterable[StoragePlan], interceptor_network: InterceptorNetwork
) -> Iterator[Policy]:
    """Yield the network policies of all pods of a stack."""
    stores = list(caches)
    if interceptor_network.policy is not None:
        yield interceptor_network.policy
    for service in services:
        for plan in service.variants:
            yield from plan.policies
            stores += [] if plan.storage is None else [plan.storage]
    yield from (store.policy for store in stores if store.policy is not None)


def _unproven_facts(release: Release, vendors: Collection[str]) -> Iterator[Problem]:
    for table_path, entry in unproven(release, vendors):
        yield warning(Path(f"release {release.name}"), f"{table_path} is unproven ({entry.source})")


def _service(
    key: str, resolved: Resolved, mirroring: Collection[str], profiles: Mapping[Path, ChosenProfile]
) -> ServicePlan:
    contexts, spec = resolved.contexts, resolved.stack.services[key]
    primary_context, canary_context = contexts.primary(key), contexts.canary(key)
    primary = _variant(primary_context, resolved, profiles)
    canary = None if canary_context is None else _variant(canary_context, resolved, profiles)
    return ServicePlan(
        key=key,
        primary=primary,
        canary=None if canary is None else _with_shared_weights(primary, canary),
        share=primary_context.share,
        route=resolved.routes.get(key),
        mirrored_from=tuple(sorted({*mirroring} - {primary_context.namespace})),
        own_warnings=(
            *variant.warnings(primary_context.path, spec),
            *routes.warnings(primary_context),
            *requests.warnings(primary_context),
            *interceptor.service_warnings(primary_context),
        ),
    )


def _variant(context: VariantContext, resolved: Resolved, profiles: Mapping[Path, ChosenProfile]) -> VariantPlan:
    spec, stack, contexts = context.spec, context.stack, resolved.contexts
    provider = None if context.gateway is None else context.gateway.provider
    roles = {name: serving.plan(role) for name, role in contexts.roles_of(context).items()}
    cache = claims.cache_of(spec)
    picker_context = resolved.pickers.get((context.key, context.variant_name))
    picker_plan = None if picker_context is None else picker.plan(picker_context)
    monitoring_plan = monitoring.plan(spec, roles, stack.observability.metrics)
    return VariantPlan(
        key=context.key,
        owner=context.owner,
        path=context.path,
        names=context.names,
        user_labels={**stack.labels, **spec.labels},
        user_annotations=spec.annotations,
        model=served_name(spec.model.name, spec.model.source) or context.key,
        source=spec.model.source,
        pins=_pins(spec, context.key),
        accelerators={name: role.accelerator for name, _, role in context.roles},
        profiles={name: profiles[path] for name, path, _ in context.roles if path in profiles},
        decode=roles[labels.DECODE],
        prefill=roles.get(labels.PREFILL),
        storage=claims.of_variant(context),
        weights_of=context.owner if cache is None else claims.cache_owner(cache),
        port=spec.engine.port,
        ports_annotation=context.release.picker.ports.annotation if _has_several_ports(roles.values()) else None,
        endpoint_picker=picker_plan,
        gke=gke.plan(spec, roles[labels.DECODE]) if provider == "gke" else None,
        requests=requests.plan(context),
        monitoring=monitoring_plan,
        policies=network.plan(context, roles, picker_plan, monitoring_plan),
        metered_as=context.metered_as,
        resource_id=context.resource_id,
        domain=stack.cluster.domain,
        warnings=(
            *weights.variant_warnings(context),
            *serving.warnings(context, contexts),
            *serving.workload_warnings(context.path, roles.values()),
            *warnings(picker.judge(context, picker_context)),
        ),
    )


def _has_several_ports(workloads: Iterable[Workload]) -> bool:
    """Tell whether the pool of these workloads has several target ports."""
    return any(len(workload.target_ports) > 1 for workload in workloads)


def _with_shared_weights(primary: VariantPlan, canary: VariantPlan) -> VariantPlan:
    """Return the canary's plan. It has no storage if primary and canary would have the same fill Job.

    The canary then uses the primary's weights. Two Jobs are the same if they fill the same claim and have the same
    name. The name contains a hash of the source.
    """
    canary_storage, primary_storage = canary.storage, primary.storage
    if (
        canary_storage is None
        or primary_storage is None
        or (canary_storage.fill.claim, canary_storage.fill.name)
        != (primary_storage.fill.claim, primary_storage.fill.name)
    ):
        return canary
    return replace(canary, storage=None, weights_of=primary.owner)


def _pins(spec: Variant, key: str) -> dict[str, Pin]:
    """Return the pins of the sources that the pods fetch by digest, by the model names that clients send."""
    name = served_name(spec.model.name, spec.model.source) or key
    adapters = {} if spec.model.lora is None else spec.model.lora.adapters
    found = {name: spec.model.pin, **{adapter: each.pin for adapter, each in adapters.items()}}
    return {served: pin for served, pin in found.items() if pin is not None and not pin.deployed}


def _grants(stack: Stack, services: tuple[ServicePlan, ...], name: StackName) -> list[InterceptorGrant]:
    if stack.interceptor is None:
        return []
    primaries = [service.primary for service in services]
    namespaces = sorted({primary.names.namespace for primary in primaries if primary.resource_id is not None})
    spec = stack.interceptor
    return [InterceptorGrant(namespace, spec.namespace, spec.service_account_name, name) for namespace in namespaces]
