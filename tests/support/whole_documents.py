"""Documents of other systems with every leaf of their schemas, made from the lists of these leaves."""

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path as File
from typing import Any, cast

import yaml

from migration.fields import ANY_ITEM, ANY_KEY, parts_of
from migration.files import RawDocument
from models.paths import Path
from models.trees import mapping

ROOM = File(__file__).parents[1] / "migration"
SCHEMAS = ROOM / "schemas"
_Form = str | dict[str, Any]
"""Type of a leaf, or the leaves below a part of a path as a tree."""
_BY_TYPE: Mapping[str, Any] = {"integer": 1, "number": 1, "boolean": True, "int-or-string": "1", "object": {"a": "b"}}
"""Values by type. All others are texts."""


@cache
def rules() -> dict[str, Any]:
    """Return the rules by which documents are made."""
    return yaml.safe_load((ROOM / "wholes.yaml").read_text(encoding="utf-8"))


@cache
def _listed(schema: str) -> Mapping[str, str]:
    return yaml.safe_load((SCHEMAS / f"{schema}.yaml").read_text(encoding="utf-8"))["leaves"]


@cache
def leaves(schema: str) -> Mapping[str, str]:
    """Return the types of the leaves of a schema by path. A leaf that is an object of Kubernetes has its leaves."""
    return dict(_all_leaves(schema))


def _all_leaves(schema: str) -> Iterator[tuple[str, str]]:
    for path, form in _listed(schema).items():
        further = _below(path, form)
        if further:
            yield from ((f"{path}{end}", inner) for end, inner in further.items())
        else:
            yield path, form


def _below(path: str, form: str) -> Mapping[str, str]:
    """Return the leaves that a leaf stands for, by the ends of their paths."""
    if path in rules()["open"]:
        return rules()["open"][path]
    place = rules()["paths"].get(path) or rules()["types"].get(form)
    role, _, end = path.partition(".")
    if place is None and form in {"any", "object"} and role in rules()["pods"]:
        place = f"pod-spec {end}"
    if place is None:
        return {}
    schema, _, start = place.partition(" ")
    if start in leaves(schema):
        return {"": leaves(schema)[start]}
    if not start:
        return {f".{leaf}": inner for leaf, inner in leaves(schema).items()}
    below = {leaf.removeprefix(start): inner for leaf, inner in leaves(schema).items() if leaf.startswith(start)}
    return {end: inner for end, inner in below.items() if end.startswith((".", "["))}


@cache
def _forms(schema: str) -> dict[str, Any]:
    """Return the leaves of a schema as a tree."""
    tree = dict[str, Any]()
    for path, form in {**leaves(schema), **unlisted(schema)}.items():
        *above, last = parts_of(path)
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = form
    return tree


def unlisted(schema: str) -> Mapping[str, str]:
    """Return the types of fields that files have although the schema lacks them, by path."""
    further = rules()["unlisted"].get(schema, {"leaves": {}})["leaves"]
    plain = {path: form for path, form in further.items() if isinstance(form, str)}
    return plain | {f"{path}.{end}": form for path, forms in further.items() for end, form in mapping(forms).items()}


def documents(schema: str) -> list[dict[str, Any]]:
    """Return documents that have all leaves of a schema together, and unlisted ones."""
    trees = _Maker(schema).variants(_forms(schema), Path())
    for number, paths in rules()["without"].get(schema, {}).items():
        for path in paths:
            *above, last = parts_of(path)
            holder = trees[number]
            for part in above:
                holder = holder[0 if part == ANY_ITEM else part]
            del holder[last]
    return trees


def conversions(source: str) -> Iterator[list[RawDocument]]:
    """Yield sets of documents that have all leaves of a source's files together, its own document first.

    Each set is one conversion. Names of files are those of the lists of leaves.
    """
    lists = rules()["sources"][source]
    for schemas in lists.get("beside", [[]]):
        trees = {schema: documents(schema) for schema in (lists["own"], *schemas)}
        for number in range(max(map(len, trees.values()))):
            yield [RawDocument(schema, choices[number % len(choices)]) for schema, choices in trees.items()]


def files(source: str) -> tuple[str, ...]:
    """Return the names of the lists of leaves of a source, its own first."""
    lists = rules()["sources"][source]
    return tuple(dict.fromkeys([lists["own"], *(name for names in lists.get("beside", ()) for name in names)]))


def origin(source: str) -> str | None:
    """Return the name for `--from` of a source; None if its documents are objects."""
    return rules()["sources"][source].get("origin")


class _Maker:
    """Maker of the values of one schema's documents. Paths have `*` and `[]`."""

    def __init__(self, schema: str) -> None:
        self.schema = schema

    def variants(self, form: _Form, path: Path) -> list[Any]:
        """Return values that have all leaves of a form together."""
        if isinstance(form, str):
            return self._values(form, path)
        if ANY_ITEM in form:
            return self._lists(form[ANY_ITEM], path)
        inner = {key: self.variants(below, path / key) for key, below in form.items()}
        common = rules()["alternatives"].get(_name(path))
        if common is None:
            return self._mappings(inner, path)
        alternatives = {key: values for key, values in inner.items() if key not in common}
        if not alternatives:
            return self._mappings(inner, path)
        shared = {key: values for key, values in inner.items() if key in common}
        return [
            tree
            for key, values in alternatives.items()
            for value in values
            for tree in self._mappings({**shared, key: [value]}, path)
        ]

    def _lists(self, item: _Form, path: Path) -> list[list[Any]]:
        values = self.variants(item, path / ANY_ITEM)
        separator = rules()["lists"].get(_name(path))
        if separator is None:
            return [[value] for value in values]
        for index, value in enumerate(values):
            value["name"] += f"{separator}{index}"
        return [values]

    def _mappings(self, inner: Mapping[str, list[Any]], path: Path) -> list[dict[str, Any]]:
        keys = rules()["keys"].get(f"{self.schema} {_text(path)}", {})
        values = {_key(key, path): choices for key, choices in inner.items()}
        values |= {key: _variants(value) for key, value in keys.items()}
        size = max(map(len, values.values()))
        if not path:
            size = max(size, rules()["documents"].get(self.schema, 1))
        return [self._mapping(values, number) for number in range(size)]

    @staticmethod
    def _mapping(values: Mapping[str, list[Any]], number: int) -> dict[str, Any]:
        tree = {key: copy.deepcopy(choices[number % len(choices)]) for key, choices in values.items()}
        if "volumes" in tree and "containers" in tree:
            (mount,) = tree["containers"][0]["volumeMounts"]
            names = [volume["name"] for volume in tree["volumes"]]
            mounts = [{**mount, "name": name, "mountPath": f"/mnt/{name}"} for name in names]
            tree["containers"][0]["volumeMounts"] = mounts
        return tree

    def _values(self, form: str, path: Path) -> list[Any]:
        """Return the values of a leaf: those of the longest end of its path, or of its type."""
        ends = [_text(Path(*path[start:])) for start in range(len(path))]
        for end in (f"{self.schema} {ends[0]}", *ends):
            if end in rules()["values"]:
                return _variants(rules()["values"][end])
        return [copy.deepcopy(_BY_TYPE.get(form, "text"))]


def _variants(value: Any) -> list[Any]:
    """Return the values that a rule has for one field, each for another document."""
    variants = mapping(value).get("variants")
    if isinstance(variants, list):
        return copy.deepcopy(cast("list[Any]", variants))
    return [copy.deepcopy(value)]


def _text(path: Path) -> str:
    """Return the text of a path as tables have it."""
    return str(path).replace(".[]", "[]")


def _name(path: Path) -> str:
    return str(next((part for part in reversed(path) if part != ANY_ITEM), ""))


def _key(part: str, holder: Path) -> str:
    """Return the key for a part of a path; `*` is a key of a map."""
    if part == ANY_KEY:
        return rules()["key"].get(_name(holder), "key")
    return part
