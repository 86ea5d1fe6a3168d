"""Descriptions of configuration keys: the docstrings below the fields of the specs.

pydantic could collect these docstrings when a spec is defined, but then pydantic would read the sources at every start
of the program. This module reads the sources only for the schema and for the reference page.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from models.base import Spec


def describe(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the spec called `name`, with descriptions added to the properties that lack them."""
    texts = _texts(name)
    properties = {
        key: dict(sorted({"description": texts[key], **node}.items())) if key in texts else node
        for key, node in definition["properties"].items()
    }
    return {**definition, "properties": properties}


def describe_type(kind: type, definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a TypedDict, with the descriptions that its properties have in the sources."""
    texts = dict[str, str]()
    for base in (*getattr(kind, "__orig_bases__", ()), kind):
        texts |= _docstrings(kind.__module__).get(getattr(base, "__name__", ""), {})
    properties = {
        key: dict(sorted({"description": texts[key], **node}.items())) if key in texts else node
        for key, node in definition["properties"].items()
    }
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
