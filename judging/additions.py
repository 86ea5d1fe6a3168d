"""Additions: items and keys that somebody added, in the cluster, to a list or map of an object.

This module looks only at lists and maps that every writer sets as a whole, such as the rules of a Role. Pulumi's
provider compares only the items and keys that a manifest has (`pruneSlice` and `pruneMap` in
provider/pkg/provider/util.go of pulumi-kubernetes, 4.25 to 4.32), so neither a preview nor a refresh shows additions. A
run therefore sets an annotation that names the additions. Because this annotation differs, the provider applies the
manifest again, and the manifest's list or map replaces the list or map in the cluster.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from manifests.assembly import Component
from manifests.objects import Manifest, Rendered
from models.paths import Path
from models.problems import Problem, warning
from models.trees import EMPTY
from planning.ground import labels
from planning.ground.cluster_facts import FieldOwner, LiveObject, LiveObjects, Unknown

_UNREAD = frozenset({"ConfigMap", "Job", "Namespace", "PersistentVolumeClaim", "Secret", "ServiceAccount"})
"""Kinds that are not read from the cluster. Some hold secrets. The others have no list or map that writers set as a
whole and that somebody could change."""
_Tree = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Addition:
    """Items or keys that somebody added to a field."""

    field: str
    """Path of the list or map in the object."""
    writer: str
    time: str

    def __str__(self) -> str:
        return f"{self.field} by {self.writer} at {self.time}"


def kinds(components: Iterable[Component]) -> frozenset[tuple[str, str]]:
    """Return kind (`apiVersion/Kind`) and namespace of the objects that are compared with the cluster."""
    places = ((rendered.api, rendered.place) for component in components for rendered in component.objects)
    return frozenset((api, namespace) for api, (_, kind, namespace, _) in places if kind not in _UNREAD)


def judge(components: Iterable[Component], live: LiveObjects) -> Iterator[Problem]:
    """Yield a warning for each addition to the components' objects.

    There is another warning for each list item whose identifying keys somebody changed, because no run can restore
    these keys.
    """
    for component in components:
        for rendered in component.objects:
            current = live.objects.get(rendered.place)
            if current is not None:
                yield from _problems(rendered, current)


def take_back(components: tuple[Component, ...], live: LiveObjects | Unknown) -> tuple[Component, ...]:
    """Return the components; each object with additions has an annotation, so that the run removes the additions.

    If the objects in the cluster could not be read, return the components unchanged.
    """
    if isinstance(live, Unknown):
        return components
    return tuple(
        replace(component, objects=tuple(_annotate(rendered, live) for rendered in component.objects))
        for component in components
    )


def _problems(rendered: Rendered, live: LiveObject) -> Iterator[Problem]:
    _, kind, namespace, name = rendered.place
    at = Path(f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}")
    for addition in additions(rendered.manifest, live):
        what = f"{addition.writer} added entries to {addition.field} ({addition.time}); this run removes them"
        yield warning(at, what)
    for owner, field, _, item in _owned_fields(rendered.manifest, live, moved=True):
        what = f"{owner.name} changed the keys that identify {field} ({owner.time}), and no run can restore them"
        yield warning(at, what, f"restore the keys of {item['name']}, or delete the object and run with --refresh")


def _annotate(rendered: Rendered, live: LiveObjects) -> Rendered:
    """Return an object with an annotation that names its additions.

    An object without additions keeps the annotation that it has in the cluster.
    """
    current = live.objects.get(rendered.place)
    if current is None:
        return rendered
    names = "; ".join(map(str, additions(rendered.manifest, current)))
    text = names or current.content["metadata"].get("annotations", EMPTY).get(labels.TAKEN_BACK)
    if text is None:
        return rendered
    metadata = rendered.manifest["metadata"]
    annotations = {**metadata.get("annotations", EMPTY), labels.TAKEN_BACK: text}
    return replace(rendered, manifest={**rendered.manifest, "metadata": {**metadata, "annotations": annotations}})


def additions(manifest: Manifest, live: LiveObject) -> Iterator[Addition]:
    """Yield the additions to fields that a manifest states and that another writer has set as a whole."""
    for owner, field, stated, value in _owned_fields(manifest, live):
        if _exceeds(value, stated):
            yield Addition(field, owner.name, owner.time)


def _owned_fields(
    manifest: Manifest, live: LiveObject, *, moved: bool = False
) -> Iterator[tuple[FieldOwner, str, Any, Any]]:
    """Yield owner, path, stated value and cluster value of stated fields that other writers have set as a whole.

    With `moved`, yield list items instead, each with None as its stated value. Such an item has the name of a stated
    item, but differs from that item in the keys by which the API server identifies items.
    """
    for owner in live.others:
        # An empty set of fields means no field, not the whole object.
        if owner.fields:
            for field, stated, value in _fields(owner.fields, manifest, live.content, ""):
                if moved == (stated is None):
                    yield owner, field, stated, value


def _fields(
    owned: Mapping[str, Any],
    stated: Any,  # noqa: ANN401, any JSON
    value: Any,  # noqa: ANN401, any JSON
    at: str,
) -> Iterator[tuple[str, Any, Any]]:
    if not owned:
        yield at, stated, value
        return
    for key, below in owned.items():
        kind, _, name = key.partition(":")
        if kind == "f" and _has_key(stated, name) and _has_key(value, name):
            yield from _fields(below, stated[name], value[name], f"{at}.{name}" if at else name)
        elif kind == "k":
            yield from _item_fields(json.loads(name), below, stated, value, at)


def _item_fields(
    keys: Mapping[str, Any],
    owned: Mapping[str, Any],
    stated: Sequence[Mapping[str, Any]],
    value: Sequence[Mapping[str, Any]],
    at: str,
) -> Iterator[tuple[str, Any, Any]]:
    stated_item = _item(stated, keys)
    item = _item(value, keys)
    if item is None:
        return
    if stated_item is not None:
        yield from _fields(owned, stated_item, item, f"{at}[{', '.join(map(str, keys.values()))}]")
    elif "name" in item and _item(stated, {"name": item["name"]}):
        yield f"{at}[{item['name']}]", None, item


def _has_key(tree: Any, key: str) -> bool:  # noqa: ANN401, any JSON
    return isinstance(tree, Mapping) and key in tree


def _item(items: Iterable[Mapping[str, Any]], keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the item of a list with these keys and values; None if there is none.

    A key that an item omits counts as equal, because the item then has the key's default.
    """
    return next((item for item in items if all(item.get(key, value) == value for key, value in keys.items())), None)


def _exceeds(value: Any, stated: Any) -> bool:  # noqa: ANN401, any JSON
    """Tell whether a value of the cluster has keys or items that the manifest does not state."""
    if isinstance(value, Mapping) and isinstance(stated, Mapping):
        keys = cast("_Tree", value)
        stated_keys = cast("_Tree", stated)
        return bool(keys.keys() - stated_keys.keys()) or any(_exceeds(keys[key], stated_keys[key]) for key in keys)
    return _has_more_items(value, stated)


def _has_more_items(value: Any, stated: Any) -> bool:  # noqa: ANN401, any JSON
    """Tell whether a list of the cluster has more items than the manifest's list.

    Keys of items do not count, because the API server adds some.
    """
    if isinstance(value, list) and isinstance(stated, list):
        items = cast("list[Any]", value)
        stated_items = cast("list[Any]", stated)
        if len(items) == len(stated_items):
            return any(map(_has_more_items, items, stated_items))
        return len(items) > len(stated_items)
    if isinstance(value, Mapping) and isinstance(stated, Mapping):
        keys = cast("_Tree", value)
        stated_keys = cast("_Tree", stated)
        return any(_has_more_items(keys[key], stated_keys[key]) for key in keys.keys() & stated_keys.keys())
    return False
