"""Roles of a variant: stages with pods of their own, and sets of pods."""

import pytest

from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.order import Id
from tests.support.stacks import exactly, plan, rendered, tree

LABEL = "llm-d.ai/context-length-range"
SETS = {
    "prefill": {
        "engine": {"maxNumSeqs": 16},
        "sets": {
            "short": {"replicas": 2, "labels": {LABEL: "0-1000"}},
            "long": {"parallelism": {"tensor": 4}, "labels": {LABEL: "1001-32768"}},
        },
    }
}

VENDORS = {"decode": {"sets": {"amd": {"accelerator": "amd"}, "nvidia": {"labels": {"example.com/vendor": "nvidia"}}}}}
SIZES = {"decode": {"sets": {"large": {"parallelism": {"tensor": 4}}, "small": {}}}}


def roles(service):
    return {workload.role: workload for workload in plan(tree(qwen=service)).services[0].primary.workloads}


def names(service, kind):
    return [manifest["metadata"]["name"] for manifest in rendered(tree(qwen=service)) if manifest["kind"] == kind]


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ({}, ["decode"]),
        ({"prefill": {}}, ["decode", "prefill"]),
        ({"encode": {}}, ["decode", "encode"]),
        ({"prefill": {}, "encode": {}}, ["decode", "prefill", "encode"]),
        (SETS, ["decode", "prefill-long", "prefill-short"]),
        (VENDORS, ["decode-amd", "decode-nvidia"]),
        (VENDORS | {"encode": {}}, ["decode-amd", "decode-nvidia", "encode"]),
        (SIZES | {"prefill": {}}, ["decode-large", "decode-small", "prefill"]),
    ],
)
def test_each_stage_with_pods_of_its_own_has_a_workload_and_each_set_has_one(service, expected):
    assert [*roles(service)] == expected


def test_a_set_takes_the_keys_of_prefill_and_has_replicas_of_its_own():
    workloads = roles(SETS)
    assert [workloads[role].replicas for role in ("prefill-short", "prefill-long")] == [2, 1]
    assert [workloads[role].layout.tensor for role in ("prefill-short", "prefill-long")] == [1, 4]
    for role in ("prefill-short", "prefill-long"):
        assert "--max-num-seqs=16" in workloads[role].engine.arguments


def test_the_picker_tells_sets_apart_by_their_labels_and_filters_all_of_them_as_prefill():
    for name, window in (("short", "0-1000"), ("long", "1001-32768")):
        workload = exactly(rendered(tree(qwen=SETS)), "Deployment", roles(SETS)[f"prefill-{name}"].name)
        pods = workload["spec"]["template"]["metadata"]["labels"]
        assert (pods[LABEL], pods["llm-d.ai/role"]) == (window, "prefill")
        assert workload["spec"]["selector"]["matchLabels"]["inference-stacks.io/role"] == f"prefill-{name}"


def test_each_set_has_its_own_budget_autoscaler_monitor_and_policy():
    scaled = {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}
    sets = {"a": {"autoscaling": scaled}, "b": {"autoscaling": scaled}}
    stack = tree(qwen={"prefill": {"sets": sets}}) | {
        "observability": {"metrics": {"type": "prometheus-operator"}},
        "networkPolicies": {},
    }
    everything = {rendered_object.id: rendered_object for rendered_object in objects(render(plan(stack)))}
    role = parts.PREFILL
    for part in (role.workload, role.budget, role.autoscaler, role.monitor, role.network_policy):
        assert {identity.qualifier for identity in everything if identity.part is part} == {"a", "b"}
    assert Id("qwen", role.workload, "a") in everything[Id("qwen", parts.ROUTE)].after
    identities = [component.identity(item) for component in render(plan(stack)) for item in component.objects]
    assert len(identities) == len(set(identities)) == len(everything)


def test_pods_of_two_sets_reach_decode_pods_and_not_each_other():
    stack = tree(qwen={"prefill": {"sets": {"a": {}, "b": {}}}}) | {"networkPolicies": {}}
    (policy,) = [
        manifest
        for manifest in rendered(stack)
        if manifest["kind"] == "NetworkPolicy" and manifest["metadata"]["name"].endswith("prefill-a")
    ]
    peers = [
        peer["podSelector"]["matchLabels"].get("inference-stacks.io/role")
        for rule in policy["spec"]["egress"]
        for peer in rule.get("to", ())
        if "podSelector" in peer
    ]
    assert "decode" in peers
    assert "prefill-b" not in peers


def test_a_long_name_of_a_set_shortens_only_the_names_of_its_own_objects():
    long = {"prefill": {"sets": {"a" * 40: {}, "a" * 39 + "b": {}}}}
    short = {"prefill": {"sets": {"x": {}, "y": {}}}}
    assert names(long, "HTTPRoute") == names(short, "HTTPRoute") == ["qwen"]
    made = names(long, "Deployment")
    assert len(set(made)) == 4
    assert max(map(len, made)) == 48
    assert sum(name.startswith("qwen-") for name in made) == 4


def test_decode_and_prefill_keep_the_generation_from_before_encode_pods_existed():
    assert names({"prefill": {}}, "InferencePool") == ["qwen-c4e12"]


def routed(service):
    return exactly(rendered(tree(qwen=service)), "Service", "qwen")["spec"]["selector"]


def pods(service, role):
    workload = exactly(rendered(tree(qwen=service)), "Deployment", roles(service)[role].name)
    return workload["spec"]["template"]["metadata"]["labels"], workload["spec"]["template"]["spec"]


def test_sets_of_decode_pods_are_in_one_pool_and_behind_one_service():
    pool = exactly(rendered(tree(qwen=VENDORS)), "InferencePool", "qwen")["spec"]["selector"]["matchLabels"]
    for role in ("decode-amd", "decode-nvidia"):
        labels, _ = pods(VENDORS, role)
        assert pool.items() <= labels.items()
        assert routed(VENDORS).items() <= labels.items()


def test_the_service_keeps_pods_from_before_decode_was_divided_and_selects_no_other_roles():
    undivided, _ = pods({}, "decode")
    prefill, _ = pods(SIZES | {"prefill": {}}, "prefill")
    assert routed(VENDORS).items() <= undivided.items()
    assert not routed(SIZES | {"prefill": {}}).items() <= prefill.items()


def test_a_service_without_sets_keeps_its_selector():
    assert routed({}) == {
        "inference-stacks.io/service": "qwen",
        "inference-stacks.io/variant": "primary",
        "inference-stacks.io/role": "decode",
    }


def test_sets_of_decode_pods_need_no_generation_and_no_sidecar_unless_pods_exchange_their_cache():
    assert names(VENDORS, "InferencePool") == ["qwen"]
    _, alone = pods(VENDORS, "decode-amd")
    assert "initContainers" not in alone or [container["name"] for container in alone["initContainers"]] == [
        "model-unpack"
    ]
    (pool,) = names(SIZES | {"prefill": {}}, "InferencePool")
    assert pool != "qwen"
    for role in ("decode-large", "decode-small"):
        _, beside_prefill = pods(SIZES | {"prefill": {}}, role)
        assert "routing-proxy" in [container["name"] for container in beside_prefill["initContainers"]]


def test_sets_of_decode_pods_share_the_account_with_the_right_to_read_their_pool():
    service = SIZES | {"prefill": {}}
    account = names(service, "ServiceAccount")[0]
    assert account.endswith("-decode")
    assert {pods(service, role)[1]["serviceAccountName"] for role in ("decode-large", "decode-small")} == {account}
    with_account = {"decode": {"sets": {"large": {"pod": {"serviceAccountName": "own"}}, "small": {}}}, "prefill": {}}
    bindings = [manifest for manifest in rendered(tree(qwen=with_account)) if manifest["kind"] == "RoleBinding"]
    (binding,) = [manifest for manifest in bindings if manifest["metadata"]["name"].endswith("-decode")]
    assert [subject["name"] for subject in binding["subjects"]] == ["own", binding["metadata"]["name"]]


def test_a_set_of_decode_pods_takes_the_keys_of_its_service():
    service = {"engine": {"maxNumSeqs": 16}, "decode": {"sets": {"a": {"replicas": 3}, "b": {}}}}
    workloads = roles(service)
    assert [workloads[role].replicas for role in ("decode-a", "decode-b")] == [3, 1]
    for workload in workloads.values():
        assert "--max-num-seqs=16" in workload.engine.arguments


def test_each_set_of_decode_pods_has_its_own_budget_autoscaler_monitor_and_policy():
    scaled = {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}
    stack = tree(qwen={"decode": {"sets": {"a": {"autoscaling": scaled}, "b": {"autoscaling": scaled}}}}) | {
        "observability": {"metrics": {"type": "prometheus-operator"}},
        "networkPolicies": {},
    }
    everything = {rendered_object.id: rendered_object for rendered_object in objects(render(plan(stack)))}
    role = parts.DECODE
    for part in (role.workload, role.budget, role.autoscaler, role.monitor, role.network_policy):
        assert {identity.qualifier for identity in everything if identity.part is part} == {"a", "b"}
    for name in ("a", "b"):
        assert Id("qwen", role.workload, name) in everything[Id("qwen", parts.ROUTE)].after


def test_gateway_and_picker_reach_every_set_of_decode_pods():
    stack = tree(qwen=VENDORS) | {"networkPolicies": {}}
    policies = [manifest for manifest in rendered(stack) if manifest["kind"] == "NetworkPolicy"]
    (picker,) = [manifest for manifest in policies if manifest["metadata"]["name"] == "qwen-epp"]
    reached = {
        peer["podSelector"]["matchLabels"].get("inference-stacks.io/role")
        for rule in picker["spec"]["egress"]
        for peer in rule.get("to", ())
        if "podSelector" in peer
    }
    assert {"decode-amd", "decode-nvidia"} <= reached
    for name in ("qwen-decode-amd", "qwen-decode-nvidia"):
        (policy,) = [manifest for manifest in policies if manifest["metadata"]["name"] == name]
        sources = [peer for rule in policy["spec"]["ingress"] for peer in rule["from"]]
        assert any("gateways" in str(peer.get("namespaceSelector")) for peer in sources)


def test_the_interceptor_reaches_the_pods_of_every_set():
    metering = {
        "mode": "label",
        "namespace": "metering",
        "deploy": {"image": f"registry.example/phoebe@sha256:{'0f' * 32}"},
    }
    service = VENDORS | {"endpointPicker": {"enabled": False}}
    stack = tree(qwen=service) | {"networkPolicies": {}, "interceptor": metering}
    everything = rendered(stack)
    (policy,) = [
        manifest
        for manifest in everything
        if manifest["kind"] == "NetworkPolicy" and manifest["metadata"]["namespace"] == "metering"
    ]
    selectors = [
        peer["podSelector"]["matchLabels"]
        for rule in policy["spec"]["egress"]
        for peer in rule.get("to", ())
        if "inference-stacks.io/service" in peer.get("podSelector", {}).get("matchLabels", {})
    ]
    assert len(selectors) == 1
    for role in ("decode-amd", "decode-nvidia"):
        workload = exactly(everything, "Deployment", f"qwen-{role}")
        assert selectors[0].items() <= workload["spec"]["template"]["metadata"]["labels"].items()
