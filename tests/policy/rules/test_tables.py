"""The tables that the pack carries are those of the program."""

from pathlib import Path

import pytest

from planning.releases import channel, channels
from policy.rules import tables

COPIES = {
    "advisories": "planning/advisories/vllm.yaml",
    "credentials": "models/credentials.yaml",
    "engine_images": "planning/releases/engines/images.yaml",
    "pod_security": "judging/pod_security.yaml",
}


@pytest.mark.parametrize(("name", "source"), COPIES.items())
def test_a_table_is_a_copy_of_the_programs_table(name, source):
    assert Path(f"policy/rules/tables/{name}.yaml").read_text() == Path(source).read_text(), f"cp {source} there"


def test_the_release_channels_are_those_of_the_program():
    expected = {name: {"retired": channel(name).retired is not None} for name in channels()}
    assert tables.read("releases")["channels"] == expected
    assert {row["retired"] for row in expected.values()} == {True, False}
