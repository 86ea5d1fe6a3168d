"""Another version of Python on this machine. A machine without it runs the program with a single version."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from local.venv import REQUIREMENTS
from tests.support.cluster.fork_client import EXECUTOR

ROOT = Path(__file__).parents[3]
VERSIONS = ("3.14", "3.13", "3.12")
"""Versions that are looked for, in this order."""
FOLDERS = (".pyenv/versions/{}.*/bin", ".local/share/uv/python/cpython-{}.*/bin")
"""Folders of pyenv and uv, below the home, in which a version may lie without being on PATH."""


@cache
def another() -> tuple[str, Path] | None:
    """Return version and path of a Python that is not the one of the tests; None if this machine has none."""
    for version in VERSIONS:
        name = f"python{version}"
        folders = [folder for pattern in FOLDERS for folder in Path.home().glob(pattern.format(version))]
        for path in filter(None, (shutil.which(name), *(shutil.which(name, path=folder) for folder in folders))):
            if not sys.version.startswith(f"{version}.") and _version(path) == version:
                return version, Path(path)
    return None


def report() -> str:
    """Return a line about the other version, or about what does not run without it."""
    python = another()
    if python is None:
        return f"not run: a second workstation with another version (none of {', '.join(VERSIONS)} is there)"
    return f"{python[0]} beside {sys.version_info.major}.{sys.version_info.minor}: {python[1]}"


@pytest.fixture(scope="session")
def another_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a program that is another version of Python with the packages of the program.

    Fails in the end if no run of the engine has called it.
    """
    python = another()
    assert python is not None
    directory = tmp_path_factory.mktemp("another-python")
    environment = directory / "environment"
    calls = directory / "calls"
    program = directory / "python"
    subprocess.run([python[1], "-m", "venv", environment], check=True)
    installed = environment / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes", "-r", ROOT / REQUIREMENTS]
    subprocess.run([installed, *install], check=True)
    program.write_text(f'#!/bin/sh\necho "$1" >> "{calls}"\nexec "{installed}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    yield program
    assert EXECUTOR in calls.read_text(encoding="utf-8")


def _version(path: str) -> str | None:
    """Return the version that a Python says it has; None if it does not run."""
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    result = subprocess.run([path, "-I", "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None
