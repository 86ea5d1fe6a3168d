"""Paths of routes as templates over one record of the service.

The record has `metadata` (name, namespace, labels, annotations) and `spec`, the service as merged, in the words of the
configuration. The language is aim-engine's: what stands in braces is a path into the record (`{.metadata.name}`,
`{.metadata.labels['team']}`, `{.spec.model.name}`, `{.spec.pod.tolerations[0].key}`) or a quoted text, and means
exactly one value. A value becomes one path segment, in lower case and with `-` for what no DNS label has; only an
annotation in brackets may bring slashes, and with them segments, of its own.

Exception
└── TemplateError    a template that no path can be made of
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_LONGEST = 200
"""Bytes of a path."""
_LONGEST_SEGMENT = 63
_PLACE = re.compile(r"\{([^{}]+)\}")
_TEXT = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_STEP = re.compile(
    r"\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\.(?P<any>\*)|\[(?P<each>\*)\]|\[(?P<index>-?[0-9]+)\]"
    r"|\['(?P<single>[^']*)'\]|\[\"(?P<double>[^\"]*)\"\]"
)
_ANNOTATION = re.compile(r"[$@]?\.metadata\.annotations\[(?:'[^']*'|\"[^\"]*\")\]")
_NOT_IN_A_LABEL = re.compile(r"[^a-z0-9-]")


class TemplateError(ValueError):
    """A template that no path can be made of: what stands in it, why that cannot be, and what would be right."""

    def __init__(self, shown: str, why: str, remedy: str = "change the template") -> None:
        super().__init__(f"{shown}: {why}")
        self.shown, self.why, self.remedy = shown, why, remedy


def path(template: str, record: Mapping[str, Any]) -> str:
    """Return the path prefix that a template means for a record.

    Raises `TemplateError` for a place that has no single value in the record, and for a path that is too long.
    """
    return normal(_PLACE.sub(lambda place: _value(place[1].strip(), record), template))


def normal(rendered: str) -> str:
    """Return a path in the one form of all paths: it begins with `/`, and each segment is a DNS label.

    Raises `TemplateError` for a path that is empty or longer than 200 bytes.
    """
    text = rendered.strip()
    if not text:
        raise TemplateError("an empty path", "nothing is left of it")
    begun = text if text.startswith("/") else f"/{text}"
    whole = begun.rstrip("/") or "/"
    _within_limits(whole)
    segments = filter(None, map(segment, whole.split("/")))
    return _within_limits(f"/{'/'.join(segments)}")


def segment(text: str) -> str:
    """Return a text as one segment: lower case, `-` for what no DNS label has, at most 63 characters."""
    # One character stays one: a capital such as İ is two letters in lower case.
    lowered = "".join(one.lower()[:1] for one in text.strip())
    return _NOT_IN_A_LABEL.sub("-", lowered).strip("-")[:_LONGEST_SEGMENT].rstrip("-")


def _within_limits(path: str) -> str:
    length = len(path.encode())
    if length > _LONGEST:
        shown = f"{path[:40]}…"
        raise TemplateError(shown, f"{length} bytes of at most {_LONGEST}", "shorten the template, or what it reads")
    return path


def _value(expression: str, record: Mapping[str, Any]) -> str:
    """Return the text that stands for an expression."""
    shown = f"{{{expression}}}"
    if not expression:
        raise TemplateError("{ }", "says nothing", "write a path such as {.metadata.name}")
    quoted = _TEXT.fullmatch(expression)
    if quoted:
        return segment(quoted[1] or quoted[2] or "")
    value = _one(shown, expression, record)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise TemplateError(shown, "is neither text nor a number", "name a key below it")
    return str(value) if _ANNOTATION.fullmatch(expression) else segment(str(value))


def _one(shown: str, expression: str, record: Mapping[str, Any]) -> object:
    """Return the one value that a path leads to."""
    values: list[Any] = [record]
    walked = list[str]()
    for step in _steps(shown, expression):
        found = [inner for value in values for inner in _below(value, step)]
        if not found:
            raise _absent(shown, walked, step)
        walked.append(_name(step))
        values = found
    if len(values) > 1:
        raise TemplateError(shown, f"means {len(values)} values", "name one of them")
    return values[0]


def _steps(shown: str, expression: str) -> Iterator[re.Match[str]]:
    """Yield the steps of a path; `$` and `@` before it mean the record."""
    at = 1 if expression[0] in "$@" else 0
    if at == len(expression):
        raise TemplateError(shown, "is neither text nor a number", "name a key below it")
    while at < len(expression):
        step = _STEP.match(expression, at)
        if step is None:
            raise TemplateError(shown, "is no path into the service", "write a path such as {.metadata.name}")
        yield step
        at = step.end()


def _below(value: object, step: re.Match[str]) -> Iterator[object]:
    """Yield what one step leads to; nothing where there is nothing."""
    inside: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    if step["any"] or step["each"]:
        yield from (*inside.values(), *items)
    elif step["index"] is not None:
        yield from [*items][int(step["index"]) :][:1] if -len(items) <= int(step["index"]) else ()
    elif _name(step) in inside:
        yield inside[_name(step)]


def _name(step: re.Match[str]) -> str:
    """Return the key that a step names."""
    return next((text for text in (step["name"], step["single"], step["double"]) if text is not None), step[0])


def _absent(shown: str, walked: Sequence[str], step: re.Match[str]) -> TemplateError:
    """Tell what a service does not say, and how it would."""
    name = _name(step)
    if walked in (["metadata", "labels"], ["metadata", "annotations"]):
        return TemplateError(shown, f"no {walked[1][:-1]} {name}", f"add {walked[1]}.{name} or change the template")
    if walked[:1] == ["spec"]:
        where = ".".join([*walked[1:], name])
        return TemplateError(shown, f"no {where}", f"set {where} or change the template")
    return TemplateError(shown, f"no {'.'.join([*walked, name])}")
