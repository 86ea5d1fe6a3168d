"""Secrets of a model reach the sources of its own scheme, and no other."""

import json

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import containers, model_servers

SOURCES = {
    "hf": "hf://org/{}",
    "s3": "s3://bucket/{}",
    "kit": "kit://registry.example/org/{}:v1",
}
PAIRS = [(scheme, other) for scheme in SOURCES for other in SOURCES]
SECRET = "org-credentials"


def pod(scheme, other):
    """Return the containers by name, and the volumes, of a pod whose model and adapter have these schemes."""
    adapters = {"sql": {"source": SOURCES[other].format("sql")}}
    model = {
        "name": "org/m",
        "source": SOURCES[scheme].format("m"),
        "secrets": [SECRET],
        "lora": {"adapters": adapters},
    }
    (template,) = model_servers(rendered(tree(qwen={"model": model})))
    return {each["name"]: each for each in containers(template)}, template["spec"]["volumes"]


def reads_secret(container, volumes):
    """Say whether a container has the secret, as a variable or as a file."""
    secret_volumes = {each["name"] for each in volumes if SECRET in json.dumps(each)}
    mounted = {each["name"] for each in container["volumeMounts"]}
    return SECRET in json.dumps(container["env"]) or bool(secret_volumes & mounted)


@pytest.mark.parametrize(("scheme", "other"), PAIRS)
def test_an_adapter_gets_the_models_secret_only_where_it_has_the_models_scheme(scheme, other):
    found, volumes = pod(scheme, other)
    fetched = "model-unpack" if scheme == "kit" else "model-download"
    assert reads_secret(found[fetched], volumes)
    assert reads_secret(found["adapter-sql"], volumes) is (scheme == other)


def test_a_bucket_beside_a_hub_with_a_token_is_read_anonymously():
    found, _ = pod("hf", "s3")
    names = {each["name"]: each.get("value") for each in found["adapter-sql"]["env"]}
    assert names["awsAnonymousCredential"] == "true"
    assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"} & names.keys()
