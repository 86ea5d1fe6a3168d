"""Objectives and rewrites name the pool that reads them."""

from manifests import requests
from planning.ground import parts
from tests.support.stacks import plan, tree

POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}


def rendered(**service):
    return {item.suffix: item for item in requests.objects(plan(tree(qwen=service)).services[0].primary)}


def test_each_objective_is_an_object_with_its_priority():
    made = rendered(objectives={"batch": {"priority": -1}, "chat": {"priority": 0}})
    assert {suffix: item.manifest["spec"] for suffix, item in made.items()} == {
        "objective.batch": {"priority": -1, "poolRef": POOL},
        "objective.chat": {"priority": 0, "poolRef": POOL},
    }
    assert {item.id.qualifier for item in made.values()} == {"batch", "chat"}


def test_all_rewrites_are_one_object_called_like_the_pool():
    rewrites = [
        {"model": "latest", "targets": [{"model": "org/model", "weight": 3}]},
        {"model": "old", "targets": [{"model": "org/model"}]},
    ]
    (item,) = rendered(rewrites=rewrites).values()
    assert item.id.part is parts.MODEL_REWRITE
    assert item.manifest["metadata"]["name"] == "qwen"
    first, second = item.manifest["spec"]["rules"]
    assert first["matches"] == [{"model": {"type": "Exact", "value": "latest"}}]
    assert first["targets"] == [{"modelRewrite": "org/model", "weight": 3}]
    assert second["matches"][0]["model"]["value"] == "old"


def test_without_either_there_is_none():
    assert rendered() == {}
