"""Reader of configuration files, by the endpoint picker's rules: YAML 1.1 as Go reads it, or JSON.

The picker decodes with sigs.k8s.io/yaml, which follows go-yaml 2: `y` and `off` are booleans, `0o17` is a number, and a
date is text. A file that begins with `{` is JSON (k8s.io/apimachinery, serializer/json, `IsJSONBuffer`).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import yaml

from models import yaml_limits
from models.paths import Path
from models.problems import Problem
from models.yaml_limits import TooManyAliasesError, TooManyLevelsError
from planning.picker.go_values import JsonFraction, parsed_integer

_TAG = "tag:yaml.org,2002:"
_CONSTANTS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_UINT64 = 2**64
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TOO_DEEP_JSON = f"is no JSON: it is nested too deeply, write at most {yaml_limits.MAX_LEVELS} levels"
_REPLACEMENT = "\ufffd"
"""Character that Go's JSON reader puts in the place of half a character (encoding/json, `unquote`)."""
_MERGE = "<<"
_OTHER_VERSION = re.compile(r"\A%YAML[ \t]+(?!1\.1\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class File:
    """The value of a file, and the mistakes that keep the picker from reading this value."""

    value: object
    problems: tuple[Problem, ...]


class _NodeLoader(cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
    """Loader that only composes nodes. Plain scalars stay without a type: `scalar` finds the type."""

    def resolve(self, kind: type[yaml.Node], _: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag for a node to which the file gives no tag."""
        if kind is yaml.ScalarNode:
            if implicit[0]:
                return f"{_TAG}plain"
            return f"{_TAG}str"
        if kind is yaml.MappingNode:
            return f"{_TAG}map"
        return f"{_TAG}seq"


def read(text: str) -> File:
    """Return the value of a file. Raises `ValueError` with the reason if it is neither YAML nor JSON."""
    if text.lstrip().startswith("{"):
        return _read_json(text)
    if _OTHER_VERSION.search(text):
        raise ValueError("is YAML of another version than 1.1: remove the line with %YAML")
    problems = list[Problem]()
    try:
        node = _compose(text)
        value = None
        if node is not None:
            value = _value(Path(), node, problems, ())
    except yaml.YAMLError as error:
        raise ValueError(_reason(error)) from error
    return File(value, tuple(problems))


def _compose(text: str) -> yaml.Node | None:
    """Return the root node of a YAML text; None if the text is empty. Raises YAML errors, also for exceeded limits."""
    yaml_limits.check_levels(text, _NodeLoader)
    loader = _NodeLoader(text)
    node: yaml.Node | None = None
    try:
        if loader.check_node():
            node = loader.get_node()
    finally:
        loader.dispose()
    if node is not None:
        yaml_limits.check(node)
    return node


def scalar(text: str) -> object:
    """Return the value of an unquoted scalar. Raises `ValueError` for numbers that JSON lacks, such as infinity."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INFINITE.fullmatch(text):
        raise ValueError
    if _DATE.fullmatch(text) or text[:1] not in "+-.0123456789":
        return text
    plain = text
    if not text.startswith("."):
        plain = text.replace("_", "")
    try:
        number = parsed_integer(plain)
    except ValueError:
        return _float(plain, text)
    if -_UINT64 // 2 <= number < _UINT64:
        return number
    return _float(plain, text)


def _float(plain: str, text: str) -> float | str:
    """Return the number in `plain`; `text` if there is no number, or one beyond the largest float."""
    if _FLOAT.fullmatch(plain) and math.isfinite(float(plain)):
        return float(plain)
    return text


def is_ambiguous(text: str) -> bool:
    """Tell whether the picker would read a text as another value if the text were not quoted."""
    try:
        return scalar(text) != text
    except ValueError:
        return True


def _reason(error: yaml.YAMLError) -> str:
    """Return why a text is no YAML."""
    if isinstance(error, TooManyLevelsError):
        return f"is no YAML: it is nested too deeply, write at most {yaml_limits.MAX_LEVELS} levels"
    if isinstance(error, TooManyAliasesError):
        return "is no YAML that the picker reads: its aliases repeat too many values, write values in place of aliases"
    mark = getattr(error, "problem_mark", None)
    line = ""
    if mark is not None:
        line = f" in line {mark.line + 1}"
    return f"is no YAML{line}: {getattr(error, 'problem', None) or 'it has control characters, remove them'}"


def _read_json(text: str) -> File:
    problems = list[Problem]()

    def mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        repeated = sorted(key for key, count in Counter(keys).items() if count > 1)
        problems.extend(Problem(Path(key), f"is written twice ({key})", "keep one of them") for key in repeated)
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=mapping, parse_constant=_no_constant, parse_float=JsonFraction)
    except ValueError as error:
        raise ValueError("is no JSON, although it begins with {: quote its keys and texts, or write YAML") from error
    except RecursionError:
        raise ValueError(_TOO_DEEP_JSON) from None
    if yaml_limits.is_too_deep(value):
        raise ValueError(_TOO_DEEP_JSON)
    return File(_without_halves(value), tuple(problems))


def _without_halves(value: object) -> object:
    """Return a value of JSON with `_REPLACEMENT` in place of each half of a character."""
    if isinstance(value, dict):
        mapping = cast("dict[str, object]", value)
        return {_SURROGATE.sub(_REPLACEMENT, key): _without_halves(inner) for key, inner in mapping.items()}
    if isinstance(value, list):
        return [_without_halves(inner) for inner in cast("list[object]", value)]
    if isinstance(value, str):
        return _SURROGATE.sub(_REPLACEMENT, value)
    return value


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _value(path: Path, node: yaml.Node, problems: list[Problem], above: tuple[int, ...]) -> object:
    if id(node) in above:
        raise ValueError(f"is no YAML: {path} contains itself")
    if isinstance(node, yaml.ScalarNode):
        return _scalar(path, node, problems)
    inside = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        items = cast("list[yaml.Node]", node.value)
        return [_value(path / index, item, problems, inside) for index, item in enumerate(items)]
    return _mapping(path, cast("yaml.MappingNode", node), problems, inside)


def _scalar(path: Path, node: yaml.ScalarNode, problems: list[Problem]) -> object:
    text = cast("str", node.value)
    tag = node.tag.removeprefix(_TAG)
    if tag == "str" or (tag not in {"plain", "int", "float", "bool", "null"}):
        return text
    try:
        value = scalar(text)
    except ValueError:
        problems.append(Problem(path, "is no number that JSON has", "write another number, or quote it"))
        return None
    if tag == "float" and isinstance(value, int):
        return float(value)
    return value


def _mapping(path: Path, node: yaml.MappingNode, problems: list[Problem], above: tuple[int, ...]) -> dict[str, object]:
    """Return a mapping. A key that is written twice, or both written and merged, is a problem."""
    values = dict[str, object]()
    for key_node, value_node in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
        if isinstance(key_node, yaml.ScalarNode) and key_node.tag == f"{_TAG}plain" and key_node.value == _MERGE:
            pairs = list(_merge(path, value_node, problems, above))
        else:
            key = _key(path, key_node, problems)
            pairs = [(key, _value(path / key, value_node, problems, above))]
        for key, value in pairs:
            if key in values:
                problems.append(Problem(path / key, f"is written twice ({key})", "keep one of them"))
            values[key] = value
    return values


def _merge(
    path: Path, node: yaml.Node, problems: list[Problem], above: tuple[int, ...]
) -> Iterator[tuple[str, object]]:
    nodes = [node]
    if isinstance(node, yaml.SequenceNode):
        nodes = cast("list[yaml.Node]", node.value)
    for source in nodes:
        value = _value(path, source, problems, above)
        if not isinstance(value, dict):
            raise ValueError(f"is no YAML: {path / _MERGE} must be a mapping")  # noqa: TRY004, a mistake in the file
        yield from cast("dict[str, object]", value).items()


def _key(path: Path, node: yaml.Node, problems: list[Problem]) -> str:
    """Return a key as text, as in JSON."""
    value = None
    if isinstance(node, yaml.ScalarNode):
        value = _scalar(path, node, problems)
    if value is None or not isinstance(node, yaml.ScalarNode):
        problems.append(Problem(path, "has a key that is no text", "write text, in quotes if necessary"))
        return str(cast("object", node.value))
    if isinstance(value, bool):
        return {True: "true", False: "false"}[value]
    return str(value)
