"""Weights in images that nodes pull and Kubernetes mounts (`oci://`)."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from models.source import content, tag_of_files
from tests.support.stacks import NAME, plan, rendered, tree
from tests.support.stacks.shapes import engine, model_servers

DIGEST = f"sha256:{'a' * 64}"
MODEL = {"name": "org/m", "source": f"oci://registry.example/models/m@{DIGEST}"}


def pod(model, **service):
    (template,) = model_servers(rendered(tree(qwen={"model": model, **service})))
    return template["spec"]


def volumes(spec):
    return {volume["name"]: volume for volume in spec["volumes"]}


def mounts(spec):
    return {mount["mountPath"]: mount for mount in engine({"spec": spec})["volumeMounts"]}


def refused(model, **service):
    with pytest.raises(ConfigError) as error:
        planning.plan(load(tree(qwen={"model": model, **service})), NAME)
    return str(error.value).splitlines()


def test_the_image_is_a_volume_that_is_mounted_for_reading_and_nothing_is_fetched():
    spec = pod(MODEL)
    assert "initContainers" not in spec
    assert volumes(spec)["model"] == {"name": "model", "image": {"reference": f"registry.example/models/m@{DIGEST}"}}
    assert mounts(spec)["/models"] == {"name": "model", "mountPath": "/models", "readOnly": True}
    assert engine({"spec": spec})["args"][0] == "/models"


def test_a_folder_of_the_image_may_have_the_weights():
    spec = pod({**MODEL, "folder": "models/m"})
    assert mounts(spec)["/models"]["subPath"] == "models/m"


def test_a_pull_secret_of_the_pods_opens_the_registry():
    spec = pod(MODEL, pod={"imagePullSecrets": [{"name": "registry"}]})
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert refused({**MODEL, "secrets": ["registry"]}) == [
        (
            "services.qwen.model.secrets: has no effect with this source (oci://); "
            "move it to pod.imagePullSecrets; nodes pull such images"
        )
    ]


def test_adapters_are_mounted_as_well():
    adapters = {"sql": {"source": "oci://registry.example/sql:v1"}, "legal": {"source": "hf://org/legal"}}
    spec = pod({**MODEL, "lora": {"adapters": adapters}})
    assert volumes(spec)["adapter-sql"] == {
        "name": "adapter-sql",
        "image": {"reference": "registry.example/sql:v1"},
    }
    assert mounts(spec)["/adapters/sql"] == {"name": "adapter-sql", "mountPath": "/adapters/sql", "readOnly": True}
    assert [container["name"] for container in spec["initContainers"]] == ["adapter-legal"]


def test_a_tag_may_move_and_a_digest_names_the_content():
    assert (content(MODEL["source"]), tag_of_files(MODEL["source"])) == (DIGEST, None)
    assert tag_of_files("oci://registry.example:5000/m:v1") == "v1"
    warnings = [str(each) for each in plan(tree(qwen={"model": {**MODEL, "source": "oci://r.example/m:v1"}})).warnings]
    assert any("model.source: is a tag, so the files may change under it (v1)" in warning for warning in warnings)
    assert not any("is a tag" in str(each) for each in plan(tree(qwen={"model": MODEL})).warnings)


@pytest.mark.parametrize(
    ("model", "service", "message"),
    [
        (
            {**MODEL, "source": "oci://registry.example/m"},
            {},
            (
                "model.source: is not a reference of an image or artifact (oci://registry.example/m); "
                "write oci://registry/repository with a tag or digest, such as oci://registry.example/models/qwen3:v1"
            ),
        ),
        (
            {**MODEL, "source": "oci://registry.example/m:latest"},
            {},
            "model.source: names a tag that moves to newer images (latest); write a version or a digest",
        ),
        (
            {"source": "hf://org/m@v1", "folder": "m"},
            {},
            "model.folder: has no effect with this source (hf://); remove it, or use a source of oci://",
        ),
        (
            MODEL,
            {"storage": {"type": "dedicated"}},
            f"storage: has no effect with this source ({MODEL['source']} is mounted as it is); remove it",
        ),
        (
            MODEL,
            {"storage": {"type": "engine"}},
            f"storage: has no effect with this source ({MODEL['source']} is mounted as it is); remove it",
        ),
    ],
)
def test_what_does_not_suit_a_mounted_image_is_refused(model, service, message):
    assert refused(model, **service) == [f"services.qwen.{message}"]


def test_a_cache_takes_no_image_that_is_mounted():
    stack = tree(qwen={}) | {"caches": {"m": {"source": MODEL["source"], "size": "1Gi"}}}
    with pytest.raises(ConfigError, match=r"caches\.m\.source: is not a source that is fetched"):
        planning.plan(load(stack), NAME)
