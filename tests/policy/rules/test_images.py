"""Digests, registries and sources, at the bounds of each rule."""

from dataclasses import replace

import pytest

from policy.rules.images import full_name
from tests.support.policies import HEX, lines, raw, view
from tests.support.stacks import tree


def pod(**container):
    spec = {"containers": [{"name": "app", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec}


@pytest.mark.parametrize(
    ("image", "refused"),
    [
        (f"r.example/a@sha256:{HEX}", False),
        (f"r.example/a:v1@sha256:{HEX}", False),
        (f"r.example/a@sha256:{HEX[1:]}", True),
        (f"r.example/a@sha256:{HEX}0", True),
        (f"r.example/a@sha256:{HEX.upper()}", True),
        ("r.example/a:v1", True),
        ("a", True),
        ("", True),
    ],
)
def test_an_image_needs_a_whole_digest(image, refused):
    assert bool(lines(raw(pod(image=image)), "image-digests")) is refused


def test_images_of_volumes_need_a_digest_too():
    manifest = pod(image=f"a@sha256:{HEX}")
    manifest["spec"]["volumes"] = [{"name": "weights", "image": {"reference": "r.example/w:v1"}}]
    (line,) = lines(raw(manifest), "image-digests")
    assert "Pod n/p spec.volumes[weights].image.reference has no digest (r.example/w:v1)" in line
    assert line.endswith("write r.example/w:v1@sha256:… as spec.volumes[weights].image.reference")


def test_every_kind_of_container_is_read():
    manifest = pod(image="a")
    spec = manifest["spec"]
    spec["initContainers"] = [{"name": "init", "image": "b"}]
    spec["ephemeralContainers"] = [{"name": "debug", "image": "c"}]
    assert len(lines(raw(manifest), "image-digests")) == 3


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("busybox", "docker.io/library/busybox"),
        ("busybox:1", "docker.io/library/busybox"),
        ("vllm/vllm-openai:v1", "docker.io/vllm/vllm-openai"),
        ("vllm/vllm-openai", "docker.io/vllm/vllm-openai"),
        ("localhost/a:1", "localhost/a"),
        ("r.example:5000/a/b:1@sha256:0", "r.example:5000/a/b"),
        ("ghcr.io/llm-d/x", "ghcr.io/llm-d/x"),
    ],
)
def test_an_image_has_the_registry_that_kubernetes_would_ask(image, name):
    assert full_name(image) == name


@pytest.mark.parametrize(
    ("registry", "refused"),
    [("r.example", False), ("r.example/", False), ("r.example/team", False), ("r.example/tea", True), ("r.exam", True)],
)
def test_a_registry_allows_whole_folders_alone(registry, refused):
    judged = raw(pod(image="r.example/team/a:v1"))
    assert bool(lines(judged, "image-registries", registries=[registry])) is refused


def test_any_of_the_allowed_registries_is_enough_and_no_registry_allows_all():
    judged = raw(pod(image="r.example/a:v1"))
    assert lines(judged, "image-registries", registries=["ghcr.io", "r.example"]) == []
    assert lines(judged, "image-registries") == []


@pytest.mark.parametrize(
    ("argument", "refused"),
    [
        (f"hf://a/b:{'0f' * 20}", False),
        (f"hf://a/b:{'0f' * 20}0", True),
        ("hf://a/b:main", True),
        ("hf://a/b", True),
        ("s3://bucket/a", False),
    ],
)
def test_a_source_that_is_fetched_needs_a_commit(argument, refused):
    manifest = pod(image="a", args=[argument, "/models"])
    manifest["spec"]["containers"][0]["name"] = "model-download"
    assert bool(lines(raw(manifest), "locked-sources")) is refused


@pytest.mark.parametrize(
    ("source", "refused"),
    [("hf://a/b", True), ("hf://a/b@main", True), (f"hf://a/b@{'0f' * 20}", False), ("", False)],
)
def test_a_model_without_a_source_here_has_nothing_to_pin(source, refused):
    judged = view(tree())
    (contract,) = judged.contracts
    revision = source.partition("@")[2] or None
    model = {**contract.services["qwen"]["model"], "source": source, "digest": None, "revision": revision}
    services = {"qwen": {**contract.services["qwen"], "model": model}}
    changed = replace(judged, contracts=(replace(contract, outputs={**contract.outputs, "services": services}),))
    assert bool(lines(changed, "locked-sources")) is refused


def test_arguments_of_other_containers_are_no_sources():
    assert lines(raw(pod(image="a", args=["hf://a/b"])), "locked-sources") == []
