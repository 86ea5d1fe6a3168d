"""Pytest plugin: writes what was collected, how long each case took, and tells coverage which test runs.

A negative control is a test that says so in words: the name, the docstring or a comment within it holds one of
`CONTROL_WORDS`. Renamed tests are found by the map of ids, so a word that a new name lacks takes no control away.
"""

import ast
import inspect
import io
import json
import os
import re
import textwrap
import time
import tokenize
from pathlib import Path

import pytest
from hypothesis import settings

from tests.baseline.ids import function_of

CONTROL_WORDS = re.compile(
    r"(?<![a-z])(without|would|nobody|nothing|no longer|refuses?|refused|never|not|cannot|negative control)(?![a-z])"
)
OUT = "BASELINE_RECORD"
"""Variable that names the file to write; nothing is written without it."""


class Recorder:
    """Holds what a run has shown so far."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.cases: list[dict[str, object]] = []
        self.durations: dict[str, float] = {}
        self.failed: dict[str, None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Describe every case that stays selected."""
        controls = {item.function: says_control(item.function) for item in session.items}
        self.cases = [
            {
                "id": item.nodeid,
                "marks": sorted({mark.name for mark in item.iter_markers()} & {"real", "skip", "skipif", "xfail"}),
                "max_examples": max_examples(item.function),
                "control": controls[item.function],
            }
            for item in session.items
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        """Name the test function to coverage, where it measures; take the processor time."""
        if os.environ.get("COVERAGE_RUN"):
            from coverage import Coverage  # noqa: PLC0415, no dependency of the project

            current = Coverage.current()
            if current is not None:
                current.switch_context(function_of(item.nodeid))
        before = time.process_time()
        try:
            return (yield)
        finally:
            self.durations[item.nodeid] = time.process_time() - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed."""
        self.failed |= {report.nodeid: None} if report.failed else {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a module that cannot be imported as a failure."""
        self.failed |= {report.nodeid: None} if report.failed else {}

    def pytest_sessionfinish(self) -> None:
        """Write the record."""
        record = {"cases": self.cases, "durations": self.durations, "failed": [*self.failed]}
        self.out.write_text(json.dumps(record), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record where a file to write is named."""
    if path := os.environ.get(OUT):
        config.pluginmanager.register(Recorder(Path(path)))


def max_examples(function: object) -> int | None:
    """Return how many examples a property test tries; nothing for any other test."""
    if not getattr(function, "is_hypothesis_test", False):
        return None
    return (getattr(function, "_hypothesis_internal_use_settings", None) or settings.default).max_examples


def says_control(function: object) -> bool:
    """Tell whether a test is a negative control by its words."""
    inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return has_control_words(textwrap.dedent(inspect.getsource(inner)))


def has_control_words(source: str) -> bool:
    """Tell whether a function's name, docstring or a comment within it holds a word of a control."""
    function = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    words = [function.name.replace("_", " "), ast.get_docstring(function) or "", *comments]
    return any(CONTROL_WORDS.search(" ".join(text.lower().split())) for text in words)
