"""Clusters that have all that a stack needs, from which tests of preflight take single things away."""

from dataclasses import replace

from composition import Composition, Given, compose
from planning.ground.cluster_facts import (
    Bundles,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    OfferedMetrics,
    Routes,
    Served,
    Unknown,
)
from planning.ground.inventory import (
    EVERY,
    Listener,
    LiveNamespace,
    LiveNode,
    Namespaces,
    Nodes,
    PriorityClasses,
    Quotas,
    Secrets,
    StorageClasses,
)
from tests.support.stacks import NAME, tree

REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
ANY = Listener("http", 80, "HTTP", None, EVERY)
GATEWAY = "Gateway gateways/gateway"
PULLED = {"model": {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "1Gi", "secrets": ["registry"]}}
STORED = {"storage": {"type": "dedicated", "storageClassName": "fast"}}
PLACED = {"pod": {"priorityClassName": "high", "nodeSelector": {"zone": "a"}}}
NODE = LiveNode("gpu-0", {"zone": "a"}, ready=True, cordoned=False, taints=(), devices={"nvidia.com/gpu": 8})
SCALED = {"autoscaling": {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}}
OPEN = {"patch": {"spec": {"template": {"spec": {"hostNetwork": True}}}}}
STACK = tree(
    qwen={**PULLED, **STORED, **PLACED, "route": {"hostnames": ["llm.example.com"]}},
    bert={**SCALED, **OPEN, "namespace": "chat"},
)
"""A stack that needs something of every kind, in two namespaces that exist."""


def composed(stack, facts):
    found = compose(stack, Given(facts), NAME)
    assert isinstance(found, Composition), found
    return found


def whole(stack=STACK):
    """Return facts of a cluster that has all that a stack needs."""
    kinds = Served(frozenset(each.api for each in composed(stack, ClusterFacts(Unknown(""))).objects))
    plain = LiveNamespace({"kubernetes.io/metadata.name": "models"}, {})
    return ClusterFacts(
        kinds,
        Gateways((LiveGateway(REF, accepted=True, programmed=True, listeners=(ANY,)),)),
        Routes(()),
        metrics=OfferedMetrics(("pods/vllm_num_requests_waiting",)),
        bundles=Bundles({}),
        namespaces=Namespaces({"models": plain, "chat": plain}),
        secrets=Secrets((("models", "registry"),)),
        storage_classes=StorageClasses({"fast": False}),
        priority_classes=PriorityClasses({"high": False}),
        nodes=Nodes((NODE,)),
        quotas=Quotas(()),
    )


def listening(facts, *listeners):
    (gateway,) = facts.gateways.gateways
    return replace(facts, gateways=Gateways((replace(gateway, listeners=listeners),)))
