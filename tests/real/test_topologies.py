"""Every topology on real parts: each example comes up, changes exactly as said, and goes without a trace."""

import copy
import json
import time
from pathlib import Path

import pytest

from tests.support.cluster.deployments import volume
from tests.support.cluster.plane import serve_moved_kinds
from tests.support.cluster.remains import assert_gone
from tests.support.cluster.server import read
from tests.support.rows import mostly_proven
from tests.support.stacks import rendered, shipped
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "sliced-0", "annotations": {"kwok.x-k8s.io/node": "fake"}},
    "spec": {},
}
SLICES = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "2000Gi", "pods": "110", "nvidia.com/mig-3g.40gb": "2"}
CLAIMED = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "2000Gi", "pods": "110"}
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
}


def node(name, capacity, labels):
    manifest = copy.deepcopy(NODE)
    manifest["metadata"] |= {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return manifest | {"status": {"capacity": capacity, "allocatable": capacity}}


def slice_of(name, sizes):
    """Return what a driver publishes about a node's devices: their names and memory."""
    devices = [{"name": f"gpu-{index}", "capacity": {"memory": {"value": size}}} for index, size in enumerate(sizes)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-gpus"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def existing(namespace):
    """Return what the examples take for granted in a cluster: nodes, classes, an identity, claims that hold weights."""
    claims = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "",
                "volumeName": f"{namespace}-{name}",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        for name in ("adapters", "weights")
    ]
    volumes = [volume(f"{namespace}-{name}", "1Gi", "") for name in ("adapters", "weights")]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "models", "namespace": namespace}},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "prompts"}, "value": 10},
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"},
        node("sliced-0", SLICES, {"nvidia.com/mig.config": "all-3g.40gb"}),
        node("claimed-0", CLAIMED, {}),
        DEVICE_CLASS,
        slice_of("claimed-0", ["80Gi", "80Gi", "20Gi"]),
        *volumes,
        *claims,
    ]


def prepare(plane, namespace):
    """Make what the examples take for granted, and the label that one of them asks of its node."""
    objects = {"apiVersion": "v1", "kind": "List", "items": existing(namespace)}
    plane.kubectl("apply", "-f", "-", input=json.dumps(objects))
    plane.kubectl("label", "node", "gpu-mi300x-0", "topology.kubernetes.io/zone=eu-1a", "--overwrite")


def example(name, namespace):
    """Return an example's stack in a namespace that exists already."""
    path = Path("Pulumi.dev.yaml") if name == "single-role" else Path("examples") / f"{name}.yaml"
    stack = shipped(path)
    return {**stack, "namespace": namespace, "namespaceOptions": {"create": False}}


def changed(stack, key, **fields):
    """Return a stack of which one service has other fields; a field may be a group."""
    copied = copy.deepcopy(stack)
    service = copied["services"][key]
    for field, value in fields.items():
        service[field] = {**service.get(field, {}), **value} if isinstance(value, dict) else value
    return copied


def foreseen(deployed, stack):
    """Preview a stack and return what would be done; what has changed in the cluster by itself would be, too."""
    deployed.write(stack)
    _, operations = deployed.foresee("--refresh")
    return operations.done


def done(deployed, stack):
    """Deploy a stack and return what was done."""
    deployed.write(stack)
    return deployed.operate().done


def altered(before, after):
    """Return the names of the workloads that two stacks do not have alike; all else is alike."""
    objects = [
        {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in rendered(stack)}
        for stack in (before, after)
    ]
    assert objects[0].keys() == objects[1].keys()
    kinds_and_names = {place for place, manifest in objects[0].items() if objects[1][place] != manifest}
    assert {kind for kind, _ in kinds_and_names} <= {"Deployment", "LeaderWorkerSet"}
    return {name for _, name in kinds_and_names}


def pods(deployed, namespace):
    return deployed.named("pods", namespace)


def decode_pods(deployed, namespace):
    return {name: pod for name, pod in pods(deployed, namespace).items() if name.startswith("qwen-decode")}


def running(deployed, namespace):
    return {name for name, pod in decode_pods(deployed, namespace).items() if pod["status"]["phase"] == "Running"}


TOPOLOGIES = {
    "single-role": "qwen",
    "prefill-decode": "llama",
    "mi300x": "qwen",
    "cpu": "tiny",
    "devices": "claimed",
    "canary": "qwen",
}


def marked(deployed, key):
    """Return what the logical names of a service's pods begin with: its generation, too, where it has one."""
    return deployed.outputs()["services"][key]["primary"]["pool"]["name"]


def beside(changes, key):
    """Return whether a change makes another generation beside the one that is there, and then moves the route."""
    made = [name for name, op in changes.items() if op == "create"]
    gone = [name for name, op in changes.items() if op == "delete"]
    rest = {name: op for name, op in changes.items() if op not in {"create", "delete"}}
    return len(made) == len(gone) > 0 and rest == {f"routing-{key}-route": "update"}


SEEDED = {"engine": {"args": ["--seed=7"]}}
PINGED = {"health": {"path": "/ping"}}
DRAINED = {"drainTimeout": "20s"}
NEUTRAL = SEEDED | PINGED | DRAINED
"""Changes that do not depend on the cache, and roll through the pods that are there."""
DRAINS_LONG = {"mi300x"}
"""Examples whose pods drain longer than a picker does by default, so that their pickers end no earlier."""
OTHER_ENGINE = {"engine": {"image": "registry.example/engine:v9"}}


@pytest.fixture(scope="module")
def wide_plane(lws_plane):
    """Return another control plane than most tests have: the examples take most of its devices."""
    return lws_plane


@pytest.mark.parametrize("name", mostly_proven(TOPOLOGIES, {"single-role", "prefill-decode", "canary"}))
def test_an_example_is_deployed_changed_and_destroyed(name, deploy, wide_plane):
    key = TOPOLOGIES[name]
    prepare(wide_plane, name)
    stack = example(name, name)
    deployed = deploy(stack, wide_plane)
    deployed.up()
    assert {pod["status"]["phase"] for pod in pods(deployed, name).values()} == {"Running"}
    assert all("workload" in service["awaited"] for service in deployed.outputs()["services"].values())
    service = deployed.outputs()["services"][key]
    roles = service["primary"]["roles"]
    variants = [service["primary"], *([service["canary"]] if service["canary"] else [])]
    updates = {f"{variant['pool']['name']}-{role}": "update" for variant in variants for role in roles}
    other_engine = foreseen(deployed, changed(stack, key, **OTHER_ENGINE))
    assert other_engine == updates if len(roles) == 1 else beside(other_engine, key)
    for neutral in (SEEDED, PINGED):
        assert altered(stack, changed(stack, key, **neutral)) == updates.keys()
    if name in DRAINS_LONG:
        updates[f"{marked(deployed, key)}-epp-deployment"] = "update"
    drained = {update.removesuffix("-deployment") for update in updates}
    assert altered(stack, changed(stack, key, **DRAINED)) == drained
    assert done(deployed, changed(stack, key, **NEUTRAL)) == updates
    fewer = foreseen(deployed, changed(stack, key, **NEUTRAL, replicas=0))
    assert fewer.pop(f"{marked(deployed, key)}-decode") == "update"
    assert fewer in ({}, {f"{marked(deployed, key)}-decode-budget": "delete"})
    deployed.destroy()
    assert_gone(wide_plane, name)


def test_a_replica_over_two_nodes_comes_up_changes_as_said_and_is_gone(deploy, lws_plane):
    name = "multi-node"
    key = "deepseek"
    lws_plane.kubectl("create", "namespace", name)
    stack = example(name, name)
    deployed = deploy(stack, lws_plane)
    deployed.up()
    running = pods(deployed, name)
    assert {pod["status"]["phase"] for pod in running.values()} == {"Running"}
    group = {pod["spec"]["nodeName"] for pod in running.values() if "deepseek-decode" in pod["metadata"]["name"]}
    assert group == {"gpu-h100-0", "gpu-h100-1"}
    env = running["deepseek-decode-0-1"]["spec"]["containers"][0]["env"]
    assert {"LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX"} <= {variable["name"] for variable in env}
    selector = deployed.get("inferencepool", "deepseek", name)["spec"]["selector"]["matchLabels"]
    served = [pod for pod in running.values() if selector.items() <= pod["metadata"]["labels"].items()]
    assert [pod["metadata"]["name"] for pod in served] == ["deepseek-decode-0"]
    assert deployed.outputs()["services"][key]["primary"]["roles"]["decode"]["gpus"]["perReplica"] == 16
    updates = {"deepseek-decode": "update"}
    for neutral in (SEEDED, PINGED, DRAINED):
        assert altered(stack, changed(stack, key, **neutral)) == updates.keys()
    assert foreseen(deployed, changed(stack, key, **NEUTRAL)) == updates
    assert foreseen(deployed, changed(stack, key, replicas=0)) == updates
    assert done(deployed, changed(stack, key, **OTHER_ENGINE)) == updates
    images = {
        container["image"] for pod in pods(deployed, name).values() for container in pod["spec"]["containers"]
        if container["name"] == "vllm"
    }  # fmt: skip
    assert images == {"registry.example/engine:v9"}
    deployed.assert_in_step()
    deployed.destroy()
    assert_gone(lws_plane, name)


def test_two_teams_come_up_in_namespaces_of_their_own(deploy, wide_plane):
    stack = {**shipped(Path("examples/two-teams.yaml")), "namespaceOptions": {"create": True}}
    deployed = deploy(stack, wide_plane)
    deployed.up()
    assert all("workload" in service["awaited"] for service in deployed.outputs()["services"].values())
    deployed.assert_in_step()
    deployed.destroy()


def test_many_models_on_one_gateway_come_up_and_are_gone(deploy, wide_plane, tools):
    serve_moved_kinds(wide_plane, tools)
    stack = {**shipped(Path("examples/routes.yaml")), "namespaceOptions": {"create": True}}
    stack["defaults"]["accelerator"] = "nvidia"
    deployed = deploy(stack, wide_plane)
    made = deployed.operate()
    objectives = {"routing-qwen-objective.batch", "routing-qwen-objective.chat"}
    made.assert_order({"qwen-decode", "qwen-epp-deployment"}, objectives, {"routing-qwen-route"})
    made.assert_order({"llama-epp-pool"}, {"routing-llama-model-rewrite"}, {"routing-llama-route"})
    made.assert_order({"llama-decode"}, {"routing-llama-route"})
    made.assert_order({"routing-qwen-next-mirror-grant"}, {"routing-qwen-route"})
    assert all("workload" in service["awaited"] for service in deployed.outputs()["services"].values())
    moved = changed(stack, "qwen", objectives={"batch": {"priority": -2}}, route={"setHeaders": {"x-served-by": "q"}})
    assert foreseen(deployed, moved) == dict.fromkeys(("routing-qwen-objective.batch", "routing-qwen-route"), "update")
    deployed.destroy()


def test_policies_come_before_their_pods_and_go_without_touching_them(deploy, wide_plane):
    name = "guarded"
    prepare(wide_plane, name)
    stack = example("prefill-decode", name) | {"networkPolicies": {}}
    deployed = deploy(stack, wide_plane)
    made = deployed.operate()
    policies = {name for name in made.that("create") if "network-policy" in name}
    assert len(policies) == len(deployed.named("networkpolicies", name)) == 3
    pool = marked(deployed, "llama")
    picker = pool.replace("llama-", "llama-epp-")
    for policy, pods in (
        (f"{pool}-decode-network-policy", f"{pool}-decode"),
        (f"{pool}-prefill-network-policy", f"{pool}-prefill"),
        (f"{picker}-network-policy", f"{picker}-deployment"),
    ):
        made.assert_order({policy}, {pods})
    deployed.write({key: value for key, value in stack.items() if key != "networkPolicies"})
    assert deployed.operate("--refresh").done == dict.fromkeys(policies, "delete")
    deployed.destroy()
    assert_gone(wide_plane, name)


def test_a_rollout_completes_on_a_cluster_without_a_spare_device(deploy, wide_plane):
    name = "full"
    prepare(wide_plane, name)
    stack = example("cpu", name) | {"services": {"qwen": {
        "model": {"source": "hf://Qwen/Qwen3-8B"}, "accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8},
        "replicas": 2}}}  # fmt: skip
    deployed = deploy(stack, wide_plane)
    deployed.up()
    before = decode_pods(deployed, name).keys()
    deployed.write(changed(stack, "qwen", engine={"image": "registry.example/engine:v9"}))
    deployed.up()
    # The provider waits for the pods that the new ReplicaSet has so far. That is one pod, as long as an old pod keeps
    # the other node (pulumi-kubernetes 4.25.0, provider/pkg/await/deployment.go).
    eventually(lambda: len(running(deployed, name) - before) == 2 == len(decode_pods(deployed, name)))
    deployed.discard()
    assert_gone(wide_plane, name)


def test_a_rollout_with_surge_waits_for_a_device_that_a_full_cluster_lacks(deploy, wide_plane):
    """Show what the default saves: with a surge pod instead, the same rollout never gets on."""
    name = "surging"
    prepare(wide_plane, name)
    service = {
        "model": {"source": "hf://Qwen/Qwen3-8B"}, "accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8},
        "replicas": 2, "rollout": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0},
    }  # fmt: skip
    stack = example("cpu", name) | {"services": {"qwen": service}}
    deployed = deploy(stack, wide_plane)
    deployed.up()
    image = "deployment/qwen-decode", "vllm=registry.example/engine:v9"
    wide_plane.kubectl("set", "image", *image, "-n", name)
    deadline = time.monotonic() + 240
    reasons = set()
    while "Unschedulable" not in reasons and time.monotonic() < deadline:
        pending = [pod for pod in pods(deployed, name).values() if pod["status"]["phase"] == "Pending"]
        reasons = {condition.get("reason") for pod in pending for condition in pod["status"].get("conditions", [])}
        time.sleep(0.5)
    assert "Unschedulable" in reasons
    deployed.discard()
    assert_gone(wide_plane, name)


def test_a_changed_claim_replaces_its_template_and_updates_the_pods(deploy, wide_plane):
    name = "claims"
    prepare(wide_plane, name)
    stack = example("devices", name)
    stack["services"].pop("sliced")
    deployed = deploy(stack, wide_plane)
    deployed.up()
    (claim,) = read(wide_plane, "resourceclaims", name)
    assert len(claim["status"]["allocation"]["devices"]["results"]) == 2
    fewer = changed(stack, "claimed", acceleratorMemory="60Gi")
    replaced = done(deployed, fewer)
    assert replaced["claimed-decode"] == "update"
    assert "replace" in replaced["claimed-decode-claim"]
    deployed.assert_in_step()
    deployed.discard()
    assert_gone(wide_plane, name)
