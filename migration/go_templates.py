"""The part of Go's templates that LLMInferenceServiceConfigs use: values, KServe's names of children, conditions.

An action is `{{ .A.B }}`, ``{{ ChildName .A.B `-suffix` }}``, `{{ if .A.B }}`, `{{ else }}` or `{{ end }}`; `{{-` and
`-}}` trim the spaces around it.

Exception
└── UnknownActionError    an action of another kind, or a value that is not known
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.trees import at

LONGEST = 63
"""Largest number of characters of a name (`longest` of knative.dev/pkg, kmeta/names.go)."""
_ACTION = re.compile(r"\{\{(?P<content>(?:[^{}]|\{(?!\{)|\}(?!\}))*+)\}\}")
_TRIM = "-"
_VALUE = re.compile(r"(?:\.[A-Za-z_]\w*)+")
_CHILD = re.compile(r'ChildName\s+(?P<parent>(?:\.[A-Za-z_]\w*)+)\s+(?:`(?P<raw>[^`]*)`|"(?P<quoted>[^"\\]*)")')


class UnknownActionError(ValueError):
    """An action of a template that is of no known kind, or that needs a value that is not known."""


@dataclass(slots=True)
class _Conditional:
    """A condition around the text that is read."""

    taken: bool
    """Whether the text is part of the result."""
    outside: bool
    """Whether the text around the whole condition is part of the result."""


def fill(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its actions replaced by values, which are nested mappings.

    Raises `UnknownActionError` for an action of another kind and for a value that is missing.
    """
    if "{{" not in text:
        return text
    pieces = list[str]()
    branches = list[_Conditional]()
    end = 0
    trims = False
    for match in _ACTION.finditer(text):
        between = text[end : match.start()]
        action = match["content"]
        if trims:
            between = between.lstrip()
        if action.startswith(_TRIM) and action[1:2].isspace():
            between = between.rstrip()
            action = action.removeprefix(_TRIM)
        if _is_taken(branches):
            pieces.append(between)
        pieces.append(_result(action.removesuffix(_TRIM).strip(), values, branches))
        trims = action.endswith(_TRIM)
        end = match.end()
    if branches:
        raise UnknownActionError("{{ if }} without {{ end }}")
    rest = text[end:]
    return "".join(pieces) + (rest.lstrip() if trims else rest)


def child_name(parent: str, suffix: str) -> str:
    """Return the name of a child object as `kmeta.ChildName` makes it: a digest takes the place of what is too long.

    Raises `UnknownActionError` for a suffix that leaves no room for a part of the parent's name.
    """
    if len(parent) + len(suffix) <= LONGEST:
        return parent + suffix
    digest = hashlib.md5(parent.encode(), usedforsecurity=False).hexdigest()
    head = LONGEST - len(digest) - len(suffix)
    if head <= 0:
        raise UnknownActionError("a name with a longer suffix")
    return f"{parent[:head]}{digest}{suffix}"


def _is_taken(branches: Sequence[_Conditional]) -> bool:
    return all(branch.taken for branch in branches)


def _result(action: str, values: Mapping[str, Any], branches: list[_Conditional]) -> str:
    """Return the text that an action stands for, after a condition has been entered or left."""
    if action.startswith("if "):
        outside = _is_taken(branches)
        branches.append(_Conditional(outside and bool(_value(action.removeprefix("if ").strip(), values)), outside))
        return ""
    if action in {"else", "end"}:
        if not branches:
            raise UnknownActionError(f"{{{{ {action} }}}} without {{{{ if }}}}")
        branch = branches.pop()
        if action == "else":
            branches.append(_Conditional(branch.outside and not branch.taken, branch.outside))
        return ""
    if not _is_taken(branches):
        return ""
    child = _CHILD.fullmatch(action)
    if child is not None:
        return child_name(str(_value(child["parent"], values)), child["raw"] or child["quoted"] or "")
    return str(_value(action, values))


def _value(reference: str, values: Mapping[str, Any]) -> object:
    if _VALUE.fullmatch(reference) is None:
        raise UnknownActionError(f"{{{{ {reference} }}}}")
    value = at(values, *reference.removeprefix(".").split("."))
    if value is None:
        raise UnknownActionError(f"{{{{ {reference} }}}}")
    return value
