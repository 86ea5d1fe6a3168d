"""Check that the machine has the platform, Python modules, commands and disk space that the project needs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import TYPE_CHECKING

from local.errors import LocalError
from local.tools import FREE_BYTES, cache_directory

if TYPE_CHECKING:
    from pathlib import Path

MODULES = ("venv", "ensurepip", "pip")
COMMANDS = ("git", "make")


def check(project: Path) -> None:
    """Raise LocalError if the machine lacks something that the set-up of the project needs."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine != "x86_64":
        raise LocalError(f"the embedded control plane runs on Linux x86-64 only; this is {sys.platform} {machine}")
    missing = [f"Python's module {name}" for name in MODULES if importlib.util.find_spec(name) is None]
    missing += [f"the command {name}" for name in COMMANDS if shutil.which(name) is None]
    if missing:
        raise LocalError(f"this machine lacks {', '.join(missing)}")
    cache = cache_directory()
    if (project / ".venv").exists() and (cache / "tools").exists():
        return
    for folder in (project, cache):
        free = shutil.disk_usage(_nearest_existing(folder)).free
        if free < FREE_BYTES:
            raise LocalError(
                f"the first set-up needs {FREE_BYTES / 1000**3:.0f} GB of free disk space; "
                f"{folder} has {free / 1000**3:.1f} GB"
            )


def _nearest_existing(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())
