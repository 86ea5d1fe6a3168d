"""Classes and Secrets that pods and claims name."""

from dataclasses import replace

from planning.ground.inventory import (
    PriorityClasses,
    StorageClasses,
)
from tests.support.stacks import lines, tree
from tests.support.stacks.whole_clusters import PLACED, PULLED, STORED, composed, whole


def test_a_claim_without_a_class_needs_a_default_one():
    stack = tree(qwen={**PULLED, "storage": {"type": "dedicated"}})
    facts = replace(whole(stack), storage_classes=StorageClasses({"slow": False, "tape": False}))
    assert lines(composed(stack, facts).preflight, "error") == [
        (
            "services.qwen.storage: takes the default StorageClass, but the cluster has none; set storageClassName to "
            "one of slow, tape"
        )
    ]
    facts = replace(facts, storage_classes=StorageClasses({"slow": True}))
    assert lines(composed(stack, facts).preflight, "error") == []


def test_what_services_inherit_is_told_once_where_it_is_written():
    stack = tree(qwen={}, bert={}) | {"defaults": PLACED, "storageClassName": "fast"}
    stack["services"] = {key: {**service, **STORED, **PULLED} for key, service in stack["services"].items()}
    for service in stack["services"].values():
        service["storage"] = {"type": "dedicated"}
    facts = replace(whole(stack), priority_classes=PriorityClasses({}), storage_classes=StorageClasses({}))
    found = lines(composed(stack, facts).preflight, "error")
    assert [line.partition(":")[0] for line in found] == ["storageClassName", "defaults.pod.priorityClassName"]
