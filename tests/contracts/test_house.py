"""Rules of the house about its own code: where tests lie, what they import, how lines and names of sources read."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.english import SOURCES

LONGEST = 45
"""Lines of a function, from `def` to its last line."""
LONGEST_FILE = 500
"""Lines of a file of sources."""
MOST_PARALLEL = 1
"""Parallel assignments in 1,000 lines of sources."""
MOST_PARALLEL_OF_OTHERS = 0
"""Parallel assignments of a condition, of more than two values, or to more than plain names."""
MOST_CONDITIONAL = 12
"""Conditional expressions in 1,000 lines of sources."""
MOST_MULTIPLIED = 0
"""Texts, lists and tuples that are multiplied by a truth value."""
MOST_VAGUE = 0
"""Variables with a name of `VAGUE`."""
MOST_SHARED_NAMES = 11
"""Names that more than one class has: eight of specs and outputs, which the schemas of both show, and private ones."""
LEAST_MIRRORED = 0.8
"""Share of the modules of sources that have a test module of their name in the folder of the same name."""
VAGUE = {"each", "found"}
TRUTHS = {"all", "any", "bool", "isinstance", "issubclass"}
"""Functions that return a truth value."""
ELSEWHERE = {"contracts", "heritage", "real"}
"""Folders of tests that mirror no folder of sources."""


def modules():
    """Return every Python file of the project, sources and tests; hidden folders hold what is not ours.

    `make mutants` leaves copies in the folder `mutants`.
    """
    folders = [path for path in Path().iterdir() if path.is_dir() and not path.name.startswith((".", "mutants"))]
    return sorted([*Path().glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))])


@cache
def parsed(text):
    """Return the tree of a module.

    Python 3.11 counts the depth of trees for all threads of a process together (Python-ast.c, recursion_depth), and
    fails if another thread makes one meanwhile.
    """
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


@cache
def nodes(text):
    """Return every node of a module; several rules read each."""
    return [*ast.walk(parsed(text))]


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


def test_no_source_is_too_long():
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


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


def sources():
    """Return the files of sources."""
    roots = {Path(name) for name in SOURCES}
    return [path for path in modules() if roots & {path, *path.parents}]


def lines(texts):
    """Return the number of lines that are not blank."""
    return sum(1 for text in texts for line in text.splitlines() if line.strip())


def parallel(text):
    """Yield targets and values of every assignment of a tuple display to several targets."""
    for node in nodes(text):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            yield from ((target.elts, node.value) for target in node.targets if isinstance(target, ast.Tuple))


def is_plain(targets, values):
    """Return whether a parallel assignment has two plain names and no condition."""
    has_condition = any(isinstance(node, ast.IfExp) for node in ast.walk(values))
    return len(targets) == 2 and all(isinstance(target, ast.Name) for target in targets) and not has_condition


def conditional(text):
    """Return the number of conditional expressions."""
    return sum(isinstance(node, ast.IfExp) for node in nodes(text))


def multiplied(text):
    """Yield the line of every text, list or tuple that is multiplied by a truth value."""
    for node in nodes(text):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            pairs = ((node.left, node.right), (node.right, node.left))
            if any(is_series(series) and is_truth(number) for series, number in pairs):
                yield node.lineno


def is_series(node):
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)


def is_truth(node):
    """Return whether an expression is a truth value, as far as its form or its name says so."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Call):
        return is_truth(node.func) or (isinstance(node.func, ast.Name) and node.func.id in TRUTHS)
    name = getattr(node, "attr", getattr(node, "id", ""))
    return isinstance(node, ast.Compare | ast.BoolOp) or name.lstrip("_").startswith(("has_", "is_", "needs_"))


def vague(text):
    """Yield every variable that has a name of `VAGUE`."""
    for node in nodes(text):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield node.id


def classes(text):
    """Yield the names of classes at the top of a module."""
    yield from (node.name for node in parsed(text).body if isinstance(node, ast.ClassDef))


def shared(names):
    """Return the names that occur more than once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def mirrored(files, tests):
    """Return the share of modules for which there is a test module in the same place."""
    places = {path.relative_to("tests") for path in tests}
    mirrors = [path.with_name(f"test_{path.name}") in places for path in files if not path.name.startswith("__")]
    return sum(mirrors) / len(mirrors)


@pytest.fixture(scope="module")
def texts():
    return [path.read_text(encoding="utf-8") for path in sources()]


def test_values_are_assigned_one_by_one(texts):
    assignments = [assignment for text in texts for assignment in parallel(text)]
    assert len(assignments) * 1000 <= MOST_PARALLEL * lines(texts)
    assert sum(not is_plain(*assignment) for assignment in assignments) <= MOST_PARALLEL_OF_OTHERS


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("a, b = 1, 2", [True]),
        ("a, b, c = 1, 2, 3", [False]),
        ("a, b = x if y else z, 2", [False]),
        ("a.b, c = 1, 2", [False]),
        ("a, b = pair", []),
        ("a = 1, 2", []),
    ],
)
def test_a_parallel_assignment_is_found(line, plain):
    assert [is_plain(*assignment) for assignment in parallel(line)] == plain


def test_conditions_stand_in_statements(texts):
    assert sum(map(conditional, texts)) * 1000 <= MOST_CONDITIONAL * lines(texts)


def test_a_conditional_expression_is_found():
    assert conditional("x = [a if b else c for d in e if f]") == 1


def test_nothing_is_multiplied_by_a_truth_value(texts):
    assert sum(len([*multiplied(text)]) for text in texts) <= MOST_MULTIPLIED


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("x = 'text' * (a > 1)", 1),
        ("x = bool(a) * f'{b}'", 1),
        ("x = [1] * (not a)", 1),
        ("x = (1,) * self.is_closed", 1),
        ("x = 'text' * has_more(a)", 1),
        ("x = 'text' * 3", 0),
        ("x = 'text' * length", 0),
        ("x = a * (b > 1)", 0),
    ],
)
def test_a_text_times_a_truth_value_is_found(line, count):
    assert len([*multiplied(line)]) == count


def test_no_variable_has_a_vague_name(texts):
    assert sum(len([*vague(text)]) for text in texts) <= MOST_VAGUE


def test_a_vague_name_is_found_wherever_it_is_bound():
    assert sorted(vague("found = [each for each in x]\nfor found in y: pass\nz = found")) == ["each", "found", "found"]


def test_a_class_has_a_name_of_its_own(texts):
    assert len(shared(name for text in texts for name in classes(text))) <= MOST_SHARED_NAMES


def test_a_second_class_of_a_name_is_found():
    assert shared([*classes("class A: pass\nclass B:\n  class C: pass"), *classes("class A: pass")]) == ["A"]


def test_modules_have_a_test_module_of_their_name():
    assert mirrored(sources(), Path("tests").rglob("test_*.py")) >= LEAST_MIRRORED


def test_a_module_without_a_test_module_is_found():
    files = [Path("models/a.py"), Path("models/b.py"), Path("models/__init__.py")]
    assert mirrored(files, [Path("tests/models/test_a.py"), Path("tests/test_b.py")]) == 0.5
