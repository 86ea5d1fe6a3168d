"""Small changes of meaning in functions, named so that they are found again where the function has moved."""

import ast
import copy
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, ast.AST]
"""Operator, and what stands instead of the node."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}
CONDITIONS = {"test", "ifs", "guard"}
UNREACHED = {"annotation", "returns", "decorator_list", "args", "type_comment"}
"""Fields whose change is no change of what a function does when it is called."""


@dataclass(frozen=True)
class Mutant:
    """One change of one node, which is named by its dump without the names of locals, and its turn among equals."""

    module: str
    function: str
    operator: str
    node: str
    turn: int
    equals: int
    before: str
    after: str


@dataclass(frozen=True)
class Edit:
    """A mutant in the text of a module: the bytes that go, and those that come."""

    start: int
    end: int
    text: str
    lines: range

    def apply(self, source: str) -> str:
        """Return the source with the edit made."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def pool(sources: Mapping[str, str], size: int, seed: int) -> list[Mutant]:
    """Return mutants of as many functions, of every kind of change alike, in an order that the seed decides."""
    chance = random.Random(seed)
    trees = {module: functions(ast.parse(source)) for module, source in sorted(sources.items())}
    places = [(module, name) for module, found in trees.items() for name in found]
    chance.shuffle(places)
    found: list[Mutant] = []
    for module, name in places:
        kinds = defaultdict[str, list[Mutant]](list)
        for mutant, _ in mutants(module, name, trees[module][name]):
            kinds[mutant.operator.partition(" ")[0]].append(mutant)
        if kinds and valid(sources[module], mutant := chance.choice(kinds[chance.choice(sorted(kinds))])):
            found.append(mutant)
        if len(found) == size:
            break
    return found


def valid(source: str, mutant: Mutant) -> bool:
    """Tell whether the changed source is still a program, and another one."""
    edit = find(source, mutant)
    try:
        return edit is not None and ast.dump(ast.parse(edit.apply(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def find(source: str, mutant: Mutant) -> Edit | None:
    """Return where a mutant is in a source; nothing where its function lacks the node, or has more or fewer of them."""
    if mutant.function.rpartition(".")[2] not in source:
        return None
    function = functions(ast.parse(source)).get(mutant.function)
    if function is None:
        return None
    key = (mutant.operator, mutant.node, mutant.turn, mutant.equals)
    for other, (node, changed) in mutants(mutant.module, mutant.function, function):
        if (other.operator, other.node, other.turn, other.equals) == key:
            return _edit(source, node, changed)
    return None


def rewritten(source: str, module: str, function: str, expression: str, operator: str) -> Mutant | None:
    """Return the last mutant of a function that changes an expression, which is written as `ast.unparse` writes it."""
    found = functions(ast.parse(source)).get(function)
    changes = mutants(module, function, found) if found else ()
    return next(
        (mutant for mutant, _ in reversed([*changes]) if (mutant.before, mutant.operator) == (expression, operator)),
        None,
    )


def functions(tree: ast.Module) -> dict[str, Function]:
    """Return functions and methods by their qualified names; what is defined inside of one belongs to it."""
    found: dict[str, Function] = {}
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, parent = pending.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, Function):
                found[f"{prefix}{node.name}"] = node
            elif isinstance(node, ast.ClassDef):
                pending.append((f"{prefix}{node.name}.", node))
    return dict(sorted(found.items()))


def mutants(module: str, name: str, function: Function) -> Iterator[tuple[Mutant, tuple[ast.AST, ast.AST]]]:
    """Yield every change of a function, with the node that it changes and what comes instead."""
    anonymous = _Anonymous(function)
    nodes = [(node, condition, anonymous.dump(node)) for node, condition in _nodes(function)]
    equals, turns = Counter(dump for _, _, dump in nodes), Counter[str]()
    for node, condition, dump in nodes:
        turns[dump] += 1
        for operator, changed in _changes(node, condition=condition):
            digest = hashlib.sha256(dump.encode()).hexdigest()[:12]
            place = (turns[dump], equals[dump])
            texts = (ast.unparse(node), ast.unparse(ast.fix_missing_locations(changed)))
            yield Mutant(module, name, operator, digest, *place, *texts), (node, changed)


class _Anonymous(ast.NodeTransformer):
    """Takes the names of a function's locals out of a dump, so that a renamed local changes nothing."""

    def __init__(self, function: Function) -> None:
        stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _is_stored(node)}
        self.locals = stored | {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        self.locals |= {node.name for node in ast.walk(function) if isinstance(node, ast.MatchAs) and node.name}

    def dump(self, node: ast.AST) -> str:
        """Return the dump of a node without the names of locals."""
        return ast.dump(self.visit(copy.deepcopy(node)))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Take the name of a local away."""
        return ast.Name("_", node.ctx) if node.id in self.locals else node

    def visit_arg(self, _: ast.arg) -> ast.AST:
        """Take the name of an argument of an inner function away."""
        return ast.arg("_")


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _nodes(function: Function) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes that run when a function is called, in order, and whether each is a condition."""
    documented = ast.get_docstring(function) is not None
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in reversed(function.body[documented:])]
    while pending:
        node, condition = pending.pop()
        yield node, condition
        pending += reversed([*_below(node)])


def _below(node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Yield what is directly below a node, but types, and whether it is a condition."""
    match node:
        case ast.JoinedStr():
            return  # Python 3.11 does not know where the parts of a formatted text stand.
        case ast.Call(ast.Name("cast"), [_, value]):
            yield value, False
        case ast.Call(function, arguments, keywords):
            yield from ((part, False) for part in (function, *arguments, *keywords))
        case _:
            for field, value in ast.iter_fields(node):
                parts = value if isinstance(value, list) else [value]
                if field not in UNREACHED:
                    yield from ((part, field in CONDITIONS) for part in parts if isinstance(part, ast.AST))


def _changes(node: ast.AST, *, condition: bool) -> Iterator[Change]:
    """Yield what may stand instead of a node."""
    if condition and isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BoolOp):
        yield "negate", ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.BinOp():
            yield from _of_an_operation(node, condition=condition)
        case ast.Constant() | ast.JoinedStr():
            yield from _of_a_constant(node)
        case ast.List() | ast.Set() | ast.Dict():
            yield from _of_a_collection(node)
        case ast.Call(ast.Name(name), arguments, keywords) if name in CALLS:
            yield "call", ast.Call(ast.Name(CALLS[name]), arguments, [] if name == "sorted" else keywords)
        case ast.Call(ast.Attribute(_, "get"), [key, _], []):
            yield "default", ast.Call(node.func, [key], [])
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield "statement", ast.Pass()
        case ast.Expr(ast.Yield() | ast.YieldFrom()):
            yield "statement", ast.Expr(ast.YieldFrom(ast.Tuple([], ast.Load())))
        case _:
            pass


def _of_an_operation(node: ast.AST, *, condition: bool) -> Iterator[Change]:
    match node:
        case ast.Compare(left, [op], right) if type(op) in COMPARISONS:
            yield "compare", ast.Compare(left, [COMPARISONS[type(op)]()], right)
        case ast.BoolOp(op, values):
            yield "junction", ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
            if isinstance(op, ast.Or) and not condition:
                yield "default", values[0]
        case ast.UnaryOp(ast.Not(), operand):
            yield "negate", operand
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and (_is_number(left) or _is_number(right)):
            yield "arithmetic", ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case _:
            pass


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}


def _of_a_constant(node: ast.Constant | ast.JoinedStr) -> Iterator[Change]:
    match node:
        case ast.JoinedStr(values):
            yield "text", ast.JoinedStr([*values, ast.Constant("x")])
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(str(value)):
            yield "text", ast.Constant(f"{value}x")
        case _:
            pass


def _of_a_collection(node: ast.List | ast.Set | ast.Dict) -> Iterator[Change]:
    if isinstance(node, ast.Dict):
        for index in range(len(node.keys)):
            rest = [pair for turn, pair in enumerate(zip(node.keys, node.values, strict=True)) if turn != index]
            yield f"element {index}", ast.Dict([key for key, _ in rest], [value for _, value in rest])
    elif not isinstance(getattr(node, "ctx", None), ast.Store):
        for index in range(len(node.elts)):
            rest = node.elts[:index] + node.elts[index + 1 :]
            yield f"element {index}", ast.List(rest, ast.Load()) if isinstance(node, ast.List) else _set(rest)


def _set(elements: list[ast.expr]) -> ast.AST:
    return ast.Set(elements) if elements else ast.Call(ast.Name("set"), [], [])


def _edit(source: str, node: ast.AST, changed: ast.AST) -> Edit:
    lines = source.encode().splitlines(keepends=True)
    start, end = (
        sum(map(len, lines[: line - 1])) + column
        for line, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
    )
    text = ast.unparse(ast.fix_missing_locations(changed))
    plain = isinstance(changed, ast.stmt | ast.Constant | ast.JoinedStr | ast.List | ast.Set | ast.Dict)
    return Edit(start, end, text if plain else f"({text})", range(node.lineno, node.end_lineno + 1))
