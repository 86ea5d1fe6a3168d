"""The tables of fields against the schemas of their sources."""

import json
import re
from collections.abc import Sequence
from pathlib import Path as File
from typing import Any

import pytest
import yaml

from migration import aim
from migration.fields import table
from models.paths import Path

SCHEMAS = File(__file__).with_name("schemas")
AIM = [*aim.TABLES.values(), *aim.COMPANIONS.values()]
"""Tables of aim-engine's kinds, whose lists of leaves have the same names."""
TABLES = {
    "pod": "pod-spec",
    "kserve": "kserve",
    "kserve-config": "kserve-config",
    "modelservice": "modelservice",
    "modelservice-chart": "modelservice-chart",
    **{name: name for name in AIM},
}
"""Lists of leaves by the tables about them."""
OF_EVERY_OBJECT = frozenset({"apiVersion", "kind", "metadata", "status"})
WITHOUT_LEAF = {"modelservice-chart": ["routing.modelName"]}
"""Rows without a leaf: the chart's values.yaml has this one, and its schema lacks it."""
KUBERNETES = frozenset({"PodSpec", "Container"})
"""Types of leaves that stand for leaves of the table `pod`."""
_PARTS = re.compile(r"\[\]|[^.\[\]]+")


def _leaves(name: str) -> dict[str, str]:
    return yaml.safe_load((SCHEMAS / f"{name}.yaml").read_text(encoding="utf-8"))["leaves"]


def _path(text: str) -> Path:
    return Path(*(0 if part == "[]" else part for part in _PARTS.findall(text)))


@pytest.mark.parametrize(("name", "schema"), TABLES.items())
def test_each_leaf_of_the_schema_has_a_row(name: str, schema: str) -> None:
    """A leaf that is a whole object has rows below it instead."""
    fields = table(name)
    leaves = _leaves(schema)
    assert len(leaves) > 20
    lacking = [leaf for leaf in leaves if fields.row(_path(leaf)) is None and not fields.leads_to_rows(_path(leaf))]
    assert lacking == []


@pytest.mark.parametrize(("name", "schema"), TABLES.items())
def test_each_row_covers_a_leaf_of_the_schema(name: str, schema: str) -> None:
    """A row without a leaf is a mistake, or its field is gone. A leaf may be a whole object with rows for its parts."""
    fields = table(name)
    leaves = [_path(leaf) for leaf in _leaves(schema)]
    covering = {row.path for leaf in leaves if (row := fields.row(leaf)) is not None}
    rows = [row for row in fields.written_rows if row.path not in covering and row.parts[0] not in OF_EVERY_OBJECT]
    without_leaf = [row.path for row in rows if not any(_is_below(row.parts, leaf) for leaf in leaves)]
    assert without_leaf == WITHOUT_LEAF.get(name, [])


def test_a_row_of_a_field_that_is_gone_is_found() -> None:
    """The control: a row is neither below a leaf nor covers it."""
    leaf = _path("spec.items[].name")
    assert _is_below(("spec", "items", "[]", "name", "first"), leaf)
    assert _is_below(("spec", "labels", "a/b"), _path("spec.labels.*"))
    assert not _is_below(("spec", "items", "[]"), leaf)
    assert not _is_below(("spec", "gone"), leaf)


def _is_below(parts: Sequence[str], leaf: Path) -> bool:
    """Tell whether the path of a row is that of a leaf, or below it."""
    names = ["[]" if isinstance(part, int) else part for part in leaf]
    pairs = zip(parts, names, strict=False)
    return len(parts) >= len(names) and all(name in {part, "*"} for part, name in pairs)


def test_a_new_field_has_no_row() -> None:
    """The control: a field that the schema lacks is not covered by accident."""
    for name in ("pod", "kserve", "modelservice-chart", *AIM):
        assert table(name).row(Path("spec", "inventedField")) is None
        assert table(name).row(Path("inventedField")) is None


def test_a_workload_has_the_rows_of_pods_with_keys_of_its_role() -> None:
    """One table of pods serves all roles."""
    fields = table("kserve")
    row = fields.row(Path("spec", "prefill", "template", "nodeSelector", "zone"))
    assert row is not None
    assert row.key == "services.*.prefill.pod.nodeSelector"
    row = table("modelservice-chart").row(Path("decode", "containers", 0, "extraConfig", "livenessProbe", "exec"))
    assert row is not None
    assert row.fate == "cannot"


def _has_key(schema: dict[str, Any], node: Any, parts: list[str]) -> bool:
    """Tell whether a schema knows a key; `*` is any name. An object without properties has any key."""
    if "$ref" in node:
        return _has_key(schema, schema["$defs"][node["$ref"].rpartition("/")[2]], parts)
    choices = [choice for word in ("anyOf", "oneOf", "allOf") for choice in node.get(word, ())]
    if any(_has_key(schema, choice, parts) for choice in choices):
        return True
    if not parts:
        return True
    if parts[0] == "[]":
        return "items" in node and _has_key(schema, node["items"], parts[1:])
    inner = [node.get("properties", {}).get(parts[0]), node.get("additionalProperties")]
    inner += node.get("patternProperties", {}).values()
    return any(isinstance(choice, dict) and _has_key(schema, choice, parts[1:]) for choice in inner)


@pytest.mark.parametrize("name", [*TABLES, "zerfoo", "operator"])
def test_each_key_is_a_key_of_the_configuration(name: str) -> None:
    """A key that is renamed has to be renamed here."""
    schema = json.loads(File("schemas/stack.schema.json").read_text(encoding="utf-8"))
    stack = schema["properties"]["config"]["properties"]["inference-stacks:stack"]
    prefix = "services.*." if name == "pod" else ""
    keys = {f"{prefix}{row.key}" for row in table(name).rows if row.key}
    assert not _has_key(schema, stack, ["services", "*", "invented"])
    assert {key for key in keys if not _has_key(schema, stack, _PARTS.findall(key))} == set()
    assert name in {"kserve-config", "zerfoo", "operator"} or name.startswith("aim-") or len(keys) > 20
