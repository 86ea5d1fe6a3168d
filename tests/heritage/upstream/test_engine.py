"""Misuses of the engine, of its roles and versions."""

import json

import pytest

from planning.releases import channel, channels
from tests.support.stacks import SERVICE, find, rendered, tree
from tests.support.stacks.misuses import (
    DISAGGREGATED,
    SLEEPS,
    every_channel,
    every_disaggregated_channel,
    members,
    picking,
    pools,
    stack,
)
from tests.support.stacks.otterscale import kind
from tests.support.stacks.shapes import (
    engine,
    every_rendering,
    flag,
    label,
    model_servers,
    serving,
    told,
    values,
    volumes,
)

POD_IP = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}


def roles(requested):
    """Return the engines of the decode pods and of the prefill pods."""
    found = {label(template, "inference-stacks.io/role"): engine(template) for template in serving(rendered(requested))}
    assert found.keys() == {"decode", "prefill"}
    return found["decode"], found["prefill"]


@every_disaggregated_channel
def test_both_roles_have_one_connector(release):
    """See upstream engine-1."""
    decode, prefill = roles(stack(release, prefill={}))
    assert flag(decode, "--kv-transfer-config") == flag(prefill, "--kv-transfer-config")
    assert json.loads(flag(decode, "--kv-transfer-config"))["kv_role"] == "kv_both"


@every_disaggregated_channel
@pytest.mark.parametrize("connector", ["offloading", "shared-storage"])
def test_a_connector_that_a_line_has_not_is_refused(release, connector):
    """See upstream engine-2."""
    assert connector not in channel(release).engine.kv_transfer
    (message,) = told(stack(release, prefill={}, kvCache={"connector": connector}))
    assert message.startswith("services.qwen.kvCache.connector: is not known to the ")
    assert f"of {release} ({connector})" in message


def test_a_connector_that_is_offered_works_somewhere():
    """See upstream engine-2. See defects C2."""
    sidecars = [sidecar for name in channels() if (sidecar := channel(name).sidecar) is not None]
    known = {connector for sidecar in sidecars for connector in sidecar.connectors}
    assert known >= {connector for name in channels() for connector in channel(name).engine.kv_transfer}
    (message,) = told(stack("llm-d-0.6", prefill={}, kvCache={"connector": "mooncake"}))
    assert message.startswith("services.qwen.kvCache.connector: is not known to the sidecar of llm-d-0.6 (mooncake)")


@every_disaggregated_channel
def test_both_roles_have_one_block_size(release):
    """See upstream engine-3."""
    for service, size in (({}, "64"), ({"kvCache": {"blockSize": 16}}, "16")):
        assert [flag(container, "--block-size") for container in roles(stack(release, prefill={}, **service))] == [
            size,
            size,
        ]
    (message,) = told(stack(release, prefill={"engine": {"args": ["--block-size=32"]}}))
    assert message.startswith("services.qwen.prefill.engine.args[0]: repeats a field (--block-size)")


@every_disaggregated_channel
def test_prefill_is_found_and_keeps_its_connections(release):
    """See upstream engine-4."""
    requested = stack(release, prefill={})
    for container in roles(requested):
        assert values(container)["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$(POD_IP)"
        assert values(container)["POD_IP"] == POD_IP
    _, prefill = roles(requested)
    # The sidecar keeps a connection that idles for 90 seconds.
    assert int(values(prefill)["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) > 90


@pytest.mark.parametrize("release", ["llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_engines_publish_under_their_own_address(release):
    """See upstream engine-5."""
    decode = engine(
        find(rendered(picking(release, preset="precise-prefix-cache")), "Deployment", "qwen-decode")["spec"]["template"]
    )
    events = json.loads(flag(decode, "--kv-events-config"))
    assert events["topic"] == f"kv@$(POD_IP):8000@{SERVICE['model']['name']}"
    assert events["enable_kv_cache_events"] is True
    assert values(decode)["POD_IP"] == POD_IP


@every_rendering
def test_an_engine_may_write_where_it_has_to(everything):
    """See upstream engine-6."""
    for template in model_servers(everything):
        container = engine(template)
        home = values(container)["HOME"]
        (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == home]
        assert "emptyDir" in volumes(template)[mount["name"]]


@every_rendering
def test_ranks_of_an_engine_share_memory(everything):
    """See upstream engine-7."""
    for template in model_servers(everything):
        (mount,) = [each for each in engine(template)["volumeMounts"] if each["mountPath"] == "/dev/shm"]
        assert volumes(template)[mount["name"]]["emptyDir"]["medium"] == "Memory"


@every_channel
def test_an_engine_drains_before_it_is_killed(release):
    """No role goes faster, prefill's included: its cache may be on its way to a decode pod. See upstream engine-8."""
    service = {"prefill": {}} if release in DISAGGREGATED else {}
    knows = "--shutdown-timeout" if release in {"gie-1.5", "llm-d-0.8", "llm-d-0.9", "llm-d-0.10"} else None
    for template in serving(rendered(stack(release, **service, drainTimeout="80s"))):
        container, grace = engine(template), template["spec"]["terminationGracePeriodSeconds"]
        sleeps = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        drains = int(flag(container, knows)) if knows else 0
        assert sleeps >= 15
        assert sleeps + drains >= 80
        assert sleeps + drains < grace
        assert (flag(container, "--shutdown-timeout") is not None) == (knows is not None)


@every_channel
def test_metrics_have_their_present_names(release):
    """See upstream engine-9."""
    series = {name: metric.series for name, metric in channel(release).engine.metrics.items()}
    assert series["kv-cache-utilization"] == "vllm:kv_cache_usage_perc"
    assert series["queue-size"] == "vllm:num_requests_waiting"
    assert "gpu_cache_usage_perc" not in str(channel(release))


@pytest.mark.parametrize("more", [{"engine": {"image": "registry.example/vllm:v2"}}, {"kvCache": {"blockSize": 16}}])
def test_an_incompatible_version_has_a_pool_of_its_own(more):
    """See upstream engine-10."""
    before, after = (rendered(stack(prefill={}, **fields)) for fields in ({}, more))
    (old,), (new,) = pools(before), pools(after)
    assert len(members(before, old)) == len(members(after, new)) == 2
    assert members(after, old) == members(before, new) == []
    (route,) = kind(after, "HTTPRoute")
    assert route["metadata"]["name"] == "qwen"
    assert route["spec"]["rules"][0]["backendRefs"][0]["name"] == new["metadata"]["name"]


@pytest.mark.parametrize(("scaling", "made"), [("hpa", "HorizontalPodAutoscaler"), ("keda", "ScaledObject")])
def test_a_workload_has_one_autoscaler(scaling, made):
    """See upstream engine-11."""
    autoscaling = {"type": scaling, "minReplicas": 1, "maxReplicas": 4, "metrics": SLEEPS["metrics"]}
    everything = rendered(tree(qwen={"autoscaling": autoscaling}))
    autoscalers = [
        manifest["kind"] for manifest in everything if manifest["kind"] in {"HorizontalPodAutoscaler", "ScaledObject"}
    ]
    assert autoscalers == [made]
    assert "replicas" not in find(everything, "Deployment", "qwen-decode")["spec"]


@every_rendering
def test_a_pod_has_one_of_the_roles_that_pickers_filter_by(everything):
    """See upstream engine-12."""
    for template in serving(everything):
        assert label(template, "llm-d.ai/role") in {"decode", "prefill", "encode"}
    (message,) = told(tree(qwen={"pod": {"labels": {"llm-d.ai/role": "both"}}}))
    assert message.startswith("services.qwen.pod.labels.llm-d.ai/role: is decided by this program")
