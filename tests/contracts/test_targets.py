"""Targets of the Makefile that run tests."""

import re
import subprocess
from pathlib import Path


def test_the_processes_of_test_fast_share_all_folders_without_binaries():
    recipe = subprocess.run(["make", "-n", "test-fast"], capture_output=True, text=True, check=True).stdout
    folders = re.findall(r"(?<= tests/)\w+", recipe)
    modules = {path.parts[1] for path in Path("tests").glob("*/**/test_*.py")}
    assert sorted(folders) == sorted(modules - {"real"})
    assert recipe.count("-m pytest") == 3
