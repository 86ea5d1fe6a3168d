"""Weights of AIMServices."""

import pytest

from tests.support.migration import aim_object, aim_service, objects, only_service, places, stack

CUSTOM = """
model:
  custom:
    baseImage: registry.example/aim/base:1
    modelSources: [{{modelId: acme/Chat-1.5, sourceUri: "{uri}", env: [{env}]}}]
    hardware: {{gpu: {{requests: 1, model: MI300X}}}}
"""
TOKEN = "{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}"
TWO_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
KEY = "{{name: {name}, valueFrom: {{secretKeyRef: {{name: {secret}, key: {name}}}}}}}"
FOLDER = "/workspace/cache/acme/Chat-1.5"


def custom(rest: str = "", uri: str = "hf://acme/chat", env: str = "") -> str:
    """Return an AIMService with a source of weights."""
    return aim_service(f"{CUSTOM.format(uri=uri, env=env)}{rest}\n")


def fill(env: str, uri: str = "hf://acme/chat"):
    """Return the settings of the job that fetches weights with some variables."""
    (cache,) = stack(objects(custom(uri=uri, env=env)))["caches"].values()
    return cache.get("fill")


@pytest.mark.parametrize("mode", ["", "caching: {mode: Shared}", "caching: {mode: Auto}", "caching: {mode: Always}"])
def test_weights_are_in_a_cache_that_services_share(mode: str) -> None:
    """In the folder in which the image looks for them."""
    printed = objects(custom(mode))
    assert stack(printed)["caches"] == {"acme-chat-1-5": {"source": "hf://acme/chat"}}
    service = only_service(printed)
    assert service["storage"] == {"type": "shared", "cache": "acme-chat-1-5", "mountPath": FOLDER}
    assert service["model"] == {"name": "acme/Chat-1.5"}


@pytest.mark.parametrize("mode", ["Dedicated", "Never"])
def test_weights_of_a_service_alone_are_in_a_claim_of_its_own(mode: str) -> None:
    """There is no mode without a claim."""
    printed = objects(custom(f"caching: {{mode: {mode}}}\nstorage: {{defaultStorageClassName: fast}}"))
    assert only_service(printed)["storage"] == {"type": "dedicated", "storageClassName": "fast", "mountPath": FOLDER}
    assert "caches" not in stack(printed)


def test_services_with_the_same_settings_share_a_cache_and_others_do_not() -> None:
    """Such as those with another endpoint."""
    first = custom(env="{name: HF_ENDPOINT, value: 'https://one.example'}")
    second = custom(env="{name: HF_ENDPOINT, value: 'https://two.example'}").replace("name: chat", "name: two")
    third = first.replace("name: chat", "name: three")
    tree = stack(objects(f"{first}\n---\n{second}\n---\n{third}"))
    assert [service["storage"]["cache"] for service in tree["services"].values()] == [
        "acme-chat-1-5",
        "acme-chat-1-5-2",
        "acme-chat-1-5",
    ]
    assert [cache["fill"]["endpoint"] for cache in tree["caches"].values()] == [
        "https://one.example",
        "https://two.example",
    ]


def test_a_service_of_another_namespace_has_a_claim_of_its_own() -> None:
    """Caches are in the namespace of the stack."""
    other = custom().replace("namespace: ml", "namespace: others").replace("name: chat", "name: two")
    tree = stack(objects(f"{custom()}\n---\n{other}"))
    assert [service["storage"]["type"] for service in tree["services"].values()] == ["shared", "dedicated"]
    assert list(tree["caches"]) == ["acme-chat-1-5"]


@pytest.mark.parametrize(
    ("env", "uri", "expected"),
    [
        (TOKEN, "hf://acme/chat", {"secrets": [{"name": "hub", "key": "token"}]}),
        ("{name: HTTPS_PROXY, value: 'http://proxy'}", "hf://acme/chat", {"env": {"HTTPS_PROXY": "http://proxy"}}),
        (
            ", ".join(KEY.format(name=name, secret="s") for name in TWO_KEYS),
            "s3://acme-models/chat",
            {"secrets": ["s"]},
        ),
        (
            "{name: AWS_ENDPOINT_URL, value: 'http://minio:9000'}, {name: AWS_REGION, value: eu-west-1}",
            "s3://acme-models/chat",
            {"endpoint": "http://minio:9000", "region": "eu-west-1"},
        ),
    ],
)
def test_variables_of_downloads_are_settings_of_the_job(env: str, uri: str, expected: object) -> None:
    """Those that no key stands for stay variables."""
    assert fill(env, uri) == expected


def test_keys_in_two_secrets_stay_variables() -> None:
    """The key secrets names one Secret."""
    env = f"{KEY.format(name='AWS_ACCESS_KEY_ID', secret='s')}, {KEY.format(name='AWS_SECRET_ACCESS_KEY', secret='t')}"
    assert set(fill(env, "s3://acme-models/chat")["env"]) == {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


def test_variables_of_the_service_reach_the_job_if_it_needs_them() -> None:
    """Others are of no use to it."""
    printed = objects(custom(f"env: [{TOKEN}, {{name: LEVEL, value: debug}}]"))
    (cache,) = stack(printed)["caches"].values()
    assert cache["fill"] == {"secrets": [{"name": "hub", "key": "token"}]}
    assert set(only_service(printed)["engine"]["env"]) > {"HF_TOKEN", "LEVEL"}


def test_a_credential_in_clear_is_lost() -> None:
    """It is printed nowhere."""
    printed = objects(custom(env="{name: HF_TOKEN, value: some-token}"))
    assert "spec.model.custom.modelSources[0].env[0]" in places(printed, "cannot")
    assert "some-token" not in "\n".join([printed.text, *map(str, printed.notes)])


def test_a_second_source_is_lost() -> None:
    """An engine has one model."""
    second = custom().replace("env: []}]", "env: []}, {modelId: acme/other, sourceUri: 'hf://acme/other'}]")
    assert places(objects(second), "cannot") == {"spec.model.custom.modelSources[1]"}


def test_weights_that_no_file_names_are_asked_for() -> None:
    """The image serves until they are known; its metadata has the name of the model."""
    service = aim_service("model: {name: acme}\ncaching: {mode: Never}\n")
    spec = "image: registry.example/aim/chat:1\nimageMetadata: {model: {canonicalName: acme/chat}}"
    printed = objects(service, aim_object("AIMModel", "acme", spec))
    assert only_service(printed)["model"] == {"name": "acme/chat", "source": "image://registry.example/aim/chat:1"}
    assert "storage" not in only_service(printed)
    assert "spec.caching" in places(printed, "ask")


def test_an_artifact_says_the_size_and_the_class() -> None:
    """A size that was found out counts if nobody states one."""
    artifact = aim_object("AIMArtifact", "a", "sourceUri: hf://acme/chat", "status: {discoveredSizeBytes: 1073741824}")
    (cache,) = stack(objects(custom(), artifact))["caches"].values()
    assert cache["size"] == "1073741824"
    stated = artifact.replace("hf://acme/chat", "hf://acme/chat\n  size: 2Gi\n  storageClassName: fast")
    (cache,) = stack(objects(custom(), stated))["caches"].values()
    assert (cache["size"], cache["storageClassName"]) == ("2Gi", "fast")


def test_an_artifact_of_another_source_is_of_no_use() -> None:
    """Its fields are dropped."""
    artifact = aim_object("AIMArtifact", "a", "sourceUri: hf://acme/other\nsize: 9Gi")
    printed = objects(custom(), artifact)
    assert "size" not in stack(printed)["caches"]["acme-chat-1-5"]
    assert any("no service among the files uses the object" in note.reason for note in printed.notes)
