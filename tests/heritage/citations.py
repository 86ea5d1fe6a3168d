"""Citations of other systems in the tests, and the words of the catalogue and the list of deviations on them.

Tests cite in three ways, of which `CATALOGUE.md` has examples: in their names, in docstrings, and as the item of a
deviation.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

CATALOGUE, DEVIATIONS = Path("tests/heritage/CATALOGUE.md"), Path("docs/deviations.md")
HOMES = {
    "otterscale": "tests/heritage/otterscale",
    "zerfoo": "tests/heritage/zerfoo",
    "aim-engine": "tests/heritage/aim_engine",
    "phoebe": "tests/heritage/phoebe",
    "upstream": "tests/heritage/upstream",
    "defects": "tests/heritage/defects",
}
"""The folder of each system: the names of its tests cite without saying whom."""
IN_FRONT = {"zerfoo": "zerfoo", "aim": "aim-engine"}
"""First words of names by which tests elsewhere say whom they cite."""
ID = r"(?:[A-Z]+\d+|\d+(?:\.\d+)*|[a-z]+-\d+)"
SEE = re.compile(rf"\bSee ({'|'.join(HOMES)})\s+({ID}(?:,\s+{ID})*)\.(?=[\s\"]|$)")
ITEM = re.compile(rf"{ID}(?:, {ID})*")
ROW = re.compile(r'\| <a id="(?P<anchor>[^"]+)"></a>(?P<id>\S+) \| (?P<sentence>.+) \| (?P<held>.+) \|')
FUNCTION = re.compile(r"^def (\w+)", re.MULTILINE)
TEXTS = re.compile(r'""".*?"""', re.DOTALL)
MAY_CITE = re.compile(rf"\bSee (?:{'|'.join(HOMES)})\b|\bdeviation\(|\btest_(?:{'|'.join(IN_FRONT)})_")
LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")

Cited = tuple[str, str]
"""A system, and an id of it."""
Cites = dict[str, set[Cited]]
"""Citations of each function of the tests, by `path::function`."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the catalogue."""

    system: str
    id: str
    anchor: str
    sentence: str
    held: tuple[str, ...]
    """The functions that cite it, as `path::function`; a link to the deviations where there is none."""

    @property
    def where(self) -> str:
        """Return how a citation of the row reads."""
        return f"{self.system} {self.id}"

    @property
    def deviation(self) -> str:
        """Return the link to the deviations that cite the row."""
        return f"[deviation](../../{DEVIATIONS}#{self.system})"

    def __str__(self) -> str:
        """Return the row as it stands in the table."""
        held = "<br>".join(holder if holder.startswith("[") else f"`{holder}`" for holder in self.held)
        return f'| <a id="{self.anchor}"></a>{self.id} | {self.sentence} | {held} |'


def functions() -> Cites:
    """Return what each function of the tests cites, by `path::function`."""
    return {
        f"{path}::{name}": ids
        for path in sorted(Path("tests").rglob("*.py"))
        for name, ids in _in_module(path, path.read_text(encoding="utf-8"))
    }


def _in_module(path: Path, text: str) -> Iterator[tuple[str, set[Cited]]]:
    """Yield the functions of a module with what they cite. Only a module that may cite is parsed, which takes long."""
    if not (path.is_relative_to("tests/heritage") or MAY_CITE.search(text)):
        yield from ((name, set()) for name in FUNCTION.findall(TEXTS.sub("", text)))
        return
    tree = ast.parse(text)
    section = _section(tree)
    yield from ((node.name, set(_of(node, path, section))) for node in tree.body if isinstance(node, ast.FunctionDef))


def _section(module: ast.Module) -> str | None:
    """Return the section whose items a module's names number, as its docstring has it: `(section 9)`."""
    found = re.search(r"\(section (\d+(?:\.\d+)?)\)", ast.get_docstring(module) or "")
    return found and found[1]


def _of(node: ast.FunctionDef, path: Path, section: str | None) -> Iterator[Cited]:
    home = next((system for system, folder in HOMES.items() if path.is_relative_to(folder)), None)
    if node.name.startswith("test_"):
        yield from _in_name(node.name, home, section)
    for system, ids in SEE.findall(ast.get_docstring(node) or ""):
        yield from ((system, row_id) for row_id in re.findall(ID, ids))
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "deviation":
            yield from (("otterscale", row_id) for row_id in ids_of_item(ast.literal_eval(call.args[0])))


def _in_name(name: str, home: str | None, section: str | None) -> Iterator[Cited]:
    """Yield what the first words of a test's name cite."""
    opening = re.match(rf"test_(?:({'|'.join(IN_FRONT)})_)?((?:(?:[a-z]?\d+|and)_)*)", name)
    assert opening
    system = IN_FRONT.get(opening[1], home)
    if system is None:
        return
    for row_id in re.findall(r"[a-z]\d+|\d+_\d+|\d+", opening[2]):
        alone = section is not None and row_id.isdigit()
        yield system, f"{section}.{row_id}" if alone else row_id.upper().replace("_", ".")


def ids_of_item(item: str) -> list[str]:
    """Return the ids with which the item of a deviation begins: `3.9, A6 devices`."""
    found = ITEM.match(item)
    return re.findall(ID, found[0]) if found else []


def rows(text: str) -> Iterator[Row]:
    """Yield the rows of the catalogue."""
    system = ""
    for line in text.splitlines():
        system = line.removeprefix("## ") if line.startswith("## ") else system
        if found := ROW.fullmatch(line):
            held = tuple(holder.strip("`") for holder in found["held"].split("<br>"))
            yield Row(system, found["id"], found["anchor"], found["sentence"], held)


def held_by(cites: Cites) -> dict[Cited, list[str]]:
    """Return the functions that cite each id."""
    found: dict[Cited, list[str]] = {}
    for name, ids in cites.items():
        for each in ids:
            found.setdefault(each, []).append(name)
    return found


def completed(text: str, cites: Cites) -> str:
    """Return the catalogue with every function that cites a row in it."""
    holding = held_by(cites)
    for row in rows(text):
        held = tuple(holding.get((row.system, row.id), row.held))
        text = text.replace(str(row), str(replace(row, held=held)))
    return text


def problems(text: str, cites: Cites, deviations: str) -> Iterator[str]:
    """Yield what a catalogue lacks, repeats, or says of tests that is not so."""
    lines = [line for line in text.splitlines() if line.startswith("| <a ")]
    yield from (f"{line}: is no row" for line in lines if not ROW.fullmatch(line))
    found = list(rows(text))
    counted = Counter((row.system, row.id) for row in found)
    yield from (f"{system} {row_id}: stands twice" for (system, row_id), count in counted.items() if count > 1)
    holding, by_deviations = held_by(cites), {*deviated(deviations)}
    missing = (holding.keys() | by_deviations) - counted.keys()
    yield from (f"{system} {row_id}: has no row" for system, row_id in sorted(missing))
    for row in found:
        yield from _shape(row)
        held = holding.get((row.system, row.id), [])
        if held:
            yield from _of_tests(row, held, cites)
        elif (row.system, row.id) not in by_deviations or row.held != (row.deviation,):
            yield f"{row.where}: is cited by no test, and does not lead to its deviation"


def _shape(row: Row) -> Iterator[str]:
    if row.anchor != f"{row.system}-{row.id}":
        yield f"{row.where}: has another anchor ({row.anchor})"
    if not row.sentence.endswith(".") or ". " in row.sentence:
        yield f"{row.where}: is not one sentence"


def _of_tests(row: Row, held: list[str], cites: Cites) -> Iterator[str]:
    for name in row.held:
        if name not in cites:
            yield f"{row.where}: names a test that is not there ({name})"
        elif name not in held:
            yield f"{row.where}: is not cited by {name}"
    yield from (f"{row.where}: does not name {name}, which cites it" for name in held if name not in row.held)


@dataclass(frozen=True, slots=True)
class Deviation:
    """One row of the list of deviations."""

    system: str
    item: str
    """As a reader sees it, without links."""
    links: tuple[tuple[str, str], ...]
    """Text and address of what the item leads to."""
    held: tuple[tuple[str, str], ...]
    """Text and address of the tests and decisions behind it."""


def deviation_rows(text: str) -> Iterator[Deviation]:
    """Yield the rows of the list of deviations."""
    system = ""
    for line in text.splitlines():
        system = line.removeprefix("## ") if line.startswith("## ") else system
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        if system in HOMES and line.startswith("| [") and len(cells) == 5:
            yield Deviation(
                system, LINK.sub(r"\1", cells[0]), tuple(LINK.findall(cells[0])), tuple(LINK.findall(cells[4]))
            )


def deviated(text: str) -> Iterable[Cited]:
    """Yield the ids that the list of deviations cites."""
    return ((row.system, row_id) for row in deviation_rows(text) for row_id in ids_of_item(row.item))
