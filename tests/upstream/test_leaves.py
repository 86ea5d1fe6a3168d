"""Lists of the leaves of others' schemas."""

from typing import Any

import pytest

from upstream import leaves

POD = {"properties": {"containers": {"items": {"type": "string"}}, "nodeSelector": {}, "tolerations": {}}}


def _crd(properties: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": properties}}}]}}


def test_a_path_says_items_and_values_of_maps() -> None:
    """A map, a list of objects, a number or text, and an object without properties."""
    definition = _crd(
        {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "rules": {"type": "array", "items": {"properties": {"port": {"x-kubernetes-int-or-string": True}}}},
            "config": {"type": "object"},
        }
    )
    assert leaves.of_crd(definition, "v1") == {
        "labels.*": "string",
        "rules[].port": "int-or-string",
        "config": "object",
    }


def test_the_spec_of_a_pod_is_one_leaf_with_a_list_of_its_own() -> None:
    """Pods have the same leaves in every definition."""
    definition = _crd({"template": POD, "worker": POD})
    assert leaves.of_crd(definition, "v1") == {"template": "PodSpec", "worker": "PodSpec"}
    assert leaves.of_pod(definition, "v1") == {"containers[]": "string", "nodeSelector": "any", "tolerations": "any"}


def test_a_missing_version_or_pod_is_an_error() -> None:
    """An empty list would prove nothing."""
    with pytest.raises(ValueError, match="no version v2"):
        leaves.of_crd(_crd({}), "v2")
    with pytest.raises(ValueError, match="pod's spec"):
        leaves.of_pod(_crd({}), "v1")


def test_values_that_only_templates_read_are_leaves() -> None:
    """The schema of a chart leaves out what is not in its values."""
    schema = {"properties": {"decode": {"properties": {"replicas": {"type": "integer"}}}, "multinode": {}}}
    templates = [
        "{{ .Values.decode.strategy }} {{ .Values.decode.replicas }}",
        "{{ .pdSpec.volumes }} {{ .Values.decode }}",
    ]
    assert leaves.of_chart(schema, templates) == {
        "decode.replicas": "integer",
        "decode.strategy": "any",
        "decode.volumes": "any",
        "multinode": "any",
        "prefill.volumes": "any",
    }
