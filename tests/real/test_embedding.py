"""The program in docs/embedding.md, run as it is written there: two inference stacks with equal services."""

import re
from pathlib import Path

import pytest

from tests.support.cluster.deployments import ROOT, Deployed, told
from tests.support.cluster.server import read

pytestmark = pytest.mark.real

TEXT = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
PROGRAM = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]
KINDS = "deployments,services,inferencepools,httproutes,configmaps,roles,rolebindings,serviceaccounts"
MISTAKEN = PROGRAM.replace('"services": {"qwen": qwen}}', '"services": {"qwen": {**qwen, "replica": 2}}}')


@pytest.fixture
def embedding(tools, plane, packages, tmp_path):
    """Make the project of the page, with a clone of this repository beside the program."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "Pulumi.yaml").write_text("name: teams\nruntime: python\n")
    (source / ".venv").symlink_to(ROOT / ".venv")
    deployment = Deployed(tmp_path / "deployment", tools, plane, packages, program=source)
    (deployment.project / "inference-stacks").symlink_to(ROOT)
    (deployment.project / "Pulumi.dev.yaml").write_text("config: {}\n")
    yield deployment
    deployment.discard()


def write(deployment, text):
    Path(deployment.project / "__main__.py").write_text(text)


def objects(plane):
    """Return kind and name of what the program made in each namespace."""
    found = {team: read(plane, KINDS, team) for team in ("search", "chat")}
    mark = "inference-stacks.io/stack"
    return {
        team: sorted(
            (item["kind"], item["metadata"]["name"])
            for item in items
            if item["metadata"].get("labels", {}).get(mark) == "teams.dev"
        )
        for team, items in found.items()
    }


def test_two_stacks_in_one_program_come_up_and_go(embedding, plane):
    assert len(PROGRAM.strip().splitlines()) <= 13
    write(embedding, MISTAKEN)
    done = embedding.engine.run("up", "--yes", "--skip-preview", check=False)
    assert done.returncode != 0
    assert "Traceback" not in told(done)
    for team in ("search", "chat"):
        assert f"- {team}.services.qwen.replica: unknown key (replica); did you mean replicas?" in told(done)
    assert objects(plane) == {"search": [], "chat": []}
    write(embedding, PROGRAM)
    embedding.up()
    outputs = embedding.outputs()
    assert {team: outputs[team]["services"]["qwen"]["namespace"] for team in outputs} == {
        "search": "search",
        "chat": "chat",
    }
    made = objects(plane)
    assert made["search"] == made["chat"] != []
    embedding.assert_unchanged()
    alone = PROGRAM.replace('("search", "chat")', '("search",)')
    write(embedding, alone)
    refused = embedding.engine.run("up", "--yes", "--skip-preview", check=False)
    line = (
        "services.qwen: this run would end all of chat/qwen (1 pod with 1 device): the configuration does not have it; "
        "if its key was renamed, write name: qwen below the new key, or write allow: [removal] for one run"
    )
    assert (refused.returncode != 0, f"- {line}" in told(refused)) == (True, True), told(refused)
    assert objects(plane) == made
    write(embedding, alone.replace('"namespaceOptions"', '"allow": ["removal"], "namespaceOptions"'))
    assert set(embedding.operate().done.values()) == {"delete"}
    assert objects(plane) == {"search": made["search"], "chat": []}
    embedding.destroy()
    assert objects(plane) == {"search": [], "chat": []}
