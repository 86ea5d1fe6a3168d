"""Misuses of the pool, of its API and of the routes to it."""

import copy

import pytest
import yaml

from judging import validation
from judging.preflight.kinds import kinds
from planning.ground.cluster_facts import ClusterFacts, Served
from planning.releases import channel
from tests.support.stacks import as_rendered, exactly, find, lines, rendered, tree
from tests.support.stacks.misuses import every_channel, members, picking, pools
from tests.support.stacks.otterscale import kind
from tests.support.stacks.shapes import containers, every_picked_rendering, label, told


@every_picked_rendering
def test_a_pool_is_of_the_stable_api_and_selects_by_labels(everything):
    """See upstream pool-1."""
    for pool in pools(everything):
        assert pool["apiVersion"] == "inference.networking.k8s.io/v1"
        assert [*pool["spec"]["selector"]] == ["matchLabels"]
        assert 0 < len(pool["spec"]["selector"]["matchLabels"]) <= 64


@every_picked_rendering
def test_no_pool_selects_one_role_alone(everything):
    """See upstream pool-2."""
    for pool in pools(everything):
        found = {label(template, "llm-d.ai/role") for template in members(everything, pool)}
        filters = {plugin["pluginRef"] for plugin in _entries(everything, pool)}
        stages = {stage for stage in ("decode", "prefill", "encode") if f"{stage}-filter" in filters}
        assert found - {None} == (stages or {"decode"})


def _entries(everything, pool):
    name = pool["spec"]["endpointPickerRef"]["name"]
    config = yaml.load(exactly(everything, "ConfigMap", name)["data"]["config.yaml"], yaml.CSafeLoader)
    return [plugin for profile in config["schedulingProfiles"] for plugin in profile["plugins"]]


@every_picked_rendering
def test_a_pool_has_one_port_which_its_pods_listen_on(everything):
    """See upstream pool-3."""
    for pool in pools(everything):
        (port,) = pool["spec"]["targetPorts"]
        found = [template for template in members(everything, pool) if label(template, "llm-d.ai/role")]
        assert found
        for template in found:
            assert port["number"] in [
                each["containerPort"] for container in containers(template) for each in container.get("ports", [])
            ]
    (message,) = told(tree(qwen={"targetPorts": [8000, 8001]}))
    assert message.startswith("services.qwen.targetPorts: unknown key")


@every_picked_rendering
def test_every_pool_names_the_service_and_port_of_its_picker(everything):
    """See upstream pool-4."""
    for pool in pools(everything):
        ref = pool["spec"]["endpointPickerRef"]
        service = exactly(everything, "Service", ref["name"])
        assert (ref["group"], ref["kind"]) == ("", "Service")
        assert service["metadata"]["namespace"] == pool["metadata"]["namespace"]
        (port,) = [port for port in service["spec"]["ports"] if port["name"] == "grpc-ext-proc"]
        assert (port["port"], port["appProtocol"]) == (ref["port"]["number"], "kubernetes.io/h2c")


def test_a_failure_mode_is_spelt_as_the_pool_takes_it():
    """See upstream pool-5."""
    (message,) = told(picking(failureMode="FailClosed"))
    assert message == (
        "services.qwen.endpointPicker.failureMode: is not one of FailClose or FailOpen (FailClosed); choose one of them"
    )
    pool = find(rendered(tree()), "InferencePool", "qwen")
    validation.check([as_rendered(pool)])
    pool = copy.deepcopy(pool)
    pool["spec"]["endpointPickerRef"]["failureMode"] = "FailClosed"
    with pytest.raises(validation.SchemaError):
        validation.check([as_rendered(pool)])


def test_requests_go_past_a_picker_only_for_a_reason():
    """See upstream pool-6."""
    assert find(rendered(tree()), "InferencePool", "qwen")["spec"]["endpointPickerRef"]["failureMode"] == "FailClose"
    (message,) = told(picking(failureMode="FailOpen"))
    assert message.startswith("services.qwen.endpointPicker.failOpenReason: is missing")


@every_picked_rendering
def test_a_route_names_no_port_of_a_pool(everything):
    """See upstream pool-7."""
    for route in kind(everything, "HTTPRoute"):
        for ref in (ref for rule in route["spec"]["rules"] for ref in rule["backendRefs"]):
            assert (ref["group"], ref["kind"]) == ("inference.networking.k8s.io", "InferencePool")
            assert "port" not in ref


def test_a_cluster_with_the_old_pool_alone_is_told():
    """See upstream pool-8."""
    needed = {f"{manifest['apiVersion']}/{manifest['kind']}" for manifest in rendered(tree())}
    pool, old = "inference.networking.k8s.io/v1/InferencePool", "inference.networking.x-k8s.io/v1alpha2/InferencePool"
    served = ClusterFacts(apis=Served(frozenset(needed - {pool} | {old})))
    (error,) = lines(kinds(needed, served, "strict"), "error")
    assert error.startswith(f"{pool}: the cluster does not serve it; install ")


@every_channel
def test_one_api_group_is_read(release):
    """See upstream pool-9."""
    everything = rendered(picking(release, replicas=2))
    assert not [manifest["apiVersion"] for manifest in everything if "x-k8s.io" in manifest["apiVersion"]]
    groups = {"llm-d.ai", "inference.networking.x-k8s.io"}
    rules = find(everything, "Role", "qwen-epp")["rules"]
    read = {group for rule in rules for group in rule["apiGroups"]} & groups
    # A picker takes the first group that the cluster serves; the older one is in its Role for clusters without another.
    assert read == {channel(release).picker.objectives_group, "inference.networking.x-k8s.io"}
