"""Declarations of the flags of a program, read from its source code without running it."""

import ast
import re
from collections.abc import Iterator

OPTION = re.compile(r"--?[A-Za-z][\w-]*")


def options(tree: ast.Module) -> Iterator[str]:
    """Yield the options of calls of `add_argument`."""
    for call in calls(tree, "add_argument"):
        values = (argument.value for argument in call.args if isinstance(argument, ast.Constant))
        yield from (text for text in values if isinstance(text, str) and OPTION.fullmatch(text))


def fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield name and annotation of the fields of a class."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.annotation


def texts(node: ast.expr | None) -> Iterator[str]:
    """Yield a text, or the texts in a list; nothing for another expression."""
    entries = node.elts if isinstance(node, ast.List) else [node]
    yield from (entry.value for entry in entries if isinstance(entry, ast.Constant) and isinstance(entry.value, str))


def calls(tree: ast.Module, method: str) -> Iterator[ast.Call]:
    """Yield the calls of methods with the name `method`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield node
