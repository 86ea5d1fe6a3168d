"""Network of an interceptor that the stack deploys: its network policy, and settings of GKE's load balancer."""

from collections.abc import Iterator
from dataclasses import dataclass

from models.stack import Stack
from models.vocabulary import seconds
from planning.ground import labels, parts
from planning.ground.flows import Edge, Pods, Policy, api_server, dns, policy, tcp, url_edges
from planning.interceptor import InterceptorPlan
from planning.interceptor.deployment import Deployment
from planning.interceptor.edge import is_led
from planning.network import gke
from planning.network.gke import LoadBalancing
from planning.network.policies import gateway_ends
from planning.variant.context import Contexts, VariantContext


@dataclass(frozen=True, slots=True)
class InterceptorNetwork:
    """Network policy and load balancing of the interceptor."""

    policy: Policy | None = None
    """Policy of the interceptor's pods. None if the stack has no network policies, deploys no interceptor, or meters no
    service."""
    load_balancing: LoadBalancing | None = None
    """Settings of GKE's load balancer for the interceptor's Service. None if no such load balancer leads to it."""


NO_NETWORK = InterceptorNetwork()


def of_interceptor(plan: InterceptorPlan | None, contexts: Contexts) -> InterceptorNetwork:
    """Return the network of a stack's interceptor; `NO_NETWORK` if the stack does not deploy the interceptor."""
    if plan is None or plan.deployment is None:
        return NO_NETWORK
    metered = [variant for variant in contexts.variants.values() if variant.metered_as is not None]
    return InterceptorNetwork(_policy(plan, plan.deployment, metered), _load_balancing(plan, plan.deployment, metered))


def _policy(plan: InterceptorPlan, deployment: Deployment, metered: list[VariantContext]) -> Policy | None:
    """Return the policy of the interceptor's pods; None if the stack has no network policies or meters no service."""
    if not metered or metered[0].stack.network_policies is None:
        return None
    pods = Pods(plan.namespace, deployment.selector)
    edges = _edges(pods, plan, deployment, metered[0].stack, metered)
    return policy(parts.INTERCEPTOR_NETWORK_POLICY, plan.service, pods, edges)


def _edges(
    pods: Pods, plan: InterceptorPlan, deployment: Deployment, stack: Stack, metered: list[VariantContext]
) -> Iterator[Edge]:
    """Yield the edges from gateways to the interceptor, and from the interceptor to all that it connects to."""
    spec = stack.network_policies
    if spec is None:
        return
    for variant in metered:
        for source in gateway_ends(stack, spec, variant.service):
            yield Edge(source, pods, tcp(plan.port))
        decode = Pods(variant.namespace, labels.destination_selector(variant.names, is_divided=variant.is_divided))
        yield Edge(pods, decode, tcp(variant.spec.engine.port))
    yield from dns(pods, spec)
    if deployment.mounts_token:
        yield api_server(pods, stack)
    if deployment.valkey is not None:
        yield from url_edges(pods, [deployment.valkey], stack)


def _load_balancing(
    plan: InterceptorPlan, deployment: Deployment, metered: list[VariantContext]
) -> LoadBalancing | None:
    """Return the settings of GKE's load balancer for the interceptor; None if no such load balancer leads to it.

    The timeout is at least the longest `drainTimeout` of the services behind the load balancer.
    """
    behind = [
        variant
        for variant in metered
        if variant.gateway is not None and variant.gateway.provider == "gke" and is_led(variant.service, variant.stack)
    ]
    if not behind:
        return None
    longest = max(seconds(variant.spec.drain_timeout) for variant in behind)
    return gke.load_balancing(plan.port, deployment.readiness.path, longest)
