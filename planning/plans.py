"""The plan of a whole stack."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from models.paths import Path
from models.problems import Problem, warning
from models.source import served_name
from models.stack import Stack
from planning import network, picker, routes, serving, variant
from planning.ground import labels, parts
from planning.ground.flows import Policy
from planning.ground.names import LONGEST, PRIMARY, Names, address, shortened
from planning.ground.order import Id, Relations
from planning.network import gke, monitoring
from planning.network.gke import LoadBalancing
from planning.network.monitoring import Monitoring
from planning.picker import Picker
from planning.releases import Release, tracing, unproven
from planning.resolve import Resolved
from planning.routes import Route, requests
from planning.routes.records import PoolRequests
from planning.serving import Workload
from planning.variant import Contexts, VariantContext
from planning.variant.canary import Share
from planning.weights import claims
from planning.weights.claims import StoragePlan


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """Everything that the objects of a service, or of its canary, agree about."""

    owner: str
    """Whose the objects are; the service's key, or one that no service has."""
    path: Path
    """Where it stands in the configuration."""
    names: Names
    own_labels: Mapping[str, str]
    """The users' labels, the service's over the stack's."""
    own_annotations: Mapping[str, str]
    model: str
    source: str
    accelerators: Mapping[str, str]
    """The class of each role."""
    decode: Workload
    """The decode, or only, role."""
    prefill: Workload | None
    storage: StoragePlan | None
    """The claim of the weights; absent: the pods, a cache, the image or another variant's claim have them."""
    weights_of: str
    """Whose Job fills the claim that the pods mount, where one does."""
    port: int
    """The port that pool and Service reach the serving pods on."""
    picker: Picker
    gke: LoadBalancing | None
    """What the load balancer of GKE's gateway is told; absent: the gateway is another's."""
    requests: PoolRequests
    """What the picker makes of requests."""
    monitoring: Monitoring | None
    """What is scraped; absent: nobody scrapes."""
    policies: tuple[Policy, ...]
    """What serving pods and picker may do; none: anything."""
    resource_id: str | None
    """The id that the interceptor bills by, on the routed Service alone."""
    domain: str
    warnings: tuple[Problem, ...]
    """What works, and what whoever wrote it should know."""

    @property
    def mark(self) -> str:
        """Return what tells the logical names of the variant's objects from the service's."""
        return "" if self.names.variant == PRIMARY else f"{self.names.variant}-"

    @property
    def generation_mark(self) -> str:
        """Return what tells the logical names of one generation from another's: each is made beside the one before."""
        return "" if self.names.generation is None else f"{self.names.generation}-"

    @property
    def roles(self) -> tuple[Workload, ...]:
        """Return the workloads of all roles."""
        return (self.decode,) if self.prefill is None else (self.decode, self.prefill)

    def intent(self) -> dict[str, Any]:
        """Return what a reader of a diff wants to see first."""
        told = {
            "model": self.model,
            "source": self.source,
            "accelerator": self.accelerators[labels.DECODE],
            "roles": {
                one.role: {
                    "replicas": one.replicas,
                    "podsPerReplica": one.layout.pods_per_replica,
                    "devicesPerPod": one.layout.devices_per_pod,
                }
                for one in self.roles
            },
        }
        return told if self.names.generation is None else {**told, "generation": self.names.generation}

    def host(self, name: str) -> str:
        """Return the DNS name of a Service in the service's namespace."""
        return f"{address(name, self.names.namespace)}.{self.domain}"


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """A service, and how requests reach it."""

    key: str
    primary: VariantPlan
    canary: VariantPlan | None
    share: Share
    """Of the requests, between the two."""
    route: Route | None
    mirrored_from: tuple[str, ...]
    """Other namespaces, whose routes copy requests to it."""
    own_warnings: tuple[Problem, ...]

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return what works, and what whoever wrote it should know."""
        return (*self.own_warnings, *(warning for variant in self.variants for warning in variant.warnings))

    @property
    def variants(self) -> tuple[VariantPlan, ...]:
        """Return the service, and its canary where it has one."""
        return (self.primary,) if self.canary is None else (self.primary, self.canary)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads of all roles of both."""
        return tuple(role for variant in self.variants for role in variant.roles)

    @property
    def route_id(self) -> Id:
        """Return the identity of the HTTPRoute, where the service has one."""
        return Id(self.primary.owner, parts.ROUTE)

    def intent(self) -> dict[str, Any]:
        """Return what a reader of a diff wants to see first; the canary's weight is the route's."""
        told = self.primary.intent()
        return told if self.canary is None else {**told, "canary": self.canary.intent()}


@dataclass(frozen=True, slots=True)
class InterceptorGrant:
    """What lets the interceptor find Services by their labels, in one namespace."""

    namespace: str
    subject_namespace: str
    service_account: str

    @property
    def role(self) -> str:
        """Return the name of the Role and of its binding."""
        return f"{self.service_account}-services"

    @property
    def name(self) -> str:
        """Return what the objects are part of, as a label's value."""
        return shortened(self.service_account, LONGEST)

    @property
    def rules(self) -> tuple[Mapping[str, Any], ...]:
        """Return what the interceptor may do: find Services, and nothing else."""
        return ({"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]},)

    @property
    def owner(self) -> str:
        """Return the owner of the objects, which no service and no namespace is called."""
        return f"interceptor/{self.namespace}"


@dataclass(frozen=True, slots=True)
class StackPlan:
    """Everything that is decided about a stack."""

    release: str
    labels: Mapping[str, str]
    namespaces: tuple[str, ...]
    """Namespaces to make."""
    services: tuple[ServicePlan, ...]
    """In the order of their keys."""
    grants: tuple[InterceptorGrant, ...]
    caches: tuple[StoragePlan, ...]
    """In the order of their keys."""
    own_warnings: tuple[Problem, ...]
    """What is to be known of the release, and of what is said for all services."""

    @property
    def routes(self) -> tuple[Route, ...]:
        """Return the routes of all services that have one."""
        return tuple(one.route for one in self.services if one.route is not None)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return what works, and what whoever wrote it should know."""
        return (*self.own_warnings, *(warning for service in self.services for warning in service.warnings))

    @property
    def relations(self) -> Relations:
        """Return what the order of the stack's objects follows from."""
        variants = [variant for service in self.services for variant in service.variants]
        routed = [(service, service.route) for service in self.services if service.route is not None]
        return Relations(
            namespaces={
                **{variant.owner: variant.names.namespace for variant in variants},
                **{cache.owner: cache.namespace for cache in self.caches},
                **{grant.owner: grant.namespace for grant in self.grants},
            },
            weights={variant.owner: variant.weights_of for variant in variants},
            beside={service.route_id: tuple(each.owner for each in service.variants[1:]) for service, _ in routed},
            others={
                service.route_id: (Id(route.mirror.key, parts.SERVICE), Id(route.mirror.key, parts.MIRROR_GRANT))
                for service, route in routed
                if route.mirror is not None
            },
        )


def decide(resolved: Resolved, release: Release) -> StackPlan:
    """Decide a stack that is without mistakes."""
    stack = resolved.stack
    services = tuple(_service(key, resolved) for key in sorted(stack.services))
    caches = tuple(claims.of_cache(key, stack, release) for key in sorted(stack.caches))
    used = {one.primary.names.namespace for one in services} | {one.namespace for one in caches}
    vendors = {role.accelerator.vendor for one in services for role in one.workloads}
    return StackPlan(
        release=stack.release,
        labels=stack.labels,
        namespaces=tuple(sorted(used)) if stack.namespace_options.create else (),
        services=services,
        grants=tuple(_grants(stack, services)),
        caches=caches,
        own_warnings=(*_unproven(release, vendors), *tracing.warnings(stack.observability.tracing, release)),
    )


def _unproven(release: Release, vendors: Collection[str]) -> Iterator[Problem]:
    for at, entry in unproven(release, vendors):
        yield warning(Path(f"release {release.name}"), f"{at} is unproven ({entry.source})")


def _service(key: str, resolved: Resolved) -> ServicePlan:
    contexts, spec = resolved.contexts, resolved.stack.services[key]
    context, canary_context = contexts.primary(key), contexts.canary(key)
    primary = _variant(context, contexts)
    return ServicePlan(
        key=key,
        primary=primary,
        canary=None if canary_context is None else _beside(primary, _variant(canary_context, contexts)),
        share=context.share,
        route=resolved.routes.get(key),
        mirrored_from=routes.mirrored_from(resolved.routes, key, context.namespace),
        own_warnings=(*variant.warnings(context.path, spec), *routes.warnings(context), *requests.warnings(context)),
    )


def _variant(of: VariantContext, contexts: Contexts) -> VariantPlan:
    spec, stack = of.spec, of.stack
    provider = None if of.gateway is None else of.gateway.provider
    roles = {name: serving.plan(role) for name, role in contexts.roles_of(of).items()}
    cache, decided = claims.cache_of(spec), picker.plan(of)
    scraped = monitoring.plan(spec, roles, stack.observability.metrics)
    return VariantPlan(
        owner=of.owner,
        path=of.path,
        names=of.names,
        own_labels={**stack.labels, **spec.labels},
        own_annotations=spec.annotations,
        model=served_name(spec.model.name, spec.model.source) or of.key,
        source=spec.model.source,
        accelerators={name: role.accelerator for name, _, role in of.roles},
        decode=roles[labels.DECODE],
        prefill=roles.get(labels.PREFILL),
        storage=claims.of_variant(of),
        weights_of=of.owner if cache is None else claims.cache_owner(cache),
        port=spec.engine.port,
        picker=decided,
        gke=gke.plan(spec, roles[labels.DECODE]) if provider == "gke" else None,
        requests=requests.plan(of),
        monitoring=scraped,
        policies=network.plan(of, roles, decided, scraped, metered=of.resource_id is not None),
        resource_id=of.resource_id,
        domain=stack.cluster.domain,
        warnings=(*serving.warnings(of), *decided.warnings),
    )


def _beside(primary: VariantPlan, tried: VariantPlan) -> VariantPlan:
    """Return a canary beside its service: where both want one source in one claim, the service's Job brings it."""
    own, other = tried.storage, primary.storage
    if own is None or other is None or (own.fill.claim, own.fill.name) != (other.fill.claim, other.fill.name):
        return tried
    return replace(tried, storage=None, weights_of=primary.owner)


def _grants(stack: Stack, services: tuple[ServicePlan, ...]) -> list[InterceptorGrant]:
    if stack.interceptor is None:
        return []
    variants = [service.primary for service in services]
    metered = sorted({one.names.namespace for one in variants if one.resource_id is not None})
    return [
        InterceptorGrant(namespace, stack.interceptor.namespace, stack.interceptor.service_account_name)
        for namespace in metered
    ]
