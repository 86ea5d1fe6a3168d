"""Differences between the facts of two readings."""

from dataclasses import replace

from planning.ground.cluster_facts import GatewayRef, Gateways, LiveGateway, OfferedMetrics, Served, Unknown, unread
from planning.ground.differences import differences
from planning.ground.inventory import (
    LiveNamespace,
    LiveNode,
    Namespaces,
    Nodes,
    Requested,
    Secrets,
    Slice,
    Slices,
    StorageClasses,
)

REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "public")
NODE = LiveNode("gpu-0", {}, ready=True, cordoned=False, taints=(), devices={})
BEFORE = replace(
    unread(Unknown("it was not asked for")),
    apis=Served(frozenset({"v1/Service", "v1/Pod"})),
    gateways=Gateways((LiveGateway(REF, accepted=True, programmed=True),)),
    namespaces=Namespaces({"models": LiveNamespace({}, {})}),
    nodes=Nodes((NODE,)),
    requested=Requested({"gpu-0": {"nvidia.com/gpu": 1}}),
    metrics=OfferedMetrics(()),
    secrets=Secrets((("models", "registry"),)),
    slices=Slices((Slice("gpu", "pool", None, 1),)),
)


def test_nothing_differs_between_equal_facts_whatever_the_load_is():
    after = replace(BEFORE, metrics=OfferedMetrics(("pods/x",)), requested=Requested({}))
    assert list(differences(BEFORE, BEFORE)) == list(differences(BEFORE, after)) == []


def test_what_is_new_gone_or_different_is_told_by_name():
    after = replace(
        BEFORE,
        apis=Served(frozenset({"v1/Service", "v1/Secret"})),
        gateways=Gateways((LiveGateway(REF, accepted=False, programmed=True),)),
        namespaces=Namespaces({"chat": LiveNamespace({}, {})}),
        nodes=Nodes((replace(NODE, cordoned=True), replace(NODE, name="gpu-1"))),
        secrets=Secrets(()),
        slices=Slices((Slice("gpu", "pool", None, 2),)),
    )
    assert list(differences(BEFORE, after)) == [
        "apis: v1/Pod is gone",
        "apis: v1/Secret is new",
        "gateways: gateways/public is different",
        "namespaces: chat is new",
        "namespaces: models is gone",
        "secrets: models/registry is gone",
        "nodes: gpu-0 is different",
        "nodes: gpu-1 is new",
        "slices: gpu/pool is different",
    ]


def test_a_part_that_only_one_reading_has_is_told():
    after = replace(BEFORE, storage_classes=StorageClasses({}), nodes=Unknown("it answered 403"))
    assert list(differences(BEFORE, after)) == [
        "storage_classes: unknown in the first reading",
        "nodes: unknown in the second reading",
    ]
