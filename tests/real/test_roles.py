"""Stages with pods of their own and sets of pods, by the real engine: they come up, change each for itself, and go."""

import contextlib
import json
import subprocess

import pytest
import yaml

from local import processes
from local.errors import LocalError
from tests.support.cluster.remains import assert_gone
from tests.support.cluster.server import read
from tests.support.stacks import tree
from tests.support.waits import eventually

pytestmark = pytest.mark.real

RANGE = "llm-d.ai/context-length-range"
GROUP = {"accelerator": "nvidia-h100-80gb", "parallelism": {"tensor": 8, "pipeline": 2}}
"""Replicas of two pods, each of which takes a whole node."""
STAGES = {"encode": {}, "prefill": {"replicas": 2}}
PREFILL_SETS = {
    "accelerator": "nvidia-l40s",
    "prefill": {
        "sets": {
            "long": {"labels": {RANGE: "1001-32768"}, **GROUP},
            "short": {"labels": {RANGE: "0-1000"}, "replicas": 2},
        }
    },
}
UNDIVIDED = {"accelerator": "nvidia-l40s"}
DECODE_SETS = UNDIVIDED | {
    "decode": {"sets": {"amd": {"accelerator": "amd"}, "large": GROUP, "small": {"replicas": 2}}}
}
ROOT_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "root"},
    "spec": {"containers": [{"name": "root", "image": "registry.example/root:v1"}]},
}


def stack_of(namespace, service):
    return tree(qwen=service) | {"namespace": namespace, "namespaceOptions": {"create": True}}


def serving_pods(deployed, namespace):
    """Return the serving pods by name, which are all ready."""
    pods = {
        name: pod
        for name, pod in deployed.named("pods", namespace).items()
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "model-server"
    }
    conditions = [{entry["type"]: entry["status"] for entry in pod["status"]["conditions"]} for pod in pods.values()]
    assert [entry["Ready"] for entry in conditions] == ["True"] * len(pods)
    return pods


def selected_pods(deployed, namespace):
    """Return the pods that the pool selects, by name."""
    selector = deployed.get("inferencepool", pool(deployed), namespace)["spec"]["selector"]["matchLabels"]
    return {
        name: pod
        for name, pod in serving_pods(deployed, namespace).items()
        if selector.items() <= pod["metadata"]["labels"].items()
    }


def of_stage(deployed, namespace, stage):
    """Return the names of the pods of the pool that the picker's filter of a stage, which reads a label, leaves."""
    pods = selected_pods(deployed, namespace)
    return {name for name, pod in pods.items() if pod["metadata"]["labels"]["llm-d.ai/role"] == stage}


def with_label(deployed, namespace, key):
    """Return the names of the pods of the pool with each value of a label."""
    names = dict[str, set[str]]()
    for name, pod in selected_pods(deployed, namespace).items():
        value = pod["metadata"]["labels"].get(key)
        if value is not None:
            names.setdefault(value, set()).add(name)
    return names


def pool(deployed):
    return deployed.outputs()["services"]["qwen"]["primary"]["pool"]["name"]


def endpoints(plane, namespace):
    """Return the names of the ready pods behind the Service, as the controller of the cluster lists them."""
    slices = read(plane, "endpointslices", namespace)
    return {
        endpoint["targetRef"]["name"]
        for item in slices
        if item["metadata"]["labels"]["kubernetes.io/service-name"] == "qwen"
        for endpoint in item.get("endpoints") or ()
        if endpoint["conditions"]["ready"]
    }


@contextlib.contextmanager
def announced_endpoints(plane, tools, folder, namespace):
    """Yield a list; after the block, it has the number of ready pods in each announced state of the Service's slice."""
    folder.mkdir()
    command = [str(tools["kubectl"].path), f"--kubeconfig={plane.kubeconfig}", "get", "endpointslices", "-n", namespace]
    command += ["--selector=kubernetes.io/service-name=qwen", "--watch", "--output-watch-events", "-o", "json"]
    numbers = list[int]()
    with (folder / "events").open("wb") as stream:
        watcher = subprocess.Popen(processes.tied_command(command), stdout=stream, env={"HOME": str(folder)})
    eventually((folder / "events").read_text)
    try:
        yield numbers
    finally:
        watcher.kill()
        watcher.wait()
    text = (folder / "events").read_text(encoding="utf-8")
    decoder = json.JSONDecoder()
    with contextlib.suppress(ValueError):
        while text := text.lstrip():
            event, end = decoder.raw_decode(text)
            text = text[end:]
            endpoints_of_state = event["object"].get("endpoints") or ()
            numbers.append(sum(endpoint["conditions"]["ready"] for endpoint in endpoints_of_state))


def uids(deployed, namespace):
    return {name: pod["metadata"]["uid"] for name, pod in serving_pods(deployed, namespace).items()}


def profiles(deployed, namespace):
    """Return the plugins of each profile of the picker."""
    text = deployed.get("configmap", f"{pool(deployed)}-epp", namespace)["data"]["config.yaml"]
    config = yaml.safe_load(text)
    return {
        profile["name"]: {plugin["pluginRef"] for plugin in profile["plugins"]}
        for profile in config["schedulingProfiles"]
    }


def assert_restricted(plane, namespace):
    """Assert that the namespace admits no pod that is not restricted, so that it judged those of the stack."""
    with pytest.raises(LocalError, match="violates PodSecurity"):
        plane.kubectl("apply", "--dry-run=server", "-f", "-", "-n", namespace, input=json.dumps(ROOT_POD))


def assert_up(deployed, namespace, counts):
    """Assert that all pods are ready, each stage has its number of endpoints, and nothing is left to be done."""
    deployed.assert_unchanged()
    assert_restricted(deployed.plane, namespace)
    serving = profiles(deployed, namespace)
    stages = counts.keys() if len(counts) > 1 else {"default"}
    assert serving.keys() == stages
    for stage, number in counts.items():
        assert len(of_stage(deployed, namespace, stage)) == number
        if len(counts) > 1:
            assert f"{stage}-filter" in serving[stage]
    assert len(selected_pods(deployed, namespace)) == sum(counts.values())
    eventually(lambda: endpoints(deployed.plane, namespace) == of_stage(deployed, namespace, "decode"))


def assert_touches(deployed, namespace, service, operations, workload):
    """Assert that a changed service leads to these operations, and that pods of no other workload are replaced."""
    before = uids(deployed, namespace)
    deployed.write(stack_of(namespace, service))
    assert deployed.operate().done == operations
    after = uids(deployed, namespace)
    gone = {name for name in before if after.get(name) != before[name]}
    assert all(name.startswith(f"{workload}-") for name in gone)
    deployed.assert_unchanged()
    return gone


def test_three_stages_come_up_change_each_for_itself_and_go(deploy, lws_plane):
    namespace = "three-stages"
    deployed = deploy(stack_of(namespace, STAGES), lws_plane)
    deployed.up()
    assert_up(deployed, namespace, {"decode": 1, "encode": 1, "prefill": 2})
    marked = pool(deployed)
    more = STAGES | {"encode": {"replicas": 2}}
    operations = {f"{marked}-encode": "update", f"{marked}-encode-budget": "create"}
    assert assert_touches(deployed, namespace, more, operations, f"{marked}-encode") == set()
    seeded = STAGES | {"encode": {"replicas": 2, "health": {"path": "/ping"}}}
    assert assert_touches(deployed, namespace, seeded, {f"{marked}-encode": "update"}, f"{marked}-encode")
    deployed.destroy()
    assert_gone(lws_plane, namespace)


def test_two_sets_of_prefill_come_up_change_each_for_itself_and_go(deploy, lws_plane):
    namespace = "prefill-sets"
    deployed = deploy(stack_of(namespace, PREFILL_SETS), lws_plane)
    deployed.up()
    assert_up(deployed, namespace, {"decode": 1, "prefill": 3})
    marked = pool(deployed)
    ranges = with_label(deployed, namespace, RANGE)
    assert {window: len(pods) for window, pods in ranges.items()} == {"0-1000": 2, "1001-32768": 1}
    # Replicas of two pods: the picker reaches their first pod.
    assert ranges["1001-32768"] == {f"{marked}-prefill-long-0"}
    assert f"{marked}-prefill-long-0-1" in serving_pods(deployed, namespace)
    longer = {"labels": {RANGE: "0-2000"}, "replicas": 2}
    changed = {**PREFILL_SETS, "prefill": {"sets": {**PREFILL_SETS["prefill"]["sets"], "short": longer}}}
    operations = {f"{marked}-prefill-short": "update"}
    assert assert_touches(deployed, namespace, changed, operations, f"{marked}-prefill-short")
    assert {*with_label(deployed, namespace, RANGE)} == {"0-2000", "1001-32768"}
    deployed.destroy()
    assert_gone(lws_plane, namespace)


def test_sets_of_decode_come_up_beside_the_pods_that_they_replace_and_go(deploy, lws_plane, tools, tmp_path):
    namespace = "decode-sets"
    deployed = deploy(stack_of(namespace, UNDIVIDED), lws_plane)
    deployed.up()
    assert_up(deployed, namespace, {"decode": 1})
    eventually(lambda: endpoints(lws_plane, namespace))
    deployed.write(stack_of(namespace, DECODE_SETS))
    with announced_endpoints(lws_plane, tools, tmp_path / "division", namespace) as numbers:
        operations = deployed.operate()
    assert min(numbers) >= 1
    assert len(numbers) > 1
    workloads = {f"qwen-decode-{name}" for name in ("amd", "large", "small")}
    budget = {"qwen-decode-budget-small"}
    assert operations.that("create") == workloads | budget
    assert operations.that("delete") == {"qwen-decode"}
    operations.assert_order(workloads, {"qwen-decode"})
    assert_up(deployed, namespace, {"decode": 4})
    roles = with_label(deployed, namespace, "inference-stacks.io/role")
    counts = {role: len(pods) for role, pods in roles.items()}
    assert counts == {"decode-amd": 1, "decode-large": 1, "decode-small": 2}
    assert roles["decode-large"] == {"qwen-decode-large-0"}
    fewer = UNDIVIDED | {"decode": {"sets": {**DECODE_SETS["decode"]["sets"], "small": {"replicas": 1}}}}
    changes = {"qwen-decode-small": "update", "qwen-decode-budget-small": "delete"}
    assert len(assert_touches(deployed, namespace, fewer, changes, "qwen-decode-small")) == 1
    without = UNDIVIDED | {"decode": {"sets": {"amd": {"accelerator": "amd"}, "large": GROUP}}}
    assert assert_touches(deployed, namespace, without, {"qwen-decode-small": "delete"}, "qwen-decode-small")
    # On the way back, the Service waits for the undivided pods; so an empty Service would be noticed.
    deployed.write(stack_of(namespace, UNDIVIDED))
    with announced_endpoints(lws_plane, tools, tmp_path / "union", namespace) as numbers:
        deployed.operate()
    assert min(numbers) == 0
    assert_up(deployed, namespace, {"decode": 1})
    deployed.destroy()
    assert_gone(lws_plane, namespace)
