"""JSON schemas of specs and contracts, with descriptions of keys: the docstrings below the fields.

pydantic could collect these docstrings when a spec is defined, but then pydantic would read the sources at every start
of the program. This module reads the sources only for schemas and for the reference page.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from models.base import Spec
from models.stack import Stack

DEFINITIONS = "#/$defs/"
"""Begin of a reference to a definition."""


def of_stack() -> dict[str, Any]:
    """Return the schema of the configuration of a stack, with its definitions and a description of every property."""
    tree = _describe(Stack.__name__, Stack.model_json_schema(by_alias=True, ref_template=f"{DEFINITIONS}{{model}}"))
    named = {name: node for name, node in tree["$defs"].items() if "properties" in node}
    return {**tree, "$defs": {**tree["$defs"], **{name: _describe(name, node) for name, node in named.items()}}}


def of_type(kind: type) -> dict[str, Any]:
    """Return the schema of a TypedDict of a contract, whose module has all types in it.

    The schema allows unknown keys, because keys are added without a new version of the contract.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415, schemas of specs do not need it

    module = sys.modules[kind.__module__]
    tree = TypeAdapter(kind).json_schema(ref_template=f"{DEFINITIONS}{{model}}")
    definitions = {name: _describe_type(getattr(module, name), node) for name, node in tree.pop("$defs").items()}
    return {**_describe_type(kind, tree), "$defs": dict(sorted(definitions.items()))}


def _describe(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the spec called `name`, with descriptions added to the properties that lack them."""
    return _with_texts(definition, _texts(name))


def _describe_type(kind: type, definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a TypedDict, with the descriptions that its properties have in the sources."""
    texts = dict[str, str]()
    for base in (*getattr(kind, "__orig_bases__", ()), kind):
        texts |= _docstrings(kind.__module__).get(getattr(base, "__name__", ""), {})
    return _with_texts(definition, texts)


def _with_texts(definition: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a schema whose properties have the descriptions in `texts`, unless they have a description."""
    properties = dict(definition["properties"])
    for key in properties.keys() & texts.keys():
        properties[key] = dict(sorted({"description": texts[key], **properties[key]}.items()))
    return {**definition, "properties": properties}


@cache
def _texts(name: str) -> Mapping[str, str]:
    """Return the docstrings of a spec's own and inherited fields, by the keys that users write."""
    spec = next(spec for spec in _specs(Spec) if spec.__name__ == name)
    texts = dict[str, str]()
    for base in reversed(spec.__mro__):
        if issubclass(base, Spec) and base is not Spec:
            texts |= {
                base.model_fields[field].alias or field: text
                for field, text in _docstrings(base.__module__).get(base.__name__, {}).items()
            }
    return texts


def _specs(base: type[Spec]) -> Iterator[type[Spec]]:
    for spec in base.__subclasses__():
        yield spec
        yield from _specs(spec)


@cache
def _docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings below the fields of each class of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_below(node)) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _below(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of every field with a docstring directly below it."""
    for field, text in pairwise(node.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(content))):
                yield name, inspect.cleandoc(content)
            case _:
                pass
