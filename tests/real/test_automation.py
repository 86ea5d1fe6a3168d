"""The commands of docs/automation.md, run as they are written there, by the Automation API and the real engine."""

import re
import shlex
import subprocess

import pytest

from tests.support.cluster.deployments import ROOT, found, in_namespace, model

pytestmark = pytest.mark.real

PAGE = (ROOT / "docs/automation.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\.venv/bin/python examples/automation\.py .*$", PAGE, re.MULTILINE)
NAMESPACE = "automated"
SERVICE = {"model": model(1), "endpointPicker": {"enabled": False}}
WITHOUT_POLICIES = in_namespace(NAMESPACE, qwen=SERVICE)
STACK = WITHOUT_POLICIES | {"networkPolicies": {}}
MISTAKEN = STACK | {"services": {"qwen": {**STACK["services"]["qwen"], "replica": 2}}}


@pytest.fixture
def run(deploy):
    """Return a function that runs a line of the page for a deployment, and the deployment."""
    deployment = deploy(STACK)
    deployment.engine.ensure_stack()
    (deployment.engine.workspace / "examples").symlink_to(ROOT / "examples")

    def new(line):
        command = shlex.split(line)
        folder = deployment.engine.workspace
        environment = deployment.engine._environment()
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return new, deployment


def test_a_program_previews_deploys_reads_and_destroys_a_stack(run, plane):
    new, deployment = run
    preview, up, outputs, destroy = LINES
    assert [line.rpartition(" ")[2] for line in LINES] == ["preview", "up", "outputs", "destroy"]
    code, output = new(preview)
    assert code == 0, output
    assert re.fullmatch(r"\{'create': \d+\}\n", output), output
    assert found(plane, "deployments", NAMESPACE) == []
    code, output = new(up)
    assert (code, output) == (0, "succeeded\n")
    assert {item["metadata"]["name"] for item in found(plane, "deployments", NAMESPACE)} == {"qwen-decode"}
    assert new(outputs) == (0, "qwen /automated/qwen\n")
    deployment.write(MISTAKEN)
    deployment.engine.ensure_stack()
    code, output = new(up)
    assert (code, "services.qwen.replica: unknown key (replica); did you mean replicas?" in output) == (1, True), output
    deployment.write(WITHOUT_POLICIES)
    deployment.engine.ensure_stack()
    code, output = new(up)
    assert code == 1
    assert "the run would lose objects {'delete': " in output, output
    code, output = new(destroy)
    assert (code, output) == (0, "succeeded\n")
    assert found(plane, "deployments", NAMESPACE) == []
