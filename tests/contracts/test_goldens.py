"""Every shipped stack renders to a committed file that a person can review."""

from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.support import commands
from tests.support.stacks import SHIPPED


@cache
def rendering(path):
    return commands.rendering(path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_stack_renders_to_its_golden(path, golden):
    golden(Path("tests/contracts/goldens") / path.name.replace("Pulumi.", ""), rendering(path))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_rendering_is_deterministic(path):
    assert commands.rendering(path) == rendering(path)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_rendering_repeats_what_stands_twice(path):
    tokens = yaml.scan(rendering(path), Loader=yaml.CSafeLoader)
    assert [token for token in tokens if isinstance(token, yaml.AnchorToken | yaml.AliasToken)] == []
