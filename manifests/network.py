"""The NetworkPolicies: one for each kind of pods, with everything denied that it does not say."""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests import about
from manifests.objects import Manifest, Rendered, compact
from planning.ground import parts
from planning.ground.flows import Addresses, Edge, End, Policy, Port
from planning.plans import VariantPlan

_NAMESPACE = "kubernetes.io/metadata.name"
"""What the API server puts on every namespace."""


def of_pods(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policies of the serving pods."""
    for policy in variant.policies:
        if policy.part is not parts.PICKER_NETWORK_POLICY:
            yield _rendered(variant, policy, about.MODEL_SERVER)


def of_picker(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policy of the picker."""
    for policy in variant.policies:
        if policy.part is parts.PICKER_NETWORK_POLICY:
            yield _rendered(variant, policy, about.PICKER)


def _rendered(variant: VariantPlan, policy: Policy, component: str) -> Rendered:
    rendered = manifest(policy, about.of(variant, component, policy.name))
    return about.rendered(variant, policy.part, rendered)


def manifest(policy: Policy, described: Mapping[str, Any]) -> Manifest:
    """Render one policy. Both directions are named, because a direction that is not named is open."""
    namespace = policy.pods.namespace
    spec = {
        "podSelector": {"matchLabels": dict(policy.pods.labels)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [_rule("from", edge.source, edge, namespace) for edge in policy.ingress],
        "egress": [_rule("to", edge.target, edge, namespace) for edge in policy.egress],
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": described,
        "spec": compact(spec),
    }


def _rule(direction: str, other: End, edge: Edge, namespace: str) -> dict[str, Any]:
    """Render one edge; without peers it is one with anybody."""
    return compact({direction: list(_peers(other, namespace)), "ports": [_port(port) for port in edge.ports]})


def _port(port: Port) -> dict[str, Any]:
    return compact({"protocol": port.protocol, "port": port.number})


def _peers(other: End, namespace: str) -> Iterator[dict[str, Any]]:
    """Yield who is meant; labels and namespace stand in one peer, because two peers would be alternatives."""
    if isinstance(other, Addresses):
        yield from ({"ipBlock": {"cidr": one}} for one in other.ranges)
        return
    pods = {"podSelector": {"matchLabels": dict(other.labels)}} if other.labels else {}
    if other.namespace == namespace:
        yield pods or {"podSelector": {}}
    else:
        yield {"namespaceSelector": {"matchLabels": {_NAMESPACE: other.namespace}}, **pods}
