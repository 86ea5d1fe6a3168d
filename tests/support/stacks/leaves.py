"""The leaves of the schema, where they are in a stack, and stacks that have them elsewhere."""

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from cli.schema import schema
from models.config_keys import ROOT
from models.role import Role
from tests.contracts.invariants.trees import over, without
from tests.support.stacks import SERVICE

Place = tuple[str | int, ...]
"""Place of a value; `*` is any name of a map that is the user's, `[]` any item of a list."""
NAMES = dict.fromkeys(("requests", "limits"), "ephemeral-storage")
"""Names that may be new in a map, by its key, where not every name is allowed."""
SECTIONS: tuple[Place, ...] = (("decode", "sets"), ("prefill", "sets"), ("prefill",), ("encode",))
"""Places below a service of what has the keys of a role; the longer of two comes first."""
OF_ROLES = {field.alias or name for name, field in Role.model_fields.items()}
OF_EVERY_ROLE = ("type", "port")
"""Keys of an engine that all roles of a service have in common."""
OF_A_SERVICE = {"name", "namespace", "route", "rewrites", "interceptor", "slo"}
"""Keys that no canary has."""


def leaves(node: dict[str, Any], definitions: dict[str, Any], at: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Walk the schema to its leaves."""
    if "$ref" in node:
        refused = {name for name, schema in node.get("properties", {}).items() if schema is False}
        node = definitions[node["$ref"].rpartition("/")[2]]
        if refused:
            node = node | {
                "properties": {key: schema for key, schema in node["properties"].items() if key not in refused}
            }
    variants = [schema for schema in node.get("oneOf", node.get("anyOf", ())) if schema.get("type") != "null"]
    if variants:
        for variant in variants:
            yield from leaves(variant, definitions, at)
    elif "properties" in node:
        for name, field in node["properties"].items():
            yield from leaves(field, definitions, (*at, name))
    elif "patternProperties" in node:
        (field,) = node["patternProperties"].values()
        yield from leaves(field, definitions, (*at, "*"))
    elif node.get("type") == "array":
        yield from leaves(node["items"], definitions, (*at, "[]"))
    else:
        yield at, node


@cache
def all_leaves() -> Mapping[str, tuple[Place, list[dict[str, Any]]]]:
    """Return every leaf by its dotted path; of alternatives that share a field, the schema of each."""
    whole = schema()
    found: dict[str, tuple[Place, list[dict[str, Any]]]] = {}
    for at, node in leaves(whole["properties"]["config"]["properties"][ROOT], whole["$defs"]):
        found.setdefault(".".join(map(str, at)), (at, []))[1].append(node)
    return found


def places(stack: Any, at: Place, before: Place = ()) -> Iterator[Place]:
    """Yield where a path leads to in a stack; the last name of a map may be new."""
    if not at:
        yield before
        return
    part, rest = at[0], at[1:]
    names: list[str | int] = [part]
    if part == "*":
        new = NAMES.get(str(before[-1]), "edited")
        names = [*(stack or {}), *([] if rest else [new])]
    elif part == "[]":
        names = [*range(len(stack or []))]
    for name in names:
        inside = stack[name] if isinstance(stack, list) else (stack or {}).get(name)
        if inside is None or not rest or isinstance(inside, dict | list):
            yield from places(inside, rest, (*before, name))


def opened(stack: dict[str, Any], place: Place) -> tuple[dict[str, Any], Any]:
    """Return the stack with the groups above a place, and the nearest of them; it shares what is beside them."""
    opening = at = dict(stack)
    for part in place[:-1]:
        absent = isinstance(at, dict) and at.get(part) is None
        at[part] = {} if absent else copy.copy(at[part])
        at = at[part]
    return opening, at


def reach(stack: Any, at: Place) -> int:
    """Return how many parts of a path are in a stack."""
    if not at or not isinstance(stack, dict | list):
        return 0
    part, rest = at[0], at[1:]
    if part in {"*", "[]"}:
        inside = [*stack.values()] if isinstance(stack, dict) else stack
    else:
        inside = [stack[part]] if part in stack else []
    return max((1 + reach(value, rest) for value in inside), default=0)


def inherited(stack: dict[str, Any]) -> dict[str, Any]:
    """Return the stack with everything that its service says in `defaults`, but what only a service can say."""
    service = stack["services"]["qwen"]
    canary = {"canary"} & service.keys()
    every = {key: value for key, value in service.items() if key not in canary}
    copied = "mirror" in service.get("route", {})
    others = {key: other for key, other in stack["services"].items() if key != "qwen" and copied}
    return stack | {
        "defaults": over(stack.get("defaults", {}), every),
        "services": {"qwen": {key: service[key] for key in canary}, **others},
    }


def section_of(at: Place) -> Place | None:
    """Return the section whose role a leaf belongs to; None for the service's own keys."""
    below = at[1:] if at[0] == "defaults" else at[3:] if at[2:3] == ("canary",) else at[2:]
    return next((section for section in SECTIONS if below[: len(section)] == section), None)


def moved(stack: dict[str, Any], section: Place) -> dict[str, Any] | None:
    """Return the stack with all that its service says of its role in a section; None for a stack without that service.

    The service keeps what a role of another section inherits; a divided one keeps only what all roles have in common.
    """
    service = stack["services"].get("qwen")
    if service is None:
        return None
    role = {key: value for key, value in service.items() if key in OF_ROLES}
    rest = service
    if section[0] == "decode":
        engine = {key: value for key, value in service.get("engine", {}).items() if key in OF_EVERY_ROLE}
        rest = {key: value for key, value in service.items() if key not in OF_ROLES} | {"engine": engine}
        rest |= {"accelerator": service["accelerator"]} if "accelerator" in service else {}
    tree = role
    beside = service.get(section[0], {})
    if section[1:] == ("sets",):
        tree = {"sets": {"moved": role}}
        beside = without(beside, "replicas", "autoscaling", "patch")
    return stack | {"services": {**stack["services"], "qwen": {**rest, section[0]: over(tree, beside)}}}


def tried(stack: dict[str, Any]) -> dict[str, Any]:
    """Return the stack with everything that its service says in a canary, beside a service that says little."""
    service = stack["services"]["qwen"]
    if "canary" in service:
        return stack
    cache = stack.get("caches", {}).get(service.get("storage", {}).get("cache"), SERVICE["model"])
    model = {"name": "org/m", "source": cache["source"], **service["model"]}
    canary = {key: value for key, value in service.items() if key not in OF_A_SERVICE}
    little = {"model": {"name": model["name"], "source": "hf://org/little"}, "accelerator": "nvidia"}
    beside = {"weight": 0, "headers": {"x-canary": "always"}, **canary, "model": model}
    whole = {key: value for key, value in stack.items() if key != "interceptor"}
    return whole | {"services": {"qwen": {**little, "canary": beside}}}
