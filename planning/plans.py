"""Plans of variants, services and the whole stack. `planning/deciding.py` makes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.existing import ExistingPods
from models.money import Prices
from models.paths import Path
from models.pins import Pin
from models.problems import Problem
from models.profile import ChosenProfile
from planning.ground import labels, parts
from planning.ground.flows import Policy
from planning.ground.marks import Identity
from planning.ground.names import PRIMARY, Names, address
from planning.ground.order import Id
from planning.hardware.accelerators import AcceleratorClass
from planning.interceptor import InterceptorGrant, InterceptorPlan
from planning.network.gke import LoadBalancing
from planning.network.interceptor import InterceptorNetwork
from planning.network.monitoring import Monitoring
from planning.observing import Observing, VariantCounters
from planning.observing.board_records import Boards
from planning.picker import Picker
from planning.resolve import Judgement
from planning.routes import PlannedRoute
from planning.routes.records import PoolRequests
from planning.serving import Workload
from planning.variant.canary import Share
from planning.weights.claims import StoragePlan


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """Plan of a primary or a canary, from which all of its objects are rendered."""

    key: str
    """Key of the service."""
    owner: str
    """Owner of the objects: the service key, or `<key>.canary`, which is no service key, because keys have no dot."""
    release: str
    """Name of the variant's release channel."""
    has_own_release: bool
    """Whether the configuration sets the channel for the variant, its service or all services."""
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
    roles: Mapping[str, Workload]
    """Workloads by name of the role, those that get the requests of clients first. Empty if somebody else runs the
    pods."""
    storage: StoragePlan | None
    """The Job that fetches the weights into a claim, and the claim if the stack creates it. None if the variant has no
    such Job, or shares the Job of a cache or of the primary."""
    weights_of: str
    """Owner of the weights' claim and of the Job that fills the claim: this variant, the primary, or a cache. If there
    is no claim, the owner is this variant."""
    existing_pods: ExistingPods | None
    """Serving pods that somebody else runs. `roles` is then empty, and so are `source`, `pins` and `accelerators`. None
    if the roles run the pods."""
    existing_pool: str | None
    """Name of the InferencePool that somebody else made, with its picker and its pods. `names.pool` then is this name,
    and there are neither pods nor a Service nor a picker. None if there is none."""
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
    search_id: str | None
    """Value of the label by which the interceptor searches for the variant's Service; equal to `metered_as`. None if
    the interceptor does not search for the Service."""
    domain: str
    """DNS domain of the cluster."""

    @property
    def picker(self) -> Picker:
        """Return the plan of the endpoint picker. Raises `ValueError` if the variant has no picker."""
        if self.endpoint_picker is None:
            raise ValueError("this variant has no endpoint picker")
        return self.endpoint_picker

    @property
    def variant_prefix(self) -> str:
        """Return the prefix of a canary's logical names; empty for the primary."""
        if self.names.variant_name == PRIMARY:
            return ""
        return f"{self.names.variant_name}-"

    @property
    def generation_prefix(self) -> str:
        """Return the prefix for logical names of objects that exist once for each generation.

        During a rollout, the objects of two generations exist at the same time. The prefix is empty if the variant has
        no generation.
        """
        if self.names.generation is None:
            return ""
        return f"{self.names.generation}-"

    @property
    def destinations(self) -> tuple[Workload, ...]:
        """Return the workloads that get the requests of clients: the decode role's, or those of its sets."""
        return tuple(workload for workload in self.workloads if workload.stage.is_destination)

    @property
    def is_divided(self) -> bool:
        """Tell whether the decode role is divided into sets."""
        return any(workload.set_name for workload in self.destinations)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads of all roles."""
        return tuple(self.roles.values())

    @property
    def target_ports(self) -> tuple[int, ...]:
        """Return the ports of the pool: every port on which pods of at least one role get requests.

        Those of a pool that somebody else made are unknown, so there are none.
        """
        if self.existing_pods is not None:
            return self.existing_pods.ports
        return max((workload.target_ports for workload in self.workloads), key=len, default=())

    @property
    def pool_selector(self) -> Mapping[str, str]:
        """Return the labels of the pods of the pool: all roles, one generation."""
        if self.existing_pods is not None:
            return self.existing_pods.match_labels
        return labels.pool_selector(self.names)

    @property
    def routed_selector(self) -> Mapping[str, str]:
        """Return the labels of the pods behind the Service: those that get requests of clients, of all generations."""
        if self.existing_pods is not None:
            return self.existing_pods.match_labels
        return labels.routed_selector(self.names, is_divided=self.is_divided)

    def preview_inputs(self) -> dict[str, Any]:
        """Return the variant's inputs as previews show them: model, source, accelerators and the size of each role.

        Of pods that somebody else runs, they are the model and the labels. The release channel is left out if the
        variant follows the stack, because the stack's inputs have it then.
        """
        inputs: dict[str, Any] = {"model": self.model, **self._pods_inputs()}
        if self.has_own_release:
            inputs["release"] = self.release
        if self.profiles:
            inputs["profiles"] = {role: profile.text for role, profile in self.profiles.items()}
        if self.names.generation is not None:
            inputs["generation"] = self.names.generation
        return inputs

    def _pods_inputs(self) -> dict[str, Any]:
        if self.existing_pool is not None:
            return {"existingPool": self.existing_pool}
        if self.existing_pods is not None:
            return {"existingPods": dict(self.existing_pods.match_labels)}
        classes = dict.fromkeys(self.accelerators[workload.role] for workload in self.destinations)
        roles = {
            workload.role: {
                "replicas": workload.replicas,
                "podsPerReplica": workload.layout.pods_per_replica,
                "devicesPerPod": workload.layout.devices_per_pod,
            }
            for workload in self.workloads
        }
        return {"source": self.source, "accelerator": ", ".join(classes), "roles": roles}

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
    route: PlannedRoute | None
    mirrored_from: tuple[str, ...]
    """Other namespaces that contain routes which mirror requests to the service."""
    observing: Observing | None
    """Recorded series and alerts. None if the stack has no rules, or if nothing of the service is scraped."""
    gate_counters: Mapping[str, VariantCounters]
    """Counters by which gates compare the variants, by the name of the variant. Empty if the canary has no gates. A
    variant that is not scraped is left out."""

    @property
    def variants(self) -> tuple[VariantPlan, ...]:
        """Return the primary and, if there is one, the canary."""
        return tuple(variant for variant in (self.primary, self.canary) if variant is not None)

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
        if self.canary is not None:
            inputs["canary"] = self.canary.preview_inputs()
        return inputs


@dataclass(frozen=True, slots=True)
class StackPlan:
    """Plan of a stack."""

    identity: Identity
    """The name of the stack, and its former names."""
    release: str
    """Name of the stack's release channel. Caches have it, and variants that set none."""
    classes: Mapping[str, AcceleratorClass]
    """All accelerator classes of the stack, by name."""
    labels: Mapping[str, str]
    """Labels that users wrote for the whole stack."""
    namespaces: tuple[str, ...]
    """Namespaces to create."""
    namespace_origins: Mapping[str, Path]
    """Path in the configuration of the name of each namespace that has objects of the stack."""
    sections: Mapping[str, Path]
    """Path of the section of the configuration of each owner of objects."""
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
    prices: Prices
    """Prices of devices by accelerator class, and their currency."""
    boards: Boards | None
    """Dashboards. None if the stack has none, or no service with pods that it makes."""
    judgements: tuple[Judgement, ...] = ()
    """Warnings about the stack, then about each service, ordered by key."""

    @property
    def own_releases(self) -> dict[str, str]:
        """Return the release channels that the configuration sets for variants, by owner."""
        variants = (variant for service in self.services for variant in service.variants)
        return {variant.owner: variant.release for variant in variants if variant.has_own_release}

    @property
    def routes(self) -> tuple[PlannedRoute, ...]:
        """Return the routes of the services. A service without a route is left out."""
        return tuple(service.route for service in self.services if service.route is not None)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings about the stack and about its services."""
        return tuple(judgement.problem for judgement in self.judgements)

    def warnings_of(self, service: str) -> tuple[Problem, ...]:
        """Return the warnings about a service. `service` is the key of the service."""
        return tuple(judgement.problem for judgement in self.judgements if judgement.service == service)

    def section(self, object_id: Id) -> Path:
        """Return the path of the section of the configuration that decides about an object."""
        if object_id.part is parts.NAMESPACE:
            return Path("namespaceOptions", "create")
        if object_id.part is parts.DASHBOARD:
            return Path("observability", "dashboards")
        return self.sections.get(object_id.owner, Path())
