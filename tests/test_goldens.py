"""Every shipped stack renders to a committed file that a person can review; the schema is the specs'."""

from pathlib import Path

import pytest

from cli import schema
from cli.render import render
from tests.stacks import SHIPPED


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_stack_renders_to_its_golden(path, golden):
    golden(Path("tests/goldens") / path.name.replace("Pulumi.", ""), render(str(path), None))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_rendering_is_deterministic(path):
    assert render(str(path), None) == render(str(path), None)


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
