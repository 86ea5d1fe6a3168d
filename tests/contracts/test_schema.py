"""The committed schema is generated from the specs, describes every property and takes every valid stack."""

from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest

from cli import schema
from models.load import ROOT
from tests.support.stacks import SHIPPED, shipped
from tests.support.stacks.varied import VARIED


@cache
def validator():
    return jsonschema_rs.validator_for(schema.schema())


@pytest.mark.parametrize("stack", [*map(shipped, SHIPPED), *VARIED.values()])
def test_the_schema_takes_a_valid_stack(stack):
    validator().validate({"config": {ROOT: stack}})


def test_the_committed_schema_is_the_specs(golden):
    golden(Path("schemas/stack.schema.json"), schema.text())


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
