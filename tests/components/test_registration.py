"""The SDK's classes take what is rendered: a field that one of them spells otherwise would fail half-way through."""

import inspect
from operator import attrgetter

import pulumi_kubernetes as k8s
import pytest

from components import registration
from tests.support.stacks import SHIPPED, rendered, shipped
from tests.support.stacks.varied import VARIED

STACKS = {path.stem: shipped(path) for path in SHIPPED} | VARIED


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_every_built_in_object_has_only_fields_that_its_class_takes(stack):
    for one in rendered(stack):
        typed = registration._CLASSES.get(f"{one['apiVersion']}/{one['kind']}")
        if typed is None:
            assert set(one) == {"apiVersion", "kind", "metadata", "spec"}
            assert "." in one["apiVersion"], "a built-in kind without a class"
            continue
        taken = inspect.signature(attrgetter(typed)(k8s)._internal_init).parameters
        fields = {registration._ARGUMENTS.get(field, field) for field in one if field not in {"apiVersion", "kind"}}
        assert fields <= set(taken)
