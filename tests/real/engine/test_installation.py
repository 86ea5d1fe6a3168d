"""Installation of an engine from nothing, in the size and from the packages that it is announced with."""

import os
import subprocess
import sys

import pytest

from tests.support.cluster.deployments import ROOT
from tests.support.engine.listing import VERSION

pytestmark = [pytest.mark.engine, pytest.mark.timeout(3600)]
TOLERANCE = 0.1
"""Part by which the announced size may differ."""


def run(cache, *arguments):
    command = [sys.executable, "-m", "local", "engine", *arguments]
    environment = os.environ | {"INFERENCE_STACKS_CACHE": str(cache)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_engine_of_the_embedded_stack_is_installed_and_removed(tmp_path):
    environment = tmp_path / "engines" / f"vllm-{VERSION.name}"
    program = environment / "bin" / "vllm"
    assert run(tmp_path).endswith(f"vLLM {VERSION.name}: {program}\n")
    size = sum(path.stat().st_size for path in environment.rglob("*") if path.is_file() and not path.is_symlink())
    assert size / 1000**2 == pytest.approx(VERSION.installed, rel=TOLERANCE)
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip().endswith(f"{VERSION.name}+cpu")
    assert run(tmp_path) == f"vLLM {VERSION.name}: {program}\n"
    run(tmp_path, "--remove", VERSION.name)
    assert not environment.exists()
