"""Services: Secrets, adapters, signatures and canaries, and the defaults of what is absent."""

import pytest

from models.service import Model, Service
from tests.support.stacks import SERVICE, mistakes, tree

MODEL = {"name": "org/model", "source": "hf://org/model"}
MERGED = "merge them into one: a Secret of type kubernetes.io/dockerconfigjson holds several registries, under auths"


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ({"model": {**MODEL, "secrets": ["a", "b"]}}, f"model.secrets: has 2 entries; {MERGED}"),
        (
            {"model": {**MODEL, "filter": []}},
            "model.filter: has 0 entries; write at least model, which is the default",
        ),
        (
            {"model": {**MODEL, "lora": {"adapters": {"sql": {"source": "hf://a/b"}}, "maxRank": 20}}},
            "model.lora.maxRank: is not one of 1, 8, 16, 32, 64, 128, 256, 320 or 512 (20); choose one of them",
        ),
        (
            {"model": {**MODEL, "verify": {"type": "keyless", "identity": "a"}}},
            "model.verify.issuer: is missing; add it, such as https://token.actions.githubusercontent.com",
        ),
        (
            {"canary": {"weight": 101}},
            "canary.weight: is not a whole number from 0 to 100 (101); write the percentage of requests for the canary",
        ),
        ({"canary": {}}, "canary.weight: is missing; add it, such as 10"),
        (
            {"interceptor": {"resourceId": "a b"}},
            (
                "interceptor.resourceId: is not a label value (a b); use letters, digits, '-', '_' and '.', such as "
                "chat-7f3a"
            ),
        ),
        (
            {"drainTimeout": 45},
            "drainTimeout: is not a duration (45); write a number with h, m, s or ms, such as 10s",
        ),
    ],
)
def test_a_mistaken_service_is_refused(service, message):
    assert mistakes(tree(qwen=service)) == [f"services.qwen.{message}"]


def test_a_service_is_a_single_role_with_a_picker_and_storage_of_its_pods():
    service = Service.model_validate(SERVICE)
    assert (service.prefill, service.canary, service.sidecar, service.selection) == (None, None, None, None)
    assert (service.storage.type, service.replicas, service.drain_timeout) == ("ephemeral", 1, "45s")
    assert service.endpoint_picker.enabled
    assert service.route.enabled
    assert service.explicit_fields == {"model", "accelerator"}


def test_prefill_has_the_keys_of_a_role_and_no_others():
    (line,) = mistakes(tree(qwen={"prefill": {"storage": {"type": "ephemeral"}}}))
    assert line.startswith("services.qwen.prefill.storage: unknown key (storage); ")


def test_the_schema_leaves_the_source_to_a_shared_cache_and_the_program_does_not():
    assert "required" not in Model.model_json_schema()
    assert mistakes(tree(qwen={"model": {"name": "org/model"}})) == [
        ("services.qwen.model.source: is missing; add it, such as kit://jozu.ml/jozu/bert-base-uncased:safetensors")
    ]
