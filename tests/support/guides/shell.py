"""Commands of engines as flags, whether a container names them, or a shell script of it does."""

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

_SHELLS = frozenset({"bash", "sh", "/bin/bash", "/bin/sh"})
_OPTIONS = frozenset({"--", "-c", "-e", "-ec"})
_SCRIPTS = frozenset({"-c", "-ec"})
"""Options after which a shell takes a script."""
_PROGRAMS = (
    ("vllm", "serve"),
    ("python3", "-m", "sglang.launch_server"),
    ("sglang", "serve"),
    ("trtllm-serve", "serve"),
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::-[^}]*)?\}|\$([A-Za-z_]\w*)")
_ARITHMETIC = re.compile(r"\$\(\((.*?)\)\)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.FloorDiv: lambda left, right: left // right,
}


def engine(container: Mapping[str, Any], variables: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    """Yield the facts of an engine's command: program, flags, and commands that a script runs before.

    `variables` are the variables of the container whose values are known.
    """
    command = [*map(str, container.get("command", ()))]
    arguments = [*map(str, container.get("args", ()))]
    if not command or command[0] not in _SHELLS or _SCRIPTS.isdisjoint((*command, *arguments)):
        yield from _invocation([*command, *arguments])
        return
    script, *rest = [*(token for token in (*command, *arguments)[1:] if token not in _OPTIONS)]
    if rest:
        yield from _script(
            script.replace('"$0"', shlex.quote(rest[0])).replace('"$@"', shlex.join(rest[1:])), variables
        )
    else:
        yield from _script(script, variables)


def _script(text: str, variables: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    known = dict(variables)
    others = list[str]()
    for line in _lines(_ARITHMETIC.sub(lambda match: match[0].replace(" ", ""), text.replace("\\\n", " "))):
        tokens = [_expanded(token, known) for token in line if token != "exec"]
        assignment = _ASSIGNMENT.fullmatch(tokens[0])
        if assignment is not None and len(tokens) == 1:
            known[assignment[1]] = assignment[2]
        elif any(tuple(tokens[: len(program)]) == program for program in _PROGRAMS):
            yield from _invocation(tokens)
        else:
            others += [" ".join(tokens)]
    if others:
        yield "before", others


def _lines(text: str) -> Iterator[list[str]]:
    """Yield the tokens of each command of a script. A quotation may span several lines."""
    pending = ""
    for line in text.splitlines():
        pending += line
        try:
            tokens = shlex.split(pending, comments=True)
        except ValueError:
            pending += "\n"
            continue
        pending = ""
        yield from _commands(tokens)


def _commands(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield the commands of a line: what a semicolon separates from a last `exec` is a command of its own."""
    start = max((index for index, token in enumerate(tokens) if token == "exec"), default=0)
    before = [*tokens[:start]]
    if before and before[-1].endswith(";"):
        yield [*before[:-1], before[-1].removesuffix(";")]
        yield [*tokens[start:]]
    elif tokens:
        yield [*tokens]


def _expanded(token: str, variables: Mapping[str, str]) -> str:
    """Return a token with known variables and arithmetic replaced; other variables as Kubernetes writes them."""
    token = _ARITHMETIC.sub(lambda match: _calculated(match[1], variables), token)
    return _VARIABLE.sub(lambda match: _value(match[1] or match[2], variables), token)


def _value(name: str, variables: Mapping[str, str]) -> str:
    return variables.get(name, f"$({name})")


def _calculated(expression: str, variables: Mapping[str, str]) -> str:
    """Return the number of an arithmetic expression, or the expression without blanks if a variable is unknown."""
    plain = _VARIABLE.sub(lambda match: match[1] or match[2], expression)
    filled = _NAME.sub(lambda match: variables.get(match[0], match[0]), plain)
    if _NAME.search(filled):
        return f"$(({filled.replace(' ', '')}))"
    return str(_number(ast.parse(filled.strip().replace("/", "//"), mode="eval").body))


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
    raise ValueError(f"is no arithmetic of whole numbers: {ast.unparse(node)}")


def _invocation(tokens: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Yield the program with its first arguments, and each flag with its value."""
    first = next((index for index, token in enumerate(tokens) if token.startswith("--")), len(tokens))
    yield "program", list(tokens[:first])
    values = dict[str, object]()
    name = ""
    for token in tokens[first:]:
        if token.startswith("--"):
            name, has_value, value = token.partition("=")
            name = name.replace("_", "-")
            values[name] = _read(value) if has_value else True
        elif values[name] is True:
            values[name] = _read(token)
        else:
            values[name] = [*_listed(values[name]), token]
    yield from ((f"args.{name}", value) for name, value in values.items())


def _listed(value: object) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return [value]


def _read(value: str) -> object:
    if value[:1] not in {"{", "["}:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
