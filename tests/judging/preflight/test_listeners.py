"""Listeners of Gateways that take a route, and those that do not."""

from dataclasses import replace

import pytest

from planning.ground.cluster_facts import (
    Unknown,
)
from planning.ground.inventory import (
    SELECTED,
    LiveNamespace,
    Namespaces,
    Requirement,
)
from tests.support.stacks import lines, tree
from tests.support.stacks.whole_clusters import ANY, GATEWAY, composed, listening, whole


def admitted(route, *listeners, labels=None, namespace="models"):
    """Return what preflight says of a route whose Gateway has some listeners."""
    stack = tree(qwen={"route": route} if route else {}) | {"namespace": namespace}
    live = LiveNamespace({"team": "search"} if labels is None else labels, {})
    facts = replace(listening(whole(stack), *listeners), namespaces=Namespaces({namespace: live}))
    return lines(composed(stack, facts).preflight, "error")


def gateway(**fields):
    return {"gateway": {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2", **fields}}


SEARCH = (Requirement("team", "In", ("search",)),)


@pytest.mark.parametrize(
    ("route", "listener", "message"),
    [
        ({}, {"namespaces": "Same"}, f"gateway: no selected listener of {GATEWAY} admits routes of namespace models"),
        ({}, {"namespaces": "None"}, f"gateway: no selected listener of {GATEWAY} admits routes of namespace models"),
        ({}, {"namespaces": SELECTED, "selector": SEARCH}, None),
        ({}, {"namespaces": SELECTED, "selector": (Requirement("team", "NotIn", ("search",)),)}, "gateway: no "),
        ({}, {"namespaces": SELECTED, "selector": (Requirement("team", "Exists"),)}, None),
        ({}, {"namespaces": SELECTED, "selector": (Requirement("team", "DoesNotExist"),)}, "gateway: no "),
        ({}, {"kinds": ("GRPCRoute",)}, f"gateway: no selected listener of {GATEWAY} admits HTTPRoutes; "),
        ({}, {"protocol": "TLS"}, f"gateway: no selected listener of {GATEWAY} admits HTTPRoutes; "),
        ({}, {"protocol": "TLS", "kinds": ("HTTPRoute",)}, None),
        (gateway(sectionName="http"), {}, None),
        (
            gateway(sectionName="https"),
            {},
            f"services.qwen.route.gateway.sectionName: is no listener of {GATEWAY} (https); write one of http",
        ),
        (gateway(port=80), {}, None),
        (
            gateway(port=443),
            {},
            f"services.qwen.route.gateway.port: no listener of {GATEWAY} has this port (443); write one of 80",
        ),
        ({"hostnames": ["a.example.com"]}, {"hostname": "*.EXAMPLE.com"}, None),
        ({"hostnames": ["*.example.com"]}, {"hostname": "a.example.com"}, None),
        ({"hostnames": ["example.com"]}, {"hostname": "*.example.com"}, "services.qwen.route.hostnames: no listener "),
    ],
)
def test_a_route_that_no_listener_takes_is_told(route, listener, message):
    found = admitted(route, replace(ANY, **listener))
    assert len(found) == (message is not None)
    assert all(line.startswith(message) for line in found)


def test_one_listener_of_several_is_enough():
    assert admitted({}, replace(ANY, namespaces="Same"), replace(ANY, name="other")) == []
    assert admitted({}, replace(ANY, namespaces="Same"), namespace="gateways") == []


def test_labels_that_could_not_be_read_are_named():
    facts = listening(whole(tree()), replace(ANY, namespaces=SELECTED, selector=SEARCH))
    found = lines(composed(tree(), replace(facts, namespaces=Unknown("no answer"))).preflight, "warning")
    assert found == [
        f"gateway: whether {GATEWAY} admits routes of namespace models went unchecked: no answer",
        "namespaces (models) went unchecked: no answer",
    ]
