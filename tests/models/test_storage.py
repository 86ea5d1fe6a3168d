"""Storage of weights: mount paths and claims, and the values that models get from a shared cache."""

import copy

import pytest

from models.storage import FETCHING, Cache, Dedicated, complete_models
from tests.support.stacks import mistakes, tree

SOURCE = "s3://acme-models/mistral"
SHARED = {"type": "shared", "cache": "mistral"}


def model(cache, **service):
    """Return the model of a service with a shared cache."""
    stack = complete_models({"caches": {"mistral": cache}, "services": {"a": {"storage": SHARED, **service}}})
    return stack["services"]["a"]["model"]


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        (
            {"type": "ephemeral", "mountPath": "/"},
            "mountPath: is not the path of a folder (/); write one such as /models",
        ),
        (
            {"type": "existing", "claimName": "weights", "subPath": "a/../b"},
            "subPath: is not a path in the claim (a/../b); write folders without a leading '/'",
        ),
        (
            {"type": "dedicated", "headroomPercent": 1001},
            "headroomPercent: is not a whole number from 0 to 1000 (1001); write percent, such as 10",
        ),
        (
            {"type": "dedicated", "accessMode": "ReadOnlyMany"},
            (
                "accessMode: is not one of ReadWriteMany, ReadWriteOnce or ReadWriteOncePod (ReadOnlyMany); "
                "choose one of them"
            ),
        ),
        (
            {"type": "dedicated", "fill": {"secrets": ["one", "two"]}},
            "fill.secrets: has 2 entries; write only the Secret with the credentials for the source",
        ),
    ],
)
def test_a_mistaken_storage_is_refused(storage, message):
    assert mistakes(tree(qwen={"storage": storage})) == [f"services.qwen.storage.{message}"]


def test_a_claim_is_deleted_with_its_service_unless_the_user_keeps_it():
    claim = Dedicated.model_validate({"type": "dedicated"})
    assert (claim.access_mode, claim.headroom_percent, claim.mount_path) == ("ReadWriteMany", 10, "/models")
    assert (claim.retain, claim.protect, claim.fill.resources) == (False, False, FETCHING)
    cache = Cache.model_validate({"source": SOURCE})
    assert (cache.access_mode, cache.retain, cache.fill) == (claim.access_mode, claim.retain, claim.fill)


def test_a_model_gets_source_and_size_of_its_cache():
    cache = {"source": SOURCE, "size": "48Gi", "retain": True}
    assert model(cache, model={"name": "m"}) == {"source": SOURCE, "size": "48Gi", "name": "m"}
    assert model(cache, model={"size": "50Gi"}) == {"source": SOURCE, "size": "50Gi"}


def test_a_model_with_another_source_gets_nothing():
    assert model({"source": SOURCE, "size": "48Gi"}, model={"source": "s3://b/c"}) == {"source": "s3://b/c"}


def test_a_wrong_value_of_a_cache_is_left_out():
    assert model({"source": "ftp://a", "size": "48"}, model={}) == {"source": "hf://Qwen/Qwen3-0.6B"}


def test_the_model_of_a_canary_gets_the_served_name_of_its_service():
    services = {"a": {"model": {"source": "hf://org/m@v1"}, "canary": {"weight": 1, "model": {"source": "hf://org/n"}}}}
    before = copy.deepcopy(services)
    canary = complete_models({"services": services})["services"]["a"]["canary"]
    assert canary == {"weight": 1, "model": {"name": "org/m", "source": "hf://org/n"}}
    assert services == before


@pytest.mark.parametrize("value", [None, [], {"services": 5}, {"services": {}}])
def test_a_tree_without_services_stays(value):
    assert complete_models(value) == value
