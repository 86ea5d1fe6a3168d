"""URLs of a service are those of every host, path and listener of its live routes and Gateways."""

import pytest

from judging.status import addresses
from judging.status.topology import ServiceView
from tests.support.statuses import route


def gateway(*listeners, values=("10.0.0.1",)):
    return {
        "metadata": {"namespace": "gateways", "name": "inference"},
        "spec": {"listeners": [*listeners]},
        "status": {"addresses": [{"type": "IPAddress", "value": value} for value in values]},
    }


def urls(live, *routes):
    return addresses.urls(ServiceView("team", "qwen", "s", (), routes), [live])


ALL = {"namespaces": {"from": "All"}}
WEB = {"name": "web", "protocol": "HTTP", "port": 80, "allowedRoutes": ALL}
SAFE = {"name": "safe", "protocol": "HTTPS", "port": 8443, "hostname": "llm.example.org", "allowedRoutes": ALL}
OF_OTHERS = {"name": "others", "protocol": "HTTP", "port": 8080, "allowedRoutes": {"namespaces": {"from": "Same"}}}
WILD = WEB | {"hostname": "*.example.org"}


@pytest.mark.parametrize(
    ("live", "routes", "expected"),
    [
        pytest.param(gateway(WEB), [route()], ["http://10.0.0.1/team/qwen"], id="address"),
        pytest.param(gateway(WEB), [route(["a.org", "*.b.org"])], ["http://a.org/team/qwen"], id="hosts of the route"),
        pytest.param(gateway(SAFE), [route()], ["https://llm.example.org:8443/team/qwen"], id="host of the listener"),
        pytest.param(gateway(WEB, SAFE), [route(section="web")], ["http://10.0.0.1/team/qwen"], id="one listener"),
        pytest.param(gateway(WEB, values=["fd00::1"]), [route()], ["http://[fd00::1]/team/qwen"], id="IPv6"),
        pytest.param(gateway(WEB), [route(paths=["/"])], ["http://10.0.0.1"], id="every path"),
        pytest.param(
            gateway(WEB),
            [route(paths=["/b", "/a/"]), route()],
            [f"http://10.0.0.1/{p}" for p in ("a", "b", "team/qwen")],
        ),
        pytest.param(gateway(WEB, values=[]), [route()], [], id="no address yet"),
        pytest.param(gateway(WEB | {"name": "db", "protocol": "TCP"}), [route()], [], id="no HTTP"),
        pytest.param(gateway(WEB | {"protocol": "example.com/http"}), [route()], [], id="a protocol without a scheme"),
        pytest.param(gateway(OF_OTHERS, WEB), [route()], ["http://10.0.0.1/team/qwen"], id="a listener of others"),
        pytest.param(
            gateway(WEB, SAFE), [route(["a.org"])], ["http://a.org/team/qwen"], id="a listener of another host"
        ),
        pytest.param(
            gateway(SAFE),
            [route(["a.org", "*.example.org"])],
            ["https://llm.example.org:8443/team/qwen"],
            id="hosts that meet",
        ),
        pytest.param(gateway(WILD), [route()], [], id="no address answers for a wildcard"),
        pytest.param(
            gateway(WILD),
            [route(["a.org", "b.example.org"])],
            ["http://b.example.org/team/qwen"],
            id="host of a wildcard",
        ),
        pytest.param({}, [route()], [], id="no such Gateway"),
        pytest.param(gateway(WEB), [{"spec": {"parentRefs": "x", "rules": [None]}}], [], id="garbage"),
    ],
)
def test_urls_are_those_of_hosts_paths_and_listeners(live, routes, expected):
    assert urls(live, *routes) == expected


def test_a_rule_without_matches_has_every_path_and_a_regular_expression_is_none():
    of_expression = route()
    of_expression["spec"]["rules"] = [{"matches": [{"path": {"type": "RegularExpression", "value": "/[a-z]+"}}]}]
    assert urls(gateway(WEB), of_expression) == []
    of_expression["spec"]["rules"].append({})
    assert urls(gateway(WEB), of_expression) == ["http://10.0.0.1"]


def test_addresses_of_a_gateway_are_sorted_and_garbage_has_none():
    assert addresses.of_gateway(gateway(WEB, values=["10.0.0.2", "10.0.0.1"])) == ["10.0.0.1", "10.0.0.2"]
    assert addresses.of_gateway({"status": {"addresses": [None, {"value": None}, "x"]}}) == []
