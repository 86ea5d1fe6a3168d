"""A line of the summary about what ran with a real engine and what did not. Each module of the folder is a feature."""

import ast
from pathlib import Path

import pytest

from local.vllm import installation

VERSION = installation.version("0.30.0")
"""Version that the tests run: that of the default release."""
FOLDER = Path(__file__).parents[2] / "real" / "engine"
MARK = "engine"
_run = set[str]()
"""Modules of which a test ran, in this process or in one of its workers."""


def features() -> dict[str, str]:
    """Return the features by module. A feature is the first line of the module's docstring."""
    return {path.name: _feature(path) for path in sorted(FOLDER.glob("test_*.py"))}


def report(run: set[str], *, is_installed: bool) -> str:
    """Return a line about the engine: which features ran in the given modules, and what the others lack."""
    names = features()
    others = [text for module, text in names.items() if module not in run]
    remedy = "run make prove-engine"
    if not is_installed:
        remedy = f"vLLM {VERSION.name} is not installed; run python -m local engine {VERSION.name}"
    missing = f"not run with a real engine: {', '.join(others)} ({remedy})"
    if not run:
        return missing
    complete = f"{VERSION.name} {VERSION.program}: {', '.join(names[module] for module in sorted(run))}"
    return f"{complete}; {missing}" if others else complete


def _feature(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    line = text.splitlines()[0].removesuffix(".")
    first = line.partition(" ")[0]
    return line[0].lower() + line[1:] if first[1:].islower() else line


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs an engine that is not installed."""
    if VERSION.is_installed():
        return
    others = [item for item in items if item.get_closest_marker(MARK) is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in others])
    items[:] = others


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the module of a test that ran."""
    path = Path(report.location[0])
    if MARK in report.keywords and report.when == "call" and path.parent.name == FOLDER.name:
        _run.add(path.name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the line if the whole suite was asked for, or if tests of the folder ran."""
    if _run or config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        terminalreporter.line(f"vllm {report(_run, is_installed=VERSION.is_installed())}")
