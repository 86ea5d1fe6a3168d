"""NetworkPolicies for the pods of each role, and for the picker's pods. They deny all flows except the planned ones."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manifests import about
from manifests.objects import Manifest, Rendered, compact
from planning.ground import parts
from planning.ground.flows import Addresses, Edge, End, Policy, Port
from planning.plans import VariantPlan

_NAMESPACE = "kubernetes.io/metadata.name"
"""Label that the API server sets on every namespace; its value is the namespace's name."""


def of_pods(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policies of the serving pods."""
    for policy in variant.policies:
        if policy.part is not parts.PICKER_NETWORK_POLICY:
            yield _policy_object(variant, policy, about.MODEL_SERVER)


def of_picker(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policy of the picker."""
    for policy in variant.policies:
        if policy.part is parts.PICKER_NETWORK_POLICY:
            yield _policy_object(variant, policy, about.PICKER)


def _policy_object(variant: VariantPlan, policy: Policy, component: str) -> Rendered:
    network_policy = manifest(policy, about.metadata(variant, component, policy.name))
    return about.part_object(variant, policy.part, network_policy, policy.set_name)


def manifest(policy: Policy, metadata: Mapping[str, Any]) -> Manifest:
    """Render a policy that lists both directions. In a direction that is not listed, Kubernetes allows all traffic."""
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
        "metadata": metadata,
        "spec": compact(spec),
    }


def _rule(direction: str, end: End, edge: Edge, namespace: str) -> dict[str, Any]:
    """Render an edge as a rule; a rule without peers allows every peer."""
    return compact({direction: list(_peers(end, namespace)), "ports": [_port(port) for port in edge.ports]})


def _port(port: Port) -> dict[str, Any]:
    return compact({"protocol": port.protocol, "port": port.number})


def _peers(end: End, namespace: str) -> Iterator[dict[str, Any]]:
    """Yield the peers of a rule. Labels and namespace are in one peer, because two peers would be alternatives."""
    if isinstance(end, Addresses):
        yield from ({"ipBlock": _block(cidr, end.excluded)} for cidr in end.ranges)
        return
    peer: dict[str, Any] = {}
    if end.namespace != namespace:
        peer["namespaceSelector"] = {"matchLabels": {_NAMESPACE: end.namespace}}
    if end.labels:
        peer["podSelector"] = {"matchLabels": dict(end.labels)}
    yield peer or {"podSelector": {}}


def _block(cidr: str, excluded: Iterable[str]) -> dict[str, Any]:
    """Render a range without the excluded ranges of its IP version. The API server refuses any other exception."""
    version = ipaddress.ip_network(cidr).version
    inside = [inner for inner in excluded if ipaddress.ip_network(inner).version == version]
    return compact({"cidr": cidr, "except": inside})
