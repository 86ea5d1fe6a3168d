"""What may stand at a path of a stack, by the specs."""

import types
import typing
from collections.abc import Collection, Iterator
from typing import Union

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from models.paths import Path
from models.stack import Stack


def specs(path: Path) -> list[type[BaseModel]]:
    """Return the specs that may stand at a path."""
    return [one for one in _types(path) if isinstance(one, type) and issubclass(one, BaseModel)]


def tags(spec: type[BaseModel]) -> tuple[str, ...]:
    """Return the values of `type` that mean a spec; none where it is no choice among several."""
    field = spec.model_fields.get("type")
    return typing.get_args(field.annotation) if field is not None and field.is_required() else ()


def every(path: Path) -> dict[str, FieldInfo]:
    """Return the fields that may stand at a path, by the names that users write."""
    return {field.alias or name: field for spec in specs(path) for name, field in spec.model_fields.items()}


def one(path: Path) -> FieldInfo | None:
    """Return the field that a path ends at."""
    return every(path.parent).get(str(path[-1])) if path else None


def instead_of_nothing(path: Path, inherited: Collection[str]) -> str:
    """Return what to write where there is no value but what is inherited; below `defaults` stands part of a service."""
    at = Path("services", "", *path[1:]) if path[:1] == ("defaults",) and path[1:] else path
    field, found = one(at), specs(at)
    required = [name for name, inner in every(at).items() if inner.is_required() and name not in inherited]
    if any(map(tags, found)):
        return "write it with type"
    if required:
        return f"write it with {', '.join(required)}"
    is_map = any(typing.get_origin(each) is dict for each in _types(at))
    if (found or is_map) and (field is None or not field.is_required()):
        return "write {} for its defaults"
    return "write a value"


def _types(path: Path) -> list[object]:
    """Return the types that may stand at a path, with optional and annotated wrappers taken off."""
    found: list[object] = [Stack]
    for part in path:
        found = [inner for each in found for inner in _inside(each, part)]
    return found


def _inside(annotation: object, part: str | int) -> Iterator[object]:
    """Yield the types that stand below `part`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if (field.alias or name) == part:
                yield from _bare(field.annotation)
    elif typing.get_origin(annotation) in {dict, tuple}:
        yield from _bare(typing.get_args(annotation)[0 if isinstance(part, int) else 1])


def _bare(annotation: object) -> Iterator[object]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _bare(typing.get_args(annotation)[0])
    elif origin in {Union, types.UnionType}:
        for member in typing.get_args(annotation):
            yield from _bare(member)
    elif annotation is not type(None):
        yield annotation
