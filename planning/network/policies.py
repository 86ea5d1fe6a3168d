"""Network policies of a variant: they allow the flows that the variant's pods need, and forbid all other flows.

Each flow is an edge. An edge yields an egress rule for its source and an ingress rule for its target. Probes of the
kubelet need no edge (Kubernetes, Network Policies: "traffic to and from the node where a Pod is running is always
allowed").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

from models.interceptor import Interceptor
from models.network import NetworkPolicies
from models.service import Service
from models.stack import Stack
from planning.ground import gateways, labels, parts
from planning.ground.flows import (
    ANY_TCP,
    Addresses,
    Edge,
    End,
    Pods,
    Policy,
    Port,
    api_server,
    dns,
    fetch_edges,
    policy,
    tcp,
    url_edges,
)
from planning.ground.gateways import Proxies
from planning.ground.names import PRIMARY
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.network.monitoring import GMP_COLLECTORS, Monitoring
from planning.picker.deployment import Picker
from planning.serving.autoscaling import EngineLoad, PickerLoad
from planning.serving.workload import Workload
from planning.variant.context import VariantContext, gateway


@dataclass(frozen=True, slots=True)
class _Role:
    """A role: its workload and the pods of this workload."""

    workload: Workload
    serving: Pods
    """Pods that receive requests. In a replica of several pods, this is the leader, or every pod."""
    workers: Pods | None
    """The other pods of replicas that span several pods; None if there are none."""

    @property
    def all_pods(self) -> tuple[Pods, ...]:
        """Return the serving pods, and the workers if there are any."""
        if self.workers is None:
            return (self.serving,)
        return (self.serving, self.workers)


@dataclass(frozen=True, slots=True)
class _Peers:
    """Pods and plans of a variant, from which its edges follow."""

    variant: VariantContext
    spec: NetworkPolicies
    roles: tuple[_Role, ...]
    picker_plan: Picker | None
    """None if the variant has no endpoint picker."""
    picker: Pods
    monitoring: Monitoring | None

    @property
    def destinations(self) -> tuple[_Role, ...]:
        """Return the roles that get the requests of clients."""
        return tuple(role for role in self.roles if role.workload.stage.is_destination)

    @property
    def others(self) -> tuple[_Role, ...]:
        """Return the roles that get only requests of sidecars."""
        return tuple(role for role in self.roles if not role.workload.stage.is_destination)


def plan(
    variant: VariantContext,
    roles: Mapping[str, Workload],
    picker_plan: Picker | None,
    monitoring: Monitoring | None,
) -> tuple[Policy, ...]:
    """Return the policies of a variant's pods and of its picker. Empty if the stack has no network policies."""
    spec = variant.stack.network_policies
    if spec is None:
        return ()
    pods = tuple(_role(variant, workload) for workload in roles.values())
    picker = Pods(variant.names.namespace, labels.picker_selector(variant.names))
    return tuple(_policies(_Peers(variant, spec, pods, picker_plan, picker, monitoring)))


def _role(variant: VariantContext, workload: Workload) -> _Role:
    variant_names = variant.names
    serving = Pods(variant_names.namespace, labels.role_selector(variant_names, workload.role))
    if workload.layout.pods_per_replica == 1 or workload.layout.every_pod_serves:
        return _Role(workload, serving, None)
    return _Role(workload, serving, Pods(variant_names.namespace, labels.worker(variant_names, workload.role)))


def _policies(peers: _Peers) -> Iterator[Policy]:
    edges = tuple(_edges(peers))
    for role in peers.roles:
        role_parts = parts.ROLES[role.workload.stage.name]
        yield policy(role_parts.network_policy, role.workload.name, role.serving, edges, role.workload.set_name)
        if role.workers is not None:
            name = _of_workers(role.workload)
            yield policy(role_parts.worker_network_policy, name, role.workers, edges, role.workload.set_name)
    if peers.picker_plan is not None:
        yield policy(parts.PICKER_NETWORK_POLICY, peers.variant.names.picker, peers.picker, edges)


def _of_workers(workload: Workload) -> str:
    """Return the name of the policy of worker pods. A dot sets it apart from the policies of other sets."""
    if workload.set_name:
        return f"{workload.name}.worker"
    return f"{workload.name}-worker"


def _edges(peers: _Peers) -> Iterator[Edge]:
    """Yield every edge from or to the pods of a variant."""
    yield from _request_edges(peers)
    yield from _proxy_edges(peers)
    yield from _picker_edges(peers)
    yield from _scrape_edges(peers)
    yield from _transfer_edges(peers)
    for role in peers.roles:
        yield from _replica_edges(role)
        for pods in role.all_pods:
            yield from _role_egress(peers, role, pods)
    yield from _picker_egress(peers)


def _request_edges(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges of requests from gateways or the interceptor, and the edges from the gateway to the picker."""
    variant = peers.variant
    destinations = [role.serving for role in peers.destinations]
    service_port = tcp(variant.spec.engine.port)
    interceptor = variant.stack.interceptor
    if variant.metered_as is not None and interceptor is not None:
        # A request that reached the pods without the interceptor would not be metered.
        yield from (Edge(interceptor_pods(interceptor), pods, service_port) for pods in destinations)
    else:
        yield from _gateway_edges(peers)
    for source in _mirroring_gateways(peers):
        yield from (Edge(source, pods, service_port) for pods in destinations)


def _proxy_edges(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges of the proxy beside the picker: from every address, and to the pods of the pool."""
    if peers.picker_plan is None or peers.picker_plan.proxy is None:
        return
    yield Edge(Addresses(()), peers.picker, tcp(peers.picker_plan.proxy.port))
    for role in peers.destinations:
        yield Edge(peers.picker, role.serving, tcp(*role.workload.target_ports))


def interceptor_pods(spec: Interceptor) -> Pods:
    """Return the pods of the interceptor: all pods of its namespace if this stack does not deploy it."""
    if spec.deploy is None:
        return Pods(spec.namespace)
    return Pods(spec.namespace, labels.interceptor_selector(spec.service_name))


def _gateway_edges(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges from the gateway to the pods of the pool and to the picker."""
    variant = peers.variant
    picker = peers.variant.spec.endpoint_picker
    proxies = _proxies(variant.service, variant.stack)
    for gateway_end in gateway_ends(variant.stack, peers.spec, variant.service):
        for role in peers.destinations:
            yield Edge(gateway_end, role.serving, tcp(*role.workload.target_ports))
        # The picker chooses decode pods only. But a gateway sends requests to any pod of a pool that fails open, and
        # load balancers outside of the cluster send health checks to all pods of a pool.
        if picker.failure_mode == "FailOpen" or proxies is not None:
            for role in peers.others:
                yield Edge(gateway_end, role.serving, tcp(*role.workload.target_ports))
        checked_ports = ()
        if proxies is not None and proxies.checks_pickers:
            checked_ports = (HEALTH_PORT,)
        if peers.picker_plan is not None:
            yield Edge(gateway_end, peers.picker, tcp(picker.port, *checked_ports))


def gateway_ends(stack: Stack, spec: NetworkPolicies, service: Service) -> Iterator[End]:
    """Yield the pods or addresses of the proxies of a service's gateway; none if the service has no route."""
    service_gateway = gateway(service, stack)
    if service_gateway is None or not service.route.enabled:
        return
    proxies = _proxies(service, stack)
    addresses = spec.proxy_cidrs
    if proxies is None:
        yield Pods(spec.gateway_namespace or service_gateway.namespace or stack.namespace, spec.gateway_pods)
    else:
        addresses = (*proxies.ranges, *addresses)
    if addresses:
        yield Addresses(addresses)


def _proxies(service: Service, stack: Stack) -> Proxies | None:
    """Return the facts of the proxies of a service's gateway. None if the proxies are pods."""
    service_gateway = gateway(service, stack)
    if service_gateway is None:
        return None
    facts = gateways.facts(service_gateway)
    if facts is None:
        return None
    return facts.proxies


def _mirroring_gateways(peers: _Peers) -> Iterator[End]:
    """Yield the gateways that mirror requests of other services to the variant.

    Only primaries receive such requests.
    """
    if peers.variant.variant_name != PRIMARY:
        return
    for key, service in peers.variant.stack.services.items():
        mirror = service.route.mirror
        if mirror is not None and mirror.service == peers.variant.key != key:
            yield from gateway_ends(peers.variant.stack, peers.spec, service)


def _picker_edges(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges from the picker to the serving pods: for metrics, KV cache events and tokenization.

    The picker reads metrics and events from each pod of its pool. Its requests for tokenization go to the Kubernetes
    Service of the decode pods.
    """
    if peers.picker_plan is None:
        return
    for role in peers.roles:
        ports = role.workload.target_ports
        events = role.workload.engine.events_ports
        # The Service that the picker asks to tokenize selects the decode pods of all generations, not only those of the
        # pool. The edges to this Service allow the engine's port, where the picker also reads metrics, but no port of
        # events.
        is_destination = role.workload.stage.is_destination
        if is_destination and peers.variant.names.generation is not None and peers.picker_plan.asks_service:
            yield from _service_edges(peers, role)
            # These edges allow the first port of the engine only. With `loadBalancing: external`, each rank has a port.
            missing = (*ports[1:], *events)
            if missing:
                yield Edge(peers.picker, role.serving, tcp(*missing))
        else:
            yield Edge(peers.picker, role.serving, tcp(*ports, *events))
            if is_destination and peers.variant.is_divided:
                yield _any_set_edge(peers, tcp(*ports, *events))


def _any_set_edge(peers: _Peers, ports: tuple[Port, ...]) -> Edge:
    """Return the edge from the picker, and from a proxy beside it, to the destination pods of any set.

    The picker's policy changes before the workloads. Pods that precede the sets, and those of a set that had another
    name, are the only ready ones until the sets have loaded. They have llm-d's label, so the picker still reaches them.
    """
    selector = labels.destination_selector(peers.variant.names, is_divided=True)
    return Edge(peers.picker, Pods(peers.variant.names.namespace, selector), ports)


def _service_edges(peers: _Peers, role: _Role) -> Iterator[Edge]:
    """Yield the edges from pickers to decode pods through the Service that selects the decode pods of all generations.

    A request of a picker of any generation can thus reach the decode pods of this pool's `role`, and a request of this
    pool's picker can reach decode pods of any generation.
    """
    port = tcp(peers.variant.spec.engine.port)
    namespace = peers.variant.names.namespace
    variant_names = replace(peers.variant.names, generation=None)
    yield Edge(Pods(namespace, labels.picker_selector(variant_names)), role.serving, port)
    selector = labels.routed_selector(variant_names, is_divided=peers.variant.is_divided)
    yield Edge(peers.picker, Pods(namespace, selector), port)


def _scrape_edges(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges from scrapers to the pods that they scrape.

    These are the pods that a monitor selects, and the pods whose metrics an autoscaler uses.
    """
    monitoring = peers.monitoring
    scrapes_queue = False
    for source in _scrapers(peers):
        for role in peers.roles:
            autoscaler = role.workload.autoscaler
            follows = autoscaler is not None and any(isinstance(metric, EngineLoad) for metric in autoscaler.metrics)
            scrapes_queue |= autoscaler is not None and (
                any(isinstance(metric, PickerLoad) for metric in autoscaler.metrics)
                or (autoscaler.keda is not None and autoscaler.keda.queue is not None)
            )
            if follows or (monitoring is not None and role.workload.role in monitoring.roles):
                yield Edge(source, role.serving, tcp(*role.workload.engine.ports))
        if scrapes_queue or (monitoring is not None and monitoring.picker is not None):
            yield Edge(source, peers.picker, tcp(METRICS_PORT))


def _scrapers(peers: _Peers) -> tuple[Pods, ...]:
    if peers.variant.stack.observability.metrics.type == "gmp":
        return tuple(Pods(namespace) for namespace, _ in GMP_COLLECTORS)
    return (Pods(peers.spec.prometheus_namespace),)


def _transfer_edges(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges between the roles of a generation, on any port.

    Roles of the same stage exchange nothing, unless they have a tier of the cache in which pods ask each other. Then
    all pods with this tier do.

    NIXL has fixed ports only for its handshake: 5600, and one port for each rank of data parallelism. For the transfer,
    UCX and Mooncake's engine listen on ports that the system assigns (vLLM, NixlConnector and MooncakeConnector usage
    guides). The same edges allow the sidecar's requests to pods of other roles.
    """
    for role, other in combinations(peers.roles, 2):
        if role.workload.stage is other.workload.stage:
            continue
        for pods, other_pods in product(role.all_pods, other.all_pods):
            yield Edge(pods, other_pods, ANY_TCP)
            yield Edge(other_pods, pods, ANY_TCP)
    asking = [pods for role in peers.roles if role.workload.engine.asks_peers for pods in role.all_pods]
    yield from (Edge(pods, other, ANY_TCP) for pods, other in product(asking, repeat=2))


def _replica_edges(role: _Role) -> Iterator[Edge]:
    """Yield the edges between the pods of a replica, on any port.

    torch.distributed and NCCL choose their ports themselves. No label that is known in advance distinguishes the
    replicas, so pods of all replicas of a workload can reach each other.
    """
    if role.workload.layout.every_pod_serves:
        yield Edge(role.serving, role.serving, ANY_TCP)
    if role.workers is None:
        return
    yield Edge(role.serving, role.workers, ANY_TCP)
    yield Edge(role.workers, role.serving, ANY_TCP)
    if role.workload.layout.pods_per_replica > 2:  # noqa: PLR2004, a leader and a single worker
        yield Edge(role.workers, role.workers, ANY_TCP)


def _role_egress(peers: _Peers, role: _Role, pods: Pods) -> Iterator[Edge]:
    """Yield the edges from a role's pods to DNS, the API server, the trace collector and the sources of weights."""
    workload = role.workload
    stack = peers.variant.stack
    tracing = stack.observability.tracing
    yield from dns(pods, peers.spec)
    if workload.sidecar is not None and pods == role.serving:
        yield api_server(pods, stack)
    if tracing is not None and workload.engine.name == "vllm":
        yield from url_edges(pods, [tracing.endpoint], stack)
    fetched = [url for fetch in workload.weights.fetches for url in fetch.urls]
    yield from fetch_edges(pods, [*fetched, *workload.engine.source_urls], stack)


def _picker_egress(peers: _Peers) -> Iterator[Edge]:
    """Yield the edges from the picker to DNS, the API server, the trace collector and the latency predictor."""
    if peers.picker_plan is None:
        return
    stack = peers.variant.stack
    predictor = peers.picker_plan.predictor
    tracing = stack.observability.tracing
    yield from dns(peers.picker, peers.spec)
    yield api_server(peers.picker, stack)
    if tracing is not None:
        yield from url_edges(peers.picker, [tracing.endpoint], stack)
    if predictor is not None:
        yield from url_edges(peers.picker, predictor.addresses, stack)
