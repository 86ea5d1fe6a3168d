"""Names are known to ranges of versions."""

import re
from pathlib import Path

import yaml

from upstream import history

TABLES = Path("planning/releases/engines")


def test_ranges_end_and_begin_again():
    names = {"0.9.0": "ab", "0.10.0": "b", "0.11.0": "abc", "0.12.0": "ac"}
    ranges = history.ranges({version: frozenset(letters) for version, letters in names.items()})
    assert ranges == {"0.9.0..0.9.0, 0.11.0..": ["a"], "0.9.0..0.11.0": ["b"], "0.11.0..": ["c"]}


def read(name):
    """Return a table of the engines."""
    return yaml.load((TABLES / name).read_text(), yaml.CSafeLoader)


def test_ranges_of_the_table_are_of_its_versions():
    table = read("vllm.yaml")
    for names in (table["flags"], table["variables"], table["values"]):
        bounds = {bound for ranges in names for bound in re.split(r"\.\.|, ", ranges) if bound}
        assert bounds <= {*table["versions"]}
