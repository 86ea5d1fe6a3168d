"""YAML as Pulumi's engine reads it. Ambiguous text is rejected.

The engine reads YAML 1.2 with remnants of 1.1: `yes` and `1:30` are text, `012` is 10, a date is a time. This reader
returns the same values as the engine. It rejects unquoted text that a reader of YAML 1.1 would take for a boolean, a
number or a date, and numbers with a leading zero, which are octal in YAML 1.1 and decimal in YAML 1.2.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import yaml

from models import yaml_limits
from models.paths import Path
from models.problems import ConfigError, Problem, echo
from models.yaml_limits import PLAIN as _PLAIN
from models.yaml_limits import BoundedScanner, TooManyAliasesError, TooManyLevelsError

_ROOT = Path()
_TEXT, _MAP, _LIST = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))
_CONSTANTS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_WHOLE = re.compile(r"[-+]?(0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)")
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SIMPLE = re.compile(r"[\n -~]*")
"""Matches text that libyaml and PyYAML read alike, if it has none of the characters in `_SPECIAL`. The two differ in
tabs, and in line breaks other than `\\n`."""
_SPECIAL = re.compile(r"[!%?|>&*]")
_MAX_DEPTH = 5000
"""Number of nested levels that libyaml's recursive code certainly survives.

A text has at most one level for each bracket, and two levels for each column of its longest line.
"""
_MAX_WHOLE_LENGTH = 70
"""Maximum length of a whole number in characters. It is enough for 64 binary digits, a prefix and a sign."""
_EXPONENT_BOUND = 1e21
"""The engine writes values as JSON. In JSON, a whole float below this bound has no fraction and no exponent, so it is
read as an integer."""
_LEADING_ZERO = re.compile(r"[-+]?0_*[0-9][0-9_]*")
"""Whole number with a leading zero. YAML 1.1 reads `012` as 10 and `09` as text, YAML 1.2 reads 12 and 9, and the
engine reads 10 and 9."""
_ZERO_FIRST = "a number with a leading zero"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half of a character, which only an escape can write. The engine rejects such escapes, also in pairs."""
_AMBIGUOUS = {
    "a boolean in YAML 1.1": re.compile(r"(?i:yes|no|on|off)"),
    "a number in YAML 1.1": re.compile(r"[-+]?([1-9][0-9_]*(:[0-5]?[0-9])+|[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*)"),
    "a date": re.compile(
        r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
        r"(([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]*)?[ \t]*(Z|[-+][0-9]{1,2}(:?[0-9]{2})?)?)?"
    ),
    "no number that JSON has": re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
}
"""Patterns of ambiguous text. The key names the type that another reader sees, or says that JSON has no such number."""


class _Loader(BoundedScanner, yaml.SafeLoader):
    """YAML loader that leaves unquoted scalars as text, because this module finds their types."""


_TAGS: Mapping[type[yaml.Node], str] = {yaml.ScalarNode: _TEXT, yaml.MappingNode: _MAP, yaml.SequenceNode: _LIST}
"""Tags of values whose type is not looked for in the text."""
_Loader.yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(r"(?s).*"))]}


class _FastLoader(cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
    """The same loader by libyaml, several times as fast."""

    def resolve(self, kind: type[yaml.Node], _: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag of a node that has no tag in the text."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return _TAGS[kind]


@dataclass(frozen=True, slots=True)
class Document:
    """The values of a YAML file, and the problems of its ambiguous text."""

    tree: object
    """Plain values of the whole file."""
    ambiguities: tuple[Problem, ...]
    """Problems of ambiguous text. Such a problem is dropped if its path has another problem."""
    original_texts: dict[Path, tuple[str, str]]
    """By path of each number and boolean: the text that messages show (1.5), and the text in the file (1.50)."""
    file: str = ""
    """Name of the file in messages; empty for the stack file."""

    def complete(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return `problems`, and then the problems of ambiguous text.

        Problems whose remedy is to quote a value show the value in the spelling of the file. Problems of values in
        other files are returned unchanged.
        """
        shown = list(map(self._with_original_text, problems))
        paths = {problem.path for problem in shown if problem.file == self.file}
        return [*shown, *(problem for problem in self.ambiguities if problem.path not in paths)]

    def _with_original_text(self, problem: Problem) -> Problem:
        """Return a problem. If its remedy is to quote a value, the value is shown as in the file: 1.50, not 1.5."""
        if problem.file != self.file:
            return problem
        shown, text = self.original_texts.get(problem.path, ("", ""))
        echoed = re.search(rf"(?<=[( ]){re.escape(shown)}(?=\)$)", problem.what)
        if not text or echoed is None or not problem.remedy.startswith("write it quoted"):
            return problem
        what = f"{problem.what[: echoed.start()]}{text})"
        return replace(problem, what=what, remedy=f'write it quoted: "{text}"')


def parse(text: str, name: str, top: Path = _ROOT, file: str = "") -> Document:
    """Read the text of a file.

    Paths of problems are relative to `top`. Values outside of `top` get no problems. The file is called `name` in
    errors of its YAML, and `file` in problems of its values. Raises `ConfigError` if the text is no YAML, or repeats a
    key.
    """
    try:
        return _Reader(top, file).document(_compose(text))
    except yaml.MarkedYAMLError as error:
        where = name
        if error.problem_mark is not None:
            where = f"{name}:{error.problem_mark.line + 1}"
        raise mistake(where, f"is not valid YAML ({error.problem})", "correct that line") from None
    except TooManyAliasesError:
        what = "repeats too many values by aliases, so that Pulumi's engine cannot read it"
        raise mistake(name, what, "write values in place of aliases, such as *a") from None
    except (TooManyLevelsError, RecursionError):
        remedy = f"write at most {yaml_limits.MAX_LEVELS} levels"
        raise mistake(name, yaml_limits.TOO_DEEP, remedy) from None
    except yaml.YAMLError:
        raise mistake(name, "is not valid YAML (it has control characters)", "remove them") from None


def nodes(text: str) -> yaml.Node | None:
    """Return the root node of a text that `parse` has read. The marks of its nodes count characters of the text."""
    return yaml.compose(text, Loader=_Loader)


def mistake(path: str, what: str, remedy: str) -> ConfigError:
    """Return the error of a single problem of a file."""
    return ConfigError([Problem(Path(path), what, remedy)])


def holds_secret(value: object) -> bool:
    """Return whether a value is, or contains, a value that Pulumi encrypted (`secure: …`)."""
    if isinstance(value, dict):
        mapping = cast("dict[str, object]", value)
        is_secret = mapping.keys() == {"secure"} and isinstance(mapping["secure"], str)
        return is_secret or any(map(holds_secret, mapping.values()))
    return isinstance(value, list) and any(map(holds_secret, cast("list[object]", value)))


def _compose(text: str) -> yaml.Node | None:
    """Return the root node of a YAML text.

    If libyaml finds an error, PyYAML's Python code reads the text again, so that all errors have PyYAML's wording.
    """
    lines = text.split("\n")
    depth = 2 * max(map(len, lines)) + text.count("[") + text.count("{")
    if _SIMPLE.fullmatch(text) and not _SPECIAL.search(text) and depth < _MAX_DEPTH:
        with suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=_FastLoader)
    return yaml.compose(text, Loader=_Loader)


def _yaml_error(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


class _Reader:
    """Converter of one file's YAML nodes to plain values."""

    def __init__(self, top: Path, file: str) -> None:
        self._top = top
        self._file = file
        self._ambiguities = list[Problem]()
        self._original_texts = dict[Path, tuple[str, str]]()
        self._ancestors = set[yaml.Node]()
        """Nodes around the current node. An alias to one of them would make the tree infinite."""

    def document(self, root: yaml.Node | None) -> Document:
        """Return the values of a root node."""
        tree: object = None
        if root is not None:
            yaml_limits.check(root)
            tree = self._value(root, Path())
        return Document(tree, tuple(self._ambiguities), self._original_texts, self._file)

    def _value(self, node: yaml.Node, at: Path) -> object:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, at)
        if node in self._ancestors:
            raise _yaml_error(node, "an alias refers to a value that contains the alias")
        if node.tag != _TAGS[type(node)]:
            raise _yaml_error(node, f"tag {node.tag} is not supported")
        self._ancestors.add(node)
        if isinstance(node, yaml.MappingNode):
            value = self._mapping(node, at)
        else:
            value = self._list(node, at)
        self._ancestors.remove(node)
        return value

    def _list(self, node: yaml.Node, at: Path) -> list[object]:
        items = cast("Sequence[yaml.Node]", node.value)
        return [self._value(item, at / index) for index, item in enumerate(items)]

    def _mapping(self, node: yaml.MappingNode, at: Path) -> dict[str, object]:
        explicit = dict[str, object]()
        merged = dict[str, object]()
        for key, inner in cast("Sequence[tuple[yaml.Node, yaml.Node]]", node.value):
            if not isinstance(key, yaml.ScalarNode):
                raise _yaml_error(key, "a key is no text")
            name = _text(key)
            if name in explicit or (merged and name == "<<"):
                raise _yaml_error(key, f"key {name} is repeated")
            if key.tag == _PLAIN and name == "<<":
                merged = self._merge_key(inner, at)
                continue
            self._check_key(key, at / name)
            explicit[name] = self._value(inner, at / name)
        return {**merged, **explicit}

    def _merge_key(self, node: yaml.Node, at: Path) -> dict[str, object]:
        """Return the entries of a merge key (`<<`). Earlier mappings override later ones."""
        sources: Sequence[yaml.Node] = [node]
        if isinstance(node, yaml.SequenceNode):
            sources = cast("Sequence[yaml.Node]", node.value)
        merged = dict[str, object]()
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise _yaml_error(source, "only mappings can be merged")
            merged = {**cast("dict[str, object]", self._value(source, at)), **merged}
        return merged

    def _check_key(self, node: yaml.ScalarNode, at: Path) -> None:
        """Add a problem if some YAML reader reads a key as another type than text."""
        text = cast("str", node.value)
        if node.tag == _PLAIN and (noun := _other_reading(text)) is not None:
            self._add_ambiguity(at, f"is a key that is {noun} ({text})", f'write it quoted: "{text}"')

    def _scalar(self, node: yaml.ScalarNode, at: Path) -> object:
        text = _text(node)
        if node.tag == _TEXT:
            return text
        if node.tag != _PLAIN:
            raise _yaml_error(node, f"tag {node.tag} is not supported")
        value = _unquoted_value(text)
        if isinstance(value, str):
            noun = _other_reading(text)
            if noun is not None:
                self._add_scalar(at, noun, text, "write it quoted")
        elif _LEADING_ZERO.fullmatch(text):
            self._add_scalar(at, _ZERO_FIRST, text, "write it without the zero, or quoted")
        if isinstance(value, bool | int | float) and at.is_within(self._top):
            self._original_texts[at.below(self._top)] = str(value).lower(), text
        return value

    def _add_scalar(self, at: Path, noun: str, text: str, remedy: str) -> None:
        """Add the problem of an ambiguous scalar.

        The problem shows the text only where messages would show a number. Elsewhere the text may be a credential.
        """
        if echo(at, 0):
            self._add_ambiguity(at, f"is {noun} ({text})", f'{remedy}: "{text}"')
        else:
            self._add_ambiguity(at, f"is {noun}", remedy)

    def _add_ambiguity(self, at: Path, what: str, remedy: str) -> None:
        """Add a problem; paths outside of `self._top` are ignored."""
        if at.is_within(self._top) and at != self._top:
            self._ambiguities.append(Problem(at.below(self._top), what, remedy, file=self._file))


def _text(node: yaml.ScalarNode) -> str:
    """Return the text of a scalar. Raises a YAML error for the escape of half a character, as the engine does."""
    text = cast("str", node.value)
    if not text.isascii() and _SURROGATE.search(text):
        raise _yaml_error(node, "an escape is half a character: write the character itself")
    return text


def _unquoted_value(text: str) -> str | bool | float | None:
    """Return the value that the engine reads from an unquoted scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "+-.0123456789":
        return text
    number = _number(text.replace("_", ""))
    return text if number is None else number


def _number(text: str) -> float | None:
    """Return the number that the engine reads from an unquoted scalar; None if the engine reads text."""
    if _WHOLE.fullmatch(text) is not None and len(text) <= _MAX_WHOLE_LENGTH:
        base = 8 if re.match(r"[-+]?0[0-7]", text) else 0
        whole = int(text, base)
        if -(2**63) <= whole < 2**64:
            return whole
    if _FRACTION.fullmatch(text) is None:
        return None
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        return None
    if number.is_integer() and abs(number) < _EXPONENT_BOUND:
        return int(number)
    return number


def _other_reading(text: str) -> str | None:
    """Return a noun for the type that some reader gives to an unquoted scalar. None if all readers read it as text."""
    value = _unquoted_value(text)
    if isinstance(value, str):
        return next((noun for noun, pattern in _AMBIGUOUS.items() if pattern.fullmatch(text)), None)
    if value is None:
        return "null"
    return "a boolean" if isinstance(value, bool) else "a number"
