"""The page of configuration words is that of the specs, and can be followed from link to link."""

import re
from pathlib import Path

from cli import reference
from cli.schema import schema
from models.config_keys import ROOT


def test_the_committed_page_is_the_specs(golden):
    golden(Path("docs/configuration.md"), reference.text())


def test_every_key_of_the_schema_has_a_row():
    definitions = [*schema()["$defs"].values(), schema()["properties"]["config"]["properties"][ROOT]]
    keys = {key for definition in definitions for key in definition.get("properties", {})}
    assert keys == set(re.findall(r"^\| `(\w+)` \|", reference.text(), re.MULTILINE))


def test_every_link_leads_to_one_section():
    page = reference.text()
    titles = re.findall(r"^## `(.+)`$", page, re.MULTILINE)
    anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= set(anchors)


def test_every_row_has_four_cells():
    rows = [line for line in reference.text().splitlines() if line.startswith("| `")]
    assert rows
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_required_keys_and_defaults_are_told_apart():
    page = reference.text()
    assert "| `accelerator` | text | **required** |" in page
    assert "| `port` | integer from 1 to 65535 | `8000` |" in page
    assert "| `namespace` | DNS label | none | Namespace of the objects; absent: the stack's." in page
