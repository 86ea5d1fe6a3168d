"""Reader of files with documents of other systems: YAML or JSON, several documents in a file, and lists of objects."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from migration.accounts import kind_of
from migration.running import Running
from models import engine_yaml
from models.engine_yaml import mistake
from models.trees import at, mapping, sequence

_SEPARATOR = re.compile(r"^(?:---(?=\s|\Z)|\.\.\.[ \t]*$)", re.MULTILINE)
_WITHOUT_CONTENT = ("#", "%")
"""Beginnings of lines with comments, and with directives, which stand before a document."""
_HEADING = re.compile(r"\A(?:USER-SUPPLIED|COMPUTED) VALUES:[ \t]*\r?\n")
"""First line of what `helm get values` prints without `-o yaml`."""
_MOST_DOCUMENTS = 2_000
"""Maximum number of documents in a file."""


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a file."""

    file: str
    """Name of the file; if the file has several documents, with the kind and name of this one."""
    tree: Mapping[str, Any]
    running: Running = field(default_factory=dict[str, Mapping[str, int]])
    """Digests that run, by the image as its pods name it; empty if no pods are known."""

    @property
    def kind(self) -> str:
        """Return the kind as `group/Kind`; empty if the document is no object."""
        return kind_of(self.tree)

    @property
    def name(self) -> str:
        """Return the name of the object; empty if it has none."""
        return self._metadata("name")

    @property
    def namespace(self) -> str:
        """Return the namespace of the object; empty if it has none."""
        return self._metadata("namespace")

    def _metadata(self, key: str) -> str:
        value = at(self.tree, "metadata", key)
        if isinstance(value, str):
            return value
        return ""


def documents(text: str, file: str) -> list[RawDocument]:
    """Return the documents in a text. Objects in a list, such as `kubectl get -o yaml` prints, are documents.

    A text may also be the values that `helm get values` prints.

    Raises `ConfigError` if a document is no YAML, repeats a key, or is no mapping, or if the text has no document.
    """
    parts = _SEPARATOR.split(_HEADING.sub("", text))
    texts = [part for part in parts if _has_content(part)]
    if len(texts) > _MOST_DOCUMENTS:
        raise mistake(file, f"has more than {_MOST_DOCUMENTS} documents", "name several files")
    trees = list[Mapping[str, Any]]()
    for number, part in enumerate(texts, start=1):
        name = file
        if len(texts) > 1:
            name = f"{file}, document {number}"
        trees += _objects(engine_yaml.parse(part, name).tree, name)
    if not trees:
        raise mistake(file, "has no document", "name a file with an object or with Helm values")
    if len(trees) == 1:
        return [RawDocument(file, trees[0])]
    return [RawDocument(f"{file} {_name(tree, number)}", tree) for number, tree in enumerate(trees, start=1)]


def _has_content(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith(_WITHOUT_CONTENT) for line in text.splitlines())


def _objects(tree: object, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a document: itself, or the items if it is a list."""
    if tree is None:
        return
    if not isinstance(tree, Mapping):
        raise mistake(name, "is no mapping", "name a file with an object or with Helm values")
    document = mapping(cast("object", tree))
    items: object = document.get("items")
    if not kind_of(document).endswith("List") or not isinstance(items, list):
        yield document
        return
    for number, item in enumerate(sequence(cast("object", items))):
        yield from _objects(_with_kind(item, document), f"{name}, items[{number}]")


def _with_kind(item: object, holder: Mapping[str, Any]) -> object:
    """Return an item of a list with the kind that the list names, as lists of the API server have it."""
    entries = mapping(item)
    kind = str(holder["kind"]).removesuffix("List")
    if not entries or kind_of(entries) or not kind:
        return item
    return {"apiVersion": holder["apiVersion"], "kind": kind, **entries}


def _name(tree: Mapping[str, Any], number: int) -> str:
    """Return a name for a document among several."""
    kind = kind_of(tree).rpartition("/")[2] or "document"
    name = at(tree, "metadata", "name")
    if isinstance(name, str):
        return f"{kind}/{name}"
    return f"{kind} {number}"
