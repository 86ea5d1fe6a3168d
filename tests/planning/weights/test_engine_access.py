"""Engines that open the source of their model themselves (`storage.type: engine`)."""

import pytest

import planning
from models.load import load
from models.pins import Pin
from models.problems import ConfigError
from planning.weights import engine_access
from tests.support.stacks import NAME, plan, rendered, tree
from tests.support.stacks.shapes import engine, model_servers

ENGINE = {"storage": {"type": "engine"}}
HUB = {"source": "hf://org/m@v1", "size": "16Gi", "endpoint": "http://hub:8080", "secrets": ["hub"]}
BUCKET = {
    "name": "org/m",
    "source": "s3://bucket/m/",
    "size": "16Gi",
    "endpoint": "http://minio:9000",
    "region": "eu",
    "secrets": ["reader"],
}


def pod(model, **service):
    (template,) = model_servers(rendered(tree(qwen={"model": model, **ENGINE, **service})))
    return template["spec"]


def variables(container):
    return {
        each["name"]: each.get("value") or tuple(each["valueFrom"]["secretKeyRef"].values())
        for each in container["env"]
        if "value" in each or "secretKeyRef" in each["valueFrom"]
    }


def refused(model, **service):
    with pytest.raises(ConfigError) as error:
        planning.plan(load(tree(qwen={"model": model, **ENGINE, **service})), NAME)
    return str(error.value).splitlines()


@pytest.mark.parametrize("model", [HUB, BUCKET])
def test_nothing_is_fetched_and_only_the_home_is_mounted(model):
    spec = pod(model)
    assert "initContainers" not in spec
    assert [volume["name"] for volume in spec["volumes"]] == ["home", "shared-memory"]
    (container,) = spec["containers"]
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/home/engine", "/dev/shm"]


def test_the_model_is_the_name_of_its_source():
    arguments = engine({"spec": pod(HUB)})["args"]
    assert arguments[0] == "org/m"
    assert "--revision=v1" in arguments
    arguments = engine({"spec": pod(BUCKET)})["args"]
    assert arguments[0] == "s3://bucket/m"
    assert not any(argument.startswith("--revision") for argument in arguments)


def test_a_repository_without_revision_has_no_flag_of_one():
    arguments = engine({"spec": pod({"source": "hf://org/m"})})["args"]
    assert arguments[0] == "org/m"
    assert not any(argument.startswith("--revision") for argument in arguments)


def test_a_hub_is_opened_by_variables_of_the_engine():
    env = variables(engine({"spec": pod(HUB)}))
    assert env["HF_HOME"] == "/home/engine/huggingface"
    assert env["HF_ENDPOINT"] == "http://hub:8080"
    assert env["HF_TOKEN"] == ("hub", "HF_TOKEN")
    keyed = variables(engine({"spec": pod({**HUB, "secrets": [{"name": "one", "key": "two"}]})}))
    assert keyed["HF_TOKEN"] == ("one", "two")


def test_a_bucket_is_opened_by_variables_of_the_engine():
    env = variables(engine({"spec": pod(BUCKET)}))
    assert env["AWS_ENDPOINT_URL"] == "http://minio:9000"
    assert env["AWS_DEFAULT_REGION"] == "eu"
    assert env["AWS_ACCESS_KEY_ID"] == ("reader", "AWS_ACCESS_KEY_ID")
    assert env["AWS_SECRET_ACCESS_KEY"] == ("reader", "AWS_SECRET_ACCESS_KEY")
    assert env["RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING"] == "0"
    assert env["AWS_EC2_METADATA_DISABLED"] == "true"


def test_a_bucket_of_aws_and_an_account_of_the_pods_need_no_further_variables():
    aws = {"name": "org/m", "source": "s3://bucket/m"}
    assert (
        not {"RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING", "AWS_EC2_METADATA_DISABLED"}
        & variables(engine({"spec": pod(aws)})).keys()
    )
    account = variables(engine({"spec": pod(BUCKET, pod={"serviceAccountName": "models"})}))
    assert "AWS_EC2_METADATA_DISABLED" not in account


def test_a_variable_of_the_user_wins():
    env = variables(engine({"spec": pod(HUB, engine={"env": {"HF_HOME": "/cache"}})}))
    assert env["HF_HOME"] == "/cache"


def test_an_engine_that_fetches_requests_the_disk():
    assert engine({"spec": pod(HUB)})["resources"]["requests"]["ephemeral-storage"] == "18Gi"
    assert "ephemeral-storage" not in engine({"spec": pod(BUCKET)})["resources"]["requests"]
    limited = {"resources": {"limits": {"ephemeral-storage": "20Gi"}}}
    assert "ephemeral-storage" not in engine({"spec": pod(HUB, **limited)})["resources"]["requests"]


@pytest.mark.parametrize(
    ("storage", "model", "seconds"),
    [
        ({}, HUB, 600 + 16 * 16),
        (ENGINE, HUB, 600 + 16 * 32 + 16 * 16),
        (ENGINE, BUCKET, 600 + 16 * 32),
    ],
)
def test_the_time_to_start_includes_the_fetch_of_the_engine(storage, model, seconds):
    stack = plan(tree(qwen={"model": model, **storage}))
    cold = stack.services[0].primary.roles["decode"].cold_start
    assert cold.load.seconds == seconds
    (template,) = model_servers(rendered(tree(qwen={"model": model, **storage})))
    container = engine(template)
    probe = container["startupProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= seconds > (probe["failureThreshold"] - 1) * 10
    assert variables(container)["VLLM_ENGINE_READY_TIMEOUT_S"] == str(seconds)


def test_pods_may_reach_the_source():
    stack = tree(qwen={"model": {**HUB, "endpoint": "http://10.0.0.7:8080"}, **ENGINE}) | {"networkPolicies": {}}
    policies = [each for each in rendered(stack) if each["kind"] == "NetworkPolicy"]
    addresses = [
        peer["ipBlock"]["cidr"]
        for policy in policies
        for rule in policy["spec"].get("egress", ())
        for peer in rule.get("to", ())
        if "ipBlock" in peer
    ]
    assert "10.0.0.7/32" in addresses


def test_adapters_are_fetched_all_the_same():
    adapters = {"adapters": {"sql": {"source": "hf://org/sql"}}}
    spec = pod({**HUB, "lora": adapters})
    assert [container["name"] for container in spec["initContainers"]] == ["adapter-sql"]
    assert engine({"spec": spec})["args"][0] == "org/m"


def test_the_folder_of_weights_is_free_for_other_volumes():
    volume = {"cache": {"type": "claim", "claimName": "models", "mountPath": "/models"}}
    mounts = engine({"spec": pod(HUB, pod={"volumes": volume})})["volumeMounts"]
    assert "/models" in [mount["mountPath"] for mount in mounts]


def test_an_engine_with_its_own_entrypoint_gets_the_variables_alone():
    custom = {"type": "custom", "image": "registry.example/sglang:v1", "args": ["--model-path=org/m"]}
    container = engine({"spec": pod(HUB, engine=custom)})
    assert container["args"] == ["--model-path=org/m"]
    assert variables(container)["HF_TOKEN"] == ("hub", "HF_TOKEN")


@pytest.mark.parametrize(
    ("model", "service", "message"),
    [
        (
            {"name": "org/m", "source": "kit://registry.example/m:v1"},
            {},
            "storage.type: is no source that engines open (kit://); use another type, or a source of hf:// or s3://",
        ),
        (
            {**HUB, "ignorePatterns": ["*.pth"]},
            {},
            (
                "model.ignorePatterns: has no effect with storage.type engine; "
                "remove it, and write --ignore-patterns in engine.args"
            ),
        ),
        (
            HUB,
            {"engine": {"args": ["--revision=v2"]}},
            "engine.args[0]: repeats a field (--revision); remove it, and write the revision in model.source",
        ),
    ],
)
def test_what_no_engine_can_open_is_refused(model, service, message):
    assert refused(model, **service) == [f"services.qwen.{message}"]


LOCKED = {"asked": "2026-11-20T00:00:00Z", "from": "https://huggingface.co", "was": HUB["source"]}


def test_a_locked_revision_is_that_of_the_engine():
    commit = "a" * 40
    model = load(tree(qwen={"model": HUB, **ENGINE})).stack.services["qwen"].model
    assert engine_access.revision(model) == "v1"
    pinned = model.with_pin(Pin.model_validate({**LOCKED, "source": f"hf://org/m@{commit}"}))
    assert (engine_access.name(pinned), engine_access.revision(pinned)) == ("org/m", commit)
