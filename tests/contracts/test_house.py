"""Rules of the house about its own code: where tests lie, what they import, how long functions are."""

import ast
from functools import cache
from pathlib import Path

import pytest

LONGEST = 50
"""Lines of a function, from `def` to its last line."""
ELSEWHERE = {"contracts", "heritage", "real"}
"""Folders of tests that mirror no folder of sources."""


def modules():
    """Return every Python file of the project, sources and tests; hidden folders hold what is not ours."""
    folders = [path for path in Path().iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted([*Path().glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))])


@cache
def nodes(text):
    """Return every node of a module; several rules read each."""
    return [*ast.walk(ast.parse(text))]


def imported(text):
    """Yield the dotted names that a module imports; of `from a import b` both `a` and `a.b`."""
    for node in nodes(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def of_tests(names):
    """Return those of the dotted names that lie in a test module or a conftest."""
    parts = ((name, part) for name in names for part in name.split("."))
    return {name for name, part in parts if part.startswith("test_") or part == "conftest"}


def too_long(text):
    """Yield name and length of every function that has more lines than the house allows."""
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > LONGEST:
                yield node.name, lines


def test_no_module_imports_a_test_module():
    found = {str(path): of_tests(imported(path.read_text(encoding="utf-8"))) for path in modules()}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import tests.cli.test_stackfile",
        "from tests.cli.test_stackfile import file",
        "from tests.cli import test_stackfile",
        "from .test_stackfile import file",
        "from . import test_stackfile",
        "from tests.facts.conftest import bucket",
        pytest.param("def inner():\n    from tests.cli import test_stackfile", id="inside a function"),
    ],
)
def test_an_import_of_a_test_module_is_found(line):
    assert of_tests(imported(line))


def test_no_function_is_too_long():
    found = {str(path): [*too_long(path.read_text(encoding="utf-8"))] for path in modules()}
    assert {path: functions for path, functions in found.items() if functions} == {}


def test_a_function_that_is_too_long_is_found():
    body = "    pass\n" * (LONGEST - 1)
    assert [*too_long(f"def f():\n{body}")] == []
    assert [*too_long(f"class C:\n  async def f():\n{body}    pass\n")] == [("f", LONGEST + 1)]


def test_tests_lie_where_their_sources_lie():
    """No module lies at the top, and each folder of tests has a folder of sources of the same name."""
    folders = {path.parent.relative_to("tests") for path in Path("tests").rglob("test_*.py")}
    mirrored = {folder for folder in folders if folder.parts[:1] not in {(name,) for name in ELSEWHERE}}
    assert Path() not in mirrored
    assert {folder for folder in mirrored if not folder.is_dir()} == set()


def test_what_tests_share_holds_no_tests():
    assert [*Path("tests/support").rglob("test_*.py"), *Path("tests/support").rglob("conftest.py")] == []


def test_the_files_of_the_house_are_found():
    found = {str(path) for path in modules()}
    named = {"__main__.py", "models/load.py", "planning/releases/__init__.py", "tests/conftest.py"}
    assert {*named, "tests/contracts/test_house.py"} <= found
    assert not any(path.startswith(".venv") for path in found)
