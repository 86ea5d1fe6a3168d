"""The files that a stack extends: each is opened once in a run, whoever asks for the platform or the layers."""

import asyncio
import json
from collections import Counter
from types import SimpleNamespace

import pulumi
import pytest

from components import read_platform
from composition import Composition, Given, compose
from composition.sources import Configuration
from facts import regular_files
from planning.ground.cluster_facts import NOTHING_READ
from tests.support import program
from tests.support.stacks import GATEWAY, NAME, tree

FILES = {
    "base.yaml": {"extends": ["lowest.yaml"], "cluster": {"name": "prod"}},
    "lowest.yaml": {"storageClassName": "shared"},
}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Run in a folder with base files, and count how often each of them is opened."""
    counter, read = Counter(), regular_files.text
    for name, content in FILES.items():
        (tmp_path / name).write_text(json.dumps(content))

    def text(path, *arguments, **options):
        counter[path.name] += 1
        return read(path, *arguments, **options)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(regular_files, "text", text)
    return counter


def test_the_program_opens_each_base_file_once(opened):
    assert program.run(tree() | {"extends": ["base.yaml"]})
    assert opened == dict.fromkeys(FILES, 1)


def test_each_base_file_is_opened_once_for_a_stack_on_a_platform(opened, monkeypatch):
    details = SimpleNamespace(value={"contractVersion": 1, "gateway": GATEWAY}, secret_value=None)
    reference = SimpleNamespace(get_output_details=lambda _: asyncio.sleep(0, details))
    monkeypatch.setattr(pulumi, "StackReference", lambda _: reference)
    named = {"platform": {"stack": "acme/platform/prod"}, "extends": ["base.yaml"]}
    configuration = Configuration({key: value for key, value in tree().items() if key != "gateway"} | named)
    outputs = asyncio.run(read_platform(configuration))
    assert isinstance(compose(configuration, Given(NOTHING_READ), NAME, platform=outputs), Composition)
    assert opened == dict.fromkeys(FILES, 1)
