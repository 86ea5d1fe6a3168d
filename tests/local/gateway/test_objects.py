"""Listeners follow from the routes, and the objects around a gateway refer to each other."""

import pytest

from local.gateway import objects
from local.gateway.objects import GatewayListener


def route(*parents, namespace="models"):
    return {"kind": "HTTPRoute", "metadata": {"namespace": namespace}, "spec": {"parentRefs": list(parents)}}


def parent(section="", port=0, name="inference", **more):
    section_fields = {key: value for key, value in (("sectionName", section), ("port", port)) if value}
    return {"name": name, **section_fields, **more}


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ([parent()], [(80, "http-80")]),
        ([parent(port=8000)], [(8000, "http-8000")]),
        ([parent(), parent(port=8000)], [(8000, "http-8000")]),
        ([parent("web")], [(80, "web")]),
        ([parent("web"), parent("api")], [(80, "api"), (8080, "web")]),
        ([parent("web", 8443), parent("web")], [(8443, "web")]),
        ([parent("web", 8443), parent(port=8443)], [(8443, "web")]),
        ([parent("web"), parent(port=80)], [(80, "http-80"), (8080, "web")]),
    ],
)
def test_every_route_finds_its_listener_and_there_are_no_others(parents, expected):
    assert [(listener.port, listener.name) for listener in objects.listeners([route(*parents)])] == expected


def test_a_gateway_is_in_the_namespace_of_its_reference_or_of_the_route():
    routes = [route(parent(namespace="gateways")), route(parent(name="own")), {"kind": "Service"}]
    assert objects.listeners(routes) == [
        GatewayListener("gateways", "inference", 80, "http-80"),
        GatewayListener("models", "own", 80, "http-80"),
    ]
    assert objects.listeners([]) == []


def test_ports_of_services_are_those_that_are_written_and_the_first_of_pools():
    services = [{"kind": "Service", "spec": {"ports": [{"port": 8000}]}}, {"kind": "Service", "spec": {}}]
    assert objects.service_ports([*services, {"kind": "Pod", "spec": {"ports": [{"port": 1}]}}]) == {
        8000,
        objects.POOL_PORT,
    }


def test_the_listeners_of_one_gateway_are_in_one_object_of_its_class():
    gateways = objects.gateways(
        [
            GatewayListener("a", "one", 80, "x"),
            GatewayListener("a", "one", 81, "y"),
            GatewayListener("b", "one", 80, "x"),
        ]
    )
    assert [(gateway["metadata"]["namespace"], len(gateway["spec"]["listeners"])) for gateway in gateways] == [
        ("a", 2),
        ("b", 1),
    ]
    class_name = objects.gateway_class()["metadata"]["name"]
    assert {gateway["spec"]["gatewayClassName"] for gateway in gateways} == {class_name}
    assert all(
        listener["allowedRoutes"] == {"namespaces": {"from": "All"}}
        for gateway in gateways
        for listener in gateway["spec"]["listeners"]
    )


def test_the_service_of_a_proxy_selects_its_pod_and_its_ports_lead_to_the_process():
    service, pod, loopback, addresses = objects.proxies("inference", "gateways", {80: 18080}, {9000, 8000}, 0.5)
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert [(port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [(80, 18080)]
    assert pod["spec"]["nodeName"] == objects.proxies_node()["metadata"]["name"]
    (patch,) = loopback["spec"]["configPatches"]
    assert patch["patch"]["value"]["address"]["socket_address"]["address"] == "127.0.0.1"
    patches = addresses["spec"]["configPatches"]
    assert [of_port["match"]["cluster"]["portNumber"] for of_port in patches] == [8000, 9000]
    config = patches[0]["patch"]["value"]["eds_cluster_config"]["eds_config"]["api_config_source"]
    assert (config["cluster_names"], config["refresh_delay"]) == ([objects.ADDRESSES], "0.5s")


def test_no_pod_but_a_proxy_is_scheduled_on_the_node_of_proxies():
    assert objects.proxies_node()["spec"]["taints"] == [{"key": objects.NODE, "effect": "NoSchedule"}]
    assert objects.node("gpu", "10.1.0.0/24")["spec"] == {"podCIDR": "10.1.0.0/24"}
    assert objects.namespace_object("models") == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "models"},
    }


def named_route(name="one", namespace="models", **parent):
    parents = [{"name": "gateway", "namespace": "gateways", **parent}]
    return {
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parentRefs": parents},
    }


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ([{}], [(80, "http-80")]),
        ([{"port": 443}], [(443, "http-443")]),
        ([{"sectionName": "inside"}], [(80, "inside")]),
        ([{"sectionName": "inside", "port": 443}, {"port": 443}, {}], [(443, "inside")]),
        ([{"sectionName": "a"}, {"sectionName": "b"}, {"port": 80}], [(80, "http-80"), (8080, "a"), (8081, "b")]),
    ],
)
def test_a_gateway_has_the_listeners_that_routes_name(parents, expected):
    listeners = objects.listeners(named_route(str(number), **parent) for number, parent in enumerate(parents))
    assert [(listener.port, listener.name) for listener in listeners] == expected
