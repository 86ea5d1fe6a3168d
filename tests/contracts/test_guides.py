"""Each of llm-d's guides has a stack file that deploys the same, and every difference from it has a reason.

`tests/guides/rows` has the stack files, the facts of the guides' own objects, and the lists of differences.
"""

import statistics
from functools import cache
from pathlib import Path

import pytest

from models.paths import Path as Place
from models.trees import leaves
from planning.ground import yaml_text
from tests.support.guides import changes, rows
from tests.support.guides.rows import UNEXPLAINED, Row
from tests.support.guides.table import common_reasons, table

DOCUMENT = Path("docs/guides.md")
GENERATED = "<!-- generated from here -->"
"""Line of the document below which everything is written by `--update`."""
NAMES = rows.names()
MOST_LINES = 0.2
"""Greatest ratio of our lines to those of a guide."""
MEDIAN_LINES = 0.1
WIDTH = 120
SEEDS = range(5)
"""Changes of our objects for each guide, which the comparison has to find."""


@cache
def row(name):
    return Row(name)


COMPARED = [name for name in NAMES if row(name).guide is not None]


def ratios():
    return {name: row(name).lines / row(name).guide.lines for name in COMPARED}


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_can_be_said_without_a_patch(name):
    config = yaml_text.load(row(name).stack.read_text("utf-8"))
    assert "patch" not in {str(part) for place, _ in leaves(config, Place()) for part in place}
    assert {"Deployment", "LeaderWorkerSet"} & {manifest["kind"] for manifest in row(name).objects}


@pytest.mark.parametrize("name", COMPARED)
def test_a_guide_differs_only_in_fields_with_a_reason(name, golden):
    guide = row(name)
    golden(guide.list, rows.text(guide, rows.different(guide.guide.facts, guide.objects)))
    assert UNEXPLAINED not in Row(name).differences


def test_every_reason_is_used_and_known():
    assert {reason for name in COMPARED for reason in row(name).differences} == set(rows.reasons())


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_of_our_objects_is_found(name, seed):
    guide = row(name)
    objects = changes.changed(guide.objects, f"{name} {seed}")
    assert objects != guide.objects
    assert rows.text(guide, rows.different(guide.guide.facts, objects)) != guide.list.read_text("utf-8")


def test_a_field_without_a_reason_is_listed_as_such():
    guide = row(COMPARED[0])
    assert rows.text(guide, {"decode.engine.args.--new": "1"}).endswith(
        f'{UNEXPLAINED}:\n  decode.engine.args.--new: "1"\n'
    )


def test_a_listed_field_that_no_longer_differs_is_found():
    guide = row(COMPARED[0])
    differences = rows.different(guide.guide.facts, guide.objects)
    for at in differences:
        fewer = {field: value for field, value in differences.items() if field != at}
        assert rows.text(guide, fewer) != guide.list.read_text("utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in COMPARED])
def test_a_stack_without_a_comparison_says_why(name):
    assert row(name).stack.read_text("utf-8").startswith("# ")


def test_a_guide_takes_a_tenth_of_its_lines():
    assert statistics.median(ratios().values()) <= MEDIAN_LINES
    assert {name: ratio for name, ratio in ratios().items() if ratio > MOST_LINES} == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_file_has_readable_lines(name):
    assert max(map(len, row(name).stack.read_text("utf-8").splitlines())) <= WIDTH


def test_the_guides_are_written_down(golden):
    text = DOCUMENT.read_text(encoding="utf-8")
    compared = [row(name) for name in COMPARED]
    reasons = "".join(f"| {key} | {rows.reasons()[key]} |\n" for key in common_reasons(compared))
    sections = (
        f"{text.partition(GENERATED)[0]}{GENERATED}\n\n",
        f"## Reasons that most guides share\n\n| Key | Reason |\n|---|---|\n{reasons}\n",
        f"## Guides\n\n{table([row(name) for name in NAMES])}",
    )
    golden(DOCUMENT, "".join(sections))
