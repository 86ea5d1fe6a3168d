"""Differences between pods, without values that may be credentials."""

from judging.report import edits


def workload(annotations=None, **container):
    containers = [{"name": "vllm", "image": "registry.example/vllm:v1", **container}]
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": containers}}
    return {"kind": "Deployment", "spec": {"template": template}}


def told(before, after):
    return edits.edits("Deployment", workload(**before), workload(**after))


def test_an_image_of_the_same_repository_is_told_by_its_tag():
    assert told({}, {"image": "registry.example/vllm:v2"}) == ("image v1 → v2",)


def test_an_image_that_keeps_its_tag_is_told_by_its_digest():
    first, second = (f"registry.example/vllm:v1@sha256:{letter * 64}" for letter in "ab")
    assert told({}, {"image": first}) == ("image v1 → v1@sha256:aaaaaaaaaaaa",)
    assert told({"image": first}, {"image": second}) == ("image v1@sha256:aaaaaaaaaaaa → v1@sha256:bbbbbbbbbbbb",)
    assert told({"image": first}, {"image": "registry.example/vllm:v2"}) == ("image v1 → v2",)
    assert told({}, {}) == ()


def test_a_variable_and_an_annotation_are_told_without_their_values():
    secret = "hunter2"
    after = {"env": [{"name": "TOKEN", "value": secret}], "annotations": {"note": secret}}
    found = told({}, after)
    assert found == ("variable TOKEN", "annotations of pods")
    assert secret not in str(found)


def test_resources_and_what_has_no_words_are_told():
    assert told({}, {"resources": {"limits": {"cpu": "1"}}}) == ("resources",)
    assert told({}, {"stdin": True}) == ("pods",)
