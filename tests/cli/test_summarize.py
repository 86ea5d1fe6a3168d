"""The command prints the report of a log, and ends as the log says."""

import gc
import json
import runpy
import sys
from pathlib import Path

import pytest

from tests.support.events import log
from tests.support.stacks import tree

GOLDENS = Path("tests/cli/reports")


STACK_FILE = """config:
  inference-stacks:stack:
    namespace: models
    services:
      qwen: {model: {name: org/m, source: 'kit://registry.example/m:v1'}, accelerator: nvidia}
"""


def run(capsys, monkeypatch, *arguments):
    """Run the command in this process; return its exit code, output and errors."""
    monkeypatch.setattr(sys, "argv", ["cli", "summarize", *arguments])
    monkeypatch.setattr(gc, "disable", lambda: None)
    with pytest.raises(SystemExit) as end:
        runpy.run_module("cli", run_name="__main__")
    return end.value.code, *capsys.readouterr()


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a stack file and a log, and returns the arguments that name them."""

    def write(lines, text=STACK_FILE):
        (tmp_path / "Pulumi.prod.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "log").write_text("\n".join(lines), encoding="utf-8")
        return str(tmp_path / "Pulumi.prod.yaml"), "--events", str(tmp_path / "log")

    return write


def test_the_command_prints_a_report(capsys, monkeypatch, written):
    code, output, _ = run(capsys, monkeypatch, *written(log(None, tree(qwen={}))))
    assert code == 0
    assert output.startswith("### prod · 1 service changes · +1 nvidia\n")
    code, output, _ = run(capsys, monkeypatch, *written(log(None, tree(qwen={}))), "--format", "text")
    assert output.startswith("prod · 1 service changes · +1 nvidia\n")


QWEN = {"model": {"source": "hf://Qwen/Qwen3-8B", "maxModelLen": 8192}, "accelerator": "nvidia-l40s"}
LONGER = {**QWEN, "model": {**QWEN["model"], "maxModelLen": 32768}}


def test_the_command_says_what_a_change_takes_of_the_room_for_the_cache(capsys, monkeypatch, written):
    def edits(before, after):
        """Return what the report says of the pods of a service that changes, and of its fit."""
        stack = tree(qwen=after)
        text = json.dumps({"config": {"inference-stacks:stack": stack}})
        code, output, _ = run(capsys, monkeypatch, *written(log(tree(qwen=before), stack), text), "--format", "text")
        assert code == 0
        (line,) = [line for line in output.splitlines() if line.startswith("! qwen-decode · ")]
        return line.split(" · ")[1].split(", ")

    taken = "headroom of a device 22.0Gi → 18.6Gi (20 → 5 × 32768 tokens)"
    assert edits(QWEN, LONGER) == ["--max-model-len 8192 → 32768", taken]
    assert edits(LONGER, QWEN) == ["--max-model-len 32768 → 8192"]


def test_a_mistake_that_the_run_has_said_is_reported_and_any_other_ends_the_command(capsys, monkeypatch, written):
    mistaken = STACK_FILE.replace("accelerator", "acelerator")
    event = {"severity": "error", "message": "The configuration is mistaken:\n  - x"}
    code, output, _ = run(capsys, monkeypatch, *written([json.dumps({"diagnosticEvent": event})], mistaken))
    assert (code, "1 error · no service changes" in output, "- `x` - x" in output) == (0, True, True)
    code, output, errors = run(capsys, monkeypatch, *written([], mistaken))
    assert (code, output) == (2, "")
    assert "did you mean accelerator?" in errors
    assert errors.startswith("--events: has neither a step nor an error of a run; ")


@pytest.mark.parametrize("lines", [[], [""], ["{}"], [json.dumps({"summaryEvent": {}})]])
@pytest.mark.parametrize("options", [(), ("--drift",)])
def test_a_log_without_a_run_is_no_report(capsys, monkeypatch, written, lines, options):
    """See defects H7."""
    code, output, errors = run(capsys, monkeypatch, *written(lines), *options)
    remedy = "name the file that pulumi preview --event-log wrote"
    assert (code, output, errors) == (2, "", f"--events: has neither a step nor an error of a run; {remedy}\n")


def test_a_log_that_cannot_be_read_is_named(capsys, monkeypatch, written):
    remedy = "name the file that pulumi preview --event-log wrote"
    code, _, errors = run(capsys, monkeypatch, *written(["{"]))
    assert (code, errors) == (2, f"--events: line 1 is no event of the engine; {remedy}\n")
    stack, option, _ = written([])
    code, _, errors = run(capsys, monkeypatch, stack, option, "absent")
    assert (code, errors) == (2, f"--events: could not be read (FileNotFoundError); {remedy}\n")


def test_drift_ends_with_7_and_its_absence_with_0(capsys, monkeypatch, written):
    metadata = {
        "op": "refresh",
        "urn": "urn:pulumi:prod::p::kubernetes:v1:Service::qwen",
        "type": "kubernetes:v1:Service",
    }
    content = {"custom": True, "inputs": {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "qwen"}}}
    lines = [
        json.dumps({event: {"metadata": {**metadata, "op": op, "old": content, "new": new}}})
        for event, op, new in (("resourcePreEvent", "refresh", content), ("resOutputsEvent", "delete", None))
    ]
    code, output, _ = run(capsys, monkeypatch, *written(lines), "--drift")
    assert (code, output) == (7, "### 1 object changed by hand\n\n- `-` Service qwen is gone\n")
    code, output, _ = run(capsys, monkeypatch, *written(lines[:1]), "--drift")
    assert (code, output) == (0, "### as deployed\n")


LOGS = Path("tests/cli/logs")
"""Logs of engine 3.230 and provider 4.25, without the steps on objects that no report names, and without outputs."""


@pytest.mark.parametrize(
    ("report", "log_of", "drifted"),
    [
        ("change", "change", ()),
        ("mistake", "mistake", ()),
        ("drift", "drift", ("--drift",)),
        ("refresh", "refresh", ("--drift",)),
        ("refreshed", "refresh", ()),
    ],
)
def test_the_report_of_a_log_that_the_engine_wrote(golden, capsys, monkeypatch, report, log_of, drifted):
    arguments = [str(LOGS / "Pulumi.dev.yaml"), "--events", str(LOGS / f"{log_of}.jsonl"), "--format", "text", *drifted]
    code, output, _ = run(capsys, monkeypatch, *arguments)
    assert code == (7 if drifted else 0)
    assert "hunter2" not in output
    golden(GOLDENS / f"{report}.txt", output)
