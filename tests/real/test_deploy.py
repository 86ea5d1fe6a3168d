"""The main job on real parts: deployed, unchanged afterwards, changed as said and no further, gone without a trace."""

import time

import pytest

from tests.support.cluster.deployments import in_namespace, told
from tests.support.cluster.server import read, read_one
from tests.support.cluster.snapshots import at_rest, snapshot

pytestmark = pytest.mark.real

COMPONENTS_OF_A_SERVICE = {"bert", "bert-epp"}
OBJECTS_OF_A_SERVICE = {
    "bert-decode", "bert-service", "bert-epp-service-account", "bert-epp-role",
    "bert-epp-role-binding", "bert-epp-metrics-auth", "bert-epp-config", "bert-epp-service", "bert-epp-pool",
    "bert-epp-deployment", "bert-epp-destination-rule", "routing-bert-route",
}  # fmt: skip


def test_a_model_is_deployed_available_and_stays_as_it_is(deploy):
    deployment = deploy(in_namespace("main-job", bert={}))
    deployment.up()
    decode = deployment.get("deployment", "bert-decode", "main-job")
    assert {"type": "Available", "status": "True"}.items() <= conditions(decode)["Available"].items()
    (pod,) = read(deployment.plane, "pods", "main-job", "llm-d.ai/role=decode")
    node = read_one(deployment.plane, "node", pod["spec"]["nodeName"])
    assert int(node["status"]["allocatable"]["nvidia.com/gpu"]) > 0
    assert deployment.get("inferencepool", "bert", "main-job")["spec"]["endpointPickerRef"]["name"] == "bert-epp"
    assert deployment.get("httproute", "bert", "main-job")["spec"]["rules"][0]["backendRefs"][0]["name"] == "bert"
    deployment.assert_unchanged()
    outputs = deployment.engine.outputs()
    assert outputs["contractVersion"] == 2
    assert {"pool", "replicas", "workload"} <= {*outputs["services"]["bert"]["awaited"]}
    assert outputs["services"]["bert"]["paths"] == ["/main-job/bert"]
    # The SDK registers the stack itself before the program runs.
    placed = {row["type"] for row in deployment.state()["resources"] if {"sourcePosition", "stackTrace"} & {*row}}
    assert placed == {"pulumi:pulumi:Stack"}


def conditions(manifest):
    return {condition["type"]: condition for condition in manifest["status"]["conditions"]}


def test_every_pod_is_really_created_in_a_namespace_that_enforces_restricted(deploy):
    deployment = deploy(in_namespace("restricted", bert={"model": {
        "name": "org/model", "source": "kit://registry.example/org/model:v1", "secrets": ["registry"]}}))  # fmt: skip
    deployment.up()
    namespace = read_one(deployment.plane, "namespace", "restricted")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    pods = read(deployment.plane, "pods", "restricted")
    containers = {
        part["name"] for pod in pods for part in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
    }
    assert containers == {"model-unpack", "vllm", "epp"}
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}


def test_a_second_service_in_the_namespace_touches_only_its_own_objects(deploy):
    stack = in_namespace("shared", qwen={})
    deployment = deploy(stack)
    deployment.up()
    first = fingerprints(deployment, "shared")
    deployment.write(in_namespace("shared", qwen={}, bert={"accelerator": "amd"}))
    assert deployment.operate().done == dict.fromkeys(OBJECTS_OF_A_SERVICE, "create")
    whole = dict.fromkeys(OBJECTS_OF_A_SERVICE | COMPONENTS_OF_A_SERVICE, "create")
    assert deployment.changed() in (whole, {**whole, "routing": "update"})
    assert first.items() <= fingerprints(deployment, "shared").items()
    deployment.write(stack | {"allow": ["removal"]})
    assert deployment.operate("--refresh").done == dict.fromkeys(OBJECTS_OF_A_SERVICE, "delete")
    assert {name for name, op in deployment.changed().items() if op == "delete"} == whole.keys()
    assert fingerprints(deployment, "shared") == first
    deployment.assert_in_step()


def fingerprints(deployment, namespace):
    """Return uid and generation of what a stack makes in a namespace."""
    kinds = "deployments,services,inferencepools,httproutes,configmaps,roles,rolebindings,serviceaccounts"
    found = read(deployment.plane, kinds, namespace)
    return {
        (item["kind"], item["metadata"]["name"]): (item["metadata"]["uid"], item["metadata"].get("generation"))
        for item in found
        if item["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "pulumi"
    }


def test_a_changed_image_or_argument_updates_one_object_and_replaces_none(deploy):
    deployment = deploy(in_namespace("changes", qwen={}))
    deployment.up()
    deployment.write(in_namespace("changes", qwen={"engine": {"args": ["--enforce-eager"]}, "replicas": 2}))
    assert workloads(deployment.changes()) == {"qwen-decode": "update", "qwen-decode-budget": "create"}
    deployment.write(in_namespace("changes", qwen={"endpointPicker": {"logLevel": 4}}))
    assert workloads(deployment.changes()) == {"qwen-epp-deployment": "update"}


def workloads(changes):
    """Leave out the components themselves, whose inputs are only the headline of the diff."""
    return {name: op for name, op in changes.items() if name not in {"qwen", "qwen-epp", "inference-stacks-dev"}}


def test_destroy_leaves_nothing_but_what_is_retained_and_refuses_what_is_protected(deploy, plane):
    before = at_rest(plane)
    stack = in_namespace("gone", bert={})
    deployment = deploy(stack | {"namespaceOptions": {"create": True, "protect": True}})
    deployment.up()
    made = snapshot(plane)
    assert made != before
    done = deployment.engine.run("destroy", "--yes", check=False)
    assert (done.returncode != 0, "namespace-gone" in told(done), "protect" in told(done)) == (True, True, True)
    assert "bert-decode" in deployment.named("deployments", "gone")
    deployment.write(stack | {"namespaceOptions": {"create": True, "retain": True}})
    deployment.up()
    deployment.destroy()
    assert deployment.get("namespace", "gone", None)["status"]["phase"] == "Active"
    plane.kubectl("delete", "namespace", "gone")
    deadline = time.monotonic() + 240
    while (left := snapshot(plane)) != before and time.monotonic() < deadline:
        time.sleep(1)
    assert left == before


def test_a_service_deleted_by_hand_comes_back(deploy):
    deployment = deploy(in_namespace("by-hand", bert={}))
    deployment.up()
    deployment.plane.kubectl("delete", "service", "bert", "-n", "by-hand")
    assert deployment.operate("--refresh").done == {"bert-service": "create"}
    assert deployment.get("service", "bert", "by-hand")["spec"]["ports"][0]["name"] == "8000"
    deployment.assert_in_step()


def test_five_mistakes_are_said_at_once_and_nothing_changes(deploy, plane):
    stack = in_namespace("mistakes", qwen={"acelerator": "amd", "replicas": "2"}, large={"accelerator": "amd-mi300x"})
    stack["services"]["large"]["parallelism"] = {"tensor": 16}
    stack["services"]["Bad_Name"] = stack["services"]["qwen"] | {"acelerator": "amd"}
    stack["services"]["nothing"] = {"accelerator": "nvidia"}
    deployment = deploy(stack)
    before = at_rest(plane)
    for command in (["preview"], ["up", "--yes", "--skip-preview"]):
        done = deployment.engine.run(*command, check=False)
        output = done.stdout + done.stderr
        assert done.returncode != 0
        assert "Traceback" not in output
        for line in (
            "services.qwen.acelerator: unknown key (acelerator); did you mean accelerator?",
            "services.qwen.replicas: is text (2); write the number without quotes",
            "services.Bad_Name: is not a DNS-1035 label (Bad_Name)",
            "services.large.parallelism: a pod would need 16 devices",
            "services.nothing.model: is missing",
        ):
            assert line in output
    assert snapshot(plane) == before


def test_a_secret_inside_the_structure_is_refused(deploy):
    deployment = deploy(in_namespace("secretive", bert={}))
    done = deployment.engine.run("config", "set", "--secret", "--path", "inference-stacks:stack.labels.team", "hunter2")
    assert done.returncode == 0
    done = deployment.preview()
    assert done.returncode != 0
    output = done.stdout + done.stderr
    assert "inference-stacks:stack: holds a secret value" in output
    assert "hunter2" not in output


@pytest.fixture
def bare(new_plane):
    """Start a control plane that does not serve every kind."""
    plane = new_plane(crds=("gateway-api", "istio"))
    yield plane
    plane.remove()


def test_a_missing_crd_is_said_at_preview_within_seconds(deploy, bare):
    deployment = deploy(in_namespace("no-pool", bert={}), bare)
    deployment.engine.ensure_stack()
    began = time.monotonic()
    done = deployment.preview()
    assert time.monotonic() - began < 20
    assert done.returncode != 0
    assert "inference.networking.k8s.io/v1/InferencePool: the cluster does not serve it; install" in done.stdout
    assert "Gateway API Inference Extension v1.5.0: kubectl apply --server-side -f https://" in done.stdout
