"""One version for all that is published."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from cli import commands
from models import version
from package.server import PackageProvider


def declared(path):
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))["project"]["version"]


def test_all_that_is_published_has_the_version_of_the_project(capsys):
    assert version.read() == declared("pyproject.toml") == declared("reader/pyproject.toml")
    assert PackageProvider().version == version.read()
    pack = yaml.safe_load(Path("policy/PulumiPolicy.yaml").read_text(encoding="utf-8"))
    assert pack["version"] == version.read()
    with pytest.raises(SystemExit) as end:
        commands.main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"inference-stacks {version.read()}\n")


def test_the_version_is_read_through_a_link_to_the_program(tmp_path):
    (tmp_path / "models").symlink_to(Path("models").resolve())
    command = [sys.executable, "-c", "from models import version; print(version.read())"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == version.read()


def test_the_version_is_read_without_the_packages_of_the_program():
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.path[:0] = ['.']; import models.version"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
