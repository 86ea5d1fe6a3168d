"""The plan of a whole stack."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.load import Loaded
from models.service import Service
from models.source import served_name
from models.stack import Gateway, Stack
from planning import accelerators, checks, picker, storage, workload
from planning.accelerators import AcceleratorClass
from planning.names import Names, names
from planning.picker import Picker
from planning.releases import Release, channel
from planning.storage import StoragePlan
from planning.workload import Context, Workload

ROUTED_PORT = 8000
"""Port of the routed Service, in number and name: the interceptor looks for the name first."""
GATEWAY_GROUP = "gateway.networking.k8s.io"


@dataclass(frozen=True, slots=True)
class Route:
    """The HTTPRoute of one service."""

    parent: Gateway
    parent_namespace: str
    path: str
    hostnames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """Everything that the objects of one service agree about."""

    key: str
    names: Names
    own_labels: Mapping[str, str]
    """The users' labels, the service's over the stack's."""
    own_annotations: Mapping[str, str]
    model: str
    source: str
    accelerator: str
    prefill_accelerator: str | None
    decode: Workload
    """The decode, or only, role."""
    prefill: Workload | None
    storage: StoragePlan | None
    """The claim of the weights; absent: the pods, a cache or the image have them."""
    cache: str | None
    """Key of the cache that has the weights."""
    port: int
    """The port that pool and Service reach the serving pods on."""
    picker: Picker
    route: Route | None
    istio: bool
    """Whether the gateway is Istio's, which has to be told to speak TLS to the picker."""
    resource_id: str | None
    """The id that the interceptor bills by, on the routed Service alone."""
    domain: str

    @property
    def roles(self) -> tuple[Workload, ...]:
        """Return the workloads of all roles."""
        return (self.decode,) if self.prefill is None else (self.decode, self.prefill)

    def intent(self) -> dict[str, Any]:
        """Return what a reader of a diff wants to see first."""
        return {
            "model": self.model,
            "source": self.source,
            "accelerator": self.accelerator,
            "roles": {
                one.role: {
                    "replicas": one.replicas,
                    "podsPerReplica": one.layout.pods_per_replica,
                    "devicesPerPod": one.layout.devices_per_pod,
                }
                for one in self.roles
            },
        }

    def host(self, name: str) -> str:
        """Return the DNS name of a Service in the service's namespace."""
        return f"{name}.{self.names.namespace}.svc.{self.domain}"


@dataclass(frozen=True, slots=True)
class InterceptorGrant:
    """What lets the interceptor find Services by their labels, in one namespace."""

    namespace: str
    subject_namespace: str
    service_account: str


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


def plan(loaded: Loaded) -> StackPlan:
    """Decide a stack.

    Raises `ConfigError` with every mistake: those found while reading, and those that only the whole stack shows.
    """
    stack = loaded.finish(checks.problems(loaded.stack))
    release = channel(stack.release)
    classes = accelerators.classes(stack.accelerators)
    services = tuple(_service(stack, release, classes, key) for key in sorted(stack.services))
    caches = tuple(storage.of_cache(key, stack, release) for key in sorted(stack.caches))
    used = tuple(sorted({service.names.namespace for service in services} | {one.namespace for one in caches}))
    return StackPlan(
        release=stack.release,
        labels=stack.labels,
        namespaces=used if stack.namespace_options.create else (),
        services=services,
        grants=tuple(_grants(stack, services)),
        caches=caches,
    )


def _service(stack: Stack, release: Release, classes: Mapping[str, AcceleratorClass], key: str) -> ServicePlan:
    spec = stack.services[key]
    own = names(spec.namespace or stack.namespace, spec.name or key)
    context = Context(f"services.{key}", own, spec, stack, release, classes)
    return ServicePlan(
        key=key,
        names=own,
        own_labels={**stack.labels, **spec.labels},
        own_annotations=spec.annotations,
        model=served_name(spec.model.name, spec.model.source) or key,
        source=spec.model.source,
        accelerator=spec.accelerator,
        prefill_accelerator=None if spec.prefill is None else spec.prefill.accelerator,
        decode=workload.decode(context),
        prefill=None if spec.prefill is None else workload.prefill(context, spec.prefill),
        storage=storage.of_service(key, spec, stack, own, release),
        cache=storage.cache_of(spec),
        port=spec.engine.port,
        picker=picker.plan(spec, own, release, stack.observability.tracing),
        route=_route(stack, spec, own),
        istio=stack.gateway is not None and stack.gateway.provider == "istio",
        resource_id=checks.resource_id(stack, key),
        domain=stack.cluster.domain,
    )


def _route(stack: Stack, spec: Service, own: Names) -> Route | None:
    if stack.gateway is None or not spec.route.enabled:
        return None
    return Route(
        parent=stack.gateway,
        parent_namespace=stack.gateway.namespace or stack.namespace,
        path=f"/{own.namespace}/{own.base}",
        hostnames=spec.route.hostnames,
    )


def _grants(stack: Stack, services: tuple[ServicePlan, ...]) -> list[InterceptorGrant]:
    if stack.interceptor is None:
        return []
    metered = sorted({service.names.namespace for service in services if service.resource_id is not None})
    return [
        InterceptorGrant(namespace, stack.interceptor.namespace, stack.interceptor.service_account_name)
        for namespace in metered
    ]
