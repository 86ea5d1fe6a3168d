"""The contract of the status: its version and its schema."""

import copy
import json
from pathlib import Path

import jsonschema_rs
import pytest

from cli import schema
from judging.status import contract
from tests.support import status_documents

VERSIONS = Path("tests/contracts/status")


def validator():
    return jsonschema_rs.validator_for(schema.KINDS["status"]())


def text(tree):
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def test_a_version_of_the_status_stays_as_it_is(golden):
    golden(VERSIONS / f"v{contract.VERSION}.json", text(status_documents.ALL["all"]))
    assert [path.name for path in VERSIONS.iterdir()] == [f"v{contract.VERSION}.json"]


@pytest.mark.parametrize("name", status_documents.ALL)
def test_the_schema_takes_every_status(name):
    validator().validate(json.loads(text(status_documents.ALL[name])))


def paths(node, at=()):
    """Yield the place of each mapping in a tree."""
    if isinstance(node, dict):
        yield at
        for key, inner in node.items():
            yield from paths(inner, (*at, key))
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from paths(inner, (*at, index))


def reach(tree, at):
    for key in at:
        tree = tree[key]
    return tree


def test_the_schema_is_exact_but_for_keys_that_come_later():
    tree = status_documents.ALL["broken"]
    validator().validate(tree | {"later": 1})
    judge = validator()
    places = [(at, key) for at in paths(tree) for key in reach(tree, at)]
    assert len(places) > 50
    for at, key in places:
        less = copy.deepcopy(tree)
        del reach(less, at)[key]
        assert not judge.is_valid(less), (at, key)


def test_words_that_no_status_has_are_refused():
    tree = copy.deepcopy(status_documents.ALL["broken"])
    tree["services"][0]["state"] = "fine"
    assert not validator().is_valid(tree)
    assert not validator().is_valid(status_documents.ALL["none"] | {"statusVersion": 2})


def test_every_key_of_the_status_is_described():
    tree = schema.KINDS["status"]()
    nodes = [tree, *tree["$defs"].values()]
    bare = [key for node in nodes for key, inner in node["properties"].items() if not inner.get("description")]
    assert bare == []
