"""Namespaces that are missing, are being deleted, or belong to somebody else."""

from dataclasses import replace

import pytest

from planning.ground import labels
from planning.ground.inventory import (
    LiveNamespace,
    Namespaces,
)
from tests.support.stacks import NAME, lines, tree
from tests.support.stacks.dashboards import drawn
from tests.support.stacks.whole_clusters import composed, whole

OURS = {"app.kubernetes.io/part-of": "inference-stacks", "app.kubernetes.io/managed-by": "pulumi"}
CREATED = tree() | {"namespaceOptions": {"create": True}}
SOMEBODYS = "namespaceOptions.create: namespace models belongs to somebody else; destroying this stack would delete it"


@pytest.mark.parametrize(
    ("stack", "live", "expected"),
    [
        (CREATED, None, []),
        (CREATED, LiveNamespace(OURS, {}), []),
        (CREATED, LiveNamespace({}, {labels.STACK: str(NAME)}), []),
        (CREATED, LiveNamespace({}, {labels.STACK: "a/b/c"}), [SOMEBODYS.replace("somebody else", "stack a/b/c")]),
        (CREATED, LiveNamespace({}, {}), [SOMEBODYS]),
        (CREATED, LiveNamespace(OURS, {}, terminating=True), ["namespace: this namespace is being deleted (models)"]),
        (tree(), LiveNamespace({}, {}), []),
        (tree(), LiveNamespace({}, {}, terminating=True), ["namespace: this namespace is being deleted (models)"]),
    ],
)
def test_a_namespace_that_is_somebody_elses_is_never_created(stack, live, expected):
    """See defects B3."""
    facts = replace(whole(stack), namespaces=Namespaces({} if live is None else {"models": live}))
    found = lines(composed(stack, facts).preflight, "error")
    assert [line.partition(" and all its objects")[0].partition("; wait")[0] for line in found] == expected


def test_the_namespace_of_dashboards_must_exist():
    stack = drawn({"namespace": "monitoring"}, qwen={})
    facts = replace(whole(stack), namespaces=Namespaces({"models": LiveNamespace({}, {})}))
    (missing,) = lines(composed(stack, facts).preflight, "error")
    assert missing.startswith(
        "observability.dashboards.namespace: the cluster has no namespace of this name (monitoring)"
    )
