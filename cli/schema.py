"""`schema`: the JSON schema of a stack file, made from the specs."""

import json
from typing import Any

from models.load import ROOT
from models.stack import Stack


def schema() -> dict[str, Any]:
    """Return the schema of a whole stack file. Keys of the file that are Pulumi's own are left open."""
    tree = Stack.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = tree.pop("$defs")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Inference Stacks stack file",
        "type": "object",
        "properties": {"config": {"type": "object", "properties": {ROOT: tree}, "required": [ROOT]}},
        "required": ["config"],
        "$defs": definitions,
    }


def text() -> str:
    """Return the schema as it is committed."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
