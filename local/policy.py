"""`make policy`: the policy pack judges the stack of this checkout, in a preview and on its state.

The pack has a virtual environment of its own in the cache, because `pulumi-policy` needs an older protobuf than the
program. Nothing else is fetched, and no account of Pulumi is asked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from local import files, host, up, venv
from local.cluster import ControlPlane
from local.errors import LocalError
from local.tools import cache_directory, ensure

if TYPE_CHECKING:
    from local.engine import PulumiEngine
    from local.report import Report

PACK = "policy"
"""Folder of the pack in the project."""
PYTHON_VARIABLE = "INFERENCE_POLICY_PYTHON"
"""Variable with the Python of the pack, which the program that the engine starts reads."""
PREVIEW = ("preview", "--suppress-outputs", "--suppress-progress")
ANALYSIS = ("policy", "analyze")


def run(report: Report, project: Path = up.PROJECT, *, config: str | None = None) -> None:
    """Judge the stack, and print the engine's output. A stack that is not deployed is deployed first.

    `config` is the path of a file with levels and parameters of rules. Raises LocalError if a mandatory rule is
    violated, or if a step fails.
    """
    host.check(project)
    if config is not None and not Path(config).is_file():
        raise LocalError(f"{config} is no file; name one with levels and parameters in JSON")
    state = up.state_directory(project)
    if not ControlPlane(state / "cluster", {}).alive():
        up.up(report, project)
    python = install(project, report)
    with files.lock(state, refusal=up.BUSY.format(state=state)):
        tools = ensure(up.TOOLS, report)
        plane = ControlPlane(state / "cluster", tools)
        path = up.stack_engine(state, tools, plane, project, report).path
        variables = environment(project, python, path)
        engine = up.stack_engine(state, tools, plane, project, report, environment=variables)
        failures = [
            command[0] for command in (PREVIEW, ANALYSIS) if not _judge(engine, project, config, command, report)
        ]
    if failures:
        raise LocalError(f"pulumi {' and pulumi '.join(failures)} ended with an error; its output is above")


def install(project: Path, report: Report) -> Path:
    """Make or update the environment of the pack, and return its Python. Raises LocalError if pip fails."""
    requirements = project / PACK / venv.REQUIREMENTS
    return venv.setup_apart(files.private_directory(cache_directory()) / PACK, requirements, report)


def environment(project: Path, python: Path, path: str) -> dict[str, str]:
    """Return the variables with which an engine finds the pack: its program on PATH, after `path`, and its Python."""
    return {"PATH": os.pathsep.join((path, str(project / PACK))), PYTHON_VARIABLE: str(python)}


def arguments(project: Path, config: str | None) -> list[str]:
    """Return the arguments of `pulumi` that name the pack and its configuration."""
    pack = ["--policy-pack", str(project / PACK)]
    if config is None:
        return pack
    return [*pack, "--policy-pack-config", str(Path(config).resolve())]


def _judge(engine: PulumiEngine, project: Path, config: str | None, command: tuple[str, ...], report: Report) -> bool:
    """Run a command of the engine with the pack, print its output, and return whether no mandatory rule is violated."""
    report.say(f"pulumi {' '.join(command)}:")
    result = engine.run(*command, *arguments(project, config), check=False)
    lines = (up.user_text(line) for line in f"{result.stdout}{result.stderr}".splitlines())
    report.say("\n".join(f"  {line}" for line in lines if line is not None))
    return result.returncode == 0
