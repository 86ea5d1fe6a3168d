"""The schema of the package says what the schema of stack files says, and takes every valid stack."""

import json
from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest

from cli import schema, stackfile
from models.config_keys import ROOT
from package import descriptions
from package.committed import committed_schema
from package.inputs import SETTINGS
from package.schema import package_schema
from tests.support.stacks import SHIPPED
from tests.support.stacks.varied import VARIED
from tests.support.stacks.varied_outputs import varied

COMMITTED = json.loads(Path("schemas/package.schema.json").read_text(encoding="utf-8"))
"""The schema that SDKs are made from; `test_a_committed_schema_is_the_specs` compares it with the specs."""
RESOURCE = COMMITTED["resources"]["inference-stacks:index:InferenceStack"]
NO_KEY_OF_STACKS = "defaults.canary"
"""Begin of paths that only the package has: `defaults` has the type of a service, which the program narrows."""
WORD_BESIDE_NUMBERS = ("kvCache.blockSize", "engine", "string")
"""End of a path, its word in stack files, and its type in the package: SDKs have no words beside numbers."""
SETTING_NAMES = {setting.name for setting in SETTINGS}


def of_stack_files(node, definitions, path=""):
    """Yield path and kind of every value in the schema of stack files. Words of enums are kinds."""
    if not isinstance(node, dict):
        return
    if "$ref" in node:
        yield from of_stack_files(definitions[node["$ref"].removeprefix("#/$defs/")], definitions, path)
        return
    alternatives = node.get("anyOf", node.get("oneOf", ()))
    for alternative in alternatives:
        yield from of_stack_files(alternative, definitions, path)
    for word in node.get("enum", [node[key] for key in ("const",) if key in node]):
        yield path, word
    if not alternatives and "enum" not in node and "const" not in node:
        yield path, node.get("type", "any")
    yield from of_stack_files(node.get("items"), definitions, f"{path}[]")
    for inner in (*node.get("patternProperties", {}).values(), node.get("additionalProperties")):
        yield from of_stack_files(inner, definitions, f"{path}.*")
    for key, inner in node.get("properties", {}).items():
        yield from of_stack_files(inner, definitions, f"{path}.{key}".lstrip("."))


def of_package(node, path=""):
    """Yield path and kind of every value in the schema of the package. Words of enums are kinds."""
    if "$ref" in node:
        if node["$ref"] == "pulumi.json#/Any":
            yield path, "any"
            return
        node = COMMITTED["types"][node["$ref"].removeprefix("#/types/")]
    for alternative in node.get("oneOf", ()):
        yield from of_package(alternative, path)
    for value in node.get("enum", ()):
        yield path, value["value"]
    if "const" in node:
        yield path, node["const"]
    elif "oneOf" not in node and "enum" not in node:
        yield path, node["type"]
    if "items" in node:
        yield from of_package(node["items"], f"{path}[]")
    if "additionalProperties" in node:
        yield from of_package(node["additionalProperties"], f"{path}.*")
    for key, inner in node.get("properties", {}).items():
        yield from of_package(inner, f"{path}.{key}".lstrip("."))


@cache
def in_stack_files():
    """Return paths and kinds of the schema of stack files. A null removes a value of another layer, and is no type."""
    whole = schema.schema()
    tree = whole["properties"]["config"]["properties"][ROOT]["properties"]
    return {
        (path, kind)
        for key, node in tree.items()
        for path, kind in of_stack_files(node, whole["$defs"], key)
        if kind != "null"
    }


@cache
def in_package():
    keys = RESOURCE["inputProperties"].items()
    return {pair for key, node in keys if key not in SETTING_NAMES for pair in of_package(node, key)}


def with_type(path, kind):
    """Return a path and its kind in the package."""
    end, word, in_the_package = WORD_BESIDE_NUMBERS
    return (path, in_the_package) if path.endswith(end) and kind == word else (path, kind)


def test_every_key_and_word_of_a_stack_file_is_in_the_package_and_no_other():
    ours = {pair for pair in in_package() if not pair[0].startswith(NO_KEY_OF_STACKS)}
    theirs = {with_type(*pair) for pair in in_stack_files() if not pair[0].startswith(NO_KEY_OF_STACKS)}
    assert (theirs - ours, ours - theirs) == (set(), set())
    assert ("services.*.model.source", "string") in ours
    assert ("services.*.autoscaling.metrics[].type", "queue-size") in ours
    assert {("services.*.kvCache.blockSize", kind) for kind in ("string", "integer")} < ours
    assert (NO_KEY_OF_STACKS, "object") in in_package() - ours


def test_a_key_that_only_one_schema_has_is_found():
    """The walks read what they compare: a key that is taken out of a type is missing at each path that leads to it."""
    definitions = schema.schema()["$defs"]
    whole = {*of_stack_files({"$ref": "#/$defs/PartialModel"}, definitions)}
    del definitions["PartialModel"]["properties"]["source"]
    assert whole - {*of_stack_files({"$ref": "#/$defs/PartialModel"}, definitions)} == {
        ("source", "string"),
        ("source", "null"),
    }


def as_json_schema(node):
    """Return a type of the package as a JSON schema. Objects have no other keys, as types of a typed language."""
    if node.get("$ref") == "pulumi.json#/Any":
        return {}
    translated = {key: node[key] for key in ("$ref", "const", "required", "type") if key in node}
    if "enum" in node:
        translated["enum"] = [value["value"] for value in node["enum"]]
    if "oneOf" in node:
        translated["anyOf"] = [as_json_schema(inner) for inner in node["oneOf"]]
    if "items" in node:
        translated["items"] = as_json_schema(node["items"])
    if "properties" in node:
        translated["properties"] = {key: as_json_schema(inner) for key, inner in node["properties"].items()}
        translated["additionalProperties"] = False
    elif "additionalProperties" in node:
        translated["additionalProperties"] = as_json_schema(node["additionalProperties"])
    return translated


@cache
def validator(properties, required):
    """Return a validator of the inputs or the outputs of the component."""
    types = {name: as_json_schema(node) for name, node in COMMITTED["types"].items()}
    whole = as_json_schema({"type": "object", "properties": RESOURCE[properties], "required": RESOURCE[required]})
    return jsonschema_rs.validator_for({**whole, "types": types})


def without_nulls(value):
    """Return a tree as a typed language can write it."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


@pytest.mark.parametrize("stack", [*map(stackfile.read, SHIPPED), *VARIED.values()])
def test_the_types_take_a_valid_stack(stack):
    inputs = validator("inputProperties", "requiredInputs")
    inputs.validate({"namespace": "models", "services": {}} | without_nulls(stack))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"servces": {}}, []),
        ({"services": {"qwen": {"model": {"sorce": "hf://a/b"}}}}, ["services", "qwen", "model"]),
        ({"services": {"qwen": {"replicas": "two"}}}, ["services", "qwen", "replicas"]),
        ({"checks": {"fit": "loud"}}, ["checks", "fit"]),
        ({"gateway": {"name": "g", "provider": "istio", "nmespace": "g"}}, ["gateway"]),
    ],
)
def test_the_types_refuse_a_mistake(change, path):
    inputs = validator("inputProperties", "requiredInputs")
    errors = [*inputs.iter_errors(without_nulls(stackfile.read(SHIPPED[0])) | change)]
    assert [[*error.instance_path] for error in errors] == [path]


def test_a_key_is_required_unless_another_layer_of_a_service_can_have_it():
    types = {name.rpartition(":")[2]: node for name, node in COMMITTED["types"].items()}
    assert RESOURCE["requiredInputs"] == ["namespace", "services"]
    assert "required" not in types["Service"]
    assert "required" not in types["Model"]
    assert types["Canary"]["required"] == ["weight"]
    assert types["Gateway"]["required"] == ["name", "provider"]
    assert types["KeyVerification"]["required"] == ["secret", "type"]
    assert types["Cache"]["required"] == ["source"]
    assert types["RequestMetric"]["required"] == ["target", "type"]


def test_the_types_take_the_outputs_of_a_stack():
    outputs = validator("properties", "required")
    tree = without_nulls(json.loads(json.dumps(varied())))
    outputs.validate(tree)
    assert not outputs.is_valid(tree | {"later": 1})
    assert not outputs.is_valid({key: value for key, value in tree.items() if key != "services"})


def test_no_setting_has_the_name_of_a_key():
    assert RESOURCE["inputProperties"].keys() - SETTING_NAMES == descriptions.of_stack()["properties"].keys()
    assert RESOURCE["inputProperties"].keys() >= SETTING_NAMES
    assert SETTING_NAMES.isdisjoint(RESOURCE["requiredInputs"])


def test_all_inputs_are_plain_but_those_of_other_stacks():
    """Else an SDK would take an Output of a resource that does not exist yet, and no preview could decide from it."""
    eventual = {name for name, node in RESOURCE["inputProperties"].items() if not node.get("plain")}
    assert eventual == {"kubeconfig", "platformOutputs"}
    nested = [node for name, node in COMMITTED["types"].items() if ":Deployed" not in name and "properties" in node]
    assert [node for kind in nested for node in kind["properties"].values() if not node["plain"]] == []


def test_the_schema_has_the_version_that_a_caller_names():
    """The committed schema has none: a release does not change it."""
    assert package_schema("1.2.3") == committed_schema("1.2.3") == {**COMMITTED, "version": "1.2.3"}
    assert "version" not in COMMITTED
