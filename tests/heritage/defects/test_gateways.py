"""Defects of routes, of what gateways are asked, and of whom policies admit."""

import gc
import runpy
import sys

import pytest

import planning
from judging.preflight.kinds import addresses, bundles
from judging.routes import judge
from models.load import load
from models.problems import ConfigError
from planning.ground.cluster_facts import Bundles, ClusterFacts, LiveRoute, ParentRef, RouteMatch, Routes, Served
from planning.ground.marks import Identity
from planning.routes import acceptance
from tests.support.stacks import NAME, find, lines, plan, rendered, tree
from tests.support.stacks.routed import BODY, MODEL, routed, tried
from tests.support.stacks.routed import told as refused

OLD, UNKNOWN, MENDED = {"version": "1.31.1"}, {}, {"version": "1.31.2"}
SINCE = "1.29.8, 1.30.6, 1.31.2, 1.32.0 or newer"


def istio(version, stack):
    return stack | {"gateway": {"name": "gateway", "namespace": "gateways", "provider": "istio"} | version}


def warned(stack):
    return lines(plan(stack).warnings, "warning")


@pytest.mark.parametrize("weight", [0, 10, 100])
def test_a1_the_primary_is_the_last_backend_so_that_its_picker_is_asked_and_no_canary_breaks_it(weight):
    (rule,) = find(rendered(tried(weight, {} if weight else None)), "HTTPRoute", "qwen")["spec"]["rules"]
    assert [(backend["name"], backend["weight"]) for backend in rule["backendRefs"]] == [
        ("qwen-canary", weight),
        ("qwen", 100 - weight),
    ]


@pytest.mark.parametrize(
    ("version", "known"), [(OLD, "Istio 1.31.1"), (UNKNOWN, "Istio of an unknown version"), (MENDED, None)]
)
def test_a1_a_canary_that_no_picker_chooses_for_is_told(version, known):
    warnings = [line for line in warned(istio(version, tried(10))) if "picker" in line]
    assert warnings == [
        "services.qwen.canary.weight: no endpoint picker chooses among the canary's pods, because "
        f"{known} asks the primary's picker alone; set gateway.version if the gateway runs {SINCE}"
        for _ in [known]
        if known
    ]


@pytest.mark.parametrize("weight", [0, 100])
def test_a1_nothing_is_told_where_requests_are_not_divided(weight):
    stack = istio(OLD, tree(qwen={"prefill": {}, "canary": {"weight": weight, "headers": {"x-canary": "1"}}}))
    assert [line for line in warned(stack) if "asks the primary" in line] == []


@pytest.mark.parametrize("version", [OLD, UNKNOWN])
@pytest.mark.parametrize(
    "service", [{"prefill": {}, "canary": {"weight": 10}}, {"canary": {"weight": 9, "prefill": {}}}]
)
def test_a1_a_share_beside_prefill_is_refused_where_one_picker_is_asked(version, service):
    (line,) = refused(istio(version, tree(qwen=service)))
    assert line.startswith("services.qwen.canary.weight: divides requests between pools with prefill, but Istio ")
    assert line.endswith(f"set gateway.version if the gateway runs {SINCE}, or write weight 0 and canary.headers")
    assert plan(istio(MENDED, tree(qwen=service)))


@pytest.mark.parametrize("provider", ["gke", "agentgateway", "none"])
def test_a1_other_gateways_ask_the_picker_of_each_pool(provider):
    stack = tree(qwen={"canary": {"weight": 10}})
    stack["gateway"] = {"name": "gateway", "namespace": "gateways", "provider": provider}
    assert [line for line in warned(stack) if "picker" in line] == []


def bodies(stack, name="qwen"):
    return find(rendered(stack), "ConfigMap", f"{name}-models")


LORA = {"model": {**MODEL, "lora": {"adapters": {"sql": {"source": "hf://org/sql"}}}}}
LATEST = {"rewrites": [{"model": "latest", "targets": [{"model": "org/m"}]}]}


def test_a8_a_payload_processor_is_told_the_base_model_its_adapters_and_its_aliases():
    found = bodies(routed(BODY, service=LORA | LATEST, matches=[{"model": "org/m"}]))
    assert found["data"] == {"baseModel": "org/m", "adapters": '["latest", "sql"]'}
    labels = found["metadata"]["labels"]
    assert labels["inference.networking.k8s.io/bbr-managed"] == labels["inference.llm-d.ai/ipp-managed"] == "true"
    assert bodies(routed(BODY, matches=[{"model": "org/m"}]))["data"] == {"baseModel": "org/m"}


def test_a8_the_processor_is_told_before_the_route_comes():
    kinds = [
        (manifest["kind"], manifest["metadata"]["name"])
        for manifest in rendered(routed(BODY, matches=[{"model": "org/m"}]))
    ]
    assert kinds.index(("ConfigMap", "qwen-models")) < kinds.index(("HTTPRoute", "qwen"))


def test_a8_nobody_is_told_of_a_service_that_is_found_by_its_path():
    assert [manifest for manifest in rendered(routed(BODY)) if manifest["metadata"]["name"] == "qwen-models"] == []


@pytest.mark.parametrize("name", ["sql", "latest", "org/other"])
def test_a8_a_name_that_the_header_never_holds_is_refused(name):
    (line,) = refused(routed(BODY, service=LORA | LATEST, matches=[{"model": name}]))
    assert line == (
        "services.qwen.route.matches[0].model: is never in the header, which holds the service's base "
        f"model org/m ({name}); write org/m; the match then includes requests for the service's adapters and rewrites"
    )


def test_a8_a_name_that_means_two_base_models_is_refused():
    other = {"model": {**LORA["model"], "name": "org/n"}, "route": {"matches": [{"model": "org/n"}]}}
    (line,) = refused(routed(BODY, others={"bert": other}, service=LORA, matches=[{"model": "org/m"}]))
    assert line == (
        "services.bert: uses a model name that services.qwen uses for base model org/m (sql); "
        "rename the adapter or the rewrite"
    )


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


HOST = {"hostnames": ["llm.example.com"]}


def test_c10_a_host_that_takes_the_longer_paths_of_others_is_told():
    stack = tree(qwen={"route": {**HOST, "matches": [{}]}}, bert={}, gpt={"route": HOST})
    assert warned(stack) == [
        (
            "services.qwen.route.matches[0].path: takes all requests for llm.example.com, also for the longer paths of "
            "services.bert; add llm.example.com to the hostnames of these routes, or use another path"
        )
    ]


@pytest.mark.parametrize(
    ("route", "other_route"),
    [
        ({**HOST, "matches": [{"path": "/v1"}]}, {"hostnames": ["*.example.com"], "matches": [{"path": "/v1"}]}),
        ({**HOST, "matches": [{"path": "/v1"}]}, {"matches": [{"path": "/v1"}]}),
        ({**HOST, "matches": [{"headers": {"x-a": "1"}}]}, {}),
    ],
)
def test_c10_what_precedence_settles_is_no_problem(route, other_route):
    assert warned(tree(qwen={"route": route}, bert={"route": other_route})) == []
    assert warned(tree(qwen={"route": other_route}, bert={"route": route})) == []


def by(**headers):
    return {"route": {"hostnames": ["llm.example.com"], "matches": [{"headers": headers}]}}


def test_c10_different_headers_that_tie_on_one_path_are_told():
    assert warned(tree(bert=by(**{"x-team": "a"}), qwen=by(**{"x-user": "b"}))) == [
        (
            "services.qwen.route.matches[0].path: ties with services.bert for requests that have the headers x-team, "
            "x-user: the older route wins; use another path, or require all of these headers in one of the routes"
        )
    ]


@pytest.mark.parametrize(
    ("headers", "other_headers"),
    [
        ({"x-team": "a"}, {"x-team": "b"}),
        ({"x-team": "a"}, {"x-team": "a", "x-user": "b"}),
        ({"x-team": "a", "x-tier": "1"}, {"x-team": "b", "x-user": "b"}),
    ],
)
def test_c10_headers_that_no_request_has_at_once_or_that_differ_in_number_do_not_tie(headers, other_headers):
    assert warned(tree(bert=by(**headers), qwen=by(**other_headers))) == []


def theirs(path, *hostnames, headers=()):
    (ref,) = acceptance.gateways(plan(tree()).routes)
    match = RouteMatch("PathPrefix", path, tuple(headers))
    return LiveRoute("elsewhere", "theirs", (ParentRef(ref, None, None),), tuple(hostnames), (match,))


def beside(stack, *routes):
    return lines(judge(plan(stack).routes, Identity(NAME), Routes(routes), "strict"), "warning")


def test_c10_precedence_beside_routes_of_others_is_told():
    (line,) = beside(tree(), theirs("/", "llm.example.com"))
    assert line.startswith("HTTPRoute elsewhere/theirs: takes all requests for llm.example.com, also for the longer ")
    (line,) = beside(tree(qwen={"route": {**HOST, "matches": [{}]}}), theirs("/chat"))
    assert "takes all requests for llm.example.com, also for the longer paths of HTTPRoute elsewhere/theirs" in line
    (line,) = beside(tree(qwen=by(a="1")), theirs("/", "llm.example.com", headers=[("Exact", "b", "2")]))
    assert "ties with HTTPRoute elsewhere/theirs" in line
    assert beside(tree(), theirs("/chat"), theirs("/", "llm.example.com", headers=[("Exact", "b", "2")])) == []


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
