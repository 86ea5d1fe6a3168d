"""The catalogue has every id that a test cites and names the tests that cite it; the deviations lead to its rows."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.heritage import citations
from tests.heritage.citations import CATALOGUE, DEVIATIONS, HOMES

TEXT, DEVIATED = (path.read_text(encoding="utf-8") for path in (CATALOGUE, DEVIATIONS))
ROWS = list(citations.rows(TEXT))
LISTED = list(citations.deviation_rows(DEVIATED))
SYSTEMS = list(dict.fromkeys(row.system for row in LISTED))


@cache
def all_cites():
    """Return what all tests cite. They are read when a test runs, as not every process runs one."""
    return citations.functions()


def problems(text=TEXT, cites=None):
    return list(citations.problems(text, cites or all_cites(), DEVIATED))


def of(system):
    return [row for row in ROWS if row.system == system]


def test_the_catalogue_has_every_id_once_with_the_tests_that_cite_it(golden):
    golden(CATALOGUE, citations.completed(CATALOGUE.read_text(encoding="utf-8"), all_cites()))
    assert problems(CATALOGUE.read_text(encoding="utf-8")) == []


def test_every_system_has_its_table():
    assert [line.removeprefix("## ") for line in TEXT.splitlines() if line.startswith("## ")] == [*HOMES]
    assert {row.system for row in ROWS} == {*HOMES}


@pytest.mark.parametrize("folder", [folder for folder in HOMES.values() if Path(folder).exists()])
def test_every_test_of_a_system_cites_it(folder):
    (system,) = [name for name, home in HOMES.items() if home == folder]
    found = {name: cited for name, cited in all_cites().items() if name.startswith(f"{folder}/") and "::test_" in name}
    assert found
    assert [name for name, cited in found.items() if system not in {cited_system for cited_system, _ in cited}] == []


@pytest.mark.parametrize("system", HOMES)
def test_rows_that_are_gone_or_stand_twice_are_noticed(system):
    without, twice = TEXT, TEXT
    for row in of(system):
        without = without.replace(f"{row}\n", "")
        twice = twice.replace(f"{row}\n", f"{row}\n{row}\n")
    assert {f"{row.where}: has no row" for row in of(system)} == {*problems(without)}
    assert {f"{row.where}: stands twice" for row in of(system)} == {*problems(twice)}


@pytest.mark.parametrize("system", HOMES)
def test_tests_that_are_renamed_are_noticed(system):
    held = {name for row in of(system) for name in row.held}
    found = {*problems(cites={f"{name}_again" if name in held else name: cited for name, cited in all_cites().items()})}
    for row in of(system):
        assert {f"{row.where}: names a test that is not there ({name})" for name in row.held} <= found
        assert {f"{row.where}: does not name {name}_again, which cites it" for name in row.held} <= found


@pytest.mark.parametrize("system", HOMES)
def test_citations_that_are_gone_are_noticed(system):
    found = problems(cites={name: {each for each in ids if each[0] != system} for name, ids in all_cites().items()})
    uncited = {problem.partition(": ")[0] for problem in found if "is cited by no test" in problem}
    assert uncited == {row.where for row in of(system)}


@pytest.mark.parametrize(
    ("name", "module", "expected"),
    [
        ("test_w5_pods_know_no_version", "otterscale", {"W5"}),
        ("test_3_10_nodes_of_the_class", "otterscale", {"3.10"}),
        ("test_b23_b32_timeouts", "aim_engine", {"B23", "B32"}),
        ("test_8_and_9_everything_together", "zerfoo", {"9.8", "9.9"}),
        ("test_a_weight_of_0_is_written", "zerfoo", set()),
        ("test_b23_timeouts", None, set()),
        ("test_aim_7_5_b63_five_to_two", None, {"7.5", "B63"}),
        ("test_zerfoo_9_9_a_pair", None, {"9.9"}),
    ],
)
def test_names_cite_by_their_first_words(name, module, expected, tmp_path, monkeypatch):
    folder = Path("tests", "heritage", module) if module else Path("tests", "planning")
    (tmp_path / folder).mkdir(parents=True)
    docstring = '"""Items of a list (section 9)."""\n\n\n' if module == "zerfoo" else ""
    (tmp_path / folder / "test_one.py").write_text(f"{docstring}def {name}():\n    pass\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (cited,) = citations.functions().values()
    assert {row_id for _, row_id in cited} == expected


def test_no_citation_is_misspelt():
    """An id that begins a name says whose it is: by the folder, by the name, or in the docstring."""
    for path in Path("tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        started = re.findall(rf"\bSee (?:{'|'.join(HOMES)})\s+\w", text)
        assert len(started) == len(citations.SEE.findall(text)), path
    for name, cited in all_cites().items():
        begun = re.match(r"test_((?:[a-z]\d+_)+)", name.rpartition("::")[2])
        ids = begun[1].strip("_").upper().split("_") if begun else []
        assert {*ids} <= {row_id for _, row_id in cited}, name


@pytest.mark.parametrize("system", SYSTEMS)
def test_deviations_lead_to_the_catalogue(system):
    rows = [row for row in LISTED if row.system == system]
    assert rows
    for row in rows:
        ids = citations.ids_of_item(row.item)
        assert ids
        assert list(row.links) == [(row_id, f"../{CATALOGUE}#{system}-{row_id}") for row_id in ids]


@pytest.mark.parametrize("system", SYSTEMS)
def test_deviations_lead_to_a_test_or_a_decision(system):
    for row in (row for row in LISTED if row.system == system):
        assert row.held, row.item
        for text, address in row.held:
            path = (DEVIATIONS.parent / address.partition("#")[0]).resolve().relative_to(Path.cwd())
            assert path.exists(), row.item
            assert path.is_relative_to("docs") or f"{path}::{text.strip('`')}" in all_cites(), row.item


def test_no_row_of_the_deviations_is_passed_over():
    lines = [line for line in DEVIATED.splitlines() if line.startswith("|") and not re.match(r"\| (Item|-)|\|-", line)]
    assert len(lines) == len(LISTED) > 100
