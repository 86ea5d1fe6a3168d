"""Tool and reasoning parsers of the shipped profiles."""

from pathlib import Path

import pytest
import yaml

from tests.support.engine import parsers

pytestmark = pytest.mark.engine

FLAGS = {"--tool-call-parser": "tool", "--reasoning-parser": "reasoning"}


def shipped():
    """Return kind and name of every parser that a shipped profile names."""
    names = set()
    for path in Path("catalogue").glob("*.yaml"):
        for profile in yaml.safe_load(path.read_text(encoding="utf-8"))["profiles"].values():
            for argument in profile["service"].get("engine", {}).get("args", ()):
                flag, _, name = argument.partition("=")
                if flag in FLAGS:
                    names.add((FLAGS[flag], name))
    return sorted(names)


def test_the_engine_knows_every_parser_of_a_shipped_profile():
    assert parsers.known(shipped()) == shipped()
    assert ("tool", "hermes") in shipped()
    assert parsers.known([("tool", "hermes"), ("tool", "no-such-parser"), ("reasoning", "hermes")]) == [
        ("tool", "hermes")
    ]
