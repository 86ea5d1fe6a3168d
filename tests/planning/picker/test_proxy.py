"""The proxy beside the picker."""

import pytest
import yaml

from manifests.assembly import objects, render
from models.problems import ConfigError
from planning import outputs
from planning.ground import parts
from tests.support.stacks import find, plan, rendered, tree

SEVERAL = {
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 2}}],
    "schedulingProfiles": [
        {"name": "default", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}
    ],
}


PLACE = "config.plugins[1].parameters.maxNumOfEndpoints"
REMEDY = "remove it, or remove endpointPicker.proxy"


def picker(**settings):
    return tree(qwen={"endpointPicker": {"proxy": {}, **settings}})


def config(**settings):
    return yaml.safe_load(find(rendered(picker(**settings)), "ConfigMap", "qwen-epp")["data"]["envoy.yaml"])


def problems(stack):
    try:
        return [str(problem) for problem in plan(stack).warnings]
    except ConfigError as error:
        return [str(problem) for problem in error.problems]


def test_a_service_of_its_own_leads_to_the_proxy():
    manifests = rendered(picker())
    (port,) = find(manifests, "Service", "qwen-proxy")["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("http", 80, 8081)
    _, proxy = find(manifests, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert proxy["name"] == "proxy"
    assert proxy["lifecycle"]["preStop"]["sleep"]["seconds"] == 125


def test_the_proxy_has_neither_the_token_of_its_picker_nor_any_right():
    _, container = find(rendered(picker()), "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert [mount["name"] for mount in container["volumeMounts"]] == ["config"]
    assert "env" not in container
    kinds = {"ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding"}

    def rights(stack):
        return [item for item in rendered(stack) if item["kind"] in kinds]

    assert rights(picker()) == rights(tree())


def test_pickers_without_a_proxy_have_none_of_it():
    manifests = rendered(tree())
    assert {item["metadata"]["name"] for item in manifests if item["kind"] == "Service"} == {"qwen", "qwen-epp"}
    assert "envoy.yaml" not in find(manifests, "ConfigMap", "qwen-epp")["data"]
    (container,) = find(manifests, "Deployment", "qwen-epp")["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "epp"


@pytest.mark.parametrize(("tls", "is_encrypted"), [("self-signed", True), ("none", False)])
def test_the_proxy_asks_the_picker_as_the_picker_serves(tls, is_encrypted):
    clusters = {
        cluster["name"]: cluster for cluster in config(tls={"type": tls}, port=9010)["static_resources"]["clusters"]
    }
    (group,) = clusters["picker"]["load_assignment"]["endpoints"]
    assert group["lb_endpoints"][0]["endpoint"]["address"]["socket_address"]["port_value"] == 9010
    assert ("transport_socket" in clusters["picker"]) is is_encrypted


def test_no_cluster_of_the_proxy_stops_at_the_1024_requests_of_envoy():
    limits = dict.fromkeys(("max_connections", "max_pending_requests", "max_requests"), 40_000)
    clusters = config()["static_resources"]["clusters"]
    breakers = {cluster["name"]: cluster["circuit_breakers"]["thresholds"] for cluster in clusters}
    assert breakers == {"picker": [limits], "pods": [limits]}


def test_a_header_of_a_client_chooses_no_pod():
    clusters = {cluster["name"]: cluster for cluster in config()["static_resources"]["clusters"]}
    assert clusters["pods"]["original_dst_lb_config"]["metadata_key"]["key"] == "envoy.lb"
    assert "use_http_header" not in clusters["pods"]["original_dst_lb_config"]


def test_pods_restart_with_another_configuration_of_the_proxy():
    def checksum(**proxy):
        manifests = rendered(tree(qwen={"endpointPicker": {"proxy": proxy}}))
        return find(manifests, "Deployment", "qwen-epp")["spec"]["template"]["metadata"]["annotations"][
            "checksum/config"
        ]

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
            {"preset": "custom", "config": SEVERAL},
            f"{PLACE}: names several pods for a request, and the proxy takes one address (2); {REMEDY}",
        ),
        (
            {"failureMode": "FailOpen", "failOpenReason": "x"},
            "failureMode: holds for gateways alone: the proxy sends no request without the picker (FailOpen)",
        ),
    ],
)
def test_what_does_not_go_together_is_told(settings, message):
    assert f"services.qwen.endpointPicker.{message}" in problems(picker(**settings))


def test_clients_keep_their_address_and_reach_a_new_generation_once_its_pods_and_its_picker_serve():
    (name,) = {variant.names.generation for variant in plan(generations()).services[0].variants}
    items = {item.id.part: item for item in objects(render(plan(generations())))}
    service = items[parts.PROXY_SERVICE]
    assert (service.manifest["metadata"]["name"], service.suffix) == ("qwen-proxy", "qwen-proxy-service")
    assert service.manifest["spec"]["selector"]["inference-stacks.io/generation"] == name
    assert items[parts.PICKER].manifest["metadata"]["name"] == f"qwen-{name}-epp"
    before = {identity.part for identity in service.after}
    assert before >= {parts.PICKER, parts.DECODE.workload, parts.PREFILL.workload}


def generations():
    return tree(qwen={"prefill": {}, "endpointPicker": {"proxy": {}}})


def test_the_outputs_have_the_address_of_the_proxy():
    hosts = [
        outputs.of_stack(plan(stack), None)["services"]["qwen"]["primary"]["proxyHost"]
        for stack in (generations(), tree())
    ]
    assert hosts == ["qwen-proxy.models.svc.cluster.local:80", None]


def test_a_service_that_has_the_name_of_the_proxys_service_is_refused():
    stack = tree(qwen={"endpointPicker": {"proxy": {}}}, **{"qwen-proxy": {}})
    refusal = "services.qwen-proxy: would make the same object as services.qwen (Service models/qwen-proxy)"
    assert any(problem.startswith(refusal) for problem in problems(stack)), problems(stack)
    del stack["services"]["qwen"]["endpointPicker"]
    assert not any("same object" in problem for problem in problems(stack))


def test_every_copy_of_a_model_is_reached_without_a_route_if_there_is_a_proxy():
    def warned(**picker):
        model = {"name": "org/model", "source": "hf://org/model@v1"}
        parallelism = {"data": 8, "loadBalancing": "external", "expert": True}
        stack = tree(qwen={"model": model, "parallelism": parallelism, "endpointPicker": picker})
        del stack["gateway"]
        return [problem for problem in problems(stack) if "reaches every copy" in problem]

    assert len(warned()) == 1
    assert warned(proxy={}) == []


def test_network_policies_let_clients_reach_the_proxy():
    stack = picker() | {"networkPolicies": {"gatewayPods": {"app": "gateway"}}}
    policy = find(rendered(stack), "NetworkPolicy", "qwen-epp")["spec"]
    assert {"ports": [{"protocol": "TCP", "port": 8081}]} in policy["ingress"]
