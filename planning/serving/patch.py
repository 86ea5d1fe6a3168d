"""A user's patch: the last word on a workload object, short of what makes it that object.

Maps merge by key and `null` removes one (RFC 7386). A list whose items all have names merges by name (mounts by
`mountPath`) and new items come last; any other list is replaced whole. A variable of a container is replaced whole, and
a volume keeps only the kind of source that the patch gives it, because both hold one of several things.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from planning.ground import environment, labels

_Verdict = tuple[str, str] | None
"""What is wrong, and what would be right."""
_Tree = Mapping[str, Any]

_OURS = labels.SERVICE.partition("/")[0] + "/"
_TEMPLATES = (
    Path("spec", "template"),
    Path("spec", "leaderWorkerTemplate", "leaderTemplate"),
    Path("spec", "leaderWorkerTemplate", "workerTemplate"),
)
_METADATA = (Path("metadata"), *(template / "metadata" for template in _TEMPLATES))
_LABELLED = frozenset(at / field for at in _METADATA for field in ("labels", "annotations"))
_POD_SPECS = frozenset(template / "spec" for template in _TEMPLATES)
_KEPT = frozenset(
    {Path("spec"), Path("spec", "leaderWorkerTemplate"), *_TEMPLATES, *_METADATA, *_LABELLED, *_POD_SPECS}
)
_IDENTITY = "is part of the object's identity"
_DECIDED: Mapping[Path, tuple[str, str]] = {
    Path("apiVersion"): (_IDENTITY, "remove it"),
    Path("kind"): (_IDENTITY, "remove it"),
    Path("metadata", "name"): (_IDENTITY, "remove it and set name"),
    Path("metadata", "namespace"): (_IDENTITY, "remove it and set namespace"),
    Path("spec", "selector"): (_IDENTITY, "remove it"),
    Path("spec", "replicas"): ("is a field", "set replicas"),
    Path("spec", "leaderWorkerTemplate", "size"): ("follows from parallelism", "remove it and set parallelism"),
    Path("status"): ("is written by Kubernetes", "remove it"),
}
_NAMED = frozenset({"containers", "initContainers", "volumes", "env", "volumeMounts"})
"""Lists whose every item has a name: one without would replace all of ours."""
_AMOUNTS = frozenset({"requests", "limits", "claims"})


def apply(manifest: _Tree, patch: _Tree) -> dict[str, Any]:
    """Return the object as the user wants it. The patch is known to be acceptable (`problems`)."""
    return _merged_map(manifest, patch)


def origins(path: Path, patch: _Tree, patched: _Tree) -> dict[Path, Path]:
    """Return where the user wrote what stands in the patched object, for `Rendered.origins`; the rest is `path`."""
    return {Path(): path, **dict(_written("", path, patch, Path(), patched))}


def problems(
    path: Path, patch: _Tree, grace_seconds_needed: int, drain: str, devices: Collection[str]
) -> list[Problem]:
    """Refuse what would break the object's identity, its drain or its devices, and what cannot be understood.

    `drain` is the service's drainTimeout as written, `devices` the resource names that parallelism decides.
    """
    found = list[Problem]()
    for at, value in _nodes(patch, Path()):
        verdicts = (
            _decided(at),
            _shape(at, value),
            _grace(at, value, grace_seconds_needed, drain),
            _device(at, value, devices),
            _item(at, value),
            _credential(at, value),
        )
        found += [Problem(Path(*path, *at), *verdict) for verdict in verdicts if verdict is not None]
    return found


def _map(value: object) -> _Tree | None:
    return cast("_Tree", value) if isinstance(value, Mapping) else None


def _list(value: object) -> Sequence[Any] | None:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None


def _key(field: str) -> str:
    return "mountPath" if field == "volumeMounts" else "name"


def _name(field: str, item: object) -> str | None:
    """Return what an item of a list is known by, if anything."""
    name = (_map(item) or {}).get(_key(field))
    return name if isinstance(name, str) else None


def _merged(field: str, current: object, change: object) -> object:
    if (tree := _map(change)) is not None:
        return _merged_map(_map(current) or {}, tree)
    if (items := _list(change)) is not None:
        return _merged_list(field, _list(current) or (), items)
    return change


def _merged_map(current: _Tree, change: _Tree) -> dict[str, Any]:
    merged = dict(current)
    for field, value in change.items():
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = _merged(field, merged.get(field), value)
    return merged


def _merged_list(field: str, current: Sequence[Any], change: Sequence[Any]) -> list[Any]:
    if not _is_by_name(field, current, change):
        return [_merged("", None, item) for item in change]
    merged = {_name(field, item): item for item in current}
    for item in change:
        name = _name(field, item)
        merged[name] = _merged_map(_kept(field, merged.get(name, {}), item), item)
    return list(merged.values())


def _is_by_name(field: str, *lists: Sequence[Any]) -> bool:
    return all(_name(field, item) is not None for items in lists for item in items)


def _kept(field: str, item: _Tree, change: _Tree) -> _Tree:
    """Return what a named item keeps under a change of it."""
    match field:
        case "env":
            return {}
        case "volumes":
            return {key: value for key, value in item.items() if key in change}
        case _:
            return item


def _written(field: str, path: Path, change: object, at: Path, patched: object) -> Iterator[tuple[Path, Path]]:
    """Yield the items of lists, whose places in the patch and in the object differ."""
    tree, items, inside = _map(change), _list(change), _list(patched)
    if tree is not None:
        below = _map(patched) or {}
        for key in tree.keys() & below.keys():
            yield from _written(key, path / key, tree[key], at / key, below[key])
    elif items is not None and inside is not None:
        places = {_name(field, item): place for place, item in enumerate(inside)}
        by_name = _is_by_name(field, items)
        for index, item in enumerate(items):
            place = places.get(_name(field, item), index) if by_name else index
            yield at / place, path / index
            yield from _written("", path / index, item, at / place, inside[place])


def _nodes(value: object, at: Path) -> Iterator[tuple[Path, object]]:
    tree = _map(value)
    inside: Collection[tuple[str | int, Any]] = tree.items() if tree is not None else [*enumerate(_list(value) or ())]
    for key, part in inside:
        yield at / key, part
        yield from _nodes(part, at / key)


def _decided(at: Path) -> _Verdict:
    """Judge a key: what is decided elsewhere, and what is no key."""
    key = at[-1]
    if isinstance(key, str) and key.startswith("$"):
        return f"is no directive here ({key})", "write null to remove a key; an item of a list cannot be removed"
    if at.parent in _LABELLED and isinstance(key, str) and key.startswith(_OURS):
        return f"is reserved ({_OURS})", "remove it, or use a key of your own"
    return _DECIDED.get(at)


def _shape(at: Path, value: object) -> _Verdict:
    """Judge what holds the object together: it stays, and stays a map or a list."""
    is_containers = at.parent in _POD_SPECS and at[-1] == "containers"
    if at not in _KEPT and not is_containers:
        return None
    if value is None:
        return "cannot be removed (null)", "delete the line, or write what to change below it"
    if is_containers and _list(value) is None:
        return "is not a list", "write a list: [{name: vllm}]"
    if not is_containers and _map(value) is None:
        return "is not a mapping", "write keys with values below it"
    return None


def _grace(at: Path, value: object, needed: int, drain: str) -> _Verdict:
    if at.parent not in _POD_SPECS or at[-1] != "terminationGracePeriodSeconds":
        return None
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value >= needed):
        return None
    written = "null" if value is None else value
    return f"cuts the drain short ({written}; drainTimeout {drain} needs {needed})", "remove it or lower drainTimeout"


def _device(at: Path, value: object, devices: Collection[str]) -> _Verdict:
    """Keep the devices of a container as they are: not set, not removed."""
    match at:
        case (*_, "containers" | "initContainers", int(), "resources"):
            is_removal = _map(value) is None
        case (*_, "containers" | "initContainers", int(), "resources", "requests" | "limits"):
            is_removal = _map(value) is None
        case (*_, "containers" | "initContainers", int(), "resources", "claims"):
            is_removal = _list(value) is None
        case _:
            return None
    if is_removal and devices:
        return "removes devices that parallelism decides", "delete the line, or change single amounts"
    for name, number in (_map(value) or {}).items():
        if name in devices:
            wanted = f": {number}" if str(number).isdigit() else ""
            what = f"sets a device that parallelism decides ({name}: {'null' if number is None else number})"
            return what, f"remove it and set parallelism.tensor{wanted}"
    return None


def _item(at: Path, value: object) -> _Verdict:
    """Judge a list by the names of its items."""
    field, items = at[-1], _list(value)
    if not isinstance(field, str) or items is None:
        return None
    names = [_name(field, item) for item in items]
    if field in _NAMED and None in names:
        return f"has an item without {_key(field)} (item {names.index(None)})", f"add its {_key(field)}"
    twice = next((name for name in names if name is not None and names.count(name) > 1), None)
    if twice is not None and None not in names:
        return f"has two items of one {_key(field)} ({twice})", "keep one of them"
    return None


def _credential(at: Path, value: object) -> _Verdict:
    variable = _map(value)
    if len(at) < len(("env", 0)) or at[-2] != "env" or variable is None:
        return None
    if environment.is_credential_in_clear(str(variable.get("name")), variable.get("value", "")):
        return environment.CREDENTIAL_IN_CLEAR
    return None
