"""The user's labels and annotations are on every object, and the recommended labels stay what they are."""

from manifests import about
from tests.support.stacks import plan, tree

USERS = {"team": "search", "app.kubernetes.io/name": "mine"}


def variant():
    return plan(tree(qwen={"labels": {"team": "search"}, "annotations": {"note": "a"}})).services[0].primary


def test_metadata_has_what_the_user_wrote_and_what_is_added():
    metadata = about.metadata(variant(), about.ROUTE, "qwen", {"more": "1"}, {"further": "b"})
    assert (metadata["name"], metadata["namespace"]) == ("qwen", "models")
    assert metadata["annotations"] == {"further": "b", "note": "a"}
    assert {"team": "search", "more": "1", "app.kubernetes.io/component": "route"}.items() <= metadata["labels"].items()


def test_cluster_scoped_objects_have_no_namespace():
    assert "namespace" not in about.cluster_metadata(variant(), about.PICKER, "reader")


def test_recommended_labels_stand_over_the_base_and_below_an_override():
    labels = about.object_labels(variant(), about.PICKER, base=USERS)
    assert labels["app.kubernetes.io/name"] == "qwen"
    overridden = about.object_labels(variant(), about.PICKER, base=USERS, override={"app.kubernetes.io/name": "own"})
    assert overridden["app.kubernetes.io/name"] == "own"
