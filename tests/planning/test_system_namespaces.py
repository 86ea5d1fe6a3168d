"""Namespaces of Kubernetes, which no stack may create."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, lines, plan, tree

CREATE = {"namespaceOptions": {"create": True}}
REMEDY = "write another, or namespaceOptions: {create: false}"


def refused(stack):
    with pytest.raises(ConfigError) as error:
        planning.plan(load(stack), NAME)
    return lines(error.value.problems, "error")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease", "kube-flannel"])
def test_a_namespace_of_kubernetes_is_never_created(name):
    """See defects B3."""
    what = f"is a namespace of Kubernetes, which no stack may create ({name}); {REMEDY}"
    assert refused(tree() | CREATE | {"namespace": name}) == [f"namespace: {what}"]
    stack = tree(qwen={"namespace": name}, bert={}) | CREATE
    assert refused(stack) == [f"services.qwen.namespace: {what}"]


def test_a_namespace_that_nobody_uses_or_that_is_not_created_may_be_one():
    assert plan(tree(qwen={"namespace": "models"}) | CREATE | {"namespace": "default"}).namespaces == ("models",)
    assert plan(tree() | {"namespace": "default"}).namespaces == ()
