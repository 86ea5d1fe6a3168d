"""Endpoint, region and Secret of each LoRA adapter."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, rendered, tree
from tests.support.stacks.shapes import containers, model_servers

BUCKET = {
    "name": "org/m",
    "source": "s3://bucket/m",
    "endpoint": "http://minio:9000",
    "region": "eu",
    "secrets": ["reader"],
}
HUB = {"source": "hf://org/m@v1", "endpoint": "http://mirror:8080", "secrets": ["hf"]}
KIT = {"name": "org/m", "source": "kit://registry.example/org/m:v1", "secrets": ["registry"]}


def stack(model, **adapters):
    """Return a stack whose model has adapters."""
    return tree(qwen={"model": {**model, "lora": {"adapters": adapters}}})


def pod(model, **adapters):
    """Return the variables of the fetching containers by name, their mounts, and the volumes of the pod."""
    (template,) = model_servers(rendered(stack(model, **adapters)))
    named = {each["name"]: each for each in containers(template)}
    env = {
        name: {
            each["name"]: each.get("value") or each["valueFrom"]["secretKeyRef"]["name"] for each in container["env"]
        }
        for name, container in named.items()
        if name.startswith(("model-", "adapter-"))
    }
    mounts = {name: {each["name"] for each in container["volumeMounts"]} for name, container in named.items()}
    return env, mounts, {each["name"]: each for each in template["spec"]["volumes"]}


def told(tree):
    """Return the mistakes of a stack."""
    with pytest.raises(ConfigError) as error:
        planning.plan(load(tree), NAME)
    return str(error.value).splitlines()


def test_an_adapter_of_another_scheme_does_not_ask_the_models_server():
    """See defects C3."""
    env, _, _ = pod(BUCKET, sql={"source": "hf://org/sql"})
    assert not {"HF_ENDPOINT", "HF_TOKEN"} & env["adapter-sql"].keys()
    env, _, _ = pod(HUB, sql={"source": "s3://bucket/sql"})
    assert not {"AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"} & env["adapter-sql"].keys()


def test_an_adapter_has_endpoint_region_and_secret_of_its_own():
    """See defects C3."""
    adapter = {"source": "hf://org/sql", "endpoint": "http://hub:8080", "secrets": ["token"]}
    env, _, _ = pod(BUCKET, sql=adapter)
    assert (env["adapter-sql"]["HF_ENDPOINT"], env["adapter-sql"]["HF_TOKEN"]) == ("http://hub:8080", "token")
    adapter = {"source": "s3://other/sql", "endpoint": "http://other:9000", "region": "us", "secrets": ["other"]}
    env, _, _ = pod(BUCKET, sql=adapter)
    found = env["adapter-sql"]
    assert (found["AWS_ENDPOINT_URL"], found["AWS_DEFAULT_REGION"]) == ("http://other:9000", "us")
    assert {found["AWS_ACCESS_KEY_ID"], found["AWS_SECRET_ACCESS_KEY"]} == {"other"}
    assert env["model-download"]["AWS_ACCESS_KEY_ID"] == "reader"


def test_a_token_may_have_a_key_of_its_own():
    def tokens(model, **adapters):
        (template,) = model_servers(rendered(stack(model, **adapters)))
        variables = [variable for container in containers(template) for variable in container.get("env", ())]
        return [variable["valueFrom"]["secretKeyRef"] for variable in variables if variable["name"] == "HF_TOKEN"]

    keyed = {**HUB, "secrets": [{"name": "hub", "key": "token"}]}
    other = {"source": "hf://org/sql", "secrets": [{"name": "other", "key": "hf"}]}
    assert tokens(keyed, sql={"source": "hf://org/sql"}) == [{"name": "hub", "key": "token"}] * 2
    assert tokens(keyed, sql=other) == [{"name": "hub", "key": "token"}, {"name": "other", "key": "hf"}]
    assert tokens(HUB, sql=other) == [{"name": "hf", "key": "HF_TOKEN"}, {"name": "other", "key": "hf"}]


@pytest.mark.parametrize("model", [BUCKET, KIT])
def test_a_key_of_a_token_is_for_hubs_alone(model):
    scheme = model["source"].partition("://")[0]
    rest = f"has no effect with this source ({scheme}://); remove it, or use a source of hf://"
    keyed = [{"name": "one", "key": "token"}]
    assert told(tree(qwen={"model": {**model, "secrets": keyed}})) == [f"services.qwen.model.secrets[0].key: {rest}"]
    adapter = {"source": model["source"], "secrets": keyed}
    assert told(stack(HUB, sql=adapter)) == [f"services.qwen.model.lora.adapters.sql.secrets[0].key: {rest}"]
    storage = {"type": "dedicated", "fill": {"secrets": keyed}}
    unkeyed = {**model, "secrets": [], "size": "1Gi"}
    assert told(tree(qwen={"model": unkeyed, "storage": storage})) == [
        f"services.qwen.storage.fill.secrets[0].key: {rest}"
    ]


def test_a_secret_does_not_reach_another_server():
    """See defects C3."""
    env, _, _ = pod(BUCKET, sql={"source": "s3://other/sql", "endpoint": "http://other:9000"})
    assert env["adapter-sql"]["awsAnonymousCredential"] == "true"
    assert not {"AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION"} & env["adapter-sql"].keys()
    env, _, _ = pod(HUB, sql={"source": "hf://org/sql", "secrets": []})
    assert "HF_TOKEN" not in env["adapter-sql"]
    assert env["adapter-sql"]["HF_ENDPOINT"] == "http://mirror:8080"


def test_two_registries_have_a_file_of_credentials_each():
    legal = {"source": "kit://other.example/legal:v1", "secrets": ["other"]}
    env, mounts, volumes = pod(KIT, sql={"source": "kit://registry.example/sql:v1"}, legal=legal)
    assert {each["DOCKER_CONFIG"] for each in env.values()} == {"/.docker"}
    assert "docker-config" in mounts["model-unpack"] & mounts["adapter-sql"]
    assert "docker-config-legal" in mounts["adapter-legal"]
    assert "docker-config" not in mounts["adapter-legal"]
    secrets = {name: each["secret"]["secretName"] for name, each in volumes.items() if name.startswith("docker-")}
    assert secrets == {"docker-config": "registry", "docker-config-legal": "other"}


def test_an_adapter_of_the_models_scheme_asks_the_models_server():
    env, _, _ = pod(BUCKET, sql={"source": "s3://bucket/sql"})
    assert env["adapter-sql"] == {**env["model-download"]}


@pytest.mark.parametrize(
    ("model", "field", "adapter"),
    [
        ({"source": "pvc://weights/m", "secrets": ["registry"]}, "secrets", "kit://registry.example/sql:v1"),
        ({"source": "kit://registry.example/m:v1", "endpoint": "http://hub:80"}, "endpoint", "hf://org/sql"),
        ({"source": "hf://org/m", "region": "eu"}, "region", "s3://bucket/sql"),
    ],
)
def test_words_of_the_model_that_only_an_adapter_could_use_are_written_there(model, field, adapter):
    (message,) = told(stack({"name": "org/m", **model}, sql={"source": adapter}))
    scheme = model["source"].partition("://")[0]
    assert message == (
        f"services.qwen.model.{field}: has no effect with this source ({scheme}://); move it to lora.adapters.sql"
    )
