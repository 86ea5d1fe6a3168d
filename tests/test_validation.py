"""Strict validation: what Kubernetes would drop or refuse never reaches registration."""

import copy

import pytest

from manifests import validation
from tests.stacks import find, rendered, tree


def kinds():
    stack = tree() | {"namespaceOptions": {"create": True}, "interceptor": {"mode": "label", "namespace": "metering"}}
    return {one["kind"]: one for one in rendered(stack)}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_a_misspelt_field_of_any_kind_is_refused(kind):
    one = copy.deepcopy(dict(kinds()[kind]))
    validation.check([one])
    field = next(name for name in ("spec", "rules", "data", "subjects", "metadata") if name in one)
    inner = one[field][0] if isinstance(one[field], list) else one[field] if field == "spec" else one
    inner["misspelt"] = "x"
    with pytest.raises(validation.SchemaError, match="misspelt"):
        validation.check([one])


def test_a_misspelt_field_deep_inside_is_refused_with_its_path():
    deployment = copy.deepcopy(find(rendered(tree()), "Deployment", "qwen-decode"))
    probe = deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    probe["periodSecond"] = probe.pop("periodSeconds")
    with pytest.raises(validation.SchemaError, match=r"spec\.template\.spec\.containers\.0\.readinessProbe"):
        validation.check([deployment])


def test_a_kind_without_a_schema_is_refused():
    one = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}}
    with pytest.raises(validation.SchemaError, match="no schema is known"):
        validation.check([one])


def test_a_custom_kind_is_not_mistaken_for_a_built_in_one_of_the_same_name():
    one = {"apiVersion": "networking.example.com/v1", "kind": "Ingress", "metadata": {"name": "x"}}
    with pytest.raises(validation.SchemaError, match="no schema is known"):
        validation.check([one])
