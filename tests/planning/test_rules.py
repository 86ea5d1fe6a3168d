"""Settings that contradict each other are refused, and both places are named."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, lines, plan, tree

EVENTS = {"kvCache": {"events": True}}
HUB = {"name": "org/m", "source": "hf://org/m"}
KIT = {"name": "org/m", "source": "kit://registry.example/m:v1"}
CUSTOM = {"type": "custom", "image": "registry.example/server:v1"}


def messages(service, **stack):
    try:
        planning.plan(load(tree(qwen=service) | stack), NAME)
    except ConfigError as error:
        return str(error).splitlines()
    return []


PORTS = {
    "events-and-engine": (
        EVENTS | {"engine": {"port": 5556}},
        "engine.port: is taken by the events of the KV cache (5556; kvCache.events)",
    ),
    "events-of-a-rank": (
        {"parallelism": {"data": 4}, "engine": {"port": 5558}} | EVENTS,
        "engine.port: is taken by the events of the KV cache (5558; kvCache.events)",
    ),
    "events-of-arguments": (
        {"engine": {"args": ['--kv-events-config={"endpoint": "tcp://*:8000"}']}} | EVENTS,
        "engine.args[0]: is taken by the requests of clients (8000; engine.port)",
    ),
    "events-and-sidecar": (
        {"prefill": {}, "sidecar": {"enginePort": 5556}} | EVENTS,
        "sidecar.enginePort: is taken by the events of the KV cache (5556; kvCache.events)",
    ),
    "sidecar-and-nixl": (
        {"prefill": {}, "sidecar": {"enginePort": 5600}},
        "sidecar.enginePort: is taken by the transfer of the KV cache (5600; kvCache.connector)",
    ),
    "engine-and-nixl": (
        {"prefill": {}, "engine": {"port": 5600}},
        "engine.port: is taken by the transfer of the KV cache (5600; kvCache.connector)",
    ),
    "nixl-of-a-variable": (
        {"prefill": {}, "engine": {"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "8200"}}},
        "engine.env.VLLM_NIXL_SIDE_CHANNEL_PORT: is taken by the engine behind the sidecar (8200; sidecar.enginePort)",
    ),
    "events-and-nixl": (
        {"prefill": {}, "engine": {"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5556"}}} | EVENTS,
        "engine.env.VLLM_NIXL_SIDE_CHANNEL_PORT: is taken by the events of the KV cache (5556; kvCache.events)",
    ),
    "mooncake": (
        {"prefill": {}, "kvCache": {"connector": "mooncake"}, "sidecar": {"enginePort": 8998}},
        "sidecar.enginePort: is taken by the transfer of the KV cache (8998; kvCache.connector)",
    ),
    "picker-and-metrics": (
        {"endpointPicker": {"port": 9090}},
        "endpointPicker.port: is the port of the picker's metrics as well (9090)",
    ),
    "picker-and-health": (
        {"endpointPicker": {"port": 9003}},
        "endpointPicker.port: is the port of the picker's health service as well (9003)",
    ),
}
MEMORY = {
    "block-size": (
        {"kvCache": {"blockSize": 7}},
        "kvCache.blockSize: is a block size that no kernel of the engine supports (7)",
    ),
    "offload": (
        {"kvCache": {"cpuOffload": "64Gi"}, "resources": {"limits": {"memory": "48Gi"}}},
        "kvCache.cpuOffload: leaves the engine no memory (64Gi; resources.limits.memory is 48Gi)",
    ),
    "vendors": (
        {"accelerator": "nvidia", "prefill": {"accelerator": "amd"}},
        "prefill.accelerator: is of another vendor than the service's accelerator (amd, nvidia)",
    ),
}
BYTES = {
    "size": ({"model": HUB | {"size": 16}}, "model.size: is 16 bytes"),
    "adapter": (
        {"model": HUB | {"lora": {"adapters": {"sql": {"source": "hf://a/b", "size": "200"}}}}},
        "model.lora.adapters.sql.size: is 200 bytes",
    ),
    "claim": (
        {"model": HUB | {"size": "16Gi"}, "storage": {"type": "dedicated", "size": "160"}},
        "storage.size: is 160 bytes",
    ),
    "limit": ({"storage": {"type": "ephemeral", "sizeLimit": "20"}}, "storage.sizeLimit: is 20 bytes"),
    "offload": ({"kvCache": {"cpuOffload": "32"}}, "kvCache.cpuOffload: is 32 bytes"),
    "shared-memory": ({"pod": {"sharedMemory": "16"}}, "pod.sharedMemory: is 16 bytes"),
    "device-memory": ({"acceleratorMemory": "160"}, "acceleratorMemory: is 160 bytes"),
    "request": ({"resources": {"requests": {"memory": "32"}}}, "resources.requests.memory: is 32 bytes"),
    "milli": ({"model": HUB | {"size": "500m"}}, "model.size: is 0.5 bytes"),
}
MODELS = {
    "filter": ({"model": KIT | {"filter": ["docs"]}}, "model.filter: leaves out the weights (docs); add model"),
    "adapter-and-model": (
        {"model": {"name": "sql", "source": "hf://a/b", "lora": {"adapters": {"sql": {"source": "hf://a/c"}}}}},
        "model.lora.adapters.sql: is the name of the model as well (sql; model.name)",
    ),
}
ROUTES = {
    "hostnames": (
        {"route": {"hostnames": ["a.example.com", "b.example.com", "a.example.com"]}},
        "route.hostnames[2]: repeats hostnames[0] (a.example.com)",
    ),
    "matches": (
        {"route": {"matches": [{"path": "/a"}, {"path": "/b"}, {"path": "/a/"}]}},
        "route.matches[2]: repeats matches[0] (/a)",
    ),
    "headers": (
        {"route": {"matches": [{"headers": {"x-team": "a"}}, {"headers": {"X-Team": "a"}}]}},
        "route.matches[1]: repeats matches[0] (/)",
    ),
}
CASES = {
    f"{group}-{name}": case
    for group, cases in (("port", PORTS), ("memory", MEMORY), ("bytes", BYTES), ("model", MODELS), ("route", ROUTES))
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_contradiction_is_refused(name):
    """See defects C6."""
    service, expected = CASES[name]
    (line,) = messages(service)
    assert line.startswith(f"services.qwen.{expected}")


SOUND = {
    "a-port-above-the-ranks": {"parallelism": {"data": 4}, "engine": {"port": 5560}, "kvCache": {"events": True}},
    "events-that-nobody-publishes": {"engine": {"port": 5556}},
    "nixl-without-prefill": {"engine": {"port": 5600}},
    "custom-engines-have-their-own-blocks": {"engine": CUSTOM, "kvCache": {"blockSize": 7}},
    "a-block-of-one-token": {"kvCache": {"blockSize": 1}},
    "a-large-block": {"kvCache": {"blockSize": 528}},
    "offload-below-the-limit": {"kvCache": {"cpuOffload": "16Gi"}, "resources": {"limits": {"memory": "48Gi"}}},
    "offload-raises-the-default": {"kvCache": {"cpuOffload": "64Gi"}},
    "classes-of-one-vendor": {"accelerator": "nvidia-l40s", "prefill": {"accelerator": "nvidia-h100-80gb"}},
    "bytes-in-full": {"model": HUB | {"size": "17179869184"}},
    "kibibytes": {"model": HUB | {"size": "400Ki"}},
    "a-filter-with-weights": {"model": KIT | {"filter": ["model", "docs"]}},
    "hosts-and-their-wildcard": {"route": {"hostnames": ["a.example.com", "*.example.com"]}},
    "one-path-with-two-headers": {"route": {"matches": [{"headers": {"x": "a"}}, {"headers": {"x": "b"}}]}},
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_setting_is_accepted(name):
    """See defects C6."""
    assert [line for line in messages(SOUND[name]) if "custom engine" not in line] == []


def test_bytes_without_a_unit_are_refused_in_caches_and_classes():
    """See defects C6."""
    caches = {"m": {"source": "hf://org/m", "size": 48}}
    classes = {"slice": {"vendor": "nvidia", "memory": "40"}}
    assert [line.partition(";")[0] for line in messages({}, caches=caches, accelerators=classes)] == [
        "accelerators.slice.memory: is 40 bytes",
        "caches.m.size: is 48 bytes",
    ]


@pytest.mark.parametrize(
    ("service", "role", "sizes"),
    [
        ({"pod": {"sharedMemory": "64Gi"}}, "services.qwen", "64Gi; resources.limits.memory is 48Gi"),
        (
            {
                "pod": {"sharedMemory": "20Gi"},
                "resources": {"limits": {"memory": "48Gi"}},
                "prefill": {"resources": {"limits": {"memory": "16Gi"}}},
            },
            "services.qwen.prefill",
            "20Gi; resources.limits.memory is 16Gi",
        ),
    ],
)
def test_shared_memory_above_the_limit_of_a_role_is_told_at_that_role(service, role, sizes):
    """See defects R4."""
    what = f"{role}: has more shared memory than its memory limit, which includes it ({sizes})"
    warned = lines(plan(tree(qwen=service)).warnings, "warning")
    assert f"{what}; lower pod.sharedMemory, or raise resources.limits.memory" in warned


LABEL = "llm-d.ai/engine-type"


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ({}, True),
        ({"pod": {"labels": {LABEL: "sglang"}}}, False),
        ({"endpointPicker": {"enabled": False}}, False),
        ({"engine": {}}, False),
    ],
)
def test_an_engine_whose_metrics_the_picker_cannot_read_is_told(more, is_told):
    """See defects R6."""
    found = lines(plan(tree(qwen={"engine": CUSTOM} | more)).warnings, "warning")
    text = (
        "services.qwen.engine.type: serves metrics that the picker reads by the names of vLLM, because its pods do not "
        f"say their engine; add {LABEL} to pod.labels, such as sglang or trtllm-serve; or vllm if the engine has "
        "vLLM's names"
    )
    assert (text in found) is is_told


@pytest.mark.parametrize(
    ("mistaken", "mended"),
    [
        ({"parallelism": {"pipeline": 2}}, {"parallelism": {"tensor": 2}}),
        ({"parallelism": {"data": 2}}, {"parallelism": {"tensor": 2}}),
    ],
)
def test_the_remedy_for_what_does_not_reach_a_custom_engine_passes(mistaken, mended):
    """See defects R5."""
    found = messages({"engine": CUSTOM, **mistaken})
    remedy = (
        "remove it, set parallelism.tensor to the number of devices of a pod, and write the engine's own flag in "
        "engine.args"
    )
    assert any(line.endswith(f"does not reach a custom engine; {remedy}") for line in found)
    assert messages({"engine": {**CUSTOM, "args": ["--pp-size=2"]}, **mended}) == []


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        ("2", "set parallelism.tensor: 2"),
        ("0.5", "set parallelism.tensor to a whole number of devices"),
        ("0", "set parallelism.tensor to a whole number of devices"),
    ],
)
@pytest.mark.parametrize("place", ["resources", "patch"])
def test_the_remedy_for_devices_is_a_number_that_passes(number, remedy, place):
    """See defects R5."""
    limits = {"limits": {"nvidia.com/gpu": number}}
    service = (
        {"resources": limits}
        if place == "resources"
        else {"patch": {"containers": [{"name": "vllm", "resources": limits}]}}
    )
    (line,) = messages(service)
    assert line.endswith(f"; remove it and {remedy}")
    assert messages({"parallelism": {"tensor": 2}}) == []
