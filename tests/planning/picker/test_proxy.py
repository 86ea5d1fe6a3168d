"""The proxy beside the picker."""

import pytest
import yaml

from models.problems import ConfigError
from tests.support.stacks import find, plan, rendered, tree


def picker(**settings):
    return tree(qwen={"endpointPicker": {"proxy": {}, **settings}})


def config(**settings):
    return yaml.safe_load(find(rendered(picker(**settings)), "ConfigMap", "qwen-epp")["data"]["envoy.yaml"])


def problems(stack):
    try:
        return [str(problem) for problem in plan(stack).warnings]
    except ConfigError as error:
        return [str(problem) for problem in error.problems]


def test_the_service_of_the_picker_leads_to_the_proxy():
    objects = rendered(picker())
    ports = {port["name"]: port for port in find(objects, "Service", "qwen-epp")["spec"]["ports"]}
    assert (ports["http"]["port"], ports["http"]["targetPort"]) == (80, 8081)
    _, proxy = find(objects, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert proxy["name"] == "proxy"
    assert proxy["lifecycle"]["preStop"]["sleep"]["seconds"] == 125


def test_pickers_without_a_proxy_have_none_of_it():
    objects = rendered(tree())
    assert "envoy.yaml" not in find(objects, "ConfigMap", "qwen-epp")["data"]
    (container,) = find(objects, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "epp"


@pytest.mark.parametrize(("tls", "is_encrypted"), [("self-signed", True), ("none", False)])
def test_the_proxy_asks_the_picker_as_the_picker_serves(tls, is_encrypted):
    clusters = {
        cluster["name"]: cluster for cluster in config(tls={"type": tls}, port=9010)["static_resources"]["clusters"]
    }
    (group,) = clusters["picker"]["load_assignment"]["endpoints"]
    assert group["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]["port_value"] == 9010
    assert ("transport_socket" in clusters["picker"]) is is_encrypted


def test_a_header_of_a_client_chooses_no_pod():
    clusters = {cluster["name"]: cluster for cluster in config()["static_resources"]["clusters"]}
    assert clusters["pods"]["original_dst_lb_config"]["metadata_key"]["key"] == "envoy.lb"
    assert "use_http_header" not in clusters["pods"]["original_dst_lb_config"]


def test_pods_restart_with_another_configuration_of_the_proxy():
    def checksum(**proxy):
        objects = rendered(tree(qwen={"endpointPicker": {"proxy": proxy}}))
        return find(objects, "Deployment", "qwen-epp")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    assert checksum() != checksum(port=8082)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"proxy": {"port": 9002}}, "proxy.port: is the port of the picker as well (9002); choose another port"),
        (
            {"containers": {"proxy": {"image": "r.example/x:v1"}}},
            "containers.proxy: is the name of the proxy's container (proxy); choose another name",
        ),
        (
            {"failureMode": "FailOpen", "failOpenReason": "x"},
            "failureMode: holds for gateways alone: the proxy sends no request without the picker (FailOpen)",
        ),
    ],
)
def test_what_does_not_go_together_is_told(settings, message):
    assert f"services.qwen.endpointPicker.{message}" in problems(picker(**settings))


def test_network_policies_let_clients_reach_the_proxy():
    stack = picker() | {"networkPolicies": {"gatewayPods": {"app": "gateway"}}}
    policy = find(rendered(stack), "NetworkPolicy", "qwen-epp")["spec"]
    assert {"ports": [{"protocol": "TCP", "port": 8081}]} in policy["ingress"]
