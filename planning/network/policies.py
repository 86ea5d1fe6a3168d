"""Who reaches the pods of a variant, and whom they reach.

Every flow is one edge here; what the policy of either side says is read from it. The kubelet's probes need none: what
comes from a pod's own node is always let through (Kubernetes, Network Policies: "traffic to and from the node where a
Pod is running is always allowed").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from models.network import NetworkPolicies
from models.service import Service
from planning.ground import labels, parts
from planning.ground.flows import (
    ANY_TCP,
    Addresses,
    Edge,
    End,
    Pods,
    Policy,
    api_server,
    dns,
    fetch_edges,
    policy,
    tcp,
    url_edges,
)
from planning.ground.names import PRIMARY
from planning.ground.ports import METRICS_PORT
from planning.network.monitoring import GMP_COLLECTORS, Monitoring
from planning.picker.deployment import Picker
from planning.serving.autoscaling import EngineLoad
from planning.serving.workload import Workload
from planning.variant.context import VariantContext, gateway

_GOOGLE_FRONT_ENDS = ("35.191.0.0/16", "130.211.0.0/22", "2600:2d00:1:1::/64", "2600:2d00:1:b029::/64")
"""Whence Google's load balancers ask and check pods (Cloud Load Balancing, Firewall rules)."""


@dataclass(frozen=True, slots=True)
class _Role:
    """The pods of one role."""

    workload: Workload
    serving: Pods
    """Those that are asked."""
    workers: Pods | None
    """The further pods of replicas that span several."""

    @property
    def every(self) -> tuple[Pods, ...]:
        return (self.serving,) if self.workers is None else (self.serving, self.workers)


@dataclass(frozen=True, slots=True)
class _Graph:
    """What the edges of a variant follow from."""

    of: VariantContext
    wish: NetworkPolicies
    decode: _Role
    prefill: _Role | None
    decided: Picker
    picker: Pods
    scraped: Monitoring | None
    metered: bool

    @property
    def roles(self) -> tuple[_Role, ...]:
        return (self.decode,) if self.prefill is None else (self.decode, self.prefill)


def plan(
    of: VariantContext, roles: Mapping[str, Workload], decided: Picker, scraped: Monitoring | None, *, metered: bool
) -> tuple[Policy, ...]:
    """Decide the policies of a variant's pods and of its picker; none where the stack has none.

    `metered` says whether the interceptor asks the variant's Service.
    """
    wish = of.stack.network_policies
    if wish is None:
        return ()
    pods = {name: _role(of, workload) for name, workload in roles.items()}
    picker = Pods(of.names.namespace, labels.picker_selector(of.names))
    decode, prefill = pods[labels.DECODE], pods.get(labels.PREFILL)
    return tuple(_policies(_Graph(of, wish, decode, prefill, decided, picker, scraped, metered)))


def _role(of: VariantContext, workload: Workload) -> _Role:
    own, several = of.names, workload.layout.pods_per_replica > 1
    return _Role(
        workload=workload,
        serving=Pods(own.namespace, labels.role_selector(own, workload.role)),
        workers=Pods(own.namespace, labels.worker(own, workload.role)) if several else None,
    )


def _policies(graph: _Graph) -> Iterator[Policy]:
    edges = tuple(_edges(graph))
    for role in graph.roles:
        of_role = parts.ROLES[role.workload.role]
        yield policy(of_role.network_policy, role.workload.name, role.serving, edges)
        if role.workers is not None:
            yield policy(of_role.worker_network_policy, f"{role.workload.name}-worker", role.workers, edges)
    yield policy(parts.PICKER_NETWORK_POLICY, graph.of.names.picker, graph.picker, edges)


def _edges(graph: _Graph) -> Iterator[Edge]:
    """Yield every edge of a variant's pods."""
    yield from _requests(graph)
    yield from _picking(graph)
    yield from _scraping(graph)
    yield from _exchanging(graph)
    for role in graph.roles:
        yield from _spanning(role)
        for pods in role.every:
            yield from _leaving(graph, role, pods)
    yield from _of_the_picker(graph)


def _requests(graph: _Graph) -> Iterator[Edge]:
    """Yield who sends requests: the gateway, which asks the picker where to, and those that go past the picker."""
    of, interceptor = graph.of, graph.of.stack.interceptor
    port, entry = tcp(of.spec.engine.port), _gateway(graph, of.service)
    if entry is not None:
        yield Edge(entry, graph.decode.serving, port)
        # The picker sends nobody to prefill; who passes it over does, and Google's front ends check all of a pool.
        passed = of.spec.endpoint_picker.failure_mode == "FailOpen" or isinstance(entry, Addresses)
        if graph.prefill is not None and passed:
            yield Edge(entry, graph.prefill.serving, port)
        yield Edge(entry, graph.picker, tcp(of.spec.endpoint_picker.port))
    yield from (Edge(one, graph.decode.serving, port) for one in _copying(graph))
    if graph.metered and interceptor is not None:
        yield Edge(Pods(interceptor.namespace), graph.decode.serving, port)


def _gateway(graph: _Graph, service: Service) -> End | None:
    """Return where requests for a service come from, where a route leads to it."""
    stack, found = graph.of.stack, gateway(service, graph.of.stack)
    if found is None or not service.route.enabled:
        return None
    if found.provider == "gke":
        return Addresses(_GOOGLE_FRONT_ENDS)
    return Pods(found.namespace or stack.namespace, graph.wish.gateway_pods)


def _copying(graph: _Graph) -> Iterator[End]:
    """Yield the gateways that send the variant copies of other services' requests."""
    for key, service in graph.of.stack.services.items() if graph.of.variant == PRIMARY else ():
        mirror, source = service.route.mirror, _gateway(graph, service)
        if mirror is not None and mirror.service == graph.of.key != key and source is not None:
            yield source


def _picking(graph: _Graph) -> Iterator[Edge]:
    """Yield what the picker asks of the pods of its pool: their metrics, and what they hold in their caches."""
    port = graph.of.spec.engine.port
    for role in graph.roles:
        published = role.workload.engine.events_port
        events = () if published is None else (published,)
        # The Service finds more than a pool: pods of every generation.
        if role is graph.decode and graph.of.names.generation is not None and graph.decided.asks_service:
            yield from _past_the_pool(graph)
            if events:
                yield Edge(graph.picker, role.serving, tcp(*events))
        else:
            yield Edge(graph.picker, role.serving, tcp(port, *events))


def _past_the_pool(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges between pickers and decode pods of any generation, which the Service finds."""
    port, namespace = tcp(graph.of.spec.engine.port), graph.of.names.namespace
    every = replace(graph.of.names, generation=None)
    yield Edge(Pods(namespace, labels.picker_selector(every)), graph.decode.serving, port)
    yield Edge(graph.picker, Pods(namespace, labels.routed_selector(every)), port)


def _scraping(graph: _Graph) -> Iterator[Edge]:
    """Yield who reads metrics: those that a monitor names, and those that autoscaling follows, whoever scrapes them."""
    scraped, queue = graph.scraped, False
    for source in _scrapers(graph):
        for role in graph.roles:
            autoscaler = role.workload.autoscaler
            follows = autoscaler is not None and any(isinstance(one, EngineLoad) for one in autoscaler.metrics)
            queue |= autoscaler is not None and autoscaler.keda is not None and autoscaler.keda.queue is not None
            if follows or (scraped is not None and role.workload.role in scraped.roles):
                yield Edge(source, role.serving, tcp(role.workload.engine.port))
        if queue or (scraped is not None and scraped.picker is not None):
            yield Edge(source, graph.picker, tcp(METRICS_PORT))


def _scrapers(graph: _Graph) -> tuple[Pods, ...]:
    if graph.of.stack.observability.metrics.type == "gmp":
        return tuple(Pods(namespace) for namespace, _ in GMP_COLLECTORS)
    return (Pods(graph.wish.prometheus_namespace),)


def _exchanging(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges between the roles, of one generation.

    Of NIXL only the port of the handshake is known (5600, and one for each rank of data parallelism); UCX and
    Mooncake's engine then listen wherever the system lets them. So any port is open between the roles, the one that
    the sidecar asks prefill on among them (vLLM, NixlConnector and MooncakeConnector usage guides).
    """
    if graph.prefill is None:
        return
    for one in graph.decode.every:
        for other in graph.prefill.every:
            yield Edge(one, other, ANY_TCP)
            yield Edge(other, one, ANY_TCP)


def _spanning(role: _Role) -> Iterator[Edge]:
    """Yield the edges between the pods of one replica: torch.distributed and NCCL choose ports as they come.

    No label that is known beforehand tells one replica from another, so that those of one workload reach each other.
    """
    if role.workers is None:
        return
    yield Edge(role.serving, role.workers, ANY_TCP)
    yield Edge(role.workers, role.serving, ANY_TCP)
    if role.workload.layout.pods_per_replica > 2:  # noqa: PLR2004, a leader and a single worker
        yield Edge(role.workers, role.workers, ANY_TCP)


def _leaving(graph: _Graph, role: _Role, pods: Pods) -> Iterator[Edge]:
    """Yield whom serving pods ask besides."""
    workload, stack = role.workload, graph.of.stack
    traces = stack.observability.tracing
    yield dns(pods)
    if workload.sidecar is not None and pods == role.serving:
        yield api_server(pods, stack)
    if traces is not None and workload.engine.name == "vllm":
        yield from url_edges(pods, [traces.endpoint], stack)
    yield from fetch_edges(pods, [url for fetch in workload.weights.fetches for url in fetch.asks], stack)


def _of_the_picker(graph: _Graph) -> Iterator[Edge]:
    """Yield whom the picker asks besides; several elect their leader through the API server."""
    stack, predictor = graph.of.stack, graph.of.spec.endpoint_picker.latency_predictor
    traces = stack.observability.tracing
    yield dns(graph.picker)
    yield api_server(graph.picker, stack)
    if traces is not None:
        yield from url_edges(graph.picker, [traces.endpoint], stack)
    if predictor is not None:
        yield from url_edges(graph.picker, [predictor.training_server, *predictor.prediction_servers], stack)
