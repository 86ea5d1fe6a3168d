"""Facts files: the cluster facts that `python -m cli facts` prints, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from models.paths import Path as ConfigPath
from models.problems import ConfigError, Problem
from planning.ground.cluster_facts import PARTS, ClusterFacts, Served, Unknown, unread
from planning.ground.inventory import Origin

_ORIGIN = TypeAdapter(Origin)


def read(path: Path) -> ClusterFacts:
    """Read cluster facts from a file.

    Facts that the file lacks are `Unknown`. If the file cannot be read, or lacks `apis`, all facts are `Unknown`.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return ClusterFacts(
            Served(frozenset(map(str, content["apis"]))),
            **{name: _part(path, content, name) for name in PARTS},
            origin=_ORIGIN.validate_python(content) if "time" in content else None,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        return unread(Unknown(f"{path.name} could not be read ({type(error).__name__})"))


def from_option(file: str, option: str) -> ClusterFacts:
    """Return the facts in the file that a command's option names. Raises `ConfigError` if no facts can be read."""
    facts = read(Path(file))
    if isinstance(facts.apis, Unknown):
        remedy = "name a file that `python -m cli facts` wrote"
        raise ConfigError([Problem(ConfigPath(option), facts.apis.reason, remedy)])
    return facts


def _part(path: Path, content: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401, an instance of `PARTS[name]`
    return (
        TypeAdapter(PARTS[name]).validate_python(content) if name in content else Unknown(f"{path.name} has no {name}")
    )


def text(facts: ClusterFacts) -> str:
    """Return cluster facts as the text of a facts file. Unknown facts are left out."""
    origin = {} if facts.origin is None else asdict(facts.origin)
    apis = {} if isinstance(facts.apis, Unknown) else {"apis": sorted(facts.apis.kinds)}
    parts = (getattr(facts, name) for name in PARTS)
    known = (asdict(part) for part in parts if not isinstance(part, Unknown))
    return (
        json.dumps({**origin, **apis, **{key: value for part in known for key, value in part.items()}}, indent=1) + "\n"
    )
