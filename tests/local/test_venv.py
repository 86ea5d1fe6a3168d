"""The virtual environment is made once, of pinned packages."""

import io
import re
import subprocess
from pathlib import Path

import pytest

from local import venv
from local.errors import LocalError
from local.report import Report


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a project without requirements, so that its environment is made in seconds."""
    monkeypatch.setenv("INFERENCE_STACKS_CACHE", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / venv.DEVELOPMENT).write_text(f"-r {venv.REQUIREMENTS}\n")
    (project / venv.REQUIREMENTS).write_text("# nothing\n")
    return project


@pytest.mark.real
def test_the_environment_is_made_once_and_made_anew_when_broken(small):
    output = io.StringIO()
    venv.setup(small, Report(output), development=True)
    python = small / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", "pass"], check=False).returncode == 0
    first = output.getvalue()
    venv.setup(small, Report(output), development=True)
    venv.setup(small, Report(output), development=False)
    assert output.getvalue() == first
    python.unlink()
    venv.setup(small, Report(output), development=False)
    assert subprocess.run([python, "-c", "pass"], check=False).returncode == 0
    (small / ".venv" / venv.UNFINISHED).touch()
    (small / ".venv" / "half-a-package").touch()
    venv.setup(small, Report(output), development=False)
    assert not (small / ".venv" / "half-a-package").exists()


def test_what_tests_and_linters_need_is_added_when_it_is_asked_for(small, monkeypatch):
    installed = []
    monkeypatch.setattr(venv, "_run", lambda command, _: installed.append(command[-1]))
    monkeypatch.setattr(venv, "_runs", lambda *_: True)
    (small / ".venv").mkdir()
    for development in (False, False, True, True, False):
        venv.setup(small, Report(io.StringIO()), development=development)
    assert installed == [venv.REQUIREMENTS, venv.DEVELOPMENT]


def test_an_environment_apart_is_made_for_its_file_of_requirements_and_anew_when_it_changes(small, monkeypatch):
    installed = []
    monkeypatch.setattr(venv, "_run", lambda command, folder: installed.append((command[-1], folder)))
    monkeypatch.setattr(venv, "_runs", lambda *_: True)
    requirements = small / venv.REQUIREMENTS
    environment = small.parent / "apart"
    environment.mkdir()
    for text in ("a==1", "a==1", "a==2"):
        requirements.write_text(text)
        assert venv.setup_apart(environment, requirements, Report(io.StringIO())) == environment / "bin" / "python"
    assert installed == [(venv.REQUIREMENTS, small)] * 2


def test_python_compiles_what_it_imports_and_pip_nothing(small, monkeypatch):
    commands = []
    monkeypatch.setattr(venv, "_run", lambda command, _: commands.append(command))
    monkeypatch.setattr(venv, "_runs", lambda *_: True)
    (small / ".venv").mkdir()
    venv.setup(small, Report(io.StringIO()), development=False)
    (command,) = commands
    assert command[1:5] == ["-m", "pip", "install", "--quiet"]
    assert "--no-compile" in command


@pytest.mark.real
def test_requirements_without_a_hash_are_refused_with_the_log(small):
    (small / venv.REQUIREMENTS).write_text("six==1.17.0\n")
    with pytest.raises(LocalError, match=r"(?s)the end of .*venv\.log:.*hash"):
        venv.setup(small, Report(io.StringIO()), development=False)
    assert not (small / ".venv" / venv.STAMP).exists()


def test_each_package_is_pinned_once():
    pins = [
        re.findall(r"^([\w.-]+)==", Path(name).read_text(), re.MULTILINE)
        for name in (venv.DEVELOPMENT, venv.REQUIREMENTS)
    ]
    added, first = map(set, pins)
    assert first
    assert added
    assert first & added == set()
    assert Path(venv.DEVELOPMENT).read_text().startswith(f"-r {venv.REQUIREMENTS}\n")
