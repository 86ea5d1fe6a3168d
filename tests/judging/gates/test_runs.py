"""Simulated runs of canaries: how often a verdict is wrong, and whether previews promise what comes."""

import math
from pathlib import Path

import pytest
import yaml

from judging.gates import statistics
from tests.support import gate_runs
from tests.support.gate_runs import ALPHA, CELLS, QUICK, QUICK_RUNS, RUNS, SHOWN

TABLE = yaml.safe_load(gate_runs.TABLE.read_text(encoding="utf-8"))
ROWS = TABLE["all"]
LARGEST = RUNS * ALPHA + 3 * math.sqrt(RUNS * ALPHA * (1 - ALPHA))
"""Wrong verdicts among the runs of a cell that chance allows: their expectation and three standard deviations."""
POINTS = 0.05 * RUNS
"""Five percentage points."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["cell"])
def test_verdicts_are_right_as_often_as_the_terms_demand(row):
    assert row["wrongPasses"] <= LARGEST
    assert row["wrongFails"] <= LARGEST
    assert row["failsAtMargin"] <= LARGEST


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["cell"])
def test_as_many_equal_canaries_pass_as_previews_promise(row):
    assert abs(row["passes"] - row["promised"]) <= POINTS


def test_the_table_has_a_row_for_each_cell():
    assert [row["cell"] for row in ROWS] == [cell.name for cell in CELLS]
    assert len({cell.name for cell in CELLS}) == len(CELLS)


def test_the_document_shows_rows_of_the_table():
    rows = [row for row in ROWS if row["cell"] in {cell.name for cell in SHOWN}]
    assert gate_runs.page(rows) in Path("docs/change.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("cell", QUICK, ids=lambda cell: cell.name)
def test_the_table_is_what_the_code_of_the_command_says(cell):
    assert gate_runs.row(cell, QUICK_RUNS) in TABLE["quick"]


@pytest.mark.prove
@pytest.mark.exhaustive
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_every_row_is_what_the_code_of_the_command_says(cell):
    assert gate_runs.row(cell) == ROWS[CELLS.index(cell)]


def test_a_rule_without_bursts_is_wrong_too_often(monkeypatch):
    """The control: the simulation finds a rule that takes requests of one minute for independent ones."""
    monkeypatch.setattr(statistics, "_effect", lambda _: 1.0)
    bursts = next(cell for cell in QUICK if cell.correlation and cell.share == 0.5)
    assert gate_runs.row(bursts, QUICK_RUNS)["wrongPasses"] > QUICK_RUNS * (ALPHA + 3 * math.sqrt(ALPHA / QUICK_RUNS))
