"""Every flow of a service that has all there is: roles of several nodes, copies, a scraper, traces and a predictor."""

from tests.support.stacks import find, plain, rendered, tree
from tests.support.traffic.flows import pods, policies

WISH = {
    "gatewayPods": {"app": "gateway"},
    "prometheusNamespace": "scrapers",
    "apiServerCIDRs": ["172.16.0.0/28"],
    "egressCIDRs": ["203.0.113.0/24"],
}
EDGE = {"name": "edge", "namespace": "edge", "provider": "istio"}
EXPECTED = {
    "qwen-decode": {
        "<- gateways app=gateway": "8000",
        "<- edge app=gateway": "8000",
        "<- qwen-epp": "5556 8000",
        "<- scrapers": "8200",
        "<- qwen-prefill": "any",
        "<- qwen-prefill worker": "any",
        "<- qwen-decode worker": "any",
        "-> qwen-prefill": "any",
        "-> qwen-prefill worker": "any",
        "-> qwen-decode worker": "any",
        "-> kube-system": "53 53/UDP",
        "-> 169.254.20.10/32": "53 53/UDP",
        "-> 169.254.169.254/32": "53 53/UDP",
        "-> 172.16.0.0/28": "any",
        "-> tracing": "4317",
        "-> 203.0.113.0/24": "443",
    },
    "qwen-decode worker": {
        "<- qwen-prefill": "any",
        "<- qwen-prefill worker": "any",
        "<- qwen-decode": "any",
        "<- qwen-decode worker": "any",
        "-> qwen-prefill": "any",
        "-> qwen-prefill worker": "any",
        "-> qwen-decode": "any",
        "-> qwen-decode worker": "any",
        "-> kube-system": "53 53/UDP",
        "-> 169.254.20.10/32": "53 53/UDP",
        "-> 169.254.169.254/32": "53 53/UDP",
        "-> tracing": "4317",
        "-> 203.0.113.0/24": "443",
    },
    "qwen-prefill": {
        "<- gateways app=gateway": "8000",
        "<- qwen-epp": "5556 8000",
        "<- scrapers": "8000",
        "<- qwen-decode": "any",
        "<- qwen-decode worker": "any",
        "<- qwen-prefill worker": "any",
        "-> qwen-decode": "any",
        "-> qwen-decode worker": "any",
        "-> qwen-prefill worker": "any",
        "-> kube-system": "53 53/UDP",
        "-> 169.254.20.10/32": "53 53/UDP",
        "-> 169.254.169.254/32": "53 53/UDP",
        "-> tracing": "4317",
        "-> 203.0.113.0/24": "443",
    },
    "qwen-prefill worker": {
        "<- qwen-decode": "any",
        "<- qwen-decode worker": "any",
        "<- qwen-prefill": "any",
        "<- qwen-prefill worker": "any",
        "-> qwen-decode": "any",
        "-> qwen-decode worker": "any",
        "-> qwen-prefill": "any",
        "-> qwen-prefill worker": "any",
        "-> kube-system": "53 53/UDP",
        "-> 169.254.20.10/32": "53 53/UDP",
        "-> 169.254.169.254/32": "53 53/UDP",
        "-> tracing": "4317",
        "-> 203.0.113.0/24": "443",
    },
    "qwen-epp": {
        "<- gateways app=gateway": "9002",
        "<- scrapers": "9090",
        "-> qwen-decode": "5556 8000",
        "-> qwen-prefill": "5556 8000",
        "-> kube-system": "53 53/UDP",
        "-> 169.254.20.10/32": "53 53/UDP",
        "-> 169.254.169.254/32": "53 53/UDP",
        "-> 172.16.0.0/28": "any",
        "-> tracing": "4317",
        "-> learning": "8000 8001",
    },
}
"""By policy: whom it lets in and whom it lets its pods ask, with ports; of TCP where nothing else is said."""


def stack(**picker):
    qwen = {
        "model": {"source": "hf://org/m"},
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": 8, "pipeline": 3},
        "prefill": {},
        "kvCache": {"events": True},
        "endpointPicker": {"failureMode": "FailOpen", "failOpenReason": "any pod will do", **picker},
    }
    copying = {"route": {"gateway": EDGE, "mirror": {"service": "qwen"}}}
    return tree(qwen=qwen, copying=copying) | {
        "observability": {
            "metrics": {"type": "prometheus-operator"},
            "tracing": {"endpoint": "http://collector.tracing.svc:4317"},
        },
        "networkPolicies": WISH,
    }


def named(peer, own_namespace, known):
    """Return what a peer of a policy stands for: pods of the stack by name, others by namespace and labels."""
    if "ipBlock" in peer:
        return peer["ipBlock"]["cidr"]
    labels = peer.get("podSelector", {}).get("matchLabels", {})
    spaces = peer.get("namespaceSelector", {}).get("matchLabels", {})
    namespace = spaces.get("kubernetes.io/metadata.name", own_namespace)
    selected = [
        name
        for name, pod in known.items()
        if pod.namespace == namespace and labels.items() <= (pod.labels or {}).items()
    ]
    return " and ".join(selected) or " ".join([namespace, *(f"{key}={value}" for key, value in labels.items())])


def port(written):
    number = str(written.get("port", "any"))
    return number if written["protocol"] == "TCP" else f"{number}/{written['protocol']}"


def peers(policy, known):
    """Return the ports of each peer of a policy, by direction and peer."""
    result = {}
    namespace = policy["metadata"]["namespace"]
    for direction, arrow, side in (("ingress", "<-", "from"), ("egress", "->", "to")):
        for rule in policy["spec"].get(direction, []):
            for peer in rule.get(side, [{"ipBlock": {"cidr": "any address"}}]):
                ports = result.setdefault(f"{arrow} {named(peer, namespace, known)}", set())
                ports.update(map(port, rule["ports"]))
    return {peer: " ".join(sorted(ports)) for peer, ports in result.items()}


def flows(stack):
    """Return what the policies of the service let through, by the name of the pods that each is about."""
    everything = [manifest for manifest in rendered(stack) if plain(manifest["metadata"]["name"]).startswith("qwen")]
    known = pods(everything)
    return {
        named({"podSelector": policy["spec"]["podSelector"]}, "models", known): peers(policy, known)
        for policy in policies(everything)
    }


def test_the_policies_of_a_service_let_through_these_flows_and_no_other():
    predictor = {
        "trainingServer": "http://training.learning.svc:8000",
        "predictionServers": ["http://asked.learning.svc:8001"],
    }
    assert flows(stack(preset="predicted-latency", latencyPredictor=predictor)) == EXPECTED


def asked_for_tokens(name, direction, side):
    """Return the labels of the peers of one policy that are asked on the port of tokens."""
    policy = find(policies(rendered(stack(preset="precise-prefix-cache"))), "NetworkPolicy", name)
    asked = [rule for rule in policy["spec"][direction] if rule["ports"] == [{"protocol": "TCP", "port": 8000}]]
    return [peer["podSelector"]["matchLabels"] for rule in asked for peer in rule[side] if set(peer) == {"podSelector"}]


def test_a_picker_that_asks_for_tokens_still_reads_the_kv_events_of_decode_pods():
    edges = flows(stack(preset="precise-prefix-cache"))
    assert edges["qwen-epp"]["-> qwen-decode"] == edges["qwen-decode"]["<- qwen-epp"] == "5556 8000"


def test_a_picker_that_asks_for_tokens_and_decode_pods_reach_each_other_in_any_generation():
    pickers = {"inference-stacks.io/endpoint-picker": "qwen", "inference-stacks.io/variant": "primary"}
    decode = {"inference-stacks.io/service": "qwen", "inference-stacks.io/role": "decode"}
    assert asked_for_tokens("qwen-decode", "ingress", "from") == [pickers]
    assert asked_for_tokens("qwen-epp", "egress", "to") == [{**decode, "inference-stacks.io/variant": "primary"}]
