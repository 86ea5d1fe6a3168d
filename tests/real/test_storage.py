"""Claims of weights on real parts: filled once, served read-only, kept or gone as said."""

import copy
import json
import time
from pathlib import Path

import pytest

from tests.deployments import in_namespace, volume
from tests.stacks import shipped

pytestmark = pytest.mark.real


def provide(plane, namespace, class_name=None):
    """Make volumes that claims of a namespace can be bound to; nothing here provisions any."""
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": class_name or namespace},
        "provisioner": "kubernetes.io/no-provisioner",
        "allowVolumeExpansion": True,
    }
    volumes = [volume(f"{namespace}-{index}", "100Gi", class_name or namespace) for index in range(2)]
    objects = {"apiVersion": "v1", "kind": "List", "items": [storage_class, *volumes]}
    plane.kubectl("apply", "-f", "-", input=json.dumps(objects))


def found(plane, kind, namespace):
    return json.loads(plane.kubectl("get", kind, "-n", namespace, "-o", "json"))["items"]


def own(changes, *components):
    """Leave out the components, whose inputs are the headline of a diff."""
    return {name: op for name, op in changes.items() if name not in {*components, "inference-stacks-dev"}}


def dedicated(namespace, source, **storage):
    model = {"name": "org/model", "source": source, "size": "16Gi"}
    return in_namespace(namespace, qwen={
        "model": model, "storage": {"type": "dedicated", "storageClassName": namespace, **storage}, "replicas": 2,
    })  # fmt: skip


def test_a_claim_is_filled_before_it_is_served_and_not_again(deploy, plane):
    name = "claimed"
    provide(plane, name)
    stack = dedicated(name, "hf://org/model@v1")
    one = deploy(stack)
    one.up()
    (claim,) = found(plane, "persistentvolumeclaims", name)
    assert claim["status"]["phase"] == "Bound"
    assert claim["spec"]["resources"]["requests"]["storage"] == "18Gi"
    (job,) = found(plane, "jobs", name)
    assert job["status"]["succeeded"] == 1
    decode = one.get("deployment", "qwen-decode", name)
    assert decode["metadata"]["creationTimestamp"] >= job["status"]["completionTime"]
    container = decode["spec"]["template"]["spec"]["containers"][0]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/models"]
    assert mount["readOnly"] is True
    assert "initContainers" not in decode["spec"]["template"]["spec"]
    one.assert_unchanged()
    other = copy.deepcopy(stack) | {"images": {"downloader": "registry.example/downloader:v9"}}
    one.write(other)
    assert own(one.changes(), "qwen", "qwen-epp") == {}
    one.write(dedicated(name, "hf://org/model@v1", headroomPercent=50))
    assert set(own(one.changes(), "qwen", "qwen-epp").values()) == {"update"}
    one.up()
    (grown,) = found(plane, "persistentvolumeclaims", name)
    assert grown["spec"]["resources"]["requests"]["storage"] == "24Gi"
    assert grown["metadata"]["uid"] == claim["metadata"]["uid"]
    one.destroy()
    assert_gone(plane, "persistentvolumeclaims", name)


def test_a_new_source_is_filled_beside_the_old_one_and_then_served(deploy, plane):
    name = "renewed"
    provide(plane, name)
    one = deploy(dedicated(name, "hf://org/model@v1"))
    one.up()
    (first,) = found(plane, "jobs", name)
    before = served(one, name)
    one.write(dedicated(name, "hf://org/model@v2"))
    one.up()
    (second,) = found(plane, "jobs", name)
    assert second["metadata"]["name"] != first["metadata"]["name"]
    assert served(one, name) != before
    decode = one.get("deployment", "qwen-decode", name)
    assert decode["status"]["updatedReplicas"] == 2
    one.assert_unchanged()


def served(one, namespace):
    """Return the folder of the claim that pods see."""
    container = one.get("deployment", "qwen-decode", namespace)["spec"]["template"]["spec"]["containers"][0]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/models"]
    return mount["subPath"]


def test_two_services_share_a_cache_that_outlives_them(deploy, plane):
    name = "shared-cache"
    provide(plane, name)
    plane.kubectl("create", "namespace", name)
    service = {"model": {"name": "org/model"}, "storage": {"type": "shared", "cache": "weights"}}
    cache = {"source": "hf://org/model@v1", "size": "16Gi", "storageClassName": name, "retain": True}
    stack = in_namespace(name, a=service, b=service) | {"caches": {"weights": cache}}
    one = deploy(stack | {"namespaceOptions": {"create": False}})
    one.up()
    (claim,) = found(plane, "persistentvolumeclaims", name)
    assert len(found(plane, "jobs", name)) == 1
    mounted = {
        volume["persistentVolumeClaim"]["claimName"]
        for pod in found(plane, "pods", name)
        for volume in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }
    assert mounted == {claim["metadata"]["name"]}
    one.assert_unchanged()
    one.destroy()
    (left,) = found(plane, "persistentvolumeclaims", name)
    assert left["metadata"]["uid"] == claim["metadata"]["uid"]
    plane.kubectl("delete", "namespace", name, "--wait=false")


def test_the_example_of_shared_weights_comes_up_behind_its_autoscaler_and_leaves_the_weights(deploy, plane):
    name = "example-weights"
    provide(plane, name, "shared-nfs")
    plane.kubectl("create", "namespace", name)
    stack = {**shipped(Path("examples/shared-weights.yaml")), "namespace": name, "namespaceOptions": {"create": False}}
    one = deploy(stack)
    one.up()
    service = one.engine.outputs()["services"]["mistral"]
    assert service["ready"] is True
    assert service["primary"]["roles"]["decode"]["scaling"] == {"type": "hpa", "minReplicas": 1, "maxReplicas": 2}
    (autoscaler,) = found(plane, "horizontalpodautoscalers", name)
    assert autoscaler["spec"]["scaleTargetRef"]["name"] == "mistral-decode"
    one.assert_unchanged()
    one.destroy()
    assert [claim["metadata"]["name"] for claim in found(plane, "persistentvolumeclaims", name)] == ["cache-mistral"]
    assert found(plane, "jobs", name) == found(plane, "horizontalpodautoscalers", name) == []
    plane.kubectl("delete", "namespace", name, "--wait=false")


def assert_gone(plane, kind, namespace):
    deadline = time.monotonic() + 60
    while (left := found(plane, kind, namespace)) and time.monotonic() < deadline:
        time.sleep(1)
    assert left == []
