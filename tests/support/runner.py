"""A runner of a GitHub workflow: it runs the lines of steps with the variables and files that the forge gives them.

What a step fetches comes from this machine: the interpreter's packages, and the engine among the tools.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local import processes

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "cli", "composition", "facts", "judging", "manifests", "migration", "models", "package", "planning", "policy",
    "reader",
)  # fmt: skip
"""Folders without which no command of `python -m cli` starts."""
PROGRAM = (*COMMANDS, "Pulumi.yaml", "__main__.py", "components", "requirements.txt", "schemas", "local", "upstream")
ENGINE = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-kubernetes")
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_PYTHON = f"""#!/bin/sh
test "$*" = "-m venv .venv" || exec "{sys.executable}" "$@"
mkdir -p .venv/bin
cp "{sys.prefix}/pyvenv.cfg" .venv/
ln -sfn "{sys.prefix}/lib" .venv/lib
ln -sf "{sys.executable}" .venv/bin/python
ln -sf "$TOOLS/pip" .venv/bin/pip
"""
_PIP = """#!/bin/sh
test "$*" = "install --quiet --require-hashes -r requirements.txt" && test -f requirements.txt
"""
_CURL = """#!/bin/sh
test "$*" = "-fsSL https://get.pulumi.com" && cat "$TOOLS/install"
"""
_INSTALL = """test "$1" = --version && test -n "$2" || exit 1
mkdir -p "$HOME/.pulumi" && ln -sfn "$TOOLS/engine" "$HOME/.pulumi/bin"
"""


class Runner:
    """A runner of the jobs of a workflow, in a folder with the program, which is a repository."""

    def __init__(
        self, folder: Path, workflow: Mapping[str, Any], tools: Mapping[str, Any], context: Mapping[str, str]
    ) -> None:
        """Make the folder. `context` has the values of expressions such as `github.base_ref`."""
        self.folder, self.home = folder / "project", folder / "home"
        self._workflow, self.context, self._tools = workflow, dict(context), folder / "tools"
        for each in (self.folder, self.home, self._tools / "engine", folder / "temporary"):
            each.mkdir(parents=True)
        for name in PROGRAM:
            (self.folder / name).symlink_to(ROOT / name)
        for name, text in (("python3", _PYTHON), ("pip", _PIP), ("curl", _CURL), ("install", _INSTALL)):
            (self._tools / name).write_text(text, encoding="utf-8")
            (self._tools / name).chmod(0o755)
        for name in ENGINE:
            _link(self._tools / "engine" / name, tools[name].path)
        self.output = ""
        """All that steps have written."""
        self._files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
        self.variables = {
            "HOME": str(self.home),
            "TOOLS": str(self._tools),
            "RUNNER_TEMP": str(folder / "temporary"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **{name: str(path) for name, path in self._files.items()},
        }

    def run_job(self, name: str) -> dict[str, int]:
        """Run all steps of a job, and return the exit code of each by its name.

        A step that fails ends the job, except for steps that run unless the job is cancelled.
        """
        codes = dict[str, int]()
        for path in self._files.values():
            path.write_text("", encoding="utf-8")
        for step in self._workflow["jobs"][name]["steps"]:
            if "run" in step and (not any(codes.values()) or "!cancelled()" in step.get("if", "")):
                codes[step["name"]] = self.run_step(name, step["name"])
        return codes

    def written(self, name: str) -> str:
        """Return what the latest job has written to a file of the runner, such as GITHUB_OUTPUT."""
        return self._files[name].read_text(encoding="utf-8")

    def shell(self, lines: str, *options: str, variables: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run lines as a step does, and return the exit code and the output."""
        added = self.written("GITHUB_PATH").split() if self._files["GITHUB_PATH"].exists() else []
        path = os.pathsep.join((*added, str(self._tools), os.environ["PATH"]))
        environment = {"PATH": path, **self.variables, **(variables or {})}
        command = processes.tied_command(["/bin/bash", "-e", *options, "-c", lines])
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def run_step(self, job: str, name: str) -> int:
        """Run the lines of a step, and return the exit code."""
        (step,) = (step for step in self._workflow["jobs"][job]["steps"] if step.get("name") == name)
        variables = dict[str, str]()
        for level in (self._workflow, self._workflow["jobs"][job], step):
            variables |= {name: self._value(str(text)) for name, text in level.get("env", {}).items()}
        options = ["-o", "pipefail"] if step.get("shell") == "bash" else []
        code, output = self.shell(step["run"], *options, variables=variables)
        self.output += output
        return code

    def _value(self, text: str) -> str:
        """Return a text with the values of its expressions."""
        facts = "facts.json" if (self.folder / "facts.json").exists() else ""
        known = {**self.context, "hashFiles('facts.json') != '' && 'facts.json' || ''": facts}
        return _EXPRESSION.sub(lambda found: known[found[1]], text)


def _link(path: Path, target: Path) -> None:
    """Put a tool beside others. Some of them look for each other in the folder of the file that they are."""
    try:
        path.hardlink_to(target.resolve())
    except OSError:
        path.symlink_to(target)
