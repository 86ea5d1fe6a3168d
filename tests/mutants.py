"""Mutants of changed modules, judged by the tests of their folders: `python -m tests.mutants [REF | FILE…]`.

Modules are those that differ from the commit REF (`origin/main`), unless files are named. Mutants that survive are
printed by name; `mutmut show NAME` prints the change.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from mutmut.__main__ import cli
from mutmut.configuration import config

EVERYWHERE = ("tests/contracts/test_errors.py", "tests/contracts/test_goldens.py")
"""Tests that run most modules."""


def changed(ref: str) -> list[Path]:
    """Return the modules of sources that differ from a commit."""
    command = ["git", "diff", "--name-only", "--diff-filter=d", ref, "--", *map(str, config().source_paths)]
    names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return [Path(name) for name in names if name.endswith(".py")]


def judges(modules: list[Path]) -> list[str]:
    """Return the tests that judge modules: those in the folders of the same names, and those that run most modules."""
    folders = {Path("tests") / module.parent for module in modules}
    return [*(str(folder) for folder in sorted(folders) if folder.is_dir()), *EVERYWHERE]


def main(arguments: list[str]) -> None:
    """Run the mutants of the modules that the arguments name."""
    modules = [Path(name) for name in arguments if name.endswith(".py")] or changed(*arguments or ["origin/main"])
    if not modules:
        print("no module differs")
        return
    config().only_mutate = [str(module) for module in modules]
    config().pytest_add_cli_args_test_selection = judges(modules)
    shutil.rmtree("mutants", ignore_errors=True)
    cli(["run"], standalone_mode=False)
    cli(["results"], standalone_mode=False)


if __name__ == "__main__":
    main(sys.argv[1:])
