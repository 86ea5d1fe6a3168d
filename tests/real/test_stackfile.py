"""The stack file, read by the real engine and by the command line: both see one tree."""

import json

import pytest

from cli import stackfile
from local.engine import PulumiEngine
from local.report import Report
from tests.support.stacks.yaml_values import VALUES

pytestmark = pytest.mark.real


def test_engine_and_command_line_read_every_value_alike(tools, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: inference-stacks\nruntime: python\n", encoding="utf-8")
    lines = "".join(f"    k{number}: {written}\n" for number, written in enumerate(VALUES))
    file = project / "Pulumi.dev.yaml"
    file.write_text(f"config:\n  inference-stacks:stack:\n{lines}", encoding="utf-8")
    (tmp_path / "kubeconfig").write_text("{}", encoding="utf-8")
    engine = PulumiEngine(tmp_path / "engine", tools, tmp_path / "kubeconfig", project, "dev", report=Report())
    engine.ensure_stack()
    engines = json.loads(engine.run("config", "get", "stack").stdout)
    ours = stackfile.parse(file).tree
    assert {key: json.dumps(value) for key, value in ours.items()} == {
        key: json.dumps(value) for key, value in engines.items()
    }
