"""Leaves of the baseline's goldens and schema that the tree does not have any more.

These files change on purpose, and a digest does not tell a new leaf from a lost one. So each leaf of the baseline's
commit is looked for in the working directory: a leaf that is gone or has another value is a loss.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from tests.baseline import layout, measure
from tests.baseline.compare import Map

FOLDERS = ("goldens", "can-i")
"""Names of the folders that hold goldens, in the baseline's tree and in this one."""
NULL = {"type": "null"}


def lost(old: Mapping[str, Any], new: Mapping[str, Any], names: Map) -> Iterator[str]:
    """Yield the leaves that are gone from the files whose digests differ."""
    now = {path.name: path for pattern in layout.GOLDENS for path in Path().glob(pattern)}
    for path in map(PurePosixPath, _git("ls-tree", "-r", "--name-only", old["commit"]).splitlines()):
        name, digest = path.name, old["goldens"].get(path.name)
        if path.parent.name in FOLDERS and digest is not None and digest != new["goldens"].get(name):
            text = now[name].read_text(encoding="utf-8") if name in now else ""
            before = _of_golden(name, _git("show", f"{old['commit']}:{path}"))
            yield from (f"goldens: {line}" for line in gone(name, before, _of_golden(name, text), names))
    if old["schema without descriptions"] != new["schema without descriptions"]:
        texts = _git("show", f"{old['commit']}:{layout.SCHEMA}"), layout.SCHEMA.read_text(encoding="utf-8")
        yield from gone("schema", *map(_of_schema, texts), names)


def gone(file: str, before: Iterable[str], now: Iterable[str], names: Map) -> Iterator[str]:
    """Yield the leaves of the baseline that are fewer now, under their later names."""
    later = Counter(names.leaf(file, leaf) for leaf in before)
    yield from (f"{file}: {leaf} is gone" for leaf in later - Counter(now))


def leaves(node: Any, at: str = "") -> Iterator[str]:
    """Yield every leaf of a tree with its path; list items have their names, and texts are leaves by line."""
    if isinstance(node, Mapping) and node:
        for key, value in _without_null(node).items():
            yield from leaves(value, f"{at}.{key}")
    elif isinstance(node, list) and node:
        for item in node:
            yield from leaves(item, f"{at}[{item.get('name', '') if isinstance(item, Mapping) else ''}]")
    elif isinstance(node, str) and "\n" in node:
        yield from (f"{at}: {line}" for line in node.splitlines())
    else:
        yield f"{at} = {json.dumps(node, ensure_ascii=False)}"


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema that also takes null as the schema that does not; every other mapping as it is."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or NULL not in choices:
        return schema
    rest = [choice for choice in choices if choice != NULL]
    outer = {key: value for key, value in schema.items() if key != "anyOf"}
    return outer | (rest[0] if len(rest) == 1 else {"anyOf": rest})


def _of_golden(name: str, text: str) -> Iterator[str]:
    if not name.endswith(".yaml"):
        sections = (section.splitlines() for section in text.split("# ")[1:])
        yield from (f"{identity}: {line}" for identity, *rules in sections for line in _lines(rules))
        return
    for item in filter(None, yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
        yield from leaves(item, f"{item['kind']} {item['metadata']['name']}")


def _lines(rules: Iterable[str]) -> Iterator[str]:
    """Yield the rules of an identity, each with the namespaces that it is for."""
    place = ""
    for line in filter(None, rules):
        if line.endswith(":"):
            place = line
        else:
            yield f"{place} {line}"


def _of_schema(text: str) -> Iterator[str]:
    return leaves(measure.undescribed(json.loads(text)))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout
