"""Validation of the settings for scraping and for network policies."""

from collections.abc import Iterable, Iterator

from models.network import NetworkPolicies
from models.paths import Path
from models.problems import Problem, warning
from models.routing import Gateway
from models.service import Service
from models.stack import Stack
from planning.ground.flows import Addresses, Pods, Policy
from planning.ground.gateways import facts
from planning.variant import roles
from planning.variant.context import ConfiguredVariant, gateway


def judge(stack: Stack) -> Iterator[Problem]:
    """Reject settings for scraping and for network policies that have no effect in a stack."""
    yield from _monitor_labels(stack)
    yield from _policies(stack)


def _monitor_labels(stack: Stack) -> Iterator[Problem]:
    """Reject labels of monitors if the stack has no scraper."""
    metrics = stack.observability.metrics
    if metrics.type == "none" and metrics.labels:
        what = "has no effect while nobody scrapes (type none)"
        remedy = "set observability.metrics.type, or remove it"
        at = Path("observability", "metrics")
        yield Problem(at / "labels", what, remedy, (at / "type",))


def _policies(stack: Stack) -> Iterator[Problem]:
    """Reject settings without effect in `networkPolicies`."""
    policies = stack.network_policies
    at = Path("networkPolicies")
    if policies is None:
        return
    gateways = [service_gateway for _, service_gateway in _gateways(stack)]
    if all(_has_no_pods(gateway) for gateway in gateways):
        reason = "without a gateway"
        if gateways:
            reason = "with gateway.provider gke, which has no pods"
        remedy = "add gateway, or remove it"
        if gateways:
            remedy = "remove it"
        for key, value in (("gatewayPods", policies.gateway_pods), ("gatewayNamespace", policies.gateway_namespace)):
            if value:
                yield Problem(at / key, f"has no effect {reason}", remedy, (Path("gateway"),))
    if policies.proxy_cidrs and not gateways:
        what = "has no effect without a gateway"
        remedy = "add gateway, or remove it"
        yield Problem(at / "proxyCIDRs", what, remedy, (Path("gateway"),))
    if "prometheus_namespace" in policies.explicit_fields and stack.observability.metrics.type == "gmp":
        what = f"has no effect while Google's collectors scrape ({policies.prometheus_namespace}, type gmp)"
        yield Problem(at / "prometheusNamespace", what, "remove it", (Path("observability", "metrics", "type"),))


def judge_plan(stack: Stack, policies: Iterable[Policy]) -> Iterator[Problem]:
    """Yield warnings about settings without effect in `networkPolicies`, and about refused requests of gateways."""
    if stack.network_policies is not None:
        yield from _unused_settings(stack.network_policies, policies)
        yield from _refused_requests(stack, stack.network_policies)


def _unused_settings(spec: NetworkPolicies, policies: Iterable[Policy]) -> Iterator[Problem]:
    """Yield a warning about each setting whose addresses or whose namespace no policy contains."""
    at = Path("networkPolicies")
    ends = [
        end for policy in policies for edge in (*policy.ingress, *policy.egress) for end in (edge.source, edge.target)
    ]
    if spec.egress_cidrs and Addresses(spec.egress_cidrs) not in ends:
        what = "has no effect, because the stack fetches nothing from outside of the cluster and sends nothing there"
        yield warning(at / "egressCIDRs", what, "remove it")
    scraper = spec.prometheus_namespace
    if "prometheus_namespace" in spec.explicit_fields and Pods(scraper) not in ends:
        what = f"has no effect, because nothing of the stack is scraped ({scraper})"
        yield warning(at / "prometheusNamespace", what, "set observability.metrics.type, or remove it")


def _refused_requests(stack: Stack, policies: NetworkPolicies) -> Iterator[Problem]:
    """Yield warnings about gateways whose requests the network policies refuse, or could refuse."""
    at = Path("networkPolicies")
    for service_gateway in dict.fromkeys(led for service, led in _gateways(stack) if service.route.enabled):
        known = facts(service_gateway)
        place = f"{service_gateway.namespace or stack.namespace}/{service_gateway.name}"
        proxies = None
        if known is not None:
            proxies = known.proxies
        if known is not None and proxies is not None and proxies.subnet is not None and not policies.proxy_cidrs:
            what = f"admits no requests of {place}: {known.title} sends them from the {proxies.subnet} of your network"
            yield warning(at, what, "write its range into networkPolicies.proxyCIDRs")
        if proxies is None and service_gateway.kind != "Gateway" and policies.gateway_namespace is None:
            what = f"admits gateway pods in the namespace of {service_gateway.kind} {place}; they may run elsewhere"
            yield warning(at, what, "write the namespace of these pods into networkPolicies.gatewayNamespace")


def _gateways(stack: Stack) -> Iterator[tuple[Service, Gateway]]:
    """Yield each service that has a gateway, with the gateway."""
    for service in stack.services.values():
        service_gateway = gateway(service, stack)
        if service_gateway is not None:
            yield service, service_gateway


def _has_no_pods(service_gateway: Gateway) -> bool:
    known = facts(service_gateway)
    return known is not None and known.proxies is not None


def judge_variant(variant: ConfiguredVariant) -> Iterator[Problem]:
    """Reject settings in a variant's `metrics` that have no effect."""
    at = variant.path / "metrics"
    metrics = variant.spec.metrics
    for field in sorted(metrics.explicit_fields):
        no_effect = _without_effect(field, variant)
        if no_effect is not None:
            reason, remedy, depends_on = no_effect
            yield Problem(
                at / field, f"has no effect {reason}", f"{remedy}, or remove it", (depends_on,), explicit_only=True
            )


def _without_effect(field: str, variant: ConfiguredVariant) -> tuple[str, str, Path] | None:
    """Return why a field of `metrics` has no effect, a remedy, and the path of the setting that is the cause.

    None if the field has an effect.
    """
    spec = variant.spec
    metrics = variant.spec.metrics
    further = roles.further(spec)
    scrapes_engines = metrics.decode or any(getattr(metrics, key) for key in further)
    if variant.stack.observability.metrics.type == "none":
        return "while nobody scrapes (type none)", "set observability.metrics.type", Path("observability", "metrics")
    scrapes_picker = metrics.picker and spec.endpoint_picker.enabled
    if field == "picker" and not spec.endpoint_picker.enabled:
        return "without an endpoint picker", "set endpointPicker.enabled: true", variant.path / "endpointPicker"
    if field in ("prefill", "encode") and field not in further:
        return f"without {field}", f"add {field}", variant.path / field
    if field == "path" and not scrapes_engines:
        return "while no engine is scraped", "set metrics.decode: true", variant.path / "metrics" / "decode"
    if field == "interval" and not (scrapes_engines or scrapes_picker):
        return "while nothing is scraped", "set metrics.decode: true", variant.path / "metrics" / "decode"
    return None
