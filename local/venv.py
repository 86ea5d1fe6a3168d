"""The virtual environment of the project, installed from pinned and hashed requirements."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from local import files, processes
from local.errors import LocalError
from local.tools import cache_directory

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from local.report import Report

REQUIREMENTS = "requirements.txt"
"""Requirements of the program."""
DEVELOPMENT = "requirements-dev.txt"
"""Requirements of tests and linters. The file includes `REQUIREMENTS`."""
STAMP = "installed"
UNFINISHED = "unfinished"
CREATE_SECONDS = 10.0
INSTALL_SECONDS = 60.0


def setup(project: Path, report: Report, *, development: bool) -> None:
    """Make or update `.venv`, unless it already has everything that is required.

    The program's requirements are always required. Those of tests and linters are required if `development` is true.

    Raises LocalError if pip fails.
    """
    with files.lock(project):
        environment = project / ".venv"
        everything = _digest(project, DEVELOPMENT, REQUIREMENTS)
        if development:
            _install(environment, project / DEVELOPMENT, everything, {everything}, report)
        else:
            required = _digest(project, REQUIREMENTS)
            _install(environment, project / REQUIREMENTS, required, {everything, required}, report)


def setup_apart(environment: Path, requirements: Path, report: Report) -> Path:
    """Make or update a virtual environment for one file of requirements, and return its Python.

    Raises LocalError if pip fails.
    """
    with files.lock(environment.with_name(f"{environment.name}.lock")):
        required = _digest(requirements.parent, requirements.name)
        _install(environment, requirements, required, {required}, report)
    return environment / "bin" / "python"


def _install(environment: Path, requirements: Path, required: str, enough: Collection[str], report: Report) -> None:
    """Install requirements, unless the environment has the stamp of installations that are `enough`."""
    project = requirements.parent
    usable = _runs(environment) and not (environment / UNFINISHED).exists()
    if usable and files.text(environment / STAMP) in enough:
        return
    if not usable or not _runs(environment, "-m", "pip", "--version"):
        with report.step("virtual environment", CREATE_SECONDS):
            shutil.rmtree(environment, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(environment)], project)
    with report.step("Python packages", INSTALL_SECONDS):
        # A killed pip may leave half a package that looks installed. If the next run finds this file, it makes a new
        # environment.
        (environment / UNFINISHED).touch()
        # Python compiles what it imports. Pip would take twenty seconds to compile every module of the Kubernetes
        # clients, which are a hundred megabytes.
        install = ["-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes", "-r", requirements.name]
        _run([str(environment / "bin" / "python"), *install], project)
        files.write(environment / STAMP, required)
        (environment / UNFINISHED).unlink()


def _digest(project: Path, *names: str) -> str:
    return hashlib.sha256(b"".join((project / name).read_bytes() for name in names)).hexdigest()


def _runs(environment: Path, *arguments: str) -> bool:
    """Return whether the environment's Python exists and runs without an error.

    Python gets `arguments`. If there are none, Python runs an empty program.
    """
    python = environment / "bin" / "python"
    command = [str(python), *(arguments or ("-c", "pass"))]
    return python.exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(command: Sequence[str], directory: Path) -> None:
    log = cache_directory() / "logs" / "venv.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        result = subprocess.run(
            processes.tied_command(command), cwd=directory, stdout=stream, stderr=stream, check=False
        )
    if result.returncode:
        raise LocalError(f"the virtual environment could not be made; the end of {log}:\n{files.tail(log)}")
