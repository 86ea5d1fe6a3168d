"""`schema`: the JSON schema of a stack file, made from the specs."""

import json
from collections.abc import Iterator
from typing import Any, cast

from cli.descriptions import describe
from models.load import ROOT
from models.stack import Stack

_DEFINITIONS = "#/$defs/"
_PARTIAL = "Partial"
_VERBATIM = frozenset({"default", "description", "enum", "examples", "title"})
"""Keywords that hold values, no schemas."""


def schema() -> dict[str, Any]:
    """Return the schema of a whole stack file. Keys of the file that are Pulumi's own are left open."""
    tree = described()
    definitions = tree.pop("$defs")
    definitions |= _partials(definitions)
    _layered(tree, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Inference Stacks stack file",
        "type": "object",
        "properties": {"config": {"type": "object", "properties": {ROOT: tree}, "required": [ROOT]}},
        "required": ["config"],
        "$defs": dict(sorted(definitions.items())),
    }


def described() -> dict[str, Any]:
    """Return the schema of the specs, in which every property has its description."""
    tree = describe(Stack.__name__, Stack.model_json_schema(by_alias=True, ref_template=f"{_DEFINITIONS}{{model}}"))
    named = {name: node for name, node in tree["$defs"].items() if "properties" in node}
    return {**tree, "$defs": {**tree["$defs"], **{name: describe(name, node) for name, node in named.items()}}}


def text() -> str:
    """Return the schema as it is committed."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _layered(tree: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Let `defaults`, `prefill` and `canary` be partial, and services be so where there are defaults."""
    properties = tree["properties"]
    told = {key: properties["defaults"][key] for key in _VERBATIM & properties["defaults"].keys()}
    properties["defaults"] = {"$ref": f"{_DEFINITIONS}{_PARTIAL}Service"} | dict(sorted(told.items()))
    whole = properties["services"]
    properties["services"] = _partial(whole)
    tree["if"] = {"required": ["defaults"]}
    tree["else"] = {"properties": {"services": {"patternProperties": whole["patternProperties"]}}}
    for name, role in (("Service", "prefill"), ("Service", "canary"), ("Canary", "prefill")):
        if role in definitions.get(name, {"properties": {}})["properties"]:
            own = definitions[name]["properties"]
            own[role] = _partial(own[role])
    if f"{_PARTIAL}Canary" in definitions:
        definitions[f"{_PARTIAL}Canary"]["required"] = ["weight"]
        properties["defaults"]["properties"] = {"canary": False}
        del definitions["Canary"]


def _partials(definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a partial twin of every definition that a service is made of."""
    names, found = ["Service"], dict[str, Any]()
    for name in names:
        if f"{_PARTIAL}{name}" not in found:
            found[f"{_PARTIAL}{name}"] = _partial(definitions[name]) | {"title": f"{_PARTIAL}{name}"}
            names += _references(definitions[name])
    return found


def _references(node: object) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to."""
    if isinstance(node, dict):
        for key, value in cast("dict[str, Any]", node).items():
            if key == "$ref":
                yield value.removeprefix(_DEFINITIONS)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for one in cast("list[Any]", node):
            yield from _references(one)


def _partial(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that requires nothing, at any depth.

    Without its `type` a group may fit several alternatives, so one of them is enough and none is told apart.
    """
    twin = dict[str, Any]()
    for key, value in node.items():
        match key:
            case "required" | "discriminator":
                continue
            case "$ref":
                twin[key] = f"{_DEFINITIONS}{_PARTIAL}{value.removeprefix(_DEFINITIONS)}"
            case "oneOf" | "anyOf":
                twin["anyOf"] = [_partial(one) for one in value]
            case "properties" | "patternProperties":
                twin[key] = {name: _partial(one) for name, one in value.items()}
            case _ if isinstance(value, dict) and key not in _VERBATIM:
                twin[key] = _partial(cast("dict[str, Any]", value))
            case _:
                twin[key] = value
    return twin
