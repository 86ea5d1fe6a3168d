"""Every leaf field of the schema has an effect: one edit of it changes objects, outputs, provider or verdict."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.schema import schema
from facts import cluster
from manifests.stack import objects, render
from models.load import ROOT, load
from models.problems import ConfigError
from planning import outputs, preflight
from planning import stack as planning
from tests.stacks import tree

CONSTANTS = {
    "interceptor.mode": "one way to find the engine exists; the word keeps a file valid when there are more",
    "cluster.facts.type": "tells the three kinds of facts apart; each kind is edited as a whole in its own test",
}
CANDIDATES = [
    "/edited", "7s", "7m", "9h", "edited", "77Gi", "7", "example.com/edited:v7", "nvidia-l40s", "gie-1.3",
    "kit://example.com/edited:v7", "edited.example.com", "tests/facts/complete.json", 7, 77, 0, 1, True, False,
    "--edited", "none", "warn", "skip", "agentgateway",
]  # fmt: skip
MAPS = {"labels": "team", "requests": "cpu", "limits": "memory"}


def base() -> dict[str, Any]:
    stack = tree(qwen={})
    stack["interceptor"] = {"mode": "label", "namespace": "metering"}
    stack["cluster"] = {"facts": {"type": "file", "path": "tests/facts/no-pool.json"}}
    stack["checks"] = {"preflight": "strict"}
    stack["gateway"]["port"] = 443
    stack["services"]["qwen"]["route"] = {"hostnames": ["llm.example.com"]}
    return stack


def effect(stack: dict[str, Any]) -> str:
    loaded = load(stack)
    plan = planning.plan(loaded)
    everything = list(objects(render(plan)))
    facts = cluster.read(loaded.stack.cluster, cluster.Access(None, None), Path())
    needed = [one.api for one in everything]
    verdict = preflight.kinds(needed, facts, loaded.stack.checks.preflight)
    provider = (loaded.stack.cluster.name, loaded.stack.cluster.context)
    manifests = [(one.manifest, one.wait) for one in everything]
    return json.dumps([manifests, outputs.stack(plan, facts.digest(needed)), provider, str(verdict)])


def leaves(node: dict[str, Any], definitions: dict[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Walk the schema to its leaves; a map of services stands for the one that the base has."""
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    variants = [one for one in node.get("oneOf", node.get("anyOf", ())) if one.get("type") != "null"]
    if variants:
        for one in variants:
            yield from leaves(one, definitions, at)
    elif "properties" in node:
        for name, field in node["properties"].items():
            yield from leaves(field, definitions, (*at, name))
    elif node.get("type") == "object" and at == ("services",):
        (service,) = node["patternProperties"].values()
        yield from leaves(service, definitions, (*at, "qwen"))
    elif node.get("type") == "object":
        yield (*at, MAPS[at[-1]])
    elif node.get("type") == "array":
        yield (*at, "[]")
    else:
        yield at


def all_leaves() -> list[tuple[str, ...]]:
    whole = schema()
    found = leaves(whole["properties"]["config"]["properties"][ROOT], whole["$defs"])
    return sorted(set(found))


def edited(stack: dict[str, Any], at: tuple[str, ...], value: Any) -> dict[str, Any]:
    copied: dict[str, Any] = copy.deepcopy(stack)
    parent = copied
    path, value = (at[:-1], [value]) if at[-1] == "[]" else (at, value)
    for part in path[:-1]:
        parent = parent.setdefault(part, {})
    parent[path[-1]] = value
    return copied


def test_the_walk_reaches_every_part_of_the_schema():
    dotted = {".".join(path) for path in all_leaves()}
    assert {"release", "gateway.provider", "services.qwen.model.secrets.[]", "services.qwen.labels.team"} <= dotted
    assert len(dotted) > 50


@pytest.mark.parametrize("at", all_leaves(), ids=".".join)
def test_a_leaf_field_has_an_effect(at):
    if ".".join(at) in CONSTANTS:
        return
    unchanged = effect(base())
    valid = []
    for value in CANDIDATES:
        try:
            valid.append(effect(edited(base(), at, value)) != unchanged)
        except ConfigError:
            continue
    assert valid, "no candidate value is valid; add one to CANDIDATES"
    assert any(valid), "no valid edit of this field changes anything; remove the field"


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_refuses_every_other_word(name):
    with pytest.raises(ConfigError):
        effect(edited(base(), tuple(name.split(".")), "edited"))


def test_the_kinds_of_facts_differ_in_effect():
    stack = base()
    none = edited(stack, ("cluster", "facts"), {"type": "none"})
    assert effect(stack) != effect(none)
