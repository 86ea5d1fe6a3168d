"""Network policies of a variant: the flows from and to its pods.

Every flow is an edge, from which the policies on both sides are made. The kubelet's probes need no edge (Kubernetes,
Network Policies: "traffic to and from the node where a Pod is running is always allowed").
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
"""Source ranges of Google's load balancers and their health checks (Cloud Load Balancing, Firewall rules)."""


@dataclass(frozen=True, slots=True)
class _Role:
    """Pods of a role."""

    workload: Workload
    serving: Pods
    """Pods that receive requests."""
    workers: Pods | None
    """Further pods of replicas that span several pods."""

    @property
    def all_pods(self) -> tuple[Pods, ...]:
        return (self.serving,) if self.workers is None else (self.serving, self.workers)


@dataclass(frozen=True, slots=True)
class _Graph:
    """Pods and plans of a variant, from which its edges follow."""

    of: VariantContext
    spec: NetworkPolicies
    decode: _Role
    prefill: _Role | None
    picker_plan: Picker
    picker: Pods
    monitoring: Monitoring | None
    metered: bool

    @property
    def roles(self) -> tuple[_Role, ...]:
        return (self.decode,) if self.prefill is None else (self.decode, self.prefill)


def plan(
    variant: VariantContext,
    roles: Mapping[str, Workload],
    picker_plan: Picker,
    monitoring: Monitoring | None,
    *,
    metered: bool,
) -> tuple[Policy, ...]:
    """Return the policies of a variant's pods and of its picker. Empty if the stack has no network policies.

    `metered` says whether the interceptor sends requests to the variant's Service.
    """
    spec = variant.stack.network_policies
    if spec is None:
        return ()
    pods = {name: _role(variant, workload) for name, workload in roles.items()}
    picker = Pods(variant.names.namespace, labels.picker_selector(variant.names))
    decode, prefill = pods[labels.DECODE], pods.get(labels.PREFILL)
    return tuple(_policies(_Graph(variant, spec, decode, prefill, picker_plan, picker, monitoring, metered)))


def _role(variant: VariantContext, workload: Workload) -> _Role:
    variant_names, has_workers = variant.names, workload.layout.pods_per_replica > 1
    return _Role(
        workload=workload,
        serving=Pods(variant_names.namespace, labels.role_selector(variant_names, workload.role)),
        workers=Pods(variant_names.namespace, labels.worker(variant_names, workload.role)) if has_workers else None,
    )


def _policies(graph: _Graph) -> Iterator[Policy]:
    edges = tuple(_edges(graph))
    for role in graph.roles:
        role_parts = parts.ROLES[role.workload.role]
        yield policy(role_parts.network_policy, role.workload.name, role.serving, edges)
        if role.workers is not None:
            yield policy(role_parts.worker_network_policy, f"{role.workload.name}-worker", role.workers, edges)
    yield policy(parts.PICKER_NETWORK_POLICY, graph.of.names.picker, graph.picker, edges)


def _edges(graph: _Graph) -> Iterator[Edge]:
    """Yield every edge from or to the pods of a variant."""
    yield from _request_edges(graph)
    yield from _picker_edges(graph)
    yield from _scrape_edges(graph)
    yield from _kv_transfer_edges(graph)
    for role in graph.roles:
        yield from _replica_edges(role)
        for pods in role.all_pods:
            yield from _role_egress(graph, role, pods)
    yield from _picker_egress(graph)


def _request_edges(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges of requests: from gateways, which consult the picker, and from the interceptor."""
    variant, interceptor = graph.of, graph.of.stack.interceptor
    port, gateway_end = tcp(variant.spec.engine.port), _gateway_end(graph, variant.service)
    if gateway_end is not None:
        yield Edge(gateway_end, graph.decode.serving, port)
        # The picker sends the gateway to decode pods only. A gateway that fails open reaches prefill pods, too, and
        # Google's front ends send health checks to all pods of a pool.
        reaches_prefill = variant.spec.endpoint_picker.failure_mode == "FailOpen" or isinstance(gateway_end, Addresses)
        if graph.prefill is not None and reaches_prefill:
            yield Edge(gateway_end, graph.prefill.serving, port)
        yield Edge(gateway_end, graph.picker, tcp(variant.spec.endpoint_picker.port))
    yield from (Edge(source, graph.decode.serving, port) for source in _mirroring_gateways(graph))
    if graph.metered and interceptor is not None:
        yield Edge(Pods(interceptor.namespace), graph.decode.serving, port)


def _gateway_end(graph: _Graph, service: Service) -> End | None:
    """Return the source of requests that a gateway forwards to a service. None if no route leads to it."""
    stack, service_gateway = graph.of.stack, gateway(service, graph.of.stack)
    if service_gateway is None or not service.route.enabled:
        return None
    if service_gateway.provider == "gke":
        return Addresses(_GOOGLE_FRONT_ENDS)
    return Pods(service_gateway.namespace or stack.namespace, graph.spec.gateway_pods)


def _mirroring_gateways(graph: _Graph) -> Iterator[End]:
    """Yield the gateways that mirror requests of other services to the variant."""
    for key, service in graph.of.stack.services.items() if graph.of.variant_name == PRIMARY else ():
        mirror, source = service.route.mirror, _gateway_end(graph, service)
        if mirror is not None and mirror.service == graph.of.key != key and source is not None:
            yield source


def _picker_edges(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges from the picker to the pods of its pool, which it asks for metrics and KV cache events."""
    port = graph.of.spec.engine.port
    for role in graph.roles:
        published = role.workload.engine.events_port
        events = () if published is None else (published,)
        # The picker asks the Service, which selects more pods than the pool: those of every generation.
        if role is graph.decode and graph.of.names.generation is not None and graph.picker_plan.asks_service:
            yield from _service_edges(graph)
            if events:
                yield Edge(graph.picker, role.serving, tcp(*events))
        else:
            yield Edge(graph.picker, role.serving, tcp(port, *events))


def _service_edges(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges between pickers and decode pods of all generations, which the Service selects."""
    port, namespace = tcp(graph.of.spec.engine.port), graph.of.names.namespace
    variant_names = replace(graph.of.names, generation=None)
    yield Edge(Pods(namespace, labels.picker_selector(variant_names)), graph.decode.serving, port)
    yield Edge(graph.picker, Pods(namespace, labels.routed_selector(variant_names)), port)


def _scrape_edges(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges of scrapers to pods that a monitor selects, and to pods whose metrics autoscaling follows."""
    monitoring, queue = graph.monitoring, False
    for source in _scrapers(graph):
        for role in graph.roles:
            autoscaler = role.workload.autoscaler
            follows = autoscaler is not None and any(isinstance(metric, EngineLoad) for metric in autoscaler.metrics)
            queue |= autoscaler is not None and autoscaler.keda is not None and autoscaler.keda.queue is not None
            if follows or (monitoring is not None and role.workload.role in monitoring.roles):
                yield Edge(source, role.serving, tcp(role.workload.engine.port))
        if queue or (monitoring is not None and monitoring.picker is not None):
            yield Edge(source, graph.picker, tcp(METRICS_PORT))


def _scrapers(graph: _Graph) -> tuple[Pods, ...]:
    if graph.of.stack.observability.metrics.type == "gmp":
        return tuple(Pods(namespace) for namespace, _ in GMP_COLLECTORS)
    return (Pods(graph.spec.prometheus_namespace),)


def _kv_transfer_edges(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges between the roles of a generation, on any port.

    NIXL fixes only the ports of its handshake (5600, and one per rank of data parallelism). UCX and Mooncake's engine
    then listen on ports that the system assigns (vLLM, NixlConnector and MooncakeConnector usage guides). The sidecar's
    requests to prefill take the same edges.
    """
    if graph.prefill is None:
        return
    for decode_pods in graph.decode.all_pods:
        for prefill_pods in graph.prefill.all_pods:
            yield Edge(decode_pods, prefill_pods, ANY_TCP)
            yield Edge(prefill_pods, decode_pods, ANY_TCP)


def _replica_edges(role: _Role) -> Iterator[Edge]:
    """Yield the edges between the pods of a replica, on any port, because torch.distributed and NCCL choose theirs.

    No label known in advance distinguishes replicas, so all replicas of a workload can reach each other.
    """
    if role.workers is None:
        return
    yield Edge(role.serving, role.workers, ANY_TCP)
    yield Edge(role.workers, role.serving, ANY_TCP)
    if role.workload.layout.pods_per_replica > 2:  # noqa: PLR2004, a leader and a single worker
        yield Edge(role.workers, role.workers, ANY_TCP)


def _role_egress(graph: _Graph, role: _Role, pods: Pods) -> Iterator[Edge]:
    """Yield the edges from a role's pods to DNS, the API server, the trace collector and the sources of weights."""
    workload, stack = role.workload, graph.of.stack
    tracing = stack.observability.tracing
    yield dns(pods)
    if workload.sidecar is not None and pods == role.serving:
        yield api_server(pods, stack)
    if tracing is not None and workload.engine.name == "vllm":
        yield from url_edges(pods, [tracing.endpoint], stack)
    yield from fetch_edges(pods, [url for fetch in workload.weights.fetches for url in fetch.urls], stack)


def _picker_egress(graph: _Graph) -> Iterator[Edge]:
    """Yield the edges from the picker to DNS, the API server, the trace collector and the latency predictor."""
    stack, predictor = graph.of.stack, graph.of.spec.endpoint_picker.latency_predictor
    tracing = stack.observability.tracing
    yield dns(graph.picker)
    yield api_server(graph.picker, stack)
    if tracing is not None:
        yield from url_edges(graph.picker, [tracing.endpoint], stack)
    if predictor is not None:
        yield from url_edges(graph.picker, [predictor.training_server, *predictor.prediction_servers], stack)
