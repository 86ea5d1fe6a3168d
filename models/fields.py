"""The specs and fields that may stand at a path of a stack."""

import types
import typing
from collections.abc import Collection, Iterator
from typing import Union

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from models.paths import Path
from models.stack import Stack


def specs_at(path: Path) -> list[type[BaseModel]]:
    """Return the specs that may stand at a path."""
    return [kind for kind in _types_at(path) if isinstance(kind, type) and issubclass(kind, BaseModel)]


def type_tags(spec: type[BaseModel]) -> tuple[str, ...]:
    """Return the values of `type` that select a spec from a union; empty for a spec that is in no union."""
    field = spec.model_fields.get("type")
    if field is None or not field.is_required():
        return ()
    return typing.get_args(field.annotation)


def fields_at(path: Path) -> dict[str, FieldInfo]:
    """Return the fields of the specs that may stand at a path, by the names that users write."""
    return {field.alias or name: field for spec in specs_at(path) for name, field in spec.model_fields.items()}


def field_at(path: Path) -> FieldInfo | None:
    """Return the field that stands at a path; None if no spec has such a field."""
    return fields_at(path.parent).get(str(path[-1])) if path else None


def remedy_for_null(path: Path, inherited: Collection[str]) -> str:
    """Return the advice for a null that removes nothing, because no lower layer has a value at `path`.

    `inherited` are the keys that a mapping at `path` would inherit. A path below `defaults` has the field that the same
    path has below a service.
    """
    at = path
    if path[:1] == ("defaults",) and path[1:]:
        at = Path("services", "", *path[1:])
    field = field_at(at)
    specs = specs_at(at)
    required = [name for name, inner in fields_at(at).items() if inner.is_required() and name not in inherited]
    if any(map(type_tags, specs)):
        return "write it with type"
    if required:
        return f"write it with {' and '.join(required)}"
    if specs and str in _types_at(at):
        return "write '' for an empty text"
    is_map = any(typing.get_origin(annotation) is dict for annotation in _types_at(at))
    if (specs or is_map) and (field is None or not field.is_required()):
        return "write {} for its defaults"
    return "write a value"


def _types_at(path: Path) -> list[object]:
    """Return the types of the values that may stand at a path. Unions and annotated types are resolved."""
    annotations: list[object] = [Stack]
    for part in path:
        annotations = [inner for annotation in annotations for inner in _types_below(annotation, part)]
    return annotations


def _types_below(annotation: object, part: str | int) -> Iterator[object]:
    """Yield the types of the inner values at the key or index `part` of a value with the type `annotation`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if (field.alias or name) == part:
                yield from _unwrap(field.annotation)
    elif typing.get_origin(annotation) is tuple and isinstance(part, int):
        yield from _unwrap(typing.get_args(annotation)[0])
    elif typing.get_origin(annotation) is dict and isinstance(part, str):
        yield from _unwrap(typing.get_args(annotation)[1])


def _unwrap(annotation: object) -> Iterator[object]:
    """Yield the members of a union, without None, and the type of an annotated type; else the annotation itself."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _unwrap(typing.get_args(annotation)[0])
    elif origin in {Union, types.UnionType}:
        for member in typing.get_args(annotation):
            yield from _unwrap(member)
    elif annotation is not type(None):
        yield annotation
