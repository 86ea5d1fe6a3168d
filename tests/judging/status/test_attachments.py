"""A route attaches to the listeners that its reference means, and that take its kind, namespace and hosts."""

import pytest

from judging.status import attachments

ALL = {"namespaces": {"from": "All"}}
WEB = {"name": "web", "protocol": "HTTP", "port": 80, "allowedRoutes": ALL}
SAFE = WEB | {"name": "safe", "protocol": "HTTPS", "port": 443}


def route(*parents, hostnames=(), namespace="team", status=None):
    refs = [{"namespace": "gateways", "name": "shared", **parent} for parent in parents or ({},)]
    metadata = {"namespace": namespace, "name": "chat"}
    return {"metadata": metadata, "spec": {"parentRefs": refs, "hostnames": [*hostnames]}, "status": status}


def attached(live, *listeners):
    gateway = {"metadata": {"namespace": "gateways", "name": "shared"}, "spec": {"listeners": [*listeners]}}
    return [listener["name"] for listener in attachments.listeners(live, gateway)]


@pytest.mark.parametrize(
    ("parents", "names"),
    [
        pytest.param([{}], ["web", "safe"], id="the whole Gateway"),
        pytest.param([{"sectionName": "safe"}], ["safe"], id="a section"),
        pytest.param([{"port": 80}], ["web"], id="a port"),
        pytest.param([{"sectionName": "safe", "port": 80}], [], id="section and port of different listeners"),
        pytest.param(
            [{"sectionName": "safe", "port": 443}, {"sectionName": "web"}], ["web", "safe"], id="two sections"
        ),
        pytest.param([{"name": "other"}], [], id="another Gateway"),
        pytest.param([{"kind": "Service"}], [], id="another kind"),
        pytest.param([{"group": "example.com"}], [], id="another group"),
    ],
)
def test_a_reference_means_listeners_by_name_and_port(parents, names):
    assert attached(route(*parents), WEB, SAFE) == names


@pytest.mark.parametrize(
    ("listener", "hostnames", "hosts"),
    [
        pytest.param(None, [], ["*"], id="no hosts at all"),
        pytest.param(None, ["a.org", "*.b.org"], ["a.org", "*.b.org"], id="hosts of the route alone"),
        pytest.param("a.org", [], ["a.org"], id="host of the listener alone"),
        pytest.param("test.example.com", ["test.example.com"], ["test.example.com"], id="the same host"),
        pytest.param("test.example.com", ["*.example.com"], ["test.example.com"], id="a wildcard of the route"),
        pytest.param(
            "*.example.com",
            ["*.example.com", "test.example.com", "foo.test.example.com", "example.com", "test.example.net"],
            ["*.example.com", "test.example.com", "foo.test.example.com"],
            id="a wildcard of the listener",
        ),
        pytest.param("*.com", ["*.example.com"], ["*.example.com"], id="a wildcard of a wildcard"),
        pytest.param("A.org", ["a.ORG"], ["a.org"], id="capitals"),
        pytest.param("a.org", ["b.org", "ba.org", "x.a.org"], [], id="other hosts"),
    ],
)
def test_hosts_of_route_and_listener_must_meet(listener, hostnames, hosts):
    listened = WEB | ({} if listener is None else {"hostname": listener})
    live = route(hostnames=hostnames)
    assert attachments.hosts(live, listened) == hosts
    assert attached(live, listened) == (["web"] if hosts else [])


@pytest.mark.parametrize(
    ("listener", "is_attached"),
    [
        pytest.param({"protocol": "HTTPS"}, True, id="HTTPS"),
        pytest.param({"protocol": "TLS"}, False, id="TLS"),
        pytest.param({"protocol": "TCP"}, False, id="TCP"),
        pytest.param({"protocol": "example.com/http"}, True, id="a protocol of an implementation"),
        pytest.param({"allowedRoutes": ALL | {"kinds": [{"kind": "GRPCRoute"}]}}, False, id="another kind"),
        pytest.param(
            {"allowedRoutes": ALL | {"kinds": [{"kind": "GRPCRoute"}, {"kind": "HTTPRoute"}]}}, True, id="two kinds"
        ),
        pytest.param(
            {"allowedRoutes": ALL | {"kinds": [{"group": "example.com", "kind": "HTTPRoute"}]}},
            False,
            id="a kind of another group",
        ),
        pytest.param({"protocol": None, "allowedRoutes": {"namespaces": [], "kinds": "x"}}, False, id="garbage"),
    ],
)
def test_a_listener_takes_http_routes_by_its_kinds_and_its_protocol(listener, is_attached):
    assert attached(route(), WEB | listener) == (["web"] if is_attached else [])


NAME = "kubernetes.io/metadata.name"


def selector(**fields):
    return {"namespaces": {"from": "Selector", "selector": fields}}


@pytest.mark.parametrize(
    ("allowed", "namespaces"),
    [
        pytest.param(ALL, ["gateways", "team"], id="All"),
        pytest.param({"namespaces": {"from": "Same"}}, ["gateways"], id="Same"),
        pytest.param({}, ["gateways"], id="nothing written"),
        pytest.param({"namespaces": {"from": "None"}}, [], id="a word of tomorrow"),
        pytest.param(selector(matchLabels={NAME: "team"}), ["team"], id="by name"),
        pytest.param(
            selector(matchExpressions=[{"key": NAME, "operator": "In", "values": ["gateways", "x"]}]),
            ["gateways"],
            id="by several names",
        ),
        pytest.param(selector(matchLabels={"tier": "models"}), ["gateways", "team"], id="by a label that is not read"),
    ],
)
def test_a_listener_admits_routes_by_their_namespace(allowed, namespaces):
    listener = WEB | {"allowedRoutes": allowed}
    admitted = [name for name in ("gateways", "team") if attached(route(namespace=name), listener)]
    assert admitted == namespaces


def test_a_listener_that_selects_by_labels_takes_no_route_that_is_refused():
    listener = WEB | {"allowedRoutes": selector(matchLabels={"tier": "models"})}
    parent = {"namespace": "gateways", "name": "shared"}
    condition = {"type": "Accepted", "status": "False", "reason": "NotAllowedByListeners"}
    answer = {"parentRef": parent, "controllerName": "example.com/x", "conditions": [condition]}
    assert attached(route(status={"parents": [answer]}), listener) == []
    accepted = answer | {"conditions": [condition | {"status": "True"}]}
    assert attached(route(status={"parents": [answer, accepted]}), listener) == ["web"]
    assert attached(route(status={"parents": [answer]}), WEB) == ["web"]
