"""Every shipped stack renders to a committed file that a person can review; the schema is the specs'."""

from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from cli import schema
from cli.render import render
from models.load import ROOT
from tests.support.stacks import SHIPPED, shipped
from tests.support.stacks.varied import VARIED


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_stack_renders_to_its_golden(path, golden):
    golden(Path("tests/contracts/goldens") / path.name.replace("Pulumi.", ""), render(str(path), None))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_rendering_is_deterministic(path):
    assert render(str(path), None) == render(str(path), None)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_rendering_repeats_what_stands_twice(path):
    tokens = yaml.scan(render(str(path), None))
    assert [token for token in tokens if isinstance(token, yaml.AnchorToken | yaml.AliasToken)] == []


@pytest.mark.parametrize("stack", [*map(shipped, SHIPPED), *VARIED.values()])
def test_the_schema_takes_a_valid_stack(stack):
    jsonschema_rs.validator_for(schema.schema()).validate({"config": {ROOT: stack}})


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
