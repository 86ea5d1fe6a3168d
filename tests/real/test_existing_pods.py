"""A real picker and a route lead to pods, and to a pool, that somebody else made. A stack leaves both alone."""

import json
from http import HTTPStatus
from itertools import chain

import pytest

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.status import verdict
from judging.status.records import Link
from tests.support.cluster.server import read, read_one
from tests.support.stacks.existing import existing, of_pool
from tests.support.traffic.data_path import POOLS, SERVER, data_path
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "theirs"
LABELS = {"app": "vllm-theirs"}
STRANGERS = {"app": "others"}
SECONDS = 60


def deployment(name, labels, replicas):
    """Return a Deployment as another chart would make it; the data path serves pods of this component."""
    of_pod = {**labels, "app.kubernetes.io/component": SERVER}
    container = {"name": "vllm", "image": "registry.example/vllm:v0.21.0", "args": ["--port=8000"]}
    template = {"metadata": {"labels": of_pod}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def cluster(loopback_plane):
    """Return a control plane with the pods of somebody else."""
    loopback_plane.kubectl("create", "namespace", NAMESPACE)
    for item in (deployment("vllm", LABELS, 2), deployment("strangers", STRANGERS, 1)):
        loopback_plane.kubectl("apply", "-f", "-", input=json.dumps(item))
    loopback_plane.kubectl(
        "wait", "--for=condition=available", "deployment", "--all", "-n", NAMESPACE, "--timeout=240s"
    )
    return loopback_plane


@pytest.fixture(scope="module")
def deployed(deploy_for_all, cluster):
    stack = existing(existingPods={"matchLabels": LABELS}) | {"namespace": NAMESPACE, "release": "gie-1.3"}
    return deploy_for_all(stack, cluster)


@pytest.fixture(scope="module")
def path(deployed, tools, tmp_path_factory):
    with data_path(deployed, tools, tmp_path_factory.mktemp("path"), NAMESPACE) as running:
        yield running


def link(plane, kind, name="qwen"):
    """Return a link of a service's status. No controller is asked for the gateway, so the whole cannot serve."""
    access = KubeAccess(plane.kubeconfig.read_text(encoding="utf-8"), None)
    (service,) = verdict.of(reader.read(access, ReadScope((NAMESPACE,))), {}).only(None, [name]).services
    (part,) = (part for part in service.components if part.link is kind)
    return part


def identities(plane):
    """Return name, UID and generation of everything that somebody else made, and the UIDs of their pods."""
    made = [read_one(plane, "deployment", name, NAMESPACE)["metadata"] for name in ("vllm", "strangers")]
    pods = [pod["metadata"] for pod in read(plane, "pods", NAMESPACE) if "app" in pod["metadata"]["labels"]]
    return {(item["name"], item["uid"], item.get("generation")) for item in (*made, *pods)}


def names(plane, labels):
    pods = [pod["metadata"] for pod in read(plane, "pods", NAMESPACE)]
    return {pod["name"] for pod in pods if labels.items() <= pod["labels"].items()}


def test_requests_reach_the_pods_with_the_labels_and_no_others(path, cluster):
    assert set(path.served("qwen", 24)) == names(cluster, LABELS)
    (stranger,) = names(cluster, STRANGERS)
    (server,) = path.servers[stranger]
    assert (server.seen, server.scrapes) == ([], 0)


def test_the_status_counts_them_and_a_second_preview_is_empty(path, deployed, cluster):
    for kind in (Link.POOL, Link.WORKLOAD):
        part = link(cluster, kind)
        assert (part.ready, part.is_broken, part.findings) == (2, False, ())
    deployed.assert_unchanged()


def test_the_picker_follows_their_owner_and_the_pool_is_blamed_if_there_are_none(path, cluster):
    before = names(cluster, LABELS)
    cluster.kubectl("scale", "deployment/vllm", "-n", NAMESPACE, "--replicas=0")
    eventually(lambda: names(cluster, LABELS) == set(), SECONDS)
    for server in chain.from_iterable(path.servers.pop(name) for name in before):
        server.end()
    pool = link(cluster, Link.POOL)
    assert (str(pool.object), [state.state.id for state in pool.findings]) == (
        f"InferencePool {NAMESPACE}/qwen",
        ["pods-missing"],
    )
    cluster.kubectl("scale", "deployment/vllm", "-n", NAMESPACE, "--replicas=1")
    eventually(lambda: link(cluster, Link.POOL).ready == 1, SECONDS)
    (pod,) = names(cluster, LABELS) - before
    path.serve(pod)
    path.sync()
    eventually(lambda: path.ask("qwen").status == HTTPStatus.OK, SECONDS)
    assert path.served("qwen", 3) == [pod] * 3


def test_another_stack_routes_to_the_pool_and_leaves_it_alone(path, deploy, cluster):
    routed = of_pool(existingPool={"name": "qwen"}, name="second") | {"namespace": NAMESPACE, "release": "gie-1.3"}
    other = deploy(routed, cluster, called="routes")
    other.engine.ensure_stack()
    pool = read_one(cluster, POOLS, "qwen", NAMESPACE)["metadata"]
    other.up()
    path.sync()
    eventually(lambda: path.ask("second").status == HTTPStatus.OK, SECONDS)
    assert set(path.served("second", 3)) == names(cluster, LABELS)
    assert [link(cluster, kind, "second").ready for kind in (Link.POOL, Link.WORKLOAD)] == [1, 1]
    other.assert_unchanged()
    other.destroy()
    after = read_one(cluster, POOLS, "qwen", NAMESPACE)["metadata"]
    assert (after["uid"], after["generation"]) == (pool["uid"], pool["generation"])
    assert path.ask("qwen").status == HTTPStatus.OK


def test_what_is_destroyed_leaves_them_as_they_are(path, deployed, cluster):
    before = identities(cluster)
    deployed.destroy()
    assert identities(cluster) == before
    assert read(cluster, POOLS, NAMESPACE) == []
