"""Diagram of a stack as Mermaid: gateway, routes with weights, pools with their pickers, serving pods with ports."""

from collections.abc import Iterator

from models.printable import printable
from planning.picker.proxy import ProxyPlan
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.routes.records import Parent, RouteRule
from planning.serving.workload import Workload

_INTERCEPTOR = "i"
"""Id of the interceptor in the flowchart."""


def mermaid(plan: StackPlan) -> str:
    """Return the flowchart of a stack. Ids are numbered in the order of the plan; labels have the names of objects."""
    lines = ["flowchart LR", *_gateways(plan), *_interceptor(plan)]
    for number, service in enumerate(plan.services):
        lines += _service(service, f"s{number}", _gateway_ids(plan), _targets(plan))
    return "\n".join(lines) + "\n"


def _parents(plan: StackPlan) -> tuple[Parent, ...]:
    return tuple(dict.fromkeys(route.parent for route in plan.routes))


def _gateways(plan: StackPlan) -> Iterator[str]:
    for number, parent in enumerate(_parents(plan)):
        listener = parent.section_name or parent.port
        text = f"{parent.kind}<br/>{parent.namespace}/{parent.name}"
        yield f'  g{number}{{{{"{text}{"" if listener is None else f" ({listener})"}"}}}}'


def _gateway_ids(plan: StackPlan) -> dict[Parent, str]:
    return {parent: f"g{number}" for number, parent in enumerate(_parents(plan))}


def _interceptor(plan: StackPlan) -> Iterator[str]:
    """Yield the line of the interceptor, if the stack has an interceptor."""
    interceptor = plan.interceptor
    if interceptor is not None:
        text = f"interceptor<br/>{interceptor.namespace}/{interceptor.service}:{interceptor.port}"
        yield f'  {_INTERCEPTOR}["{text}"]'


def _targets(plan: StackPlan) -> dict[tuple[str, str], str]:
    """Return the diagram's id of each pool, of the Service of each variant without a picker, and of the interceptor.

    The keys are namespace and name.
    """
    targets = {
        (variant.names.namespace, _target(variant)): f"s{number}v{index}"
        for number, service in enumerate(plan.services)
        for index, variant in enumerate(service.variants)
    }
    if plan.interceptor is not None:
        targets[plan.interceptor.namespace, plan.interceptor.service] = _INTERCEPTOR
    return targets


def _target(variant: VariantPlan) -> str:
    """Return the name of a variant's pool, or of its Service if the variant has no picker."""
    if variant.endpoint_picker is None:
        return variant.names.base
    return variant.names.pool


def _service(
    service: ServicePlan, name: str, gateways: dict[Parent, str], targets: dict[tuple[str, str], str]
) -> Iterator[str]:
    yield f'  subgraph {name}["{_escape(f"{service.key}: {service.primary.model}")}"]'
    for index, variant in enumerate(service.variants):
        yield from _variant(variant, f"{name}v{index}")
    yield "  end"
    if service.route is None:
        return
    route = service.route
    hosts = "<br/>".join(route.hostnames)
    yield f'  {name}r(["HTTPRoute<br/>{route.namespace}/{route.name}{f"<br/>{hosts}" if hosts else ""}"])'
    yield f"  {gateways[route.parent]} --> {name}r"
    for rule in route.rules:
        yield from _rule(rule, f"{name}r", route.namespace, targets)
    for index, variant in enumerate(service.variants):
        if variant.metered_as is not None:
            yield f"  {_INTERCEPTOR} -->{_edge_end(variant, f'{name}v{index}')}"
    if route.mirror is not None:
        yield f'  {name}m["Service<br/>{route.mirror.namespace}/{route.mirror.name}"]'
        yield f'  {name}r -. "copies of {route.mirror.percent} %" .-> {name}m'


def _edge_end(variant: VariantPlan, name: str) -> str:
    """Return label and end of the edge from the interceptor to a variant.

    The interceptor sends requests to a Service. If the variant has a picker, the flowchart has no box for this Service.
    The edge then has the Service as its label, and ends at the pods.
    """
    if variant.endpoint_picker is None:
        return f" {name}"
    return f'|"Service {variant.names.base}"| {name}d'


def _rule(rule: RouteRule, route: str, namespace: str, targets: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield an edge to each backend of a rule, with the rule's paths and headers, and the backend's share."""
    matches = dict.fromkeys(
        _escape(f"{match.path}{''.join(f' {name}: {value}' for name, value in match.headers.items())}")
        for match in rule.matches
    )
    total = sum(backend.weight for backend in rule.backends)
    for backend in rule.backends:
        share = ""
        if len(rule.backends) > 1 and total:
            share = f" · {100 * backend.weight // total} %"
        target = targets[backend.namespace or namespace, backend.name]
        yield f'  {route} -->|"{"<br/>".join(matches)}{share}"| {target}'


def _escape(text: str) -> str:
    """Return text for a label in quotation marks (Mermaid documentation, Entity codes)."""
    return printable(text).replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def _variant(variant: VariantPlan, name: str) -> Iterator[str]:
    ports = ", ".join(map(str, variant.target_ports))
    picker = variant.endpoint_picker
    target = _target(variant)
    yield f'    {name}[("{"Service" if picker is None else "InferencePool"}<br/>{target}")]'
    if picker is not None:
        yield f'    {name}e["picker {variant.names.picker}:{picker.port}"]'
        yield f"    {name} -. asks .-> {name}e"
        yield from _proxy(variant, picker.proxy, name)
    boxes = [f"{name}d{number or ''}" for number, _ in enumerate(variant.destinations)]
    for box, workload in zip(boxes, variant.destinations, strict=True):
        yield f'    {box}["{_pods(workload)}"]'
        yield f'    {name} -->|"{ports}"| {box}'
    others = [workload for workload in variant.workloads if not workload.stage.is_destination]
    for number, workload in enumerate(others):
        other = f"{name}p{number or ''}"
        engine = ", ".join(map(str, workload.engine.ports))
        yield f'    {other}["{_pods(workload)}"]'
        yield from (f'    {box} -->|"{workload.role} {engine}"| {other}' for box in boxes)


def _proxy(variant: VariantPlan, proxy: ProxyPlan | None, name: str) -> Iterator[str]:
    """Yield the Service of the proxies beside the pickers, and its edge to the pool."""
    if proxy is not None:
        yield f'    {name}y(["proxy<br/>{variant.names.proxy}:{proxy.service_port}"])'
        yield f"    {name}y --> {name}"


def _pods(workload: Workload) -> str:
    """Return role, kind, name, number of replicas, pods and devices of a workload, as text."""
    scaler = workload.autoscaler
    layout = workload.layout
    if scaler is None:
        number = str(workload.max_replicas)
    else:
        number = f"{scaler.min_replicas} to {scaler.max_replicas}"
    pods = ""
    if layout.pods_per_replica > 1:
        pods = f" × {layout.pods_per_replica} pods"
    devices = ""
    if layout.devices_per_pod:
        devices = f" × {layout.devices_per_pod} {workload.accelerator.vendor}"
    role = ""
    if workload.set_name or not workload.stage.is_destination:
        role = f"{workload.role} "
    noun = "replicas"
    if number == "1":
        noun = "replica"
    return f"{role}{workload.kind}<br/>{workload.name}<br/>{number} {noun}{pods}{devices}"
