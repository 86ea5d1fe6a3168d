"""Claims are never smaller than what is known of their weights."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from planning.weights.sizes import Size, questions, with_answers
from tests.support.stacks import NAME, rendered, tree

SOURCE = {"name": "org/m", "source": "s3://bucket/m", "size": "16Gi"}
DEDICATED = {"type": "dedicated", "size": "20Gi"}


def told(stack):
    """Return the mistakes of a stack."""
    with pytest.raises(ConfigError) as error:
        planning.plan(load(stack), NAME)
    return str(error.value).splitlines()


def tried(service_storage, **canary):
    """Return a stack with a canary."""
    return tree(qwen={"model": SOURCE, "storage": service_storage, "canary": {"weight": 10, **canary}})


def sizes(everything):
    """Return the sizes of the claims."""
    claims = [each for each in everything if each["kind"] == "PersistentVolumeClaim"]
    return [each["spec"]["resources"]["requests"]["storage"] for each in claims]


def test_a_canary_of_another_source_does_not_inherit_the_size_of_the_claim():
    """See defects A28."""
    assert sizes(rendered(tried(DEDICATED, model={"source": "s3://bucket/n", "size": "30Gi"}))) == ["20Gi", "33Gi"]
    (message,) = told(tried(DEDICATED, model={"source": "hf://org/n@v1"}))
    assert message.startswith("services.qwen.canary.model.size: is missing, and hf:// sources are not asked for sizes")


def test_the_size_of_a_canarys_other_source_is_asked_for():
    """See defects A28."""
    loaded = load(tried(DEDICATED, model={"source": "s3://bucket/n"}))
    (question,) = questions(loaded).asked.values()
    assert question.source == "s3://bucket/n"
    answered, _ = with_answers(loaded, questions(loaded), {question: Size(60 * 2**30, None)})
    assert planning.plan(answered, NAME).services[0].canary.storage.claim.size == "66Gi"


def test_a_canary_of_another_source_does_not_inherit_the_limit_of_the_volume():
    stack = tried({"type": "ephemeral", "sizeLimit": "20Gi"}, model={"source": "s3://bucket/n", "size": "30Gi"})
    pods = [each["spec"]["template"]["spec"] for each in rendered(stack) if each["metadata"]["name"].endswith("decode")]
    limits = [each["emptyDir"] for pod in pods for each in pod["volumes"] if each["name"] == "model"]
    assert limits == [{"sizeLimit": "20Gi"}, {"sizeLimit": "33Gi"}]


def test_a_canary_that_repeats_the_source_keeps_the_size():
    stack = tried({"type": "dedicated"}, model={"source": "s3://bucket/m"})
    assert sizes(rendered(stack)) == ["18Gi"]
    assert questions(load(stack)).asked == {}


def test_a_size_that_a_canary_writes_itself_is_its_own():
    model = {"source": "s3://bucket/n", "size": "30Gi"}
    assert sizes(rendered(tried(DEDICATED, model=model, storage={"size": "40Gi"}))) == ["20Gi", "40Gi"]


CACHED = {"m": {"source": "s3://bucket/m", "size": "5Gi"}}


def cached(caches, **model):
    """Return a stack whose service uses a cache."""
    service = {"model": {"name": "org/m", **model}, "storage": {"type": "shared", "cache": "m"}}
    return tree(qwen=service) | {"caches": caches}


def test_a_service_and_its_cache_do_not_contradict_each_other():
    """See defects A28."""
    (message,) = told(cached(CACHED, size="50Gi"))
    assert message == (
        "services.qwen.model.size: differs from the size of caches.m, which has the same weights (50Gi, 5Gi); "
        "remove it, or correct the other size"
    )
    assert sizes(rendered(cached(CACHED, size="5120Mi"))) == ["6Gi"]


def test_a_service_does_not_contradict_what_the_source_of_its_cache_tells():
    loaded = load(cached({"m": {"source": "s3://bucket/m"}}, size="50Gi"))
    (question,) = questions(loaded).asked.values()
    answered, _ = with_answers(loaded, questions(loaded), {question: Size(5 * 2**30, None)})
    with pytest.raises(ConfigError, match=r"services\.qwen\.model\.size: differs from the size of caches\.m"):
        planning.plan(answered, NAME)


def test_a_canary_on_its_services_claim_does_not_contradict_the_service():
    """See defects A28."""
    (message,) = told(tried({"type": "dedicated"}, model={"size": "60Gi"}))
    assert message == (
        "services.qwen.canary.model.size: differs from the size of services.qwen, which has the same weights "
        "(60Gi, 16Gi); remove it, or correct the other size"
    )
