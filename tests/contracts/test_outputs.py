"""The contract of the outputs: its versions and its schema."""

import copy
import json
from pathlib import Path

import jsonschema_rs
import pytest

from cli import schema
from planning import outputs
from planning.ground import contract
from tests.support.stacks import SHIPPED, plan, shipped
from tests.support.stacks.varied import VARIED
from tests.support.stacks.varied_outputs import varied

VERSIONS = Path("tests/contracts/outputs")


def test_a_version_of_the_contract_stays_as_it_is(golden):
    golden(VERSIONS / f"v{contract.VERSION}.json", json.dumps(varied(), indent=2) + "\n")
    assert sorted(path.name for path in VERSIONS.iterdir()) == [f"v{n}.json" for n in range(1, contract.VERSION + 1)]


def validator():
    return jsonschema_rs.validator_for(schema.KINDS["outputs"]())


@pytest.mark.parametrize("stack", [*map(shipped, SHIPPED), *VARIED.values()])
def test_the_schema_of_outputs_takes_those_of_every_stack(stack):
    validator().validate(json.loads(json.dumps(outputs.of_stack(plan(stack), None))))


def test_the_schema_of_outputs_is_exact_but_for_keys_that_come_later():
    found = varied()
    validator().validate(found | {"later": 1})
    assert not validator().is_valid(json.loads((VERSIONS / "v1.json").read_text(encoding="utf-8")))
    for key in found["services"]["qwen"]:
        without = copy.deepcopy(found)
        del without["services"]["qwen"][key]
        assert not validator().is_valid(without), key


def test_every_key_of_the_outputs_is_described():
    tree = schema.KINDS["outputs"]()
    properties = [
        property_schema
        for name, node in tree["$defs"].items()
        if name != "Gpus"
        for property_schema in node["properties"].values()
    ]
    assert all(property_schema.get("description") for property_schema in [*properties, *tree["properties"].values()])
