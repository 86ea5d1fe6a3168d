"""Facts files: the cluster facts that `python -m cli facts` prints, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from facts import regular_files
from facts.regular_files import UnreadableError
from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from planning.ground.cluster_facts import PARTS, ClusterFacts, Served, Unknown, unread
from planning.ground.inventory import FactsOrigin

_Kind = TypeVar("_Kind")


def read(path: Path, *, pipe: bool = False) -> ClusterFacts:
    """Read cluster facts from a regular file or, if `pipe` is true, from a pipe.

    Facts that the file lacks are `Unknown`. If the file cannot be read, lacks `apis`, or has a value of another type
    than `python -m cli facts` writes, all facts are `Unknown`. No reason shows a value or a key of the file.
    """
    try:
        content = regular_files.json_value(path, pipe=pipe)
        values = _mapping(content)
        return ClusterFacts(
            Served(_parse(frozenset[str], values.get("apis"), "apis")),
            **{name: _part(path, values, name) for name in PARTS},
            origin=_parse(FactsOrigin, values, "time") if "time" in values else None,
        )
    except UnreadableError as error:
        return unread(Unknown(f"{path.name} {error}"))


def _mapping(content: object) -> Mapping[str, object]:
    if isinstance(content, dict):
        return cast("dict[str, object]", content)
    raise UnreadableError("is not a mapping")


def from_option(file: str, option: str) -> ClusterFacts:
    """Return the facts in the file that a command's option names. Raises `ConfigError` if no facts can be read."""
    facts = read(Path(file), pipe=True)
    if isinstance(facts.apis, Unknown):
        remedy = "name a file that `python -m cli facts` wrote"
        raise ConfigError([Problem(ConfigPath(option), facts.apis.reason, remedy)])
    return facts


def _part(path: Path, content: Mapping[str, object], name: str) -> Any:  # noqa: ANN401, an instance of `PARTS[name]`
    if name not in content:
        return Unknown(f"{path.name} has no {name}")
    return _parse(cast("type[Any]", PARTS[name]), {name: content[name]}, name)


def _parse(kind: type[_Kind], value: object, name: str) -> _Kind:
    """Return values of JSON as an instance of a type. Raises `UnreadableError` if a value has another type."""
    try:
        return _adapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError:
        raise UnreadableError(f"holds no facts of a cluster (wrong type below {name})") from None


@cache
def _adapter(kind: type[_Kind]) -> TypeAdapter[_Kind]:
    return TypeAdapter(kind)


def text(facts: ClusterFacts) -> str:
    """Return cluster facts as the text of a facts file. Unknown facts are left out."""
    origin = {} if facts.origin is None else asdict(facts.origin)
    apis = {} if isinstance(facts.apis, Unknown) else {"apis": sorted(facts.apis.kinds)}
    parts = (getattr(facts, name) for name in PARTS)
    known = (asdict(part) for part in parts if not isinstance(part, Unknown))
    return (
        json.dumps({**origin, **apis, **{key: value for part in known for key, value in part.items()}}, indent=1) + "\n"
    )
