"""Replicas of several pods that all get requests: each pod, or each copy of the model in it, is an endpoint."""

import pytest

from judging.report import running
from models.problems import ConfigError
from tests.support.stacks import find, lines, plan, rendered, tree

RANKS = range(8)
PORTS = [8000 + rank for rank in RANKS]
LAYOUTS = {
    "external": {"data": 16, "dataLocal": 8, "expert": True, "loadBalancing": "external"},
    "hybrid": {"data": 16, "dataLocal": 8, "expert": True, "loadBalancing": "hybrid"},
    "one copy": {"data": 2, "dataLocal": 1, "expert": True, "loadBalancing": "external"},
}
SERVICE = {"accelerator": "nvidia-h200", "engine": {"image": "registry.example/vllm-openai:v0.23.0"}}
SERVICE_LABEL, WORKER = "inference-stacks.io/service", "inference-stacks.io/worker-of"
ADDRESS = "--data-parallel-address=$(LWS_LEADER_ADDRESS)"


def groups(layout, **service):
    return tree(qwen=SERVICE | {"parallelism": LAYOUTS[layout]} | service)


def template(everything, name="qwen-decode"):
    """Return the only template of a group."""
    templates = find(everything, "LeaderWorkerSet", name)["spec"]["leaderWorkerTemplate"]
    assert set(templates) == {"size", "restartPolicy", "workerTemplate"}
    return templates["workerTemplate"]


def named(containers, name):
    (container,) = [container for container in containers if container["name"] == name]
    return container


def engine(everything, name="qwen-decode"):
    return named(template(everything, name)["spec"]["containers"], "vllm")


def group_arguments(everything):
    """Return the arguments that a replica of one pod would not have."""
    parts = ("data-parallel", "node", "master", "headless")
    return {argument for argument in engine(everything)["args"] if any(part in argument for part in parts)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_pod_of_a_replica_belongs_to_the_pool(layout):
    everything = rendered(groups(layout))
    selector = find(everything, "InferencePool", "qwen")["spec"]["selector"]["matchLabels"]
    pod_labels = template(everything)["metadata"]["labels"]
    assert selector.items() <= pod_labels.items()
    assert find(everything, "Service", "qwen")["spec"]["selector"].items() <= pod_labels.items()
    assert WORKER not in pod_labels


def test_only_the_leader_of_other_replicas_belongs_to_the_pool():
    inside = {name: value for name, value in LAYOUTS["hybrid"].items() if name != "loadBalancing"}
    templates = find(rendered(tree(qwen=SERVICE | {"parallelism": inside})), "LeaderWorkerSet", "qwen-decode")
    templates = templates["spec"]["leaderWorkerTemplate"]
    found = {name: set(templates[name]["metadata"]["labels"]) for name in ("leaderTemplate", "workerTemplate")}
    assert {name for name, keys in found.items() if SERVICE_LABEL in keys} == {"leaderTemplate"}
    assert {name for name, keys in found.items() if WORKER in keys} == {"workerTemplate"}


@pytest.mark.parametrize(
    ("layout", "ports"),
    [("external", PORTS), ("hybrid", PORTS[:1]), ("one copy", PORTS[:1])],
    ids=str,
)
def test_a_pod_has_a_port_for_each_copy_only_if_the_picker_chooses_among_them(layout, ports):
    everything = rendered(groups(layout))
    assert [port["containerPort"] for port in engine(everything)["ports"]] == ports
    pool = find(everything, "InferencePool", "qwen")["spec"]
    assert pool["targetPorts"] == [{"number": port} for port in ports]
    annotations = template(everything)["metadata"].get("annotations", {})
    expected = {"llm-d.ai/active-ports": ",".join(map(str, ports))} if len(ports) > 1 else {}
    assert annotations == expected


def test_pods_with_a_port_for_each_copy_know_their_number_but_not_that_of_all_pods():
    """With `--nnodes`, all engines of a pod would take the same rank: see `_serving_group_arguments`."""
    assert group_arguments(rendered(groups("external"))) == {
        "--data-parallel-size=16",
        "--data-parallel-size-local=8",
        "--data-parallel-supervisor-port=8008",
        "--data-parallel-multi-port-external-lb",
        "--node-rank=$(LWS_WORKER_INDEX)",
        ADDRESS,
    }


def test_pods_with_one_port_know_the_number_of_pods():
    members = {"--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=$(LWS_LEADER_ADDRESS)"}
    hybrid = {"--data-parallel-size=16", "--data-parallel-size-local=8", "--data-parallel-hybrid-lb"}
    assert group_arguments(rendered(groups("hybrid"))) == hybrid | members
    single = {"--data-parallel-size=2", "--data-parallel-external-lb"}
    assert group_arguments(rendered(groups("one copy"))) == single | members


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_shell_stands_around_the_engine(layout):
    assert engine(rendered(groups(layout)))["command"] == ["vllm", "serve"]


def test_a_program_of_the_user_gets_the_arguments_of_the_group():
    script = 'find /dev/shm -type f -delete; exec vllm serve "$@"'
    words = SERVICE["engine"] | {"command": ["/bin/bash", "-c", script]}
    container = engine(rendered(groups("external", engine=words)))
    assert container["command"] == ["/bin/bash", "-c", script, "vllm"]
    assert {"--node-rank=$(LWS_WORKER_INDEX)", ADDRESS} <= set(container["args"])


def test_arguments_for_servers_reach_every_pod_because_every_pod_has_a_server():
    words = SERVICE["engine"] | {"args": ["--api-server-count=4"]}
    assert "--api-server-count=4" in engine(rendered(groups("hybrid", engine=words)))["args"]


@pytest.mark.parametrize(("layout", "place"), [("external", ("/health", 8008)), ("hybrid", ("/v1/models", 8000))])
def test_every_pod_has_probes_of_its_own(layout, place):
    container = engine(rendered(groups(layout)))
    probe = container["readinessProbe"]["httpGet"]
    assert (probe["path"], probe["port"]) == place
    assert {"startupProbe", "livenessProbe"} <= set(container)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_engine_ends_before_the_requests_of_the_other_pods_have(layout):
    """The engines of a replica compute each step together, so none may end as soon as its own requests have."""
    container = engine(rendered(groups(layout)))
    assert container["lifecycle"]["preStop"]["sleep"]["seconds"] == 60
    assert not any(argument.startswith("--shutdown-timeout") for argument in container["args"])


def test_every_decode_pod_has_the_sidecar_and_its_rights():
    everything = rendered(groups("external", prefill={}))
    decode = template(everything)["spec"]
    sidecar = named(decode["initContainers"], "routing-proxy")
    assert [port["containerPort"] for port in sidecar["ports"]] == PORTS
    assert "--data-parallel-size=8" in sidecar["args"]
    assert decode["serviceAccountName"].endswith("-decode")
    prefill = template(everything, "qwen-prefill")["spec"]
    assert "routing-proxy" not in {container["name"] for container in prefill["initContainers"]}


def test_pods_of_a_replica_reach_each_other_and_the_picker_reaches_all_their_ports():
    stack = groups("external") | {"networkPolicies": {}}
    everything = rendered(stack)
    names = {manifest["metadata"]["name"] for manifest in everything if manifest["kind"] == "NetworkPolicy"}
    assert "qwen-decode-worker" not in names
    ingress = find(everything, "NetworkPolicy", "qwen-decode")["spec"]["ingress"]
    sources = [rule["from"][0].get("podSelector", {}).get("matchLabels", {}) for rule in ingress]
    pod_labels = template(everything)["metadata"]["labels"]
    (members,) = [
        rule for rule, source in zip(ingress, sources, strict=True) if source and source.items() <= pod_labels.items()
    ]
    assert members["ports"] == [{"port": 1, "endPort": 65535, "protocol": "TCP"}] or "port" not in members["ports"][0]
    of_requests = [{port.get("port") for port in rule["ports"]} for rule in ingress if rule is not members]
    assert all(set(PORTS) <= opened for opened in of_requests)


def test_monitors_read_every_pod():
    stack = groups("hybrid") | {"observability": {"metrics": {"type": "prometheus-operator"}}}
    everything = rendered(stack)
    monitor = find(everything, "PodMonitor", "qwen-decode")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= template(everything)["metadata"]["labels"].items()


def test_keda_counts_the_load_of_every_pod():
    scaling = {
        "type": "keda",
        "minReplicas": 1,
        "maxReplicas": 2,
        "metrics": [{"type": "queue-size", "target": 5}],
    }
    stack = groups("hybrid", autoscaling=scaling)
    stack |= {
        "observability": {
            "metrics": {"type": "prometheus-operator"},
            "prometheus": {"serverAddress": "http://prometheus:9090"},
        }
    }
    queries = str(find(rendered(stack), "ScaledObject", "qwen-decode")["spec"]["triggers"])
    assert 'pod=~"qwen-decode-[0-9]+(-[0-9]+)?"' in queries


def test_a_budget_counts_every_pod():
    budget = find(rendered(groups("external", replicas=2)), "PodDisruptionBudget", "qwen-decode")["spec"]
    assert budget["selector"]["matchLabels"] == {"leaderworkerset.sigs.k8s.io/name": "qwen-decode"}


def test_a_patch_of_the_only_template_reaches_every_pod():
    change = {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"hostIPC": False}}}}}
    assert template(rendered(groups("hybrid", patch=change)))["spec"]["hostIPC"] is False


def test_copies_behind_one_port_need_no_experts():
    layout = LAYOUTS["hybrid"] | {"expert": False}
    model = {"source": "hf://Qwen/Qwen3-32B"}
    assert "loadBalancing: works only for" not in str(
        lines(plan(groups("hybrid", parallelism=layout)).warnings, "warning")
    )
    plan(groups("hybrid", parallelism=layout, model=model))
    with pytest.raises(ConfigError, match="is refused by vLLM for this model, which has no experts"):
        plan(groups("one copy", model=model))


def test_the_labels_of_running_pods_are_those_of_the_only_template():
    group = find(rendered(groups("hybrid")), "LeaderWorkerSet", "qwen-decode")
    assert running.leader_labels("LeaderWorkerSet", group)[SERVICE_LABEL] == "qwen"


def test_load_balancing_is_part_of_the_generation():
    names = {plan(groups(layout, prefill={})).services[0].primary.names.pool for layout in ("external", "hybrid")}
    assert len(names) == 2
