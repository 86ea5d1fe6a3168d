"""Digests of images that run."""

import pytest

from migration import running

ONE = f"sha256:{'1' * 64}"
OTHER = f"sha256:{'2' * 64}"


def pod(*containers, kind="containers", phase="Running", **metadata):
    """Return a pod whose containers are pairs of an image and an imageID."""
    names = [f"c{number}" for number, _ in enumerate(containers)]
    specs = [{"name": name, "image": image} for name, (image, _) in zip(names, containers, strict=True)]
    states = [{"name": name, "imageID": digest} for name, (_, digest) in zip(names, containers, strict=True)]
    statuses = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}[kind]
    return {"metadata": metadata, "spec": {kind: specs}, "status": {"phase": phase, statuses: states}}


def test_digests_are_counted_by_pod_and_image():
    pods = [
        pod(("r/vllm:latest", f"r/vllm@{ONE}"), ("r/vllm:latest", f"r/vllm@{ONE}"), ("r/side", f"r/side@{OTHER}")),
        pod(("r/vllm:latest", f"docker-pullable://r/vllm@{ONE}")),
        pod(("r/vllm:latest", f"r/vllm@{OTHER}"), kind="initContainers"),
    ]
    assert running.of_pods(pods) == {"r/vllm:latest": {ONE: 2, OTHER: 1}, "r/side": {OTHER: 1}}


def test_digests_of_several_workloads_are_added_up():
    parts = [running.of_pods([pod(("r/vllm", f"r/vllm@{digest}"))]) for digest in (ONE, ONE, OTHER)]
    assert running.union(parts) == {"r/vllm": {ONE: 2, OTHER: 1}}


@pytest.mark.parametrize("identifier", [ONE, f"docker://{ONE}", "r/vllm:latest"])
def test_a_digest_of_the_node_alone_is_none(identifier):
    assert running.of_pods([pod(("r/vllm", identifier))]) == {"r/vllm": {"": 1}}


@pytest.mark.parametrize(
    "ended",
    [
        pod(("r/vllm", f"r/vllm@{ONE}"), phase="Succeeded"),
        pod(("r/vllm", f"r/vllm@{ONE}"), phase="Failed"),
        pod(("r/vllm", f"r/vllm@{ONE}"), deletionTimestamp="2026-11-28T10:00:00Z"),
        pod(("r/vllm", "")),
        {"spec": {"containers": [{"name": "c"}]}},
        {},
    ],
)
def test_pods_that_have_ended_or_not_begun_have_no_digests(ended):
    assert running.of_pods([ended]) == {}
