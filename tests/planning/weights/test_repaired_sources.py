"""Sources with a mistake are repaired so that other checks can run, and nobody is asked about them."""

import pytest

from models.load import load
from planning.weights.sizes import questions
from tests.support.stacks import tree

S3 = {"name": "org/m", "source": "s3://bucket/m"}
KIT = {"name": "org/m", "source": "kit://registry.example/m:v1"}
DEDICATED = {"type": "dedicated", "storageClassName": "fast"}


def stack(model, storage=DEDICATED, **more):
    return tree(qwen={"model": model, "storage": storage, **more})


def asked(whole):
    """Return the sources that are asked for a size, from a configuration with or without mistakes."""
    return sorted(question.source for question in questions(load(whole)).asked.values())


@pytest.mark.parametrize("model", [S3, KIT])
def test_a_source_without_mistakes_is_asked(model):
    assert asked(stack(model)) == [model["source"]]
    assert asked(stack(model, replica=2)) == [model["source"]]


@pytest.mark.parametrize(
    "mistaken",
    [
        {"source": "hf:/x/y"},
        {"source": "s3:/bucket/m"},
        {"source": 5},
        {"endpiont": "https://minio.example"},
        {"endpoint": "minio.example"},
        {"region": 1},
        {"filter": ["modle"]},
        {"insecure": "yes"},
    ],
)
@pytest.mark.parametrize("model", [S3, KIT])
def test_a_source_with_a_mistake_asks_nobody(model, mistaken):
    """See defects B2."""
    assert asked(stack(model | mistaken)) == []
    services = {"qwen": {"storage": DEDICATED, "accelerator": "nvidia"}}
    assert asked(tree() | {"services": services, "defaults": {"model": model | mistaken}}) == []


def test_a_whole_model_that_is_missing_asks_nobody():
    """See defects B2."""
    assert asked(stack({"source": {"type": "s3"}})) == asked(stack("s3://bucket/m")) == []
    service = {"modle": S3, "storage": DEDICATED, "accelerator": "nvidia"}
    assert asked(tree() | {"services": {"qwen": service}}) == []


def test_a_storage_with_a_mistake_asks_nobody():
    """See defects B2."""
    assert asked(stack(S3, DEDICATED | {"fill": {"endpoint": "minio.example"}})) == []
    assert asked(stack(S3, DEDICATED | {"fill": {"regoin": "eu"}})) == []


def test_a_cache_with_a_mistake_asks_nobody_and_others_are_asked():
    """See defects B2."""
    caches = {
        "right": {"source": "s3://bucket/right"},
        "wrong": {"source": "s3:/bucket/wrong"},
        "elsewhere": {"source": "s3://bucket/elsewhere", "fill": {"endpoint": "minio.example"}},
    }
    assert asked(tree() | {"caches": caches}) == ["s3://bucket/right"]


def test_a_canary_with_a_mistake_asks_nobody_and_its_service_is_asked():
    """See defects B2."""
    canary = {"weight": 1, "model": {"source": "s3://other/m", "endpoint": "minio.example"}}
    assert asked(stack(S3, canary=canary)) == ["s3://bucket/m"]
