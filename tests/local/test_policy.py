"""`python -m local policy` and the program by which the engine starts the pack, without an engine."""

import os
import subprocess
from pathlib import Path

import pytest

from local import policy
from local.errors import LocalError
from local.report import Report

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "policy" / "pulumi-analyzer-policy-inference-policy"


def test_the_engine_finds_the_pack_on_path_after_its_own_programs():
    variables = policy.environment(ROOT, Path("/p/python"), "/a:/b")
    assert variables == {"PATH": f"/a:/b:{ROOT}/policy", "INFERENCE_POLICY_PYTHON": "/p/python"}
    assert os.access(PROGRAM, os.X_OK)


def test_the_configuration_is_named_by_its_whole_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert policy.arguments(ROOT, None) == ["--policy-pack", f"{ROOT}/policy"]
    assert policy.arguments(ROOT, "c.json")[2:] == ["--policy-pack-config", f"{tmp_path}/c.json"]


def test_a_configuration_that_is_no_file_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(LocalError, match="is no file"):
        policy.run(Report(), tmp_path, config=str(tmp_path / "nothing"))


@pytest.mark.parametrize("linked", [False, True])
def test_the_program_starts_the_pack_with_its_python_and_the_engines_arguments(tmp_path, linked):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$PYTHONPATH" "$@"\n')
    python.chmod(0o700)
    program = PROGRAM
    if linked:
        program = tmp_path / "linked"
        program.symlink_to(PROGRAM)
    variables = {"PATH": os.defpath, policy.PYTHON_VARIABLE: str(python)}
    command = [str(program), "127.0.0.1:1", "a b"]
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{ROOT} -P -u -m policy 127.0.0.1:1 a b\n"
    del variables[policy.PYTHON_VARIABLE]
    refused = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "INFERENCE_POLICY_PYTHON: names no Python; set it to one" in refused.stderr
    checked = subprocess.run(["sh", "-n", str(PROGRAM)], check=False)
    assert checked.returncode == 0
