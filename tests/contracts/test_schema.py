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


def test_every_property_of_the_schema_is_described():
    definitions = schema.schema()["$defs"].values()
    missing = [
        f"{one['title']}.{name}"
        for one in definitions
        for name, field in one.get("properties", {}).items()
        if "description" not in field
    ]
    assert missing == []
