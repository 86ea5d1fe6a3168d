"""Types of a Pulumi package, made from the definitions of a JSON schema.

A Pulumi schema has named types: objects with properties, and enums. A JSON schema says more than a Pulumi schema can:
patterns, ranges and null are left out, and the program reports values that do not fit.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

Node = dict[str, Any]
"""Schema of a value: a JSON schema, or a type or a property of a Pulumi schema."""

ANY = "pulumi.json#/Any"
"""Reference to the type that every value has."""
_DEFINITIONS = "#/$defs/"
_NULL = {"type": "null"}
_SCALARS = frozenset({"boolean", "integer", "number", "string"})


@dataclass
class Types:
    """Types of a package by token. A type is added when a property refers to it.

    `package` is the name of the package, `definitions` holds the definitions of the JSON schema by name.
    """

    package: str
    definitions: Mapping[str, Node]
    are_inputs: bool
    """Whether the types are inputs: plain values, with the words that their keys can have. Keys of outputs may get
    further words, so outputs have texts."""
    prefix: str = ""
    """Begin of the names of the types."""
    required: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """Required keys by name of the definition, where they differ from those of the JSON schema."""
    by_token: dict[str, Node] = field(default_factory=dict[str, Node])

    def object_type(self, name: str, node: Node) -> Node:
        """Return the object with the properties of `node`. `name` begins the names of its enums.

        A key that may be null is not required, because a Pulumi schema has no null.
        """
        properties = {key: self._property(name, key, inner) for key, inner in node["properties"].items()}
        required = self.required.get(name, node.get("required", ()))
        present = [key for key in required if _NULL not in node["properties"][key].get("anyOf", ())]
        kind: Node = {"type": "object", "properties": properties}
        if "description" in node:
            kind = {"description": node["description"], **kind}
        if present:
            kind["required"] = sorted(present)
        return kind

    def _property(self, owner: str, key: str, node: Node) -> Node:
        """Return the property at the key of an object."""
        if "const" in node and self.are_inputs:
            spec: Node = {"type": node["type"], "const": node["const"], "plain": True}
        else:
            spec = self._type(node, owner + _pascal_case(key))
        text = _description(node)
        if text:
            spec = {"description": text, **spec}
        return spec

    def _type(self, node: Node, name: str) -> Node:
        """Return the type of a value. `name` is the name of its enum, if it is one."""
        spec = self._eventual(node, name)
        if self.are_inputs:
            spec["plain"] = True
        return spec

    def _eventual(self, node: Node, name: str) -> Node:
        match node:
            case {"$ref": reference}:
                return self._reference(reference.removeprefix(_DEFINITIONS))
            case {"anyOf": alternatives} | {"oneOf": alternatives}:
                return self._union(alternatives, node.get("discriminator"), name)
            case {"enum": values} if self.are_inputs:
                return self._enum(name, node["type"], values)
            case {"const": value} if self.are_inputs:
                return self._enum(name, node["type"], [value])
            case _:
                return self._built_in(node, name)

    def _built_in(self, node: Node, name: str) -> Node:
        """Return the type of a scalar, a list or a map. `name` is the name of the enum of its items or values."""
        match node["type"]:
            case "array":
                return {"type": "array", "items": self._type(node["items"], name)}
            case "object":
                (inner,) = node.get("patternProperties", {"": node.get("additionalProperties")}).values()
                return {"type": "object", "additionalProperties": self._type(inner, name)}
            case scalar if scalar in _SCALARS:
                return {"type": scalar}
            case _:
                raise ValueError(f"{name}: no type of a package fits {node}")

    def _reference(self, name: str) -> Node:
        """Return a reference to a definition, whose type is added. A definition without keywords takes every value."""
        definition = self.definitions[name]
        if not definition.keys() - {"description", "title"}:
            return {"$ref": ANY}
        token = self._token(self.prefix + name)
        if token not in self.by_token:
            # A definition may refer to itself: its place is taken before its properties are read.
            self.by_token[token] = {}
            self.by_token[token] = self.object_type(name, definition)
        return {"$ref": f"#/types/{token}"}

    def _union(self, alternatives: list[Node], discriminator: Node | None, name: str) -> Node:
        """Return the type of values that fit one of several schemas; null is left out."""
        kinds = [alternative for alternative in alternatives if alternative != _NULL]
        if len(kinds) == 1:
            return self._eventual(kinds[0], name)
        types = [self._type(_without_words(kind), name) for kind in kinds]
        spec: Node = {"oneOf": [kind for index, kind in enumerate(types) if kind not in types[:index]]}
        if discriminator is not None:
            mapping = {
                word: self._reference(target.removeprefix(_DEFINITIONS))["$ref"]
                for word, target in discriminator["mapping"].items()
            }
            spec["discriminator"] = {"propertyName": discriminator["propertyName"], "mapping": mapping}
        return spec

    def _enum(self, name: str, kind: str, values: list[str | int]) -> Node:
        token = self._token(self.prefix + name)
        enum: Node = {"type": kind, "enum": [{"name": _name_of(value), "value": value} for value in values]}
        if self.by_token.setdefault(token, enum) != enum:
            raise ValueError(f"two types have the name {token}")
        return {"$ref": f"#/types/{token}"}

    def _token(self, name: str) -> str:
        return f"{self.package}:index:{name}"


def closure(definitions: Mapping[str, Node], start: str, without: Collection[str] = ()) -> frozenset[str]:
    """Return the names of the definition `start`, and of those that it refers to, directly or through others.

    References from items of lists, and from properties in `without`, do not count.
    """
    skipped = {"items", "default", "examples", *without}
    names = {start}
    waiting: list[object] = [definitions[start]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += cast("list[object]", node)
        if isinstance(node, dict):
            mapping = cast("Node", node)
            waiting += [inner for key, inner in mapping.items() if key not in skipped]
            name = str(mapping.get("$ref", "")).removeprefix(_DEFINITIONS)
            if name in definitions.keys() - names:
                names.add(name)
                waiting.append(definitions[name])
    return frozenset(names)


def _without_words(node: Node) -> Node:
    """Return the schema of one of several types without its words.

    The SDK of Go takes no value but text where one of several types is an enum (pulumi 3.230, codegen/go/gen.go).
    """
    return {key: value for key, value in node.items() if key not in {"const", "enum"}}


def _description(node: Node) -> str:
    """Return the description of a property, with its default if that is one word or number."""
    text = str(node.get("description", ""))
    default = node.get("default")
    if default is None or default == "" or isinstance(default, dict | list):
        return text
    return f"{text}\n\nDefault: {str(default).lower() if isinstance(default, bool) else default}."


def _pascal_case(text: str) -> str:
    """Return a name whose words begin with capitals, such as `ActiveActive` for `active-active`."""
    words = re.split(r"[^A-Za-z0-9]+", text)
    return "".join(word[:1].upper() + word[1:] for word in words)


def _name_of(value: str | int) -> str:
    """Return the name of a value of an enum. No language lets a name begin with a digit."""
    name = _pascal_case(str(value))
    if name[0].isdigit():
        return f"Value{name}"
    return name
