"""Copies of the model that the picker chooses among: one port for each, wherever ports are named."""

import pytest

from judging import transition
from models.paths import Path
from models.problems import ConfigError
from planning.ground.cluster_facts import LiveObject, LiveObjects
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.fragments import MIXTURE

COPIES = {
    "accelerator": "nvidia-h100-80gb",
    "engine": {"image": "registry.example/vllm-openai:v0.23.0"},
    "parallelism": {"data": 8, "loadBalancing": "external", "expert": True},
}
RANKS = list(range(8))
ACTIVE = "llm-d.ai/active-ports"


def copies(**service):
    return tree(qwen=COPIES | service)


def ports(container):
    return [(port["name"], port["containerPort"]) for port in container["ports"]]


def template(everything, name):
    return find(everything, "Deployment", name)["spec"]["template"]


def test_every_copy_is_an_endpoint_of_the_pool():
    """See defects A23."""
    everything = rendered(copies())
    decode = template(everything, "qwen-decode")
    (engine,) = decode["spec"]["containers"]
    assert ports(engine) == [("http", 8000), *((f"http-{rank}", 8000 + rank) for rank in RANKS[1:])]
    assert {
        "--port=8000",
        "--data-parallel-size=8",
        "--data-parallel-size-local=8",
        "--data-parallel-multi-port-external-lb",
        "--data-parallel-supervisor-port=8008",
    } <= set(engine["args"])
    pool = find(everything, "InferencePool", "qwen")["spec"]
    assert pool["targetPorts"] == [{"number": 8000 + rank} for rank in RANKS]
    assert decode["metadata"]["annotations"] == {ACTIVE: ",".join(str(8000 + rank) for rank in RANKS)}
    (port,) = find(everything, "Service", "qwen")["spec"]["ports"]
    assert port["targetPort"] == 8000


def test_probes_ask_for_the_health_of_all_copies():
    (engine,) = template(rendered(copies()), "qwen-decode")["spec"]["containers"]
    asked = {name: engine[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert [*asked.values()] == [{"path": "/health", "port": 8008}] * 3


def test_each_copy_lets_its_requests_finish():
    """A single server of an engine does; several servers of one engine end at once."""
    inside = COPIES | {"parallelism": {"data": 8, "expert": True}}
    for service, drains in ((COPIES, True), (inside, False)):
        (engine,) = template(rendered(tree(qwen=service)), "qwen-decode")["spec"]["containers"]
        assert ("--shutdown-timeout=45" in engine["args"]) is drains
        assert engine["lifecycle"]["preStop"]["sleep"]["seconds"] == (15 if drains else 60)


def test_the_sidecar_has_a_port_for_each_copy_behind_it():
    everything = rendered(copies(prefill={"parallelism": {"data": 4}}))
    spec = template(everything, "qwen-decode")["spec"]
    (sidecar,) = [container for container in spec["initContainers"] if container["name"] == "routing-proxy"]
    assert [number for _, number in ports(sidecar)] == [8000 + rank for rank in RANKS]
    assert [number for _, number in ports(spec["containers"][0])] == [8200 + rank for rank in RANKS]
    assert {"--port=8000", "--model-server-port=8200", "--data-parallel-size=8"} <= set(sidecar["args"])
    served = template(everything, "qwen-prefill")["metadata"]["annotations"][ACTIVE]
    assert served == "8000,8001,8002,8003"


@pytest.mark.parametrize("release", ["gie-1.3", "llm-d-0.6"])
def test_pods_say_their_ports_to_pickers_that_read_it_alone(release):
    stack = copies() | {"release": release}
    assert "annotations" not in template(rendered(stack), "qwen-decode")["metadata"]
    assert len(find(rendered(stack), "InferencePool", "qwen")["spec"]["targetPorts"]) == 8


@pytest.mark.parametrize(
    "scraper", [("prometheus-operator", "PodMonitor", "podMetricsEndpoints"), ("gmp", "PodMonitoring", "endpoints")]
)
def test_the_metrics_of_every_copy_are_read(scraper):
    kind, monitor, field = scraper
    stack = copies(prefill={}) | {"observability": {"metrics": {"type": kind}}}
    for role, first in (("decode", "engine"), ("prefill", "http")):
        endpoints = find(rendered(stack), monitor, f"qwen-{role}")["spec"][field]
        assert [endpoint["port"] for endpoint in endpoints] == [first, *(f"{first}-{rank}" for rank in RANKS[1:])]


def test_policies_open_the_ports_of_every_copy():
    stack = copies(endpointPicker={"preset": "precise-prefix-cache"}) | {"networkPolicies": {}}
    rules = find(rendered(stack), "NetworkPolicy", "qwen-decode")["spec"]["ingress"]
    opened = [{port["port"] for port in rule["ports"]} for rule in rules]
    requests = {8000 + rank for rank in RANKS}
    assert opened == [requests, requests | {5556 + rank for rank in RANKS}]


def test_copies_of_one_role_leave_the_generation_of_others_alone():
    """A changed default would replace every pool that has prefill."""
    inside = {"parallelism": {"data": 2}, "prefill": {}}
    written = {"parallelism": {"data": 2, "loadBalancing": "internal"}, "prefill": {}}
    names = [plan(tree(qwen=service)).services[0].primary.names.pool for service in (inside, written)]
    assert names[0] == names[1]
    several = plan(copies(prefill={})).services[0].primary.names.pool
    assert (
        several != plan(copies(prefill={"parallelism": {"loadBalancing": "internal"}})).services[0].primary.names.pool
    )


def about_copies(stack):
    return [line for line in lines(plan(stack).warnings, "warning") if "loadBalancing: " in line]


def test_a_model_that_may_have_no_experts_is_told():
    (line,) = about_copies(copies(parallelism={"data": 2, "loadBalancing": "external"}))
    assert line.startswith(
        "services.qwen.parallelism.loadBalancing: works only for models that are a mixture of experts"
    )


@pytest.mark.parametrize("expert", [True, False])
def test_a_model_without_experts_is_refused(expert):
    """A real vLLM ends with "Non-MoE models do not support external data parallel mode"."""
    layout = {"data": 2, "loadBalancing": "external", "expert": expert}
    with pytest.raises(ConfigError) as refusal:
        plan(copies(parallelism=layout, model={"source": "hf://Qwen/Qwen3-32B"}))
    assert str(refusal.value) == (
        "services.qwen.parallelism.loadBalancing: is refused by vLLM for this model, which has no experts; remove it, "
        "or use replicas instead of copies"
    )


def test_a_model_with_experts_is_not_told():
    layout = {"data": 2, "loadBalancing": "external"}
    model = {"source": "hf://org/model", "size": "1Gi", "architecture": MIXTURE}
    assert about_copies(copies(parallelism=layout, model=model)) == []


def test_copies_behind_a_service_alone_are_told():
    stack = copies()
    del stack["gateway"]
    (line,) = about_copies(stack)
    assert line == (
        "services.qwen.parallelism.loadBalancing: only a gateway with the pool's picker reaches every copy, and the "
        "service has no route; the Service reaches the first copy of each pod"
    )


@pytest.mark.parametrize(("numbers", "is_warned"), [([8000], True), ([8000 + rank for rank in RANKS], False)])
def test_a_pool_whose_ports_change_before_its_pods_do_is_told(numbers, is_warned):
    place = ("inference.networking.k8s.io", "InferencePool", "models", "qwen")
    content = {"spec": {"targetPorts": [{"number": number} for number in numbers]}}
    found = list(transition.ports(plan(copies()), LiveObjects({place: LiveObject(content, ())})))
    assert [problem.path for problem in found] == [Path("services", "qwen")] * is_warned
    assert all(problem.what.startswith("the pool's ports change from 8000 to 8000-8007 before") for problem in found)


def test_a_default_for_several_copies_does_not_refuse_a_service_with_one():
    defaults = {**COPIES, "parallelism": {"loadBalancing": "external", "expert": True}}
    stack = tree(qwen={"parallelism": {"data": 8}}, chat={"parallelism": {"data": 1}}) | {"defaults": defaults}
    (chat,) = [service for service in plan(stack).services if service.key == "chat"]
    assert chat.primary.target_ports == (8000,)
