"""Grants lie in the namespace that they open, and name the namespaces that they open it to."""

from tests.support.stacks import exactly, rendered, tree


def test_a_mirror_is_granted_in_its_own_namespace_to_the_namespaces_of_the_routes_that_copy_to_it():
    mirror = {"route": {"mirror": {"service": "next"}}}
    stack = tree(
        qwen=mirror,
        bert={"namespace": "other", **mirror},
        gemma={"namespace": "trials", **mirror},
        next={"namespace": "trials"},
    )
    grant = exactly(rendered(stack), "ReferenceGrant", "next-mirror")
    assert grant["metadata"]["namespace"] == "trials"
    assert [origin["namespace"] for origin in grant["spec"]["from"]] == ["models", "other"]
