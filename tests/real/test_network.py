"""Every permitted connection, and no other, is one that another reading of NetworkPolicies finds."""

from itertools import product

import pytest

from tests.support.stacks import find, rendered, tree
from tests.support.traffic.flows import Flow, Network, Peer, pods, policies, to

pytestmark = pytest.mark.real

GATEWAY_PODS = {"gateway.networking.k8s.io/gateway-name": "gateway"}
STRANGERS = {
    "gateway": Peer("10.9.0.1", "gateways", GATEWAY_PODS),
    "beside the gateway": Peer("10.9.0.2", "gateways", {"app": "other"}),
    "like the gateway": Peer("10.9.0.3", "stranger", GATEWAY_PODS),
    "prometheus": Peer("10.9.0.4", "monitoring", {"app": "prometheus"}),
    "interceptor": Peer("10.9.0.5", "metering", {"app": "interceptor"}),
    "collector": Peer("10.9.0.6", "monitoring", {"app": "collector"}),
    "dns": Peer("10.9.0.7", "kube-system", {"k8s-app": "kube-dns"}),
    "dns of a node": Peer("169.254.20.10"),
    "registry": Peer("10.9.0.11", "example", {"app": "registry"}),
    "minio": Peer("10.9.0.8", "storage", {"app": "minio"}),
    "stranger": Peer("10.9.0.9", "stranger", {"app": "stranger"}),
    "neighbour": Peer("10.9.0.10", "models", {"app": "neighbour"}),
    "api server": Peer("172.16.0.1"),
    "hub": Peer("203.0.113.7"),
    "elsewhere": Peer("198.51.100.1"),
}
WISH = {"gatewayPods": GATEWAY_PODS, "apiServerCIDRs": ["172.16.0.0/28"], "egressCIDRs": ["203.0.113.0/24"]}
QWEN = {
    "model": {"source": "hf://org/m"},
    "accelerator": "nvidia-h100-80gb",
    "parallelism": {"tensor": 8, "pipeline": 3},
    "prefill": {},
    "endpointPicker": {"preset": "precise-prefix-cache", "replicas": 2},
    "interceptor": {"enabled": False},
    "canary": {"weight": 10, "engine": {"image": "registry.example/tried:v2"}},
}
BERT = {
    "namespace": "other",
    "model": {"name": "org/bert", "source": "s3://bucket/bert", "endpoint": "http://minio.storage:9000", "size": "1Gi"},
    "storage": {"type": "dedicated"},
}
VARIANTS = ("qwen", "qwen-canary")
GROUP = [f"qwen{role}" for role in ("-decode", "-decode worker", "-prefill", "-prefill worker")]
SERVING = [*GROUP, *(name.replace("qwen", "qwen-canary") for name in GROUP), "bert-decode"]
PICKERS = [f"{variant}-epp" for variant in (*VARIANTS, "bert")]
JOBS = ["bert-weights", "cache-gemma"]
OURS = [*SERVING, *PICKERS, *JOBS]


def stack(**settings):
    metrics = {"type": "prometheus-operator"}
    return tree(qwen=QWEN, bert=BERT) | {
        "observability": {"metrics": metrics, "tracing": {"endpoint": "http://collector.monitoring.svc:4317"}},
        "interceptor": {"mode": "label", "namespace": "metering"},
        "caches": {"gemma": {"source": "kit://registry.example:5000/gemma:v1", "size": "1Gi"}},
        "networkPolicies": WISH | settings,
    }


def requests():
    """Yield what gateway, interceptor, pickers and Prometheus ask."""
    for variant in VARIANTS:
        decode = f"{variant}-decode"
        prefill = f"{variant}-prefill"
        picker = f"{variant}-epp"
        yield from to({decode: [8000], picker: [9002]}, "gateway")
        yield from to({decode: [8000, 5556], prefill: [8000, 5556]}, picker)
        yield from to({decode: [8200], prefill: [8000], picker: [9090]}, "prometheus")
    yield from to({"bert-decode": [8000], "bert-epp": [9090]}, "prometheus")
    yield from to({"bert-decode": [8000]}, "interceptor", "bert-epp")


def peers():
    """Yield what the pods of one variant ask each other: for the cache of one, and for their share of one replica."""
    for variant in VARIANTS:
        roles = [[f"{variant}-{role}", f"{variant}-{role} worker"] for role in ("decode", "prefill")]
        for decode, prefill in product(*roles):
            yield from to({prefill: [5600, 43210]}, decode)
            yield from to({decode: [43210]}, prefill)
        yield from to({f"{variant}-prefill": [8000]}, f"{variant}-decode")
        for leader, worker in roles:
            yield from to({worker: [29500, 43210]}, leader, worker)
            yield from to({leader: [29500, 43210]}, worker)


def leaving():
    """Yield whom pods ask outside of their service."""
    for pod in OURS:
        yield from (Flow(pod, "dns", 53, protocol) for protocol in ("UDP", "TCP"))
        yield from (Flow(pod, "dns of a node", 53, protocol) for protocol in ("UDP", "TCP"))
    yield from to({"api server": [443, 6443]}, *PICKERS, "qwen-decode", "qwen-canary-decode")
    yield from to({"collector": [4317]}, *SERVING, *PICKERS)
    yield from to({"hub": [443]}, *(pod for pod in SERVING if pod.startswith("qwen")))
    yield from to({"minio": [9000]}, "bert-weights")
    yield from to({"hub": [9000, 443]}, "bert-weights")
    yield from to({"hub": [5000, 443], "registry": [5000]}, "cache-gemma")


EDGES = [*requests(), *peers(), *leaving()]
PORTS = (53, 443, 4317, 5556, 5600, 6443, 8000, 8200, 9000, 9002, 9003, 9090, 43210)
NO_EDGES = [
    *(
        Flow(source, target, port)
        for source in ("stranger", "neighbour", "elsewhere")
        for target in OURS
        for port in PORTS
    ),
    *to({pod: [8000, 9002] for pod in (*SERVING, *PICKERS)}, "beside the gateway", "like the gateway"),
    *to({"qwen-decode": [8200, 5556], "qwen-prefill": [8000], "qwen-decode worker": [8000]}, "gateway"),
    *to({picker: [9003, 9090] for picker in PICKERS}, "gateway"),
    # Requests that reached them past the interceptor would not be metered.
    *to({"bert-decode": [8000], "bert-epp": [9002]}, "gateway"),
    *to({"qwen-decode": [8000], "qwen-prefill": [5556], "qwen-epp": [9002, 9003]}, "prometheus"),
    *to({"qwen-decode": [8000], "bert-epp": [9002, 9090], "bert-decode": [8200]}, "interceptor"),
    *to({"qwen-canary-decode": PORTS, "qwen-canary-prefill": PORTS, "bert-decode": [8000]}, "qwen-epp"),
    *to({"qwen-decode worker": [8000, 5556], "qwen-decode": [8200]}, "qwen-epp"),
    *to({"qwen-canary-prefill": PORTS, "qwen-canary-decode": PORTS}, *GROUP),
    *to({"qwen-epp": PORTS, "bert-decode": PORTS}, *GROUP),
    *to({"bert-decode": PORTS, "bert-epp": PORTS}, "bert-weights", "bert-decode"),
    *to({"api server": [443, 6443]}, "qwen-decode worker", "qwen-prefill", "bert-decode", *JOBS),
    *to({"api server": [443, 6443]}, "qwen-canary-prefill"),
    *to({"collector": [4318, 443]}, *SERVING, *PICKERS),
    *to({"collector": [4317]}, *JOBS),
    *to({"hub": [80, 8080, 4317]}, *OURS),
    *to({"hub": [443]}, "bert-decode", *PICKERS),
    *to({"elsewhere": [443]}, *OURS),
    *to({"minio": [443, 9001]}, "bert-weights"),
    *to({"minio": [9000]}, "cache-gemma", *SERVING, *PICKERS),
    *to({"dns": [443, 54], "dns of a node": [80, 443]}, *OURS),
    *to({"stranger": PORTS, "neighbour": PORTS}, *OURS),
    *(Flow(pod, "dns", 43210, "UDP") for pod in OURS),
]


def before():
    """Return what the stack made when the model had another engine: pods of another generation."""
    stack_before = stack()
    stack_before["services"]["qwen"] = QWEN | {"engine": {"image": "registry.example/engine:v0"}}
    return rendered(stack_before)


@pytest.fixture
def ask(tools):
    """Return a network of the pods of some objects, of those that they take the place of, and of who is not theirs."""

    def network(objects, before=()):
        old = {f"old {name}": pod for name, pod in pods(before, "10.2.0").items()}
        return Network(tools["cyclonus"].path, STRANGERS | pods(objects) | old)

    return network


def test_every_edge_lets_its_flow_through(ask):
    objects = rendered(stack())
    assert ask(objects).refused(policies(objects), EDGES) == []


NEAR = {
    "metadata": Peer("169.254.169.254"),
    "pod identity": Peer("169.254.170.23"),
    "pod identity by IPv6": Peer("fd00:ec2::23"),
    "neighbour by IPv6": Peer("fe80::1"),
    "dns of a node of kubespray": Peer("169.254.25.10"),
    "hub by IPv6": Peer("2001:db8::7"),
}


def fetching_in_clear(ask, **settings):
    """Return a judge and policies for pods that fetch by HTTP from a name that may have any address."""
    service = {"model": {"name": "a", "source": "hf://org/m", "endpoint": "http://hub.example.com"}}
    objects = rendered(tree(qwen=service) | {"networkPolicies": settings})
    network = ask(objects)
    return Network(network.judge, {**network.peers, **NEAR}), policies(objects)


def test_no_name_leads_to_the_metadata_of_a_node_and_dns_servers_on_nodes_are_asked(ask):
    """See defects H24."""
    near = [name for name in NEAR if "dns" not in name and "hub" not in name]
    network, given = fetching_in_clear(ask)
    flows = to({name: [80, 443] for name in near}, "qwen-decode")
    assert network.refused(given, flows) == [*map(str, flows)]
    outside = to({"hub": [80, 443], "elsewhere": [80], "hub by IPv6": [80]}, "qwen-decode")
    local = [Flow("qwen-decode", name, 53, "UDP") for name in ("dns of a node", "metadata")]
    assert network.refused(given, [*outside, *local]) == []
    network, given = fetching_in_clear(ask, dnsCIDRs=["169.254.25.10/32"])
    kubespray = [Flow("qwen-decode", "dns of a node of kubespray", 53, protocol) for protocol in ("UDP", "TCP")]
    assert network.refused(given, kubespray) == []


def test_addresses_that_are_written_are_allowed_as_they_are(ask):
    network, given = fetching_in_clear(ask, egressCIDRs=["169.254.170.23/32", "fd00:ec2::23/128"])
    assert network.refused(given, to({"pod identity": [80], "pod identity by IPv6": [80]}, "qwen-decode")) == []
    assert network.refused(given, to({"metadata": [80], "hub": [80]}, "qwen-decode")) != []


def test_what_is_no_edge_is_refused(ask):
    objects = rendered(stack())
    assert sorted({*map(str, NO_EDGES)} - {*ask(objects).refused(policies(objects), NO_EDGES)}) == []


def test_every_kind_of_pods_has_an_edge_and_a_flow_that_is_none():
    assert {flow.source for flow in EDGES} >= {*OURS}
    assert {flow.target for flow in NO_EDGES} >= {*OURS}
    assert not {*map(str, EDGES)} & {*map(str, NO_EDGES)}


def test_without_any_one_rule_a_flow_is_refused(ask):
    objects = rendered(stack())
    network = ask(objects, before())
    given = policies(objects)
    useless = []
    flows = [*EDGES, *to({"qwen-decode": [8000]}, "old qwen-epp"), *to({"old qwen-decode": [8000]}, "qwen-epp")]
    assert network.refused(given, flows) == []
    for at, name, rule, fewer in without_one_rule(given):
        if not network.refused([*given[:at], fewer, *given[at + 1 :]], flows):
            useless.append(f"{name} {rule}")
    assert useless == []


def without_one_rule(given):
    """Yield each policy without each of its rules, and each of its rules without each of its ports."""
    for at, policy in enumerate(given):
        name = policy["metadata"]["name"]
        spec = policy["spec"]
        for direction in ("ingress", "egress"):
            for number, rule in enumerate(spec.get(direction, [])):
                whole = spec[direction]
                others = [*whole[:number], *whole[number + 1 :]]
                yield at, name, rule, {**policy, "spec": {**spec, direction: others}}
                for port in rule["ports"] if len(rule["ports"]) > 1 else []:
                    less = {**rule, "ports": [other for other in rule["ports"] if other != port]}
                    yield at, name, (rule, port), {**policy, "spec": {**spec, direction: [*others, less]}}


def test_without_any_one_policy_something_is_let_through(ask):
    objects = rendered(stack())
    network = ask(objects)
    given = policies(objects)
    assert len(given) == len(OURS)
    for policy in range(len(given)):
        fewer = [*given[:policy], *given[policy + 1 :]]
        assert len(network.refused(fewer, NO_EDGES)) < len(NO_EDGES), given[policy]["metadata"]["name"]


def test_without_policies_everything_is_let_through(ask):
    bare = stack()
    del bare["networkPolicies"]
    objects = rendered(bare)
    assert policies(objects) == []
    assert ask(objects).refused([], [*EDGES, *NO_EDGES]) == []


def test_generations_are_apart_but_for_the_service_that_finds_both(ask):
    objects = rendered(stack())
    old = before()
    network = ask(objects, old)
    given = policies([*objects, *others(old, objects)])
    both = to({"qwen-decode": [8000], "old qwen-decode": [8000]}, "gateway", "qwen-epp", "old qwen-epp")
    crossing = [
        *to({"qwen-decode": [5556], "qwen-prefill": [8000, 5556]}, "old qwen-epp"),
        *to({"old qwen-decode": [5556], "old qwen-prefill": [8000, 5556]}, "qwen-epp"),
        *to({"qwen-decode": PORTS, "qwen-decode worker": PORTS}, "old qwen-prefill", "old qwen-decode"),
        *to({"old qwen-prefill": PORTS}, "qwen-decode", "qwen-decode worker", "qwen-prefill worker"),
    ]
    assert network.refused(given, both) == []
    assert network.refused(given, crossing) == [*map(str, crossing)]


def others(some, than):
    """Return those of some objects that have no name in common with others."""
    names = {manifest["metadata"]["name"] for manifest in than}
    return [manifest for manifest in some if manifest["metadata"]["name"] not in names]


def test_nothing_but_the_stack_is_needed_where_the_gateways_pods_live_beside_it(ask):
    small = tree() | {"networkPolicies": {}}
    objects = rendered(small)
    open_ = [
        *to({"qwen-decode": [8000], "qwen-epp": [9002]}, "gateway", "beside the gateway"),
        *to({"api server": [443, 6443], "elsewhere": [443]}, "qwen-epp"),
        *to({"hub": [443], "elsewhere": [443]}, "qwen-decode"),
    ]
    closed = [
        *to({"qwen-decode": [8000], "qwen-epp": [9002, 9090]}, "stranger", "neighbour", "prometheus", "interceptor"),
        *to({"api server": [6443], "hub": [80]}, "qwen-decode"),
        *to({"api server": [8443]}, "qwen-epp"),
    ]
    assert ask(objects).refused(policies(objects), open_) == []
    assert ask(objects).refused(policies(objects), closed) == [*map(str, closed)]


@pytest.mark.parametrize("mode", ["FailClose", "FailOpen"])
def test_a_gateway_that_passes_the_picker_over_reaches_prefill(ask, mode):
    reason = {"failOpenReason": "any will do"} if mode == "FailOpen" else {}
    objects = rendered(
        tree(qwen={"prefill": {}, "endpointPicker": {"failureMode": mode, **reason}}) | {"networkPolicies": {}}
    )
    refused = ask(objects).refused(policies(objects), to({"qwen-prefill": [8000]}, "gateway"))
    assert (refused == []) == (mode == "FailOpen")


@pytest.mark.parametrize("change", ["no gateway", "no route"])
def test_without_a_way_from_the_gateway_there_is_no_edge_from_it(ask, change):
    closed = tree(qwen={"route": {"enabled": change != "no route"}}) | {"networkPolicies": {}}
    if change == "no gateway":
        del closed["gateway"]
    objects = rendered(closed)
    flows = to({"qwen-decode": [8000], "qwen-epp": [9002]}, "gateway")
    assert ask(objects).refused(policies(objects), flows) == [*map(str, flows)]


def test_everybody_reaches_a_proxy_and_it_reaches_the_pods_of_its_pool_alone(ask):
    proxied = tree(qwen={"prefill": {}, "endpointPicker": {"proxy": {}}}, bert={}) | {"networkPolicies": {}}
    del proxied["gateway"]
    objects = rendered(proxied)
    clients = ("stranger", "neighbour", "elsewhere")
    open_ = [*to({"qwen-epp": [8081]}, *clients), *to({"qwen-decode": [8000]}, "qwen-epp")]
    closed = [
        *to({"qwen-epp": [9002, 9003, 9004, 9090], "qwen-decode": [8000], "bert-epp": [8081]}, *clients),
        *to({"bert-decode": [8000], "elsewhere": [8000]}, "qwen-epp"),
    ]
    assert ask(objects).refused(policies(objects), open_) == []
    assert ask(objects).refused(policies(objects), closed) == [*map(str, closed)]


def test_a_gateway_in_the_services_namespace_is_found_by_its_labels(ask):
    near = tree() | {"networkPolicies": {"gatewayPods": {"app": "neighbour"}}}
    del near["gateway"]["namespace"]
    objects = rendered(near)
    assert ask(objects).refused(policies(objects), to({"qwen-decode": [8000]}, "neighbour")) == []
    flows = to({"qwen-decode": [8000]}, "gateway", "qwen-decode", "stranger")
    assert ask(objects).refused(policies(objects), flows) == [*map(str, flows)]


def test_googles_front_ends_are_let_in_and_its_collectors_scrape(ask):
    """See defects A18."""
    policy = {"proxyCIDRs": ["10.129.0.0/23"]}
    google = tree(qwen={"prefill": {}}) | {"networkPolicies": policy, "observability": {"metrics": {"type": "gmp"}}}
    google["gateway"]["provider"] = "gke"
    objects = rendered(google)
    network = ask(objects)
    ends = {"front end": Peer("130.211.1.1"), "proxy": Peer("10.129.1.7"), "gmp": Peer("10.9.0.20", "gmp-system", {})}
    network = Network(network.judge, {**network.peers, **ends})
    open_ = [
        *to({"qwen-decode": [8000], "qwen-prefill": [8000], "qwen-epp": [9002, 9003]}, "front end", "proxy"),
        *to({"qwen-decode": [8200], "qwen-prefill": [8000], "qwen-epp": [9090]}, "gmp"),
    ]
    closed = to({"qwen-decode": [8000, 8200], "qwen-epp": [9002, 9090]}, "gateway", "prometheus", "elsewhere")
    assert network.refused(policies(objects), open_) == []
    assert network.refused(policies(objects), closed) == [*map(str, closed)]


def test_a_rule_whose_peer_were_split_would_let_others_in(ask):
    objects = rendered(stack())
    network = ask(objects)
    given = policies(objects)
    flow = to({"qwen-decode": [8000]}, "like the gateway")
    assert network.refused(given, flow)
    decode = find(given, "NetworkPolicy", "qwen-decode")
    (peer,) = decode["spec"]["ingress"][0]["from"]
    decode["spec"]["ingress"][0]["from"] = [
        {"namespaceSelector": {}, "podSelector": peer["podSelector"]},
        {"namespaceSelector": peer["namespaceSelector"]},
    ]
    assert network.refused(given, flow) == []
