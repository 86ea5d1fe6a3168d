"""NetworkPolicies as they are decided and written; what they let through is judged in `tests.real.test_network`."""

import pytest

from manifests.assembly import objects, render
from models.load import load
from models.problems import ConfigError
from planning.ground import parts
from planning.ground.flows import Addresses, Edge, Pods, Port, policy, tcp, url_edges
from tests.support.stacks import find, plan, rendered, tree
from tests.support.stacks.varied import PROMETHEUS
from tests.support.stacks.varied_caches import VOLUMES
from tests.support.traffic.flows import policies

PODS = Pods("models", {"app": "one"})
OUTSIDE = Addresses(("0.0.0.0/0", "::/0"), excluded=("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32"))
KEPT = {"model": {"name": "org/m", "source": "s3://bucket/m", "size": "1Gi"}, "storage": {"type": "dedicated"}}
SPANNING = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}, "prefill": {}}


def guarded(settings=None, **services):
    return tree(**services) | {"networkPolicies": settings or {}}


def written(stack, name):
    return find(policies(rendered(stack)), "NetworkPolicy", name)


def ports(stack, name, direction):
    return [rule["ports"] for rule in written(stack, name)["spec"].get(direction, [])]


def ends(url, settings=None, domain="cluster.local"):
    stack = guarded(settings) | {"cluster": {"domain": domain}}
    return [(edge.target, edge.ports) for edge in url_edges(PODS, [url], load(stack).stack)]


def test_without_the_word_there_is_no_policy():
    assert policies(rendered(tree(qwen={**KEPT, "prefill": {}, "canary": {"weight": 1}}))) == []


def test_every_kind_of_pods_has_a_policy_named_as_it_is():
    stack = guarded(qwen={**SPANNING, **KEPT, "canary": {"weight": 1}})
    stack["caches"] = {"m": {"source": "hf://org/m", "size": "1Gi"}}
    everything = rendered(stack)
    named = {(manifest["metadata"]["namespace"], manifest["metadata"]["name"]) for manifest in policies(everything)}
    expected = set()
    for manifest in everything:
        metadata = manifest["metadata"]
        if manifest["kind"] in {"Deployment", "LeaderWorkerSet", "Job"}:
            expected.add((metadata["namespace"], metadata["name"]))
        if manifest["kind"] == "LeaderWorkerSet":
            expected.add((metadata["namespace"], f"{metadata['name']}-worker"))
    assert named == expected


def test_workers_of_a_set_share_no_policy_with_a_set_that_is_called_like_them():
    spanning = {key: value for key, value in SPANNING.items() if key != "prefill"}
    stack = guarded(qwen={"decode": {"sets": {"a": spanning, "a-worker": {}}}})
    names = [manifest["metadata"]["name"] for manifest in policies(rendered(stack))]
    assert sorted(names) == ["qwen-decode-a", "qwen-decode-a-worker", "qwen-decode-a.worker", "qwen-epp"]


def test_a_policy_lies_in_the_namespace_of_its_pods():
    stack = guarded(qwen={}, bert={"namespace": "other", **KEPT})
    namespaces = {
        manifest["metadata"]["name"]: manifest["metadata"]["namespace"] for manifest in policies(rendered(stack))
    }
    assert {namespaces[name] for name in namespaces if name.startswith("bert")} == {"other"}
    assert {namespaces[name] for name in namespaces if name.startswith("qwen")} == {"models"}


def test_both_directions_are_closed_where_nothing_is_open():
    job = written(guarded(qwen=KEPT), "qwen-weights")
    assert job["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in job["spec"]


def test_no_rule_is_about_all_ports_of_all_protocols():
    stack = guarded(qwen={**SPANNING, "endpointPicker": {"preset": "precise-prefix-cache"}}, bert=KEPT)
    for manifest in policies(rendered(stack)):
        rules = [*manifest["spec"].get("ingress", []), *manifest["spec"].get("egress", [])]
        assert all(rule["ports"] and all("protocol" in port for port in rule["ports"]) for rule in rules)


def test_a_rule_for_all_ports_is_between_pods_of_one_service():
    for manifest in policies(rendered(guarded(qwen=SPANNING))):
        spec = manifest["spec"]
        for rule in [*spec.get("ingress", []), *spec["egress"]]:
            if any("port" not in port for port in rule["ports"]):
                (peer,) = rule.get("from") or rule["to"]
                assert set(peer) == {"podSelector"}
                assert "qwen" in peer["podSelector"]["matchLabels"].values()


def test_the_gateway_is_named_in_one_peer():
    decode = written(guarded({"gatewayPods": {"app": "gateway"}}), "qwen-decode")
    assert decode["spec"]["ingress"][0]["from"] == [
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateways"}},
            "podSelector": {"matchLabels": {"app": "gateway"}},
        }
    ]


def askers(stack, name):
    """Return the namespaces that a policy lets in, without the one it lies in."""
    peers = [peer for rule in written(stack, name)["spec"]["ingress"] for peer in rule["from"]]
    label_sets = (peer.get("namespaceSelector", {}).get("matchLabels", {}) for peer in peers)
    return {labels["kubernetes.io/metadata.name"] for labels in label_sets if labels}


def test_a_service_with_a_gateway_of_its_own_lets_in_no_other():
    gateway = {"name": "other", "namespace": "edge", "provider": "istio"}
    stack = guarded(qwen={"route": {"gateway": gateway}}, bert={})
    for pods in ("decode", "epp"):
        assert askers(stack, f"qwen-{pods}") == {"edge"}
        assert askers(stack, f"bert-{pods}") == {"gateways"}


def test_the_gateway_that_copies_requests_to_a_service_reaches_its_pods_and_not_its_picker():
    gateway = {"name": "other", "namespace": "edge", "provider": "istio"}
    stack = guarded(qwen={"route": {"gateway": gateway, "mirror": {"service": "bert"}}}, bert={})
    assert askers(stack, "bert-decode") == {"edge", "gateways"}
    assert askers(stack, "bert-epp") == {"gateways"}
    assert askers(stack, "qwen-decode") == {"edge"}


def test_the_policy_of_a_job_finds_the_pods_of_a_job_that_was_there_before():
    stack = guarded(qwen=KEPT)
    without = {key: value for key, value in stack.items() if key != "networkPolicies"}
    assert find(rendered(stack), "Job", "qwen-weights") == find(rendered(without), "Job", "qwen-weights")
    name = find(rendered(stack), "Job", "qwen-weights")["metadata"]["name"]
    assert written(stack, "qwen-weights")["spec"]["podSelector"] == {
        "matchLabels": {"batch.kubernetes.io/job-name": name}
    }


def test_policies_change_nothing_else():
    service = {**SPANNING, **KEPT, "canary": {"weight": 1}}
    others = [manifest for manifest in rendered(guarded(qwen=service)) if manifest["kind"] != "NetworkPolicy"]
    assert others == rendered(tree(qwen=service))


@pytest.mark.parametrize(
    ("pods", "before"),
    [
        (parts.DECODE.workload, {parts.DECODE.network_policy, parts.DECODE.worker_network_policy}),
        (parts.PREFILL.workload, {parts.PREFILL.network_policy, parts.PREFILL.worker_network_policy}),
        (parts.PICKER, {parts.PICKER_NETWORK_POLICY}),
        (parts.FILL, {parts.FILL_NETWORK_POLICY}),
    ],
)
def test_a_policy_is_registered_before_the_pods_that_it_is_about(pods, before):
    everything = list(objects(render(plan(guarded(qwen={**SPANNING, **KEPT, "canary": {"weight": 1}})))))
    for resource in everything:
        if resource.id.part is pods:
            assert before <= {earlier.part for earlier in resource.after if earlier.owner == resource.id.owner}
            earlier = everything[: everything.index(resource)]
            assert before <= {other.id.part for other in earlier if other.id.owner == resource.id.owner}


def test_a_canary_that_serves_its_services_claim_has_no_policy_for_a_job_that_is_not_its():
    network_policies = policies(rendered(guarded(qwen={**KEPT, "canary": {"weight": 1}})))
    assert len([manifest for manifest in network_policies if "weights" in manifest["metadata"]["name"]]) == 1


def test_logical_names_of_policies_are_kept_through_generations():
    service = {**SPANNING, **KEPT}

    def suffixes(image):
        everything = objects(render(plan(guarded(qwen={**service, "engine": {"image": image}}))))
        return {resource.suffix for resource in everything if resource.manifest["kind"] == "NetworkPolicy"}

    before = suffixes("registry.example/engine:v1")
    after = suffixes("registry.example/engine:v2")
    assert len(before) == len(after) == 6
    assert len(before & after) == 1, "the Job's alone is not of a generation"


def test_what_autoscaling_follows_is_scraped_by_somebody():
    scaling = {"type": "keda", "minReplicas": 0, "maxReplicas": 2, "metrics": [{"type": "queue-size", "target": 1}]}
    stack = guarded(qwen={"autoscaling": scaling, "endpointPicker": {"flowControl": {"defaultRequestTTL": "1h"}}})
    quiet = guarded()
    assert [{"protocol": "TCP", "port": 9090}] in ports(stack | PROMETHEUS, "qwen-epp", "ingress")
    assert [{"protocol": "TCP", "port": 9090}] not in ports(quiet, "qwen-epp", "ingress")
    assert len(ports(stack | PROMETHEUS, "qwen-decode", "ingress")) == len(ports(quiet, "qwen-decode", "ingress")) + 1


def test_what_follows_the_clock_or_the_processor_needs_nobody_that_scrapes():
    scaling = {"type": "hpa", "maxReplicas": 2, "metrics": [{"type": "cpu", "targetPercent": 80}]}
    stack = guarded(qwen={"autoscaling": scaling})
    quiet = guarded()
    assert ports(stack, "qwen-decode", "ingress") == ports(quiet, "qwen-decode", "ingress")


def test_a_port_that_a_user_gives_to_cache_events_is_the_one_that_is_open():
    args = ["--kv-events-config", '{"endpoint": "tcp://*:7000"}']
    stack = guarded(qwen={"kvCache": {"events": True}, "engine": {"args": args}})
    assert [{"protocol": "TCP", "port": port} for port in (7000, 8000)] in ports(stack, "qwen-epp", "egress")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://collector:4317", [(Pods("models"), tcp(4317))]),
        ("http://collector.monitoring.svc:4317/v1", [(Pods("monitoring"), tcp(4317))]),
        ("http://collector.monitoring.svc.cluster.local.:4317", [(Pods("monitoring"), tcp(4317))]),
        ("http://pod.collector.monitoring.svc:4317", [(Pods("monitoring"), tcp(4317))]),
        ("http://collector.monitoring:4317", [(Pods("monitoring"), tcp(4317)), (OUTSIDE, tcp(4317))]),
        ("http://minio.storage", [(Pods("storage"), tcp(80)), (OUTSIDE, tcp(80))]),
        ("https://huggingface.co", [(OUTSIDE, tcp(443))]),
        ("https://otel.example.com:4317", [(OUTSIDE, tcp(4317))]),
        ("http://a.svc.example.com", [(OUTSIDE, tcp(80))]),
        ("http://a.-b:80", [(OUTSIDE, tcp(80))]),
        ("http://10.0.0.7:9000", [(Addresses(("10.0.0.7/32",)), tcp(9000))]),
        ("http://user:hunter2@proxy.example.com:3128", [(OUTSIDE, tcp(3128))]),
        ("http://[2001:db8::1]:3128", [(Addresses(("2001:db8::1/128",)), tcp(3128))]),
        ("proxy.example.com:3128", [(OUTSIDE, tcp(3128))]),
        ("http://localhost:4317", []),
        ("not a URL", []),
    ],
)
def test_a_url_names_who_is_asked(url, expected):
    assert ends(url) == expected


def test_a_name_in_a_domain_of_the_clusters_own_is_a_service():
    assert ends("http://collector.monitoring.svc.example.internal:4317", domain="example.internal") == [
        (Pods("monitoring"), tcp(4317))
    ]


def test_addresses_outside_are_those_that_are_written():
    settings = {"egressCIDRs": ["203.0.113.0/24"]}
    assert ends("https://huggingface.co", settings) == [(Addresses(("203.0.113.0/24",)), tcp(443))]


def test_a_job_behind_a_proxy_reaches_it():
    fill = {
        "env": {
            "https_proxy": "http://proxy.example.com:3128",
            "HTTP_PROXY": {"secretKeyRef": {"name": "a", "key": "b"}},
        }
    }
    open_ports = ports(guarded(qwen={**KEPT, "storage": {"type": "dedicated", "fill": fill}}), "qwen-weights", "egress")
    assert [{"protocol": "TCP", "port": port} for port in (443, 3128)] in open_ports


def test_an_endpoint_that_a_secret_holds_leaves_the_vendors_own():
    fill = {"env": {"AWS_ENDPOINT_URL": {"secretKeyRef": {"name": "a", "key": "b"}}}}
    open_ports = ports(guarded(qwen={**KEPT, "storage": {"type": "dedicated", "fill": fill}}), "qwen-weights", "egress")
    assert [{"protocol": "TCP", "port": 443}] in open_ports


def test_a_registry_over_plain_http_is_asked_on_its_own_port():
    model = {"name": "org/m", "source": "kit://registry.example.com/m:v1", "insecure": True}
    assert [{"protocol": "TCP", "port": port} for port in (80, 443)] in ports(
        guarded(qwen={"model": model}), "qwen-decode", "egress"
    )


def test_weights_that_are_there_already_open_nothing():
    mounted = {"name": "org/m", "source": "pvc://weights/m"}
    open_ports = ports(guarded(qwen={"model": mounted}), "qwen-decode", "egress")
    assert {port["port"] for rule in open_ports for port in rule} == {53}


def rules_of_pods(stack, name, direction):
    """Return the labels of the peers of a policy that are pods in its namespace, with the ports of their rule."""
    rules = written(stack, name)["spec"][direction]
    side = {"ingress": "from", "egress": "to"}[direction]
    return [
        (peer["podSelector"]["matchLabels"], [port.get("port") for port in rule["ports"]])
        for rule in rules
        for peer in rule.get(side, [])
        if set(peer) == {"podSelector"}
    ]


def open_ports_between(stack, name, direction, pod_labels):
    """Return the ports that a policy opens between its pods and pods with these labels. None stands for any port."""
    rules = rules_of_pods(stack, name, direction)
    return {port for selector, numbers in rules if selector.items() <= pod_labels.items() for port in numbers}


def labels_of(stack, name):
    return find(rendered(stack), "Deployment", name)["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("before", "name"),
    [({}, "qwen-decode"), ({"decode": {"sets": {"old": {}}}}, "qwen-decode-old")],
    ids=["undivided", "renamed"],
)
@pytest.mark.parametrize("picker", [{}, {"proxy": {}}], ids=["gateway", "proxy"])
def test_the_picker_reaches_the_old_pods_until_the_sets_are_ready(before, name, picker):
    old_labels = labels_of(guarded(qwen=before), name)
    divided = guarded(qwen={"decode": {"sets": {"a": {}, "b": {}}}, "endpointPicker": picker})
    assert 8000 in open_ports_between(divided, "qwen-epp", "egress", old_labels)
    assert 8000 in open_ports_between(divided, "qwen-epp", "egress", labels_of(divided, "qwen-decode-a"))


def test_the_picker_of_a_divided_service_reaches_no_pods_of_other_services():
    stack = guarded(qwen={"decode": {"sets": {"a": {}}}}, bert={})
    assert open_ports_between(stack, "qwen-epp", "egress", labels_of(stack, "bert-decode")) == set()


@pytest.mark.parametrize(
    ("tier", "expected"),
    [({"type": "p2p"}, {None}), ({"type": "file-system", "volume": "files"}, set())],
    ids=["peers", "files"],
)
def test_pods_of_all_sets_reach_each_other_if_they_ask_peers(tier, expected):
    cache = {"tiers": [{"type": "cpu", "size": "8Gi"}, tier]}
    stack = guarded(qwen={"kvCache": cache, "pod": {"volumes": VOLUMES}, "decode": {"sets": {"a": {}, "b": {}}}})
    for source, target in (("a", "b"), ("b", "a"), ("a", "a")):
        names = (f"qwen-decode-{source}", f"qwen-decode-{target}")
        assert open_ports_between(stack, names[0], "egress", labels_of(stack, names[1])) == expected
        assert open_ports_between(stack, names[1], "ingress", labels_of(stack, names[0])) == expected


def test_an_edge_that_is_known_twice_is_one_rule():
    edge = Edge(PODS, OUTSIDE, (Port(443),))
    assert policy(parts.DECODE.network_policy, "one", PODS, [edge, edge]).egress == (edge,)


def test_labels_of_the_gateways_pods_need_a_gateway():
    stack = guarded({"gatewayPods": {"app": "gateway"}})
    del stack["gateway"]
    with pytest.raises(ConfigError, match=r"networkPolicies.gatewayPods: has no effect without a gateway"):
        plan(stack)
