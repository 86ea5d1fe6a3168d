"""Bound of the files that a configuration may name: the repository that contains the configuration.

Messages show values of these files. Without a bound, whoever proposes a change to a configuration could read any file
of the machine that renders it.
"""

import os
from pathlib import Path

VARIABLE = "INFERENCE_STACKS_ROOT"
"""Environment variable with the folder that contains all files which configurations may name. No configuration can set
this variable."""
REMEDY = f"copy the file into the repository, or set {VARIABLE} to a folder above both"


def contains(folder: Path, path: Path) -> bool:
    """Return whether the repository of a folder contains a path, after links and `..` are resolved.

    If the folder is in no git repository, the folder itself takes its place. A path that cannot be resolved counts as
    contained, because reading it fails.
    """
    try:
        return path.resolve().is_relative_to(_root(folder.resolve()))
    except (OSError, RuntimeError, ValueError):
        return True


def _root(folder: Path) -> Path:
    """Return the folder above all files that a configuration in `folder` may name."""
    explicit = os.environ.get(VARIABLE)
    if explicit:
        return Path(explicit).resolve()
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)
