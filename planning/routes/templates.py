"""Path templates of routes: texts with expressions that are replaced by values of the service.

The values come from a record of the service. Its `metadata` has name, namespace, labels and annotations. Its `spec` is
the service after the merge of its layers, with the keys of the configuration.

The template language is aim-engine's. An expression is written in braces. It is a path into the record
(`{.metadata.name}`, `{.metadata.labels['team']}`, `{.spec.model.name}`, `{.spec.pod.tolerations[0].key}`) or a quoted
text, and must have exactly one value. The value becomes one path segment: in lower case, with `-` for characters that a
DNS label cannot have. Only the value of an annotation, read as `.metadata.annotations['key']`, keeps its slashes and
may become several segments. What stands outside of expressions is served as it is written, or refused.

Exception
└── TemplateError    a template that yields no path
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.trees import mapping, sequence

_MAX_BYTES = 200
"""Maximum length of a path in bytes."""
_MAX_SEGMENT = 63
"""Maximum length of a DNS label."""
_SHOWN = 40
"""Maximum number of characters of a path in a message."""
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_SLASHES = re.compile(r"/+")
_LITERAL = re.compile(r"[A-Za-z0-9/._~!$&'()*+,;=:@-]")
"""Characters that `HTTPPathMatch` allows in a path (gateway-api v1.6.0, apis/v1/httproute_types.go), without `%`.

Envoy as Istio configures it (`normalize_path`) decodes some escapes of a request before it compares paths, and keeps
others as they are, capitals included.
"""
_DOTTED = (".", "..")
"""Segments that proxies resolve before they compare paths. `HTTPPathMatch` refuses them."""
_TEXT = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_STEP = re.compile(
    r"\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\.(?P<any>\*)|\[(?P<each>\*)\]|\[(?P<index>-?[0-9]+)\]"
    r"|\['(?P<single>[^']*)'\]|\[\"(?P<double>[^\"]*)\"\]"
)
_ANNOTATION = re.compile(r"[$@]?\.metadata\.annotations\[(?:'[^']*'|\"[^\"]*\")\]")
_INVALID_IN_LABEL = re.compile(r"[^a-z0-9-]")


class TemplateError(ValueError):
    """A template that yields no path.

    `shown` is the expression or path with the mistake, `why` is the mistake.
    """

    def __init__(self, shown: str, why: str, remedy: str = "change the template") -> None:
        super().__init__(f"{shown}: {why}")
        self.shown = shown
        self.why = why
        self.remedy = remedy


def path(template: str, record: Mapping[str, Any]) -> str:
    """Return the path prefix that a template yields for a record.

    Raises `TemplateError` for an expression without exactly one value, for a brace without its counterpart, and for a
    path that is empty, too long, or none that a route can have.
    """
    if not template.strip():
        raise TemplateError("the template", "yields an empty path")
    _check_literals(template)
    rendered = _EXPRESSION.sub(lambda expression: _value(expression[1].strip(), record), template)
    # A value may be empty, so that slashes of the template meet. A slash at the end changes no prefix.
    whole = _SLASHES.sub("/", f"/{rendered}").rstrip("/") or "/"
    for dotted in _DOTTED:
        if dotted in whole.split("/"):
            raise TemplateError(_shorten(template), f"has the segment {dotted}", "write the path to which it leads")
    return _within_limit(whole)


def _check_literals(template: str) -> None:
    """Raise `TemplateError` unless what is written outside of expressions can be in the path of a route."""
    shown = _shorten(template)
    literals = _EXPRESSION.sub("x", template)
    if "{" in literals or "}" in literals:
        raise TemplateError(template, "has a brace without its counterpart", "write a path such as {.metadata.name}")
    for character in literals:
        if not _LITERAL.fullmatch(character):
            remedy = "use letters, digits, '-', '_', '.' and '~'"
            raise TemplateError(shown, f"has {character!r}, which no path of a route may have", remedy)
    if not template.startswith(("/", "{")):
        raise TemplateError(shown, "does not begin with '/'", f"write /{shown}")
    if "//" in literals:
        raise TemplateError(shown, "has an empty segment", f"write {_SLASHES.sub('/', shown)}")


def _shorten(text: str) -> str:
    """Return a text as messages show it."""
    if len(text) > _SHOWN:
        return f"{text[:_SHOWN]}…"
    return text


def segment(text: str) -> str:
    """Return text as a segment: in lower case, with `-` for invalid characters, at most 63 characters."""
    shown = text.strip()
    # A capital such as İ has two characters in lower case. Only the first is used, so that lengths do not change.
    lowered = "".join(character.lower()[:1] for character in shown)
    return _INVALID_IN_LABEL.sub("-", lowered).strip("-")[:_MAX_SEGMENT].rstrip("-")


def _within_limit(url_path: str) -> str:
    """Return the path unchanged. Raises `TemplateError` if it is too long."""
    length = len(url_path.encode())
    if length > _MAX_BYTES:
        shown = _shorten(url_path)
        raise TemplateError(shown, f"{length} bytes of at most {_MAX_BYTES}", "shorten the template, or its values")
    return url_path


def _value(expression: str, record: Mapping[str, Any]) -> str:
    """Return the text that replaces an expression; `expression` is the text inside of the braces."""
    shown = f"{{{expression}}}"
    if not expression:
        raise TemplateError("{ }", "has no expression", "write a path such as {.metadata.name}")
    literal = _TEXT.fullmatch(expression)
    if literal:
        return segment(literal[1] or literal[2] or "")
    value = _single_value(shown, expression, record)
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if not isinstance(value, str | int | float):
        raise TemplateError(shown, "is neither text nor a number", "name a key below it")
    if _ANNOTATION.fullmatch(expression):
        return "/".join(filter(None, map(segment, str(value).split("/"))))
    return segment(str(value))


def _single_value(shown: str, expression: str, record: Mapping[str, Any]) -> object:
    """Return the value at the path `expression`. Raises `TemplateError` unless there is exactly one value.

    `shown` is the expression as messages show it.
    """
    values: list[Any] = [record]
    names = list[str]()
    for step in _steps(shown, expression):
        inner_values = [inner for value in values for inner in _children(value, step)]
        if not inner_values:
            raise _missing_value(shown, names, step)
        names.append(_step_text(step))
        values = inner_values
    if len(values) > 1:
        raise TemplateError(shown, f"has {len(values)} values", "name one of them")
    return values[0]


def _steps(shown: str, expression: str) -> Iterator[re.Match[str]]:
    """Yield the steps of the path `expression`. A `$` or `@` at its start means the record itself."""
    at = 0
    if expression[0] in "$@":
        at = 1
    if at == len(expression):
        raise TemplateError(shown, "is neither text nor a number", "name a key below it")
    while at < len(expression):
        step = _STEP.match(expression, at)
        if step is None:
            raise TemplateError(shown, "is no path into the service", "write a path such as {.metadata.name}")
        yield step
        at = step.end()


def _children(value: object, step: re.Match[str]) -> Iterator[object]:
    """Yield the values to which a step leads from `value`: none or one; for `*`, all values below `value`."""
    fields = mapping(value)
    items = sequence(value)
    if step["any"] or step["each"]:
        yield from (*fields.values(), *items)
    elif step["index"] is not None:
        index = int(step["index"])
        if -len(items) <= index < len(items):
            yield items[index]
    elif _step_text(step) in fields:
        yield fields[_step_text(step)]


def _step_text(step: re.Match[str]) -> str:
    """Return the key in a step, or the step as it is written if it is an index or `*`."""
    return next((text for text in (step["name"], step["single"], step["double"]) if text is not None), step[0])


def _missing_value(shown: str, parents: Sequence[str], step: re.Match[str]) -> TemplateError:
    """Return the error for a step whose value the record lacks; `parents` are the earlier steps.

    The remedy names the key to set.
    """
    name = _step_text(step)
    if parents in (["metadata", "labels"], ["metadata", "annotations"]):
        return TemplateError(shown, f"no {parents[1][:-1]} {name}", f"add {parents[1]}.{name} or change the template")
    if parents[:1] == ["spec"]:
        key_path = ".".join([*parents[1:], name])
        return TemplateError(shown, f"no {key_path}", f"set {key_path} or change the template")
    return TemplateError(shown, f"no {'.'.join([*parents, name])}")
