"""Types of a package, made from the definitions of a JSON schema."""

import pytest

from package.json_schema import ANY, Types, closure

DEFINITIONS = {
    "Anything": {},
    "Metric": {"type": "object", "properties": {"type": {"const": "cpu", "type": "string"}}, "required": ["type"]},
    "Tree": {
        "type": "object",
        "description": "A tree.",
        "properties": {
            "below": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
            "leaves": {"type": "array", "items": {"$ref": "#/$defs/Metric"}},
        },
    },
}


def object_of(node, *, are_inputs=True, definitions=DEFINITIONS, required=()):
    types = Types("p", definitions, are_inputs=are_inputs, required=dict(required))
    kind = types.object_type("Root", {"properties": {"key": node}, "required": ["key"]})
    return kind, types.by_token


def property_of(node, **settings):
    kind, types = object_of(node, **settings)
    return kind["properties"]["key"], types


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "plain": True}),
        (
            {"type": "boolean", "default": True, "description": "On."},
            {"type": "boolean", "description": "On.\n\nDefault: true.", "plain": True},
        ),
        ({"$ref": "#/$defs/Anything"}, {"$ref": ANY, "plain": True}),
        ({"const": "cpu", "type": "string"}, {"type": "string", "const": "cpu", "plain": True}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "string", "const": "engine"}]},
            {"oneOf": [{"type": "integer", "plain": True}, {"type": "string", "plain": True}], "plain": True},
        ),
        (
            {"type": "object", "patternProperties": {"^[a-z]$": {"type": "string"}}},
            {"type": "object", "additionalProperties": {"type": "string", "plain": True}, "plain": True},
        ),
    ],
)
def test_a_value_has_a_type(node, expected):
    assert property_of(node) == (expected, {})


def test_the_words_of_a_key_are_an_enum_with_the_name_of_object_and_key():
    spec, types = property_of({"type": "string", "enum": ["active-active", "None", "8x"]})
    names = [(value["name"], value["value"]) for value in types["p:index:RootKey"]["enum"]]
    assert spec == {"$ref": "#/types/p:index:RootKey", "plain": True}
    assert names == [("ActiveActive", "active-active"), ("None", "None"), ("Value8x", "8x")]


def test_words_of_outputs_are_texts_because_words_can_be_added():
    assert property_of({"type": "string", "enum": ["a"]}, are_inputs=False) == ({"type": "string"}, {})
    assert property_of({"type": "string", "const": "a"}, are_inputs=False) == ({"type": "string"}, {})


def test_a_definition_may_refer_to_itself():
    spec, types = property_of({"$ref": "#/$defs/Tree"})
    assert spec == {"$ref": "#/types/p:index:Tree", "plain": True}
    assert types["p:index:Tree"]["properties"]["below"] == spec
    assert types["p:index:Tree"]["description"] == "A tree."


def test_a_discriminator_leads_to_types():
    mapping = {"propertyName": "type", "mapping": {"cpu": "#/$defs/Metric", "tree": "#/$defs/Tree"}}
    union = {"oneOf": [{"$ref": "#/$defs/Metric"}, {"$ref": "#/$defs/Tree"}], "discriminator": mapping}
    spec, _ = property_of(union)
    assert spec["discriminator"]["mapping"] == {"cpu": "#/types/p:index:Metric", "tree": "#/types/p:index:Tree"}


def test_a_key_that_may_be_null_is_not_required():
    assert object_of({"type": "string"})[0]["required"] == ["key"]
    assert "required" not in object_of({"anyOf": [{"type": "string"}, {"type": "null"}]})[0]


def test_required_keys_can_differ_from_the_definition():
    assert object_of({"$ref": "#/$defs/Metric"})[1]["p:index:Metric"]["required"] == ["type"]
    assert "required" not in object_of({"$ref": "#/$defs/Metric"}, required={"Metric": ()})[1]["p:index:Metric"]


def test_two_enums_of_one_name_are_an_error():
    words = {"type": "string", "enum": ["a"]}
    types = Types("p", {}, are_inputs=True)
    types.object_type("Root", {"properties": {"keyTwo": words}})
    types.object_type("RootKey", {"properties": {"two": words}})
    with pytest.raises(ValueError, match="two types have the name p:index:RootKeyTwo"):
        types.object_type("RootKey", {"properties": {"two": {"type": "string", "enum": ["b"]}}})


def test_a_schema_that_no_type_fits_is_an_error():
    with pytest.raises(ValueError, match="RootKey: no type of a package fits"):
        property_of({"type": "null"})


def test_definitions_in_lists_and_skipped_properties_are_not_reached():
    assert closure(DEFINITIONS, "Tree") == {"Tree"}
    linked = {**DEFINITIONS, "Map": {"properties": {"m": {"patternProperties": {"": {"$ref": "#/$defs/Metric"}}}}}}
    assert closure(linked, "Map") == {"Map", "Metric"}
    assert closure(linked, "Map", without={"m"}) == {"Map"}
