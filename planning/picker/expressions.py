"""Syntax of CEL, the language of the expressions that report a request's usage.

`cel` finds only mistakes that the picker refuses at start: wrong syntax, and undeclared names.
"""

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s+|(?P<number>(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+)[uU]?)"
    r"|(?P<text>[rRbB]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>\|\||&&|==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])"
)
_BINARY = frozenset({"||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "in"})
_NAMES = frozenset({"usage", "true", "false", "null"})
_TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
_FUNCTIONS = _TYPES | {"dyn", "duration", "has", "matches", "size", "timestamp"}
_VARIABLE_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})


class _Parser:
    """Recursive reader of one expression. Raises `ValueError` at a mistake."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._at = 0
        self._variables = set[str]()

    def read(self) -> None:
        """Read all tokens as one expression."""
        self._expression()
        self._expect("")

    def _next(self) -> str:
        return self._tokens[self._at][1]

    def _take(self, token: str) -> bool:
        if self._next() != token or self._tokens[self._at][0] == "text":
            return False
        self._at += 1
        return True

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ValueError
        self._at += 1

    def _expression(self) -> None:
        self._operand()
        while self._next() in _BINARY:
            self._at += 1
            self._operand()
        if self._take("?"):
            self._expression()
            self._expect(":")
            self._expression()

    def _operand(self) -> None:
        while self._take("!") or self._take("-"):
            pass
        self._primary()
        while self._next() in {".", "["}:
            if self._take("."):
                self._member()
            else:
                self._at += 1
                self._expression()
                self._expect("]")

    def _member(self) -> None:
        name = self._name()
        if not self._take("("):
            return
        if name in _VARIABLE_MACROS and self._tokens[self._at][0] == "name":
            self._variables.add(self._next())
        self._items(")", self._expression)

    def _primary(self) -> None:
        kind, token = self._tokens[self._at]
        if kind in {"number", "text"}:
            self._at += 1
        elif self._take("("):
            self._expression()
            self._expect(")")
        elif self._take("["):
            self._items("]", self._expression)
        elif self._take("{"):
            self._items("}", self._entry)
        else:
            name = self._name()
            is_called = self._take("(")
            known = _NAMES | _TYPES | self._variables
            if is_called:
                known = _FUNCTIONS
            if name not in known:
                raise ValueError(token)
            if is_called:
                self._items(")", self._expression)

    def _name(self) -> str:
        kind, token = self._tokens[self._at]
        if kind != "name":
            raise ValueError
        self._at += 1
        return token

    def _entry(self) -> None:
        self._expression()
        self._expect(":")
        self._expression()

    def _items(self, end: str, read_item: Callable[[], None]) -> None:
        while not self._take(end):
            read_item()
            if not self._take(","):
                self._expect(end)
                return


def cel(value: object) -> str:
    """Return a CEL expression unchanged. Raises `ValueError` for a mistake. The only variable is `usage`."""
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004, all readers raise ValueError
    tokens = list[tuple[str, str]]()
    at = 0
    while at < len(value):
        match = _TOKEN.match(value, at)
        if match is None:
            raise ValueError
        if match.lastgroup is not None:
            tokens.append((match.lastgroup, match[0]))
        at = match.end()
    if value:
        _Parser(tokens).read()
    return value
