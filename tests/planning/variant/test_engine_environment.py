"""Variables that keep an engine within its container's memory, and its connections open."""

import pytest

from tests.support.stacks import GATEWAY, find, rendered, tree
from tests.support.stacks.shapes import engine, values


def environment(stack, workload="qwen-decode"):
    return values(engine(find(rendered(stack), "Deployment", workload)["spec"]["template"]))


def on_cpu(**service):
    return environment(tree(qwen={"accelerator": "cpu", **service})).get("VLLM_CPU_KVCACHE_SPACE")


LIMIT = {"resources": {"limits": {"memory": "24Gi"}}}
SMALL = {"model": {"source": "hf://org/model", "size": "3Gi"}}


@pytest.mark.parametrize(
    ("service", "space"),
    [
        ({}, "23"),
        (LIMIT, "11"),
        ({**LIMIT, **SMALL}, "10"),
        ({**LIMIT, **SMALL, "pod": {"sharedMemory": "5Gi"}}, "8"),
        ({**LIMIT, **SMALL, "kvCache": {"cpuOffload": "4Gi"}}, "8"),
        ({**LIMIT, **SMALL, "parallelism": {"tensor": 2}}, "5"),
        ({**LIMIT, **SMALL, "parallelism": {"data": 2}}, "4"),
        ({"resources": {"limits": {"memory": "2Gi"}}}, "1"),
        ({**LIMIT, "engine": {"env": {"VLLM_CPU_KVCACHE_SPACE": "4"}}}, "4"),
    ],
)
def test_a_cache_in_the_hosts_memory_stays_within_the_containers_limit(service, space):
    """See defects A10."""
    assert on_cpu(**service) == space


@pytest.mark.parametrize(
    "service", [{"accelerator": "nvidia"}, {"engine": {"type": "custom", "image": "registry.example/server:v1"}}]
)
def test_other_engines_have_no_cache_in_the_hosts_memory(service):
    assert on_cpu(**service) is None


def keep_alive(stack, workload="qwen-decode"):
    return int(environment(stack, workload).get("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", 5))


def behind(provider, **service):
    return tree(qwen=service) | {"gateway": GATEWAY | {"provider": provider}}


IDLE = {"istio": 3600, "gke": 600, "agentgateway": 90}
"""Seconds for which a gateway keeps a connection that it does not use."""


@pytest.mark.parametrize(("provider", "idle"), IDLE.items())
def test_an_engine_keeps_connections_longer_than_its_gateway(provider, idle):
    """See defects A4."""
    assert idle < keep_alive(behind(provider)) <= idle + 60


@pytest.mark.parametrize(
    "stack",
    [behind("none"), behind("gke", route={"enabled": False}), {**tree(), "gateway": None}],
    ids=["unknown", "no-route", "no-gateway"],
)
def test_an_engine_keeps_connections_of_unknown_clients_longest(stack):
    """See defects A4."""
    known = {key: value for key, value in stack.items() if value is not None}
    assert keep_alive(known) > max(IDLE.values())


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_both_roles_keep_connections_of_the_sidecar(role):
    """See defects A4."""
    assert keep_alive(behind("istio", prefill={}), f"qwen-{role}") > 90


def test_a_time_of_the_users_own_wins():
    service = {"engine": {"env": {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "7"}}}
    assert keep_alive(tree(qwen=service)) == 7


def test_a_custom_engine_has_no_variables_of_vllm():
    service = {"engine": {"type": "custom", "image": "registry.example/server:v1"}}
    assert environment(tree(qwen=service)).keys() == {"HOME"}
