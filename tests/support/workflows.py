"""Workflows of GitHub: reading them, and the judge of their syntax."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from local.tools import Tool


def read(file: Path) -> dict[Any, Any]:
    """Return a workflow. YAML 1.1 reads its key `on` as true."""
    return yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)


def linted(tools: Mapping[str, Tool], file: Path) -> list[str]:
    """Return what actionlint says of a workflow. Linters of shells are no tools of this project."""
    command = [str(tools["actionlint"].path), "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def steps(workflow: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return the steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job.get("steps", ())]
