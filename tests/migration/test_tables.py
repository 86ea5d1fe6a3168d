"""The tables of fields against the schemas of their sources."""

import json
import re
from pathlib import Path as File
from typing import Any

import pytest

from migration import aim
from migration.fields import table
from models.paths import Path

AIM = [*aim.TABLES.values(), *aim.COMPANIONS.values()]
"""Tables of aim-engine's kinds."""
TABLES = (
    *("pod", "kserve", "kserve-config", "config-map", "modelservice", "operator", "modelservice-chart"),
    *("zerfoo", "zerfoo-object", *AIM),
)
KEYLESS = frozenset({"aim-model-source", "config-map", "kserve-config"})
"""Tables none of whose fields has a key."""
_PARTS = re.compile(r"\[\]|[^.\[\]]+")


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


@pytest.mark.parametrize("name", TABLES)
def test_each_key_is_a_key_of_the_configuration(name: str) -> None:
    """A key that is renamed has to be renamed here."""
    schema = json.loads(File("schemas/stack.schema.json").read_text(encoding="utf-8"))
    stack = schema["properties"]["config"]["properties"]["inference-stacks:stack"]
    prefix = "services.*." if name == "pod" else ""
    keys = {f"{prefix}{row.key}" for row in table(name).rows if row.key}
    assert not _has_key(schema, stack, ["services", "*", "invented"])
    assert {key for key in keys if not _has_key(schema, stack, _PARTS.findall(key))} == set()
    assert bool(keys) == (name not in KEYLESS)
