"""Objects of a cluster that documents refer to, their status, and the pods that run the described services.

The table of kinds is `migration/live-objects.yaml`. Names and labels that no object of Kubernetes can have are left
out, so that a document cannot make a request for anything else.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from pydantic import Field

from migration import conversion, kserve
from migration.fields import ANY_ITEM, ANY_KEY, parts_of
from migration.files import RawDocument
from models.base import Spec
from models.trees import at, mapping, sequence, texts
from models.vocabulary import Items
from planning.ground import tables
from planning.ground.api_groups import plural

_NAME = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
"""Pattern of a name in Kubernetes: a DNS subdomain."""
_VERSION = re.compile(r"(?:[a-z0-9][-.a-z0-9]{0,251}/)?v[0-9][a-z0-9]{0,20}")
"""Pattern of an API version."""
_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(r"(?:[a-z0-9][-.a-z0-9]{0,252}/)?[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
POD = "v1/Pod"


class ObjectPlace(NamedTuple):
    """Place of an object in a cluster."""

    api: str
    """Kind, as `apiVersion/Kind`."""
    namespace: str
    """Empty for a cluster-scoped object."""
    name: str

    @property
    def kind(self) -> str:
        """Return the kind as `group/Kind`."""
        version, _, kind = self.api.rpartition("/")
        return f"{version.rpartition('/')[0]}/{kind}"

    def __str__(self) -> str:
        kind = self.api.rpartition("/")[2]
        if self.namespace:
            return f"{kind} {self.namespace}/{self.name}"
        return f"{kind} {self.name}"


class LabelSelection(NamedTuple):
    """A list of the objects with some labels."""

    api: str
    namespace: str
    labels: tuple[tuple[str, str], ...]
    """Labels with their values; an empty value stands for any."""


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """An object that a document lacks: the first one that exists of some places."""

    places: tuple[ObjectPlace, ...]
    optional: bool = False
    """Whether the object may be absent."""
    empty: bool = False
    """Whether an absent object is the same as one without values."""


class _PlaceRow(Spec):
    api: str
    namespace: str | None = None

    def place(self, document: RawDocument, namespace: str, name: str) -> ObjectPlace:
        """Return the place of an object of the kind, to which a document in a namespace refers by name."""
        api = self.api
        if "/" not in api:
            api = f"{document.tree['apiVersion']}/{api}"
        if self.namespace is not None:
            namespace = self.namespace
        return ObjectPlace(api, namespace, name)


class _ReferenceRow(Spec):
    path: str = ""
    name: str = ""
    implied: bool = False
    """Whether the names are those that the source's program applies by itself."""
    unless: str = ""
    """Path whose value makes the object needless."""
    optional: bool = False
    empty: bool = False
    places: Items[_PlaceRow]


class _ListRow(Spec):
    api: str
    namespace: str
    selector: dict[str, str]


class _KindRow(Spec):
    source: str
    cluster: bool = False
    """Whether objects of the kind have no namespace."""
    status: bool = False
    """Whether the reader of the kind needs the status."""
    pods: Items[dict[str, str]] = ()
    """Labels of the pods."""
    pod_labels: str = ""
    """Path of further labels of the pods."""
    default_labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Further labels of the pods if there is no value at the path of them."""
    references: Items[_ReferenceRow] = ()
    lists: Items[_ListRow] = ()


class _File(Spec):
    kinds: dict[str, _KindRow]


def kinds() -> frozenset[str]:
    """Return the kinds of the table, as `group/Kind`; sources whose files have no kind by their names."""
    return frozenset(_rows())


def place_of(document: RawDocument, namespace: str) -> ObjectPlace | None:
    """Return the place of a document's object; None if it is no object with a name.

    `namespace` is that of documents that name none.
    """
    version = document.tree.get("apiVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version) or not _NAME.fullmatch(document.name):
        return None
    home = _namespace(document, namespace)
    row = _rows().get(document.kind)
    if row is not None and row.cluster:
        home = ""
    return ObjectPlace(f"{version}/{document.tree.get('kind')}", home, document.name)


def without_status(documents: Sequence[RawDocument], namespace: str) -> Iterator[tuple[int, ObjectPlace]]:
    """Yield the number of each document that needs a status and has none, and the place of its object."""
    for number, document in enumerate(documents):
        row = _rows().get(document.kind)
        place = place_of(document, namespace)
        if row is not None and row.status and place is not None and not mapping(document.tree.get("status")):
            yield number, place


def open_references(documents: Sequence[RawDocument], namespace: str) -> list[ObjectReference]:
    """Return the objects that documents refer to, and that are not among them. Only kinds with a reader count."""
    result = dict[ObjectReference, None]()
    for document in documents:
        for reference in _references_of(document, documents, namespace):
            if not any(_is_known(place, documents) for place in reference.places):
                result[reference] = None
    return list(result)


def lists(documents: Sequence[RawDocument]) -> list[LabelSelection]:
    """Return the lists that documents need, of kinds that none of them has."""
    known = {document.kind for document in documents}
    rows = [row for document in documents if (row := _rows().get(document.kind)) is not None]
    selections = [
        LabelSelection(entry.api, entry.namespace, tuple(entry.selector.items()))
        for row in rows
        for entry in row.lists
        if ObjectPlace(entry.api, "", "").kind not in known
    ]
    return list(dict.fromkeys(selections))


def pods(document: RawDocument, origin: str | None, namespace: str) -> list[LabelSelection]:
    """Return the lists of the pods that run what a document describes; none if they cannot be told from others.

    `origin` is the name of the source of a document that is no object, and `namespace` that of documents without one.
    """
    row = _rows().get(document.kind or origin or "")
    if row is None:
        return []
    further: Mapping[str, str] = {}
    if row.pod_labels:
        further = texts(at(document.tree, *row.pod_labels.split("."))) or row.default_labels
    selections = list[LabelSelection]()
    for labels in row.pods:
        filled = {key: value.replace("{name}", document.name) for key, value in labels.items()} | dict(further)
        is_valid = all(_LABEL_KEY.fullmatch(key) and _LABEL.fullmatch(value) for key, value in filled.items())
        if is_valid and (document.kind == "" or document.name):
            selections.append(LabelSelection(POD, _namespace(document, namespace), tuple(filled.items())))
    return selections


def rights(documents: Sequence[RawDocument], origin: str | None, namespace: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rules that suffice to read what documents lack, by namespace; an empty one is the whole cluster.

    Objects of the core group are read by name. The other arguments are those of `pods`.
    """
    rules = dict[str, dict[_ReadRule, None]]()
    for document in documents:
        for place in _places(document, documents, namespace):
            names = (place.name,) if place.kind.startswith("/") and place.name else ()
            rules.setdefault(place.namespace, {})[_ReadRule(place.kind, "get", names)] = None
        for selection in pods(document, origin, namespace):
            rules.setdefault(selection.namespace, {})[_ReadRule("/Pod", "list")] = None
    for selection in lists(documents):
        rules.setdefault(selection.namespace, {})[_ReadRule(ObjectPlace(selection.api, "", "").kind, "list")] = None
    return {
        place: [rule.manifest for rule in sorted(entries) if not rule.names or rule._replace(names=()) not in entries]
        for place, entries in sorted(rules.items())
    }


class _ReadRule(NamedTuple):
    kind: str
    verb: str
    names: tuple[str, ...] = ()

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the rule as a Role has it."""
        group, _, kind = self.kind.rpartition("/")
        names: dict[str, Any] = {}
        if self.names:
            names = {"resourceNames": list(self.names)}
        return {"apiGroups": [group], "resources": [plural(kind)], **names, "verbs": [self.verb]}


def _places(document: RawDocument, documents: Sequence[RawDocument], namespace: str) -> Iterator[ObjectPlace]:
    """Yield the places of the objects that a document may lack: its status, and the ends of chains of references.

    The names of objects at the ends of chains are empty, because only the objects before them know the names.
    """
    yield from (place for _, place in without_status([document], namespace))
    pending = [place for reference in _references_of(document, documents, namespace) for place in reference.places]
    is_open = any(not reference.optional for reference in open_references(documents, namespace))
    pending += _ends_of_chains(document, namespace, core=is_open)
    known = set[ObjectPlace]()
    while pending:
        place = pending.pop()
        if place not in known:
            known.add(place)
            yield place
            version, _, kind = place.api.rpartition("/")
            end = RawDocument("", {"apiVersion": version, "kind": kind})
            pending += _ends_of_chains(end, place.namespace, core=True)


def _ends_of_chains(document: RawDocument, namespace: str, *, core: bool) -> Iterator[ObjectPlace]:
    """Yield the places of the objects to which objects of a document's kind may refer.

    Names that only an object of the cluster knows are empty. `core` says whether objects of the core group count.
    """
    row = _rows().get(document.kind)
    if row is None:
        return
    understood = conversion.understood_kinds()
    home = _namespace(document, namespace)
    for entry in row.references:
        places = (option.place(document, home, "") for option in entry.places if not entry.name)
        yield from (place for place in places if place.kind in understood and (core or place.kind[0] != "/"))


def _references_of(
    document: RawDocument, documents: Sequence[RawDocument], namespace: str
) -> Iterator[ObjectReference]:
    row = _rows().get(document.kind)
    if row is None or place_of(document, namespace) is None:
        return
    home = _namespace(document, namespace)
    understood = conversion.understood_kinds()
    tree = document.tree
    if document.kind in _MERGES:
        tree = _MERGES[document.kind](tree, documents)
    for entry in row.references:
        if entry.unless and any(_values(tree, parts_of(entry.unless))):
            continue
        for name in _names(entry, document, tree, documents):
            places = tuple(option.place(document, home, name) for option in entry.places)
            places = tuple(place for place in dict.fromkeys(places) if place.kind in understood)
            if places and _NAME.fullmatch(name):
                yield ObjectReference(places, entry.optional, entry.empty and name == entry.name)


def _names(
    entry: _ReferenceRow, document: RawDocument, tree: Mapping[str, Any], documents: Sequence[RawDocument]
) -> Sequence[str]:
    """Return the names of a reference of a document, whose tree other documents complete."""
    if entry.implied:
        return _IMPLIED[document.kind](document.tree, documents)
    values: Sequence[str] = ()
    if entry.path:
        values = [value for value in _values(tree, parts_of(entry.path)) if isinstance(value, str) and value]
    if not values and entry.name:
        return (entry.name,)
    return values


def _values(tree: object, parts: Sequence[str]) -> Iterator[object]:
    """Yield the values at a path, which may lead through all items of lists and all keys of mappings."""
    if not parts:
        if tree is not None:
            yield tree
    elif parts[0] == ANY_ITEM:
        for item in sequence(tree):
            yield from _values(item, parts[1:])
    elif parts[0] == ANY_KEY:
        for value in mapping(tree).values():
            yield from _values(value, parts[1:])
    else:
        yield from _values(mapping(tree).get(parts[0]), parts[1:])


def _is_known(place: ObjectPlace, documents: Iterable[RawDocument]) -> bool:
    """Tell whether a place is that of a document. A document without a namespace may be in any."""
    return any(
        (document.kind, document.name) == (place.kind, place.name) and document.namespace in {"", place.namespace}
        for document in documents
    )


def _namespace(document: RawDocument, namespace: str) -> str:
    if _NAME.fullmatch(document.namespace):
        return document.namespace
    return namespace


def _merge_of_kserve(tree: Mapping[str, Any], documents: Sequence[RawDocument]) -> Mapping[str, Any]:
    """Return an LLMInferenceService with the values of the configs that it names."""
    return {**tree, "spec": kserve.merged_spec(mapping(tree.get("spec")), _configs_of_kserve(tree, documents))}


def _implied_by_kserve(tree: Mapping[str, Any], documents: Sequence[RawDocument]) -> Sequence[str]:
    """Return the names of the configs that KServe applies by itself."""
    return kserve.implied_configs(tree, _configs_of_kserve(tree, documents))


def _configs_of_kserve(tree: Mapping[str, Any], documents: Sequence[RawDocument]) -> dict[str, Mapping[str, Any]]:
    """Return the specs of configs by name. Of several with one name, that in the namespace of the service counts."""
    namespace = at(tree, "metadata", "namespace")
    configs = [document for document in documents if document.kind == kserve.CONFIG]
    ordered = sorted(configs, key=lambda config: config.namespace == namespace)
    return {config.name: mapping(config.tree.get("spec")) for config in ordered}


_IMPLIED: Mapping[str, Callable[[Mapping[str, Any], Sequence[RawDocument]], Sequence[str]]] = {
    kserve.KIND: _implied_by_kserve
}
_MERGES: Mapping[str, Callable[[Mapping[str, Any], Sequence[RawDocument]], Mapping[str, Any]]] = {
    kserve.KIND: _merge_of_kserve
}


@cache
def _rows() -> Mapping[str, _KindRow]:
    return tables.read(_File, "live-objects.yaml", "migration").kinds
