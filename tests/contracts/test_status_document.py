"""The contract of the status: its version and its schema."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from string import Formatter

import jsonschema_rs
import pytest
import yaml

from cli import schema
from judging.status import contract, document, states
from judging.status.records import Finding, Link, ObjectRef
from judging.status.verdict import ExitCode, Status
from tests.support import status_documents, statuses

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


LINKS = {
    "claims": Link.CLAIM,
    "pickers": Link.PICKER,
    "pods": Link.WORKLOAD,
    "pools": Link.POOL,
    "routes": Link.ROUTE,
    "scaling": Link.SCALING,
    "workloads": Link.WORKLOAD,
}


@pytest.mark.parametrize("table", states.LINKS)
def test_the_schema_takes_each_state_that_a_service_may_be_in(table):
    rows = yaml.safe_load(Path(f"judging/status/tables/{table}.yaml").read_text(encoding="utf-8"))["states"]
    judge = validator()
    for row in rows:
        state = states.by_id()[row["id"]]
        fields = {field for _, field, _, _ in Formatter().parse(state.words + state.steady + state.remedy) if field}
        finding = Finding(state, ObjectRef("Pod", "team", "x"), None, dict.fromkeys(fields, "1"), role="decode")
        link = replace(statuses.workload(0, 1, finding), link=LINKS[table])
        service = statuses.service(link, serves=False, culprit=finding)
        tree = document.of(Status((service,), statuses.READ_AT, {}), ExitCode.FAILS)
        judge.validate(tree)
        assert tree["services"][0]["culprit"]["id"] == row["id"]
        conditions = tree["services"][0]["heritage"]["aimEngine"]["conditions"]
        assert not [entry for entry in conditions if "{" in entry["reason"] + entry["message"]]
