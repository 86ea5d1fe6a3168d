"""Values of variables and expressions in source code, as far as they can be told without running the code."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""A constant, a list of values, which also stands for a tuple, a dictionary of values, or the result of a call."""


class UnknownValueError(Exception):
    """The code does not tell the value of an expression."""


class Values:
    """Values of the variables of a module, class or function."""

    def __init__(self, calls: Mapping[str, Callable[["Values", ast.Call], Value]]) -> None:
        """Know no variable. `calls` returns the results of calls by the name of what they call."""
        self.known = dict[str, Value]()
        """Values by the name of a variable, such as `NAME` or `self.name`."""
        self._calls = calls

    def import_from(self, tree: ast.Module, trees: Mapping[str, ast.Module]) -> None:
        """Take the constants that the module `tree` imports from modules in `trees`, which are by path."""
        for statement in tree.body:
            if not isinstance(statement, ast.ImportFrom) or statement.module is None:
                continue
            path = f"{statement.module.replace('.', '/')}.py"
            if path in trees:
                exporter = Values(self._calls)
                exporter.assign(trees[path].body)
                names = {row.name for row in statement.names}
                self.known |= {name: value for name, value in exporter.known.items() if name in names}

    def assign(self, statements: Iterable[ast.stmt]) -> None:
        """Take the values that statements assign, in their order. A variable with an unknown value is forgotten."""
        for statement in statements:
            if isinstance(statement, ast.Assign):
                target = statement.targets[0]
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                target = statement.target
            else:
                continue
            name = ast.unparse(target)
            try:
                self.known[name] = self.of(statement.value)
            except UnknownValueError:
                self.known.pop(name, None)

    def of(self, node: ast.expr | None) -> Value:
        """Return the value of an expression.

        Raises UnknownValueError if the code does not tell it.
        """
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name() | ast.Attribute() if ast.unparse(node) in self.known:
                return self.known[ast.unparse(node)]
            case ast.Dict(keys=keys, values=values):
                return {self.of(key): self.of(value) for key, value in zip(keys, values, strict=True)}
            case ast.Call(func=function) if ast.unparse(function) in self._calls:
                return self._calls[ast.unparse(function)](self, node)
            case ast.BinOp():
                return self._result(node)
            case _:
                return list(self._elements(node))

    def _elements(self, node: ast.expr | None) -> Iterator[Value]:
        """Yield the elements of a list or tuple, of a slice such as `names[1:]`, or of a loop over `range`."""
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                yield from map(self.of, elements)
            case ast.Subscript(value=whole, slice=ast.Slice(lower=lower, upper=None, step=None)):
                first = 0 if lower is None else self.of(lower)
                yield from self.of(whole)[first:]
            case ast.ListComp(elt=element, generators=[loop]) | ast.GeneratorExp(elt=element, generators=[loop]):
                for number in self._range(loop.iter):
                    self.known[ast.unparse(loop.target)] = number
                    yield self.of(element)
            case ast.Call(func=ast.Name(id="tuple" | "list"), args=[elements]):
                yield from self.of(elements)
            case _:
                raise UnknownValueError

    def _range(self, node: ast.expr) -> range:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                return range(*map(self.of, arguments))
            case _:
                raise UnknownValueError

    def _result(self, node: ast.BinOp) -> Value:
        left = self.of(node.left)
        right = self.of(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Mult():
                return left * right
            case ast.Pow():
                return left**right
            case _:
                raise UnknownValueError
