"""Manifests have no empty fields, and one order, however their values were written."""

import json

import pytest

from manifests import objects
from planning.ground import parts
from planning.ground.order import Id
from tests.support.stacks import as_rendered, rendered, tree

KEYS = ["zone", "app", "team"]
CANARY = {"weight": 10, "engine": {"maxNumSeqs": 64}}
CACHE = {"caches": {"m": {"source": "s3://bucket/m", "size": "1Gi"}}}


def text(keys):
    """Return everything that a stack renders, with the keys of every mapping in the order of the manifests."""
    values = dict.fromkeys(keys, "one")
    pod = {"labels": values, "annotations": values, "nodeSelector": values}
    service = {"labels": values, "annotations": values, "pod": pod, "endpointPicker": {"pod": pod}, "canary": CANARY}
    stack = tree(qwen={**service, "route": {"annotations": values}}) | CACHE | {"labels": values}
    stack["observability"] = {"metrics": {"type": "prometheus-operator", "labels": values}}
    stack["namespaceOptions"] = {"create": True}
    return json.dumps(rendered(stack), indent=1)


def test_equal_labels_render_equal_text():
    """See defects C16."""
    assert text(KEYS) == text(sorted(KEYS)) == text(sorted(KEYS, reverse=True))


@pytest.mark.parametrize(
    ("api", "kind", "expected"),
    [("v1", "Service", "kubernetes:core/v1:Service"), ("apps/v1", "Deployment", "kubernetes:apps/v1:Deployment")],
)
def test_the_type_of_an_object_without_a_group_is_in_core(api, kind, expected):
    assert objects.resource_type({"apiVersion": api, "kind": kind}) == expected


def test_an_object_knows_its_place_and_its_api():
    item = as_rendered({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}})
    assert item.place == ("apps", "Deployment", "b", "a")
    assert item.api == "apps/v1/Deployment"
    assert item.id == Id("qwen", parts.DECODE.workload)
    cluster_scoped = as_rendered({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}})
    assert cluster_scoped.place == ("", "Namespace", "", "b")


def test_metadata_and_compact_leave_out_what_is_empty():
    assert objects.metadata("a", None, {}) == {"name": "a"}
    assert objects.metadata("a", "b", {"l": "1"}, {"z": "1", "y": "2"}) == {
        "name": "a",
        "namespace": "b",
        "labels": {"l": "1"},
        "annotations": {"y": "2", "z": "1"},
    }
    assert objects.compact({"a": None, "b": {}, "c": [], "d": 0, "e": False, "f": ""}) == {"d": 0, "e": False, "f": ""}
