"""Fixtures for tests of tools."""

import io
from pathlib import Path

import pytest

from local.report import Report
from tests.support.greeter import ROWS


@pytest.fixture
def quiet() -> Report:
    return Report(io.StringIO())


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a table with one small tool; a shell script takes the place of `go`."""
    root = tmp_path / "root"
    module = root / "modules" / "greeter"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module greeter\n\ngo 1.26.0\n")
    (module / "go.sum").write_text("")
    (root / "tools.toml").write_text(ROWS)
    return root
