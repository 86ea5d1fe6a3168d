"""The committed schema is generated from the specs, describes every property and takes every valid stack."""

from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest

from cli import schema, stackfile
from models import platform
from models.config_keys import ROOT
from tests.support.stacks import SHIPPED, shipped
from tests.support.stacks.varied import VARIED


@cache
def validator():
    return jsonschema_rs.validator_for(schema.schema())


@pytest.mark.parametrize("stack", [*map(stackfile.read, SHIPPED), *VARIED.values()])
def test_the_schema_takes_a_valid_stack(stack):
    validator().validate({"config": {ROOT: stack}})


@pytest.mark.parametrize("kind", schema.KINDS)
def test_a_committed_schema_is_the_specs(golden, kind):
    golden(Path("schemas") / f"{kind}.schema.json", schema.text(kind))


@cache
def base_validator():
    registry = jsonschema_rs.Registry([("stack.schema.json", schema.schema())])
    return jsonschema_rs.validator_for(schema.KINDS["base"](), registry=registry, base_uri="base.schema.json")


@pytest.mark.parametrize("stack", [*map(shipped, SHIPPED), *VARIED.values()])
def test_the_schema_takes_every_part_of_a_stack_in_a_base_file(stack):
    for key, value in stack.items():
        base_validator().validate({key: value, "release": None})
        validator().validate({"config": {ROOT: {"extends": ["stacks/base.yaml"], key: value}}})


def test_a_file_that_extends_another_may_leave_out_and_remove_what_that_says():
    above = {"extends": ["stacks/base.yaml"], "caches": {"m": {"retain": True}}, "gateway": None}
    services = {"qwen": {"replicas": None, "engine": {"env": None}, "canary": {"replicas": 2}}, "bert": None}
    for valid in (above, above | {"services": services}):
        validator().validate({"config": {ROOT: valid}})
        assert not validator().is_valid({"config": {ROOT: valid | {"servces": {}}}})
        assert not validator().is_valid({"config": {ROOT: {k: v for k, v in valid.items() if k != "extends"}}})


def test_a_null_fits_only_above_a_layer_that_it_may_remove():
    valid = shipped(SHIPPED[0])
    keys = schema.schema()["properties"]["config"]["properties"][ROOT]["properties"].keys()
    keys -= {"extends"}
    for key in keys - {*platform.KEYS}:
        assert not validator().is_valid({"config": {ROOT: valid | {key: None}}}), key
    for key in keys:
        above = {"extends": ["stacks/base.yaml"], key: None}
        assert validator().is_valid({"config": {ROOT: above}}), key


def properties(node, at=""):
    """Yield path and schema of every property at any depth."""
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key == "properties":
            for name, field in inner.items():
                yield f"{at}.{name}", field
                yield from properties(field, f"{at}.{name}")
        elif key not in {"default", "examples"}:
            yield from properties(inner, f"{at}.{key}" if key in {"$defs", "if", "else"} or at == ".$defs" else at)


def test_every_property_of_the_schema_is_described():
    """See defects C17."""
    described = {
        path: field.get("description") for path, field in properties(schema.schema()) if isinstance(field, dict)
    }
    exempt = {path for path in described if path.startswith(".config.inference-stacks:stack.else")}
    assert [path for path, text in described.items() if not text and path not in exempt] == []
    assert {".config", ".config.inference-stacks:stack.namespaceOptions", ".$defs.Checks.preflight"} <= described.keys()


def test_a_misspelt_key_of_the_namespace_does_not_fit_the_schema():
    """See defects B5."""
    stack = {"config": {ROOT: shipped(SHIPPED[0]), "kubernetes:context": "prod"}}
    validator().validate(stack)
    stack["config"]["inference-stacks:kubeconfig"] = {"secure": "AAAB"}
    validator().validate(stack)
    stack["config"]["inference-stacks:kubeconfg"] = {"secure": "AAAB"}
    assert not validator().is_valid(stack)
