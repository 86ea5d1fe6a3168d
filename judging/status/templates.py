"""Pod templates that somebody else than a run has written: other values of stated fields, and additions.

The API server notes the writer of each field (`metadata.managedFields`). What a mutating webhook writes belongs to
nobody, and autoscalers and controllers write no field of a pod's spec. The mark of `kubectl rollout restart` is an
annotation, and no field of a pod's spec either.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judging.status.evidence import Evidence
from judging.status.history import Writer
from judging.status.quotes import quote
from judging.status.records import Finding, ObjectRef, finding, time
from judging.status.topology import RoleView, name_of
from models.trees import at, mapping, sequence
from models.vocabulary import amount, is_quantity
from planning.ground.snapshot import Manifest

_OWN_MANAGER = "pulumi-kubernetes"
"""Beginning of the names of the field managers of Pulumi's provider."""
_ITSELF = "."
"""Key in a tree of fields for the map or list item itself."""
_SPECS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "Deployment": (("spec", "template", "spec"),),
    "LeaderWorkerSet": tuple(
        ("spec", "leaderWorkerTemplate", name, "spec") for name in ("leaderTemplate", "workerTemplate")
    ),
}
"""Paths of the specs of pods, by kind of the workload."""
_DEFAULTS: Mapping[str, Collection[object]] = {
    "defaultMode": (420,),
    "dnsPolicy": ("ClusterFirst",),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "protocol": ("TCP",),
    "restartPolicy": ("Always",),
    "scheme": ("HTTP",),
    "schedulerName": ("default-scheduler",),
    "successThreshold": (1,),
    "terminationMessagePath": ("/dev/termination-log",),
}
"""Values that the API server gives to fields that nobody states, by the name of the field (kubernetes v1.36.3,
pkg/apis/core/v1/defaults.go). A writer of whole objects, such as one that restores them, owns these fields."""
_SHOWN = 3
"""Number of fields that are named; further ones are counted."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a pod's spec that another writer owns alone."""

    path: str
    is_stated: bool
    """Whether a run sets the field, so that it takes the value back. A run leaves additions as they are."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the tree of a pod's spec."""

    path: str
    of_runs: Sequence[Mapping[str, object]]
    """Trees of the fields below this place that the writers of runs own."""
    live: object
    stated: object
    """Value of the plan; None if it has none."""
    is_planned: bool
    """Whether there is a plan."""


def findings(role: RoleView, reading: Evidence) -> Iterator[Finding]:
    """Yield the states of a workload whose pod template somebody has changed or extended, one for each writer."""
    entries = [mapping(entry) for entry in sequence(at(role.workload, "metadata", "managedFields"))]
    for entry in entries:
        name = str(entry.get("manager", ""))
        if not name.startswith(_OWN_MANAGER) and entry.get("subresource") != "status":
            writer = Writer(quote(name), time(entry.get("time")))
            fields = list(_fields_of(entry, role, reading, entries))
            changed = [field.path for field in fields if field.is_stated]
            added = [field.path for field in fields if not field.is_stated]
            yield from _finding("template-changed", role, writer, changed)
            yield from _finding("template-extended", role, writer, added)


def _finding(state: str, role: RoleView, writer: Writer, paths: Sequence[str]) -> Iterator[Finding]:
    if paths:
        fields = ", ".join(paths[:_SHOWN])
        if len(paths) > _SHOWN:
            fields = f"{fields} and {len(paths) - _SHOWN} more"
        reference = ObjectRef.of(role.workload, role.kind)
        yield finding(state, reference, writer.at, role=role.role, manager=writer.name, fields=fields)


def _fields_of(
    entry: Mapping[str, object], role: RoleView, reading: Evidence, entries: Sequence[Mapping[str, object]]
) -> Iterator[_Field]:
    """Yield the fields of pods' specs that the writer of an entry of `managedFields` owns alone."""
    expectation = reading.expected.get(name_of(role.workload))
    stated = None if expectation is None else expectation.manifest
    entries_of_runs = [other for other in entries if str(other.get("manager", "")).startswith(_OWN_MANAGER)]
    for path in _SPECS[role.kind]:
        keys = [f"f:{name}" for name in path]
        trees = [mapping(at(other.get("fieldsV1"), *keys)) for other in entries_of_runs]
        place = _Place(
            "",
            [tree for tree in trees if tree],
            at(role.workload, *path),
            at(stated, *path),
            is_planned=stated is not None,
        )
        # Without fields of a run, nobody knows what the run has stated.
        if place.of_runs:
            yield from _fields(mapping(at(entry.get("fieldsV1"), *keys)), place)


def _fields(owned: Mapping[str, object], place: _Place) -> Iterator[_Field]:
    """Yield the fields below a place that another writer owns alone. `owned` is the tree of its fields."""
    for key, below in owned.items():
        if key == _ITSELF:
            continue
        inner = _inside(place, key)
        if not below:
            yield from _leaf(inner)
        elif _is_added(mapping(below), inner):
            yield _Field(inner.path, is_stated=False)
        else:
            yield from _fields(mapping(below), inner)


def _is_added(owned: Mapping[str, object], place: _Place) -> bool:
    """Tell whether another writer has added a map or list item, of which no run has stated anything."""
    return _ITSELF in owned and place.stated is None and not any(_ITSELF in tree for tree in place.of_runs)


def _leaf(place: _Place) -> Iterator[_Field]:
    """Yield a field that is set as a whole, unless a run owns it, too, or somebody has set it to the stated value.

    Without a plan, a value that the API server gives by itself counts as an addition.
    """
    if place.of_runs:
        return
    if not place.is_planned:
        defaults = _DEFAULTS.get(place.path.rpartition(".")[2], ())
        yield _Field(place.path, is_stated=place.live not in defaults)
    elif not _is_same(place.stated, place.live):
        yield _Field(place.path, is_stated=place.stated is not None)


def _is_same(stated: object, live: object) -> bool:
    """Tell whether two values are equal, or quantities of the same amount, such as `1000m` and `1`."""
    texts = (str(stated), str(live))
    if all(map(is_quantity, texts)) and stated is not None:
        return amount(texts[0]) == amount(texts[1])
    return stated == live


def _inside(place: _Place, key: str) -> _Place:
    """Return the place of a key of a tree of fields: `f:` with a name, or `k:` with the keys of a list item."""
    kind, _, text = key.partition(":")
    trees = [_tree(tree[key]) for tree in place.of_runs if key in tree]
    if kind != "k":
        path = f"{place.path}.{text}".removeprefix(".")
        return _Place(path, trees, at(place.live, text), at(place.stated, text), place.is_planned)
    keys = _keys(text)
    name = keys.get("name") or next(iter(keys.values()), "")
    path = f"{place.path}[{quote(str(name))}]"
    return _Place(path, trees, _item(place.live, keys), _item(place.stated, keys), place.is_planned)


def _tree(value: object) -> Mapping[str, object]:
    """Return a tree of fields that is not empty, so that the owner of a field as a whole is seen, too."""
    return mapping(value) or {_ITSELF: {}}


def _keys(text: str) -> Mapping[str, object]:
    try:
        return mapping(json.loads(text))
    except ValueError:
        return {}


def _item(items: object, keys: Mapping[str, object]) -> Manifest | None:
    """Return the item of a list with these keys; None if there is none. A key that an item omits has its default."""
    live = map(mapping, sequence(items))
    return next((item for item in live if all(item.get(key, value) == value for key, value in keys.items())), None)
