"""Claims of weights on real parts: filled once, served read-only, kept or gone as said."""

import json
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from tests.support.cluster.deployments import found, in_namespace, provide, weights
from tests.support.stacks import plain, shipped

pytestmark = pytest.mark.real


def dedicated(namespace, source, **storage):
    model = {"name": "org/model", "source": source, "size": "16Gi"}
    return in_namespace(namespace, qwen={
        "model": model, "storage": {"type": "dedicated", "storageClassName": namespace, **storage}, "replicas": 2,
    })  # fmt: skip


def test_a_claim_is_filled_before_it_is_served_and_not_again(deploy, plane):
    name = "claimed"
    provide(plane, name)
    stack = dedicated(name, "hf://org/model@v1")
    deployment = deploy(stack)
    deployment.up()
    (claim,) = found(plane, "persistentvolumeclaims", name)
    assert plain(claim["metadata"]["name"]) == "qwen-weights"
    assert claim["status"]["phase"] == "Bound"
    assert claim["spec"]["resources"]["requests"]["storage"] == "18Gi"
    (job,) = found(plane, "jobs", name)
    assert job["metadata"]["name"] == claim["metadata"]["name"]
    assert job["status"]["succeeded"] == 1
    decode = deployment.get("deployment", "qwen-decode", name)
    assert decode["metadata"]["creationTimestamp"] >= job["status"]["completionTime"]
    container = decode["spec"]["template"]["spec"]["containers"][0]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/models"]
    assert mount["readOnly"] is True
    assert "initContainers" not in decode["spec"]["template"]["spec"]
    larger = {"fill": {"resources": {"requests": {"cpu": "4"}}}}
    other = dedicated(name, "hf://org/model@v1", **larger)
    deployment.write(other | {"images": {"downloader": "registry.example/downloader:v9"}})
    assert deployment.operate("--refresh").done == {}
    assert found(plane, "jobs", name) == [job]
    deployment.write(dedicated(name, "hf://org/model@v1", headroomPercent=50))
    assert set(deployment.operate().done.values()) == {"update"}
    (grown,) = found(plane, "persistentvolumeclaims", name)
    assert grown["spec"]["resources"]["requests"]["storage"] == "24Gi"
    assert grown["metadata"]["uid"] == claim["metadata"]["uid"]
    deployment.destroy()
    assert_gone(plane, "persistentvolumeclaims", name)


def test_a_new_source_is_filled_beside_the_old_one_and_then_served(deploy, plane):
    name = "renewed"
    provide(plane, name)
    deployment = deploy(dedicated(name, "hf://org/model@v1"))
    old = weights(deployment.operate().that("create"))
    before = served(deployment, name)
    deployment.write(dedicated(name, "hf://org/model@v2"))
    renewed = deployment.operate()
    new = weights(renewed.that("create"))
    assert renewed.done == {
        **dict.fromkeys(new, "create"), "qwen-decode": "update", **dict.fromkeys(old, "delete"),
    }  # fmt: skip
    renewed.assert_order({new[0]}, {new[1]}, {"qwen-decode"}, {old[1]}, {old[0]})
    assert served(deployment, name) != before
    decode = deployment.get("deployment", "qwen-decode", name)
    assert decode["status"]["updatedReplicas"] == 2
    (claim,) = deployment.named("persistentvolumeclaims", name)
    assert set(deployment.named("jobs", name)) == {claim}
    deployment.assert_unchanged()


def test_a_changed_label_fetches_nothing_again(deploy, plane):
    name = "relabelled"
    provide(plane, name)
    stack = dedicated(name, "hf://org/model@v1")
    deployment = deploy(stack | {"labels": {"cost-centre": "a"}})
    deployment.up()
    (before,) = found(plane, "jobs", name)
    deployment.write(stack | {"labels": {"cost-centre": "b", "example.com/team": "c"}})
    assert set(deployment.operate().done.values()) == {"update"}
    deployment.assert_plainly_unchanged()
    (job,) = found(plane, "jobs", name)
    assert job["metadata"]["uid"] == before["metadata"]["uid"]
    assert job == before


def bucket(namespace, **fill):
    """Return a stack whose Job finds in a bucket what `fill` opens."""
    return dedicated(namespace, "s3://bucket/model", fill=fill)


@pytest.fixture
def failing(plane):
    """Return a function that deploys while every pod of a Job in a namespace fails, as a container that exits would.

    The pods are those that wait for a volume, so that no node plays them.
    """

    def attempt(deployment, namespace):
        with ThreadPoolExecutor(1) as pool:
            attempted = pool.submit(deployment.attempt)
            while not wait([attempted], timeout=0.5).done:
                fail(plane, namespace)
        return attempted.result()

    return attempt


def fail(plane, namespace):
    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    container = {"name": "model-download", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    status = {"phase": "Failed", "containerStatuses": [{**container, "state": ended}]}
    patch = ("--subresource=status", "--type=merge", f"--patch={json.dumps({'status': status})}")
    for pod in found(plane, "pods", namespace):
        if "job-name" in pod["metadata"]["labels"] and pod["status"]["phase"] == "Pending":
            plane.kubectl("patch", "pod", pod["metadata"]["name"], "-n", namespace, *patch)


def test_a_fill_that_failed_is_tried_again_as_it_is_configured_now(deploy, plane, failing):
    name = "corrected"
    provide(plane, name, volumes=0)
    deployment = deploy(bucket(name, region="eu-west-9", secrets=["mistaken"]))
    done, operations = failing(deployment, name)
    assert done.returncode != 0
    assert "[BackoffLimitExceeded] Job has reached the specified backoff limit" in done.stdout + done.stderr
    claim, fill = weights(operations.that("create"))
    assert operations.of(fill).ended is None
    assert "qwen-decode" not in operations.done
    (failed,) = found(plane, "jobs", name)
    held = deployment.named("persistentvolumeclaims", name)
    provide(plane, name)
    deployment.write(bucket(name, region="eu-central-1", secrets=["reader"]))
    corrected = deployment.operate()
    assert "replace" in corrected.done[fill].split(", ")
    (job,) = found(plane, "jobs", name)
    assert job["metadata"]["uid"] != failed["metadata"]["uid"]
    assert opened_by(failed) == ("eu-west-9", "mistaken")
    assert opened_by(job) == ("eu-central-1", "reader")
    assert job["status"]["succeeded"] == 1
    assert claim not in corrected.done
    assert {manifest["metadata"]["uid"] for manifest in held.values()} == {
        manifest["metadata"]["uid"] for manifest in found(plane, "persistentvolumeclaims", name)
    }
    # What has succeeded is not brought again, whatever would bring it now.
    deployment.write(
        bucket(name, region="eu-west-1", secrets=["other"]) | {"images": {"downloader": "registry.example/d:v9"}}
    )
    assert deployment.operate("--refresh").done == {}
    assert found(plane, "jobs", name) == [job]


def opened_by(job):
    """Return the region and the Secret that a Job reads a bucket with."""
    (container,) = job["spec"]["template"]["spec"]["containers"]
    env = {variable["name"]: variable for variable in container["env"]}
    return env["AWS_DEFAULT_REGION"]["value"], env["AWS_ACCESS_KEY_ID"]["valueFrom"]["secretKeyRef"]["name"]


def served(deployment, namespace):
    """Return the folder of the claim that pods see."""
    container = deployment.get("deployment", "qwen-decode", namespace)["spec"]["template"]["spec"]["containers"][0]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/models"]
    return mount["subPath"]


def sharing(namespace, *services, **cache):
    """Return a stack whose services all read the same cache, and the cache beside none."""
    service = {"model": {"name": "org/model"}, "storage": {"type": "shared", "cache": "weights"}}
    caches = {"weights": {"source": "hf://org/model@v1", "size": "16Gi", "storageClassName": namespace, **cache}}
    others = {"other": {}}
    return in_namespace(namespace, **dict.fromkeys(services, service), **others) | {"caches": caches}


@pytest.mark.parametrize("retain", [False, True], ids=["gone", "retained"])
def test_two_services_share_a_cache_that_goes_with_its_entry_unless_it_is_retained(retain, deploy, plane):
    name = f"cache-{'retained' if retain else 'gone'}"
    provide(plane, name)
    deployment = deploy(sharing(name, "a", "b", retain=retain))
    made = weights(deployment.operate().that("create"))
    (claim,) = found(plane, "persistentvolumeclaims", name)
    (job,) = found(plane, "jobs", name)
    assert mounted(plane, name) == {claim["metadata"]["name"]}
    deployment.write(sharing(name, "b", retain=retain) | {"allow": ["removal"]})
    assert not deployment.operate().done.keys() & set(made)
    assert found(plane, "jobs", name) == [job]
    assert mounted(plane, name) == {claim["metadata"]["name"]}
    without = {key: value for key, value in sharing(name, retain=retain).items() if key != "caches"}
    deployment.write(without | {"allow": ["removal"]})
    ended = deployment.operate("--refresh")
    assert {part: ended.done[part] for part in made} == dict.fromkeys(made, "delete")
    ended.assert_order({"b-decode"}, {made[1]}, {made[0]})
    assert found(plane, "jobs", name) == []
    left = found(plane, "persistentvolumeclaims", name)
    assert [manifest["metadata"]["uid"] for manifest in left] == ([claim["metadata"]["uid"]] if retain else [])
    deployment.assert_in_step()


def mounted(plane, namespace):
    """Return the claims that pods of a namespace have."""
    return {
        volume["persistentVolumeClaim"]["claimName"]
        for pod in found(plane, "pods", namespace)
        for volume in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }


def test_the_example_of_shared_weights_comes_up_behind_its_autoscaler_and_leaves_the_weights(deploy, plane):
    name = "example-weights"
    provide(plane, name, "shared-nfs")
    plane.kubectl("create", "namespace", name)
    stack = {**shipped(Path("examples/shared-weights.yaml")), "namespace": name, "namespaceOptions": {"create": False}}
    deployment = deploy(stack)
    deployment.up()
    service = deployment.outputs()["services"]["mistral"]
    assert "workload" in service["awaited"]
    assert "replicas" not in service["awaited"]
    assert service["primary"]["roles"]["decode"]["scaling"] == {"type": "hpa", "minReplicas": 1, "maxReplicas": 2}
    (autoscaler,) = found(plane, "horizontalpodautoscalers", name)
    assert autoscaler["spec"]["scaleTargetRef"]["name"] == "mistral-decode"
    deployment.assert_unchanged()
    deployment.destroy()
    assert [plain(claim) for claim in deployment.named("persistentvolumeclaims", name)] == ["cache-mistral"]
    assert found(plane, "jobs", name) == found(plane, "horizontalpodautoscalers", name) == []
    plane.kubectl("delete", "namespace", name, "--wait=false")


def assert_gone(plane, kind, namespace):
    deadline = time.monotonic() + 240
    while (left := found(plane, kind, namespace)) and time.monotonic() < deadline:
        time.sleep(1)
    assert left == []
