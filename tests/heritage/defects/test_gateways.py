"""Defects of routes, of what gateways are asked, and of whom policies admit."""

import gc
import runpy
import sys

import pytest

import planning
from judging.preflight.kinds import addresses, bundles
from models.load import load
from models.problems import ConfigError
from planning.ground.cluster_facts import Bundles, ClusterFacts, Served
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.routed import BODY, routed
from tests.support.stacks.routed import told as refused


def istio(version, stack):
    return stack | {"gateway": {"name": "gateway", "namespace": "gateways", "provider": "istio"} | version}


def warned(stack):
    return lines(plan(stack).warnings, "warning")


OLDER = {"httproutes.gateway.networking.k8s.io": "v1.2.1", "inferencepools.inference.networking.k8s.io": "v1.0.0"}
NEEDED = (
    "httproutes.gateway.networking.k8s.io: comes from Gateway API v1.2.1, but release llm-d-0.10 needs v1.3.0 or newer"
)


def live(versions):
    return ClusterFacts(Served(frozenset()), bundles=Bundles(versions))


def test_a15_a_definition_that_is_too_old_is_told_with_what_to_install():
    (line,) = lines(bundles(plan(tree()), live(OLDER), "strict"), "error")
    assert line.startswith(f"{NEEDED}; install Gateway API v1.4.0: kubectl apply ")
    (same,) = lines(bundles(plan(tree()), live(OLDER), "warn"), "warning")
    assert same == line
    assert bundles(plan(tree()), live(OLDER), "skip") == []


def test_a15_a_definition_without_a_number_goes_unchecked_and_is_named():
    found = bundles(plan(tree()), live({"httproutes.gateway.networking.k8s.io": "monthly-2026.01"}), "strict")
    (line,) = lines(found, "warning")
    assert line == (
        "httproutes.gateway.networking.k8s.io: whether it is new enough for release llm-d-0.10 went unchecked: "
        "its version is no number (monthly-2026.01)"
    )
    assert lines(found, "error") == []


@pytest.mark.parametrize("version", ["v1.3.0", "v1.6.1", "v1.10.0"])
def test_a15_a_newer_definition_and_one_without_a_version_are_no_problem(version):
    assert bundles(plan(tree()), live({"httproutes.gateway.networking.k8s.io": version}), "strict") == []
    assert bundles(plan(tree()), live({}), "strict") == []


def test_a_pool_with_several_ports_needs_a_newer_definition():
    """See defects A23."""
    copies = {"parallelism": {"data": 2, "loadBalancing": "external", "expert": True}}
    several = plan(tree(qwen=copies | {"engine": {"image": "registry.example/vllm-openai:v0.23.0"}}))
    older, newer = ({"inferencepools.inference.networking.k8s.io": version} for version in ("v1.0.2", "v1.1.0"))
    (line,) = lines(bundles(several, live(older), "strict"), "error")
    assert ", but a pool with several ports needs v1.1.0 or newer; install" in line
    assert bundles(several, live(newer), "strict") == bundles(plan(tree()), live(older), "strict") == []


def test_a15_an_implementation_that_is_too_old_is_refused():
    (line,) = refused(istio({"version": "1.27.3"}, tree()))
    assert line == ("gateway.version: is too old for release llm-d-0.10 (1.27.3); upgrade Istio to 1.28.1 or newer")
    assert plan(istio({"version": "1.27.3"}, tree(qwen={"route": {"gateway": {**BODY, "version": "1.28.1"}}})))


def policy(stack, name, direction):
    rules = find(
        [manifest for manifest in rendered(stack) if manifest["kind"] == "NetworkPolicy"], "NetworkPolicy", name
    )["spec"]
    return [(peers(rule), [port["port"] for port in rule["ports"]]) for rule in rules[direction]]


def peers(rule):
    found = rule.get("from") or rule.get("to") or []
    return [
        peer.get("ipBlock", {}).get("cidr") or peer.get("namespaceSelector", {}).get("matchLabels") for peer in found
    ]


def google(**policies):
    stack = tree() | {"networkPolicies": policies}
    stack["gateway"] = {"name": "gateway", "namespace": "gateways", "provider": "gke"}
    return stack


def test_a18_google_checks_pickers_and_sends_requests_from_a_subnet():
    stack = google(proxyCIDRs=["10.129.0.0/23"])
    (ranges, ports), *_ = policy(stack, "qwen-epp", "ingress")
    assert ports == [9002, 9003]
    assert {"35.191.0.0/16", "10.129.0.0/23"} <= {*ranges}
    (ranges, ports), *_ = policy(stack, "qwen-decode", "ingress")
    assert ports == [8000]
    assert "10.129.0.0/23" in ranges
    assert warned(stack) == []


def test_a18_a_subnet_of_proxies_that_nobody_wrote_is_told():
    assert warned(google()) == [
        (
            "networkPolicies: admits no requests of gateways/gateway: Google's load balancer sends them from the "
            "proxy-only subnet of your network; write its range into networkPolicies.proxyCIDRs"
        )
    ]


def test_a18_dns_servers_of_nodes_and_in_other_namespaces_are_asked():
    asked = policy(tree() | {"networkPolicies": {}}, "qwen-epp", "egress")
    assert ([{"kubernetes.io/metadata.name": "kube-system"}], [53, 53]) in asked
    assert (["169.254.20.10/32", "169.254.169.254/32"], [53, 53]) in asked
    policies = {"dnsNamespace": "openshift-dns", "dnsPort": 5353, "dnsCIDRs": []}
    others = policy(tree() | {"networkPolicies": policies}, "qwen-epp", "egress")
    assert ([{"kubernetes.io/metadata.name": "openshift-dns"}], [5353, 5353]) in others
    assert not any("169.254" in str(found) for found in others)


def test_a18_the_gateways_pods_may_live_beside_neither_gateway_nor_listener_set():
    stack = tree() | {"networkPolicies": {}}
    stack["gateway"] = stack["gateway"] | {"kind": "ListenerSet"}
    assert warned(stack) == [
        (
            "networkPolicies: admits gateway pods in the namespace of ListenerSet gateways/gateway; they may run "
            "elsewhere; write the namespace of these pods into networkPolicies.gatewayNamespace"
        )
    ]
    stack["networkPolicies"] = {"gatewayNamespace": "istio-ingress"}
    assert warned(stack) == []
    assert policy(stack, "qwen-decode", "ingress")[0][0] == [{"kubernetes.io/metadata.name": "istio-ingress"}]


@pytest.mark.parametrize(
    ("kinds", "policies", "count"),
    [
        ({"cilium.io/v2/CiliumNetworkPolicy"}, {"apiServerCIDRs": ["10.0.0.1/32"]}, 1),
        ({"cilium.io/v2/CiliumNetworkPolicy"}, {}, 0),
        ({"v1/Service"}, {"apiServerCIDRs": ["10.0.0.1/32"]}, 0),
    ],
)
def test_a18_addresses_of_the_api_server_that_a_network_does_not_match_are_told(kinds, policies, count):
    stack = load(tree() | {"networkPolicies": policies}).stack
    found = lines(addresses(stack, ClusterFacts(Served(frozenset(kinds)))), "warning")
    assert len(found) == count
    assert all(
        line.startswith("networkPolicies.apiServerCIDRs: may not match the API server: Cilium") for line in found
    )


MISSING = {"mirror": {"service": "nosuch"}}
OFF = {"enabled": False}


@pytest.mark.parametrize("gateway", [True, False])
@pytest.mark.parametrize("place", ["service", "defaults"])
@pytest.mark.parametrize("off", [OFF, {}])
def test_b7_a_mirror_of_nobody_is_refused_wherever_it_stands(gateway, place, off):
    stack = tree(qwen={"route": off | (MISSING if place == "service" else {})}, bert={"route": OFF})
    stack |= {"defaults": {"route": MISSING}} if place == "defaults" else {}
    if not gateway:
        del stack["gateway"]
    at = "services.qwen" if place == "service" else "defaults"
    assert f"{at}.route.mirror.service: is no service of this stack (nosuch); known: " in "\n".join(refused(stack))


def test_b7_a_mistake_in_a_route_that_is_off_is_told_where_it_is_written():
    (line,) = refused(tree(qwen={"route": {**OFF, "matches": [{"path": "/{.metadata.labels['x']}"}]}}))
    assert line.startswith("services.qwen.route.matches[0].path: cannot be rendered")
    stack = tree(qwen={"route": OFF}) | {"defaults": {"route": {"matches": [{"path": "/{.metadata.labels['x']}"}]}}}
    assert plan(stack)


@pytest.mark.parametrize("name", ["x-llm-d-inference-objective", "X-LLM-D-Model-Name-Rewrite", "x-llm-d-slo-ttft-ms"])
def test_c11_headers_that_the_picker_reads_cannot_be_set(name):
    (line,) = refused(routed(setHeaders={name: "a"}))
    assert line == (
        f"services.qwen.route.setHeaders.{name}: is read by the endpoint picker before a route sets headers ({name}); "
        "remove it, and let clients send the header"
    )


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Host"])
def test_c11_headers_that_frame_or_address_a_message_are_left_alone(name):
    message = f"controls the framing or the destination of messages ({name}); remove it"
    (line,) = refused(routed(setHeaders={name: "1"}))
    assert line == f"services.qwen.route.setHeaders.{name}: {message}"
    (line,) = refused(routed(removeHeaders=[name]))
    assert line == f"services.qwen.route.removeHeaders[0]: {message}"


@pytest.mark.parametrize("path", ["/v1/{.metadata.name", "/v1/.metadata.name}", "/{{.metadata.name}}", "/{"])
def test_c12_a_brace_without_its_counterpart_is_refused(path):
    (line,) = refused(routed(matches=[{"path": path}]))
    assert line.startswith("services.qwen.route.matches[0].path: cannot be rendered")
    assert "has a brace without its counterpart" in line


def test_c12_a_mirror_is_never_corrected_to_the_service_itself():
    (line,) = refused(tree(qwen={"route": {"mirror": {"service": "qwem"}}}, bert={}))
    assert line == "services.qwen.route.mirror.service: is no service of this stack (qwem); known: bert"
    (line,) = refused(tree(qwen={"route": {"mirror": {"service": "qwem"}}}))
    assert line.endswith("(qwem); remove mirror")


def test_b7_no_exception_of_ours_reaches_a_user(monkeypatch, capsys):
    monkeypatch.setattr(planning, "plan", lambda *_: {}["hunter2"])
    monkeypatch.setattr(sys, "argv", ["cli", "render", "examples/canary.yaml"])
    monkeypatch.setattr(gc, "disable", lambda: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("cli", run_name="__main__")
    output = capsys.readouterr().err
    assert ended.value.code == 3
    assert output.startswith("This program has a mistake, please report these lines:\n  KeyError\n")
    assert "Traceback" not in output
    assert "hunter2" not in output


def test_the_mistake_of_a_user_is_no_mistake_of_ours():
    """See defects B7."""
    with pytest.raises(ConfigError):
        plan(tree(qwen={"replica": 1}))
