"""The user's patch of a workload object: it may change everything but the object's identity, drain and devices.

Maps merge by key, and `null` removes a key (RFC 7386). A list whose items all have names merges by name (mounts by
`mountPath`), with new items at its end; any other list is replaced as a whole.

Variables and volumes hold one of several kinds of source. A variable is therefore replaced as a whole, and a volume
keeps only the kind of source that the patch sets.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from planning.ground import environment, labels

_Verdict = tuple[str, str] | None
"""Message and remedy; None if there is no problem."""
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
_REQUIRED = frozenset(
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
"""Lists whose items all have names. An item without one would replace all generated items."""
_RESOURCE_FIELDS = frozenset({"requests", "limits", "claims"})


def apply(manifest: _Tree, patch: _Tree) -> dict[str, Any]:
    """Return the manifest with the patch, which has no `problems`, applied."""
    return _merge_map(manifest, patch)


def origins(path: Path, patch: _Tree, patched: _Tree) -> dict[Path, Path]:
    """Return the configuration paths of the patched object's contents, for `Rendered.origins`.

    The keys are places in the object. Contents without an entry of their own have the path of the patch, `path`.
    """
    return {Path(): path, **dict(_item_origins("", path, patch, Path(), patched))}


def problems(
    path: Path, patch: _Tree, grace_seconds_needed: int, drain: str, devices: Collection[str]
) -> list[Problem]:
    """Reject changes of the object's identity, drain or devices, and patches that cannot be applied.

    `drain` is the explicit drainTimeout of the service, `devices` the resource names that parallelism decides.
    """
    found = list[Problem]()
    for at, value in _nodes(patch, Path()):
        verdicts = (
            _check_key(at),
            _check_shape(at, value),
            _check_grace(at, value, grace_seconds_needed, drain),
            _check_devices(at, value, devices),
            _item(at, value),
            _check_credential(at, value),
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
    """Return the name of a list's item, or None if it has none."""
    name = (_map(item) or {}).get(_key(field))
    return name if isinstance(name, str) else None


def _merge(field: str, current: object, change: object) -> object:
    if (tree := _map(change)) is not None:
        return _merge_map(_map(current) or {}, tree)
    if (items := _list(change)) is not None:
        return _merge_list(field, _list(current) or (), items)
    return change


def _merge_map(current: _Tree, change: _Tree) -> dict[str, Any]:
    merged = dict(current)
    for field, value in change.items():
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = _merge(field, merged.get(field), value)
    return merged


def _merge_list(field: str, current: Sequence[Any], change: Sequence[Any]) -> list[Any]:
    if not _is_by_name(field, current, change):
        return [_merge("", None, item) for item in change]
    merged = {_name(field, item): item for item in current}
    for item in change:
        name = _name(field, item)
        merged[name] = _merge_map(_base(field, merged.get(name, {}), item), item)
    return list(merged.values())


def _is_by_name(field: str, *lists: Sequence[Any]) -> bool:
    return all(_name(field, item) is not None for items in lists for item in items)


def _base(field: str, item: _Tree, change: _Tree) -> _Tree:
    """Return the part of a named item that a change of the item is merged into."""
    match field:
        case "env":
            return {}
        case "volumes":
            return {key: value for key, value in item.items() if key in change}
        case _:
            return item


def _item_origins(field: str, path: Path, change: object, at: Path, patched: object) -> Iterator[tuple[Path, Path]]:
    """Yield place in the object and path in the patch for each item of a list, because the two may differ."""
    tree, items, patched_items = _map(change), _list(change), _list(patched)
    if tree is not None:
        patched_tree = _map(patched) or {}
        for key in tree.keys() & patched_tree.keys():
            yield from _item_origins(key, path / key, tree[key], at / key, patched_tree[key])
    elif items is not None and patched_items is not None:
        places = {_name(field, item): place for place, item in enumerate(patched_items)}
        by_name = _is_by_name(field, items)
        for index, item in enumerate(items):
            place = places.get(_name(field, item), index) if by_name else index
            yield at / place, path / index
            yield from _item_origins("", path / index, item, at / place, patched_items[place])


def _nodes(value: object, at: Path) -> Iterator[tuple[Path, object]]:
    tree = _map(value)
    children: Collection[tuple[str | int, Any]] = tree.items() if tree is not None else [*enumerate(_list(value) or ())]
    for key, child in children:
        yield at / key, child
        yield from _nodes(child, at / key)


def _check_key(at: Path) -> _Verdict:
    """Check a key: it is no directive, not reserved, and not decided by a field."""
    key = at[-1]
    if isinstance(key, str) and key.startswith("$"):
        return f"is no directive here ({key})", "write null to remove a key; an item of a list cannot be removed"
    if at.parent in _LABELLED and isinstance(key, str) and key.startswith(_OURS):
        return f"is reserved ({_OURS})", "remove it, or use a key of your own"
    return _DECIDED.get(at)


def _check_shape(at: Path, value: object) -> _Verdict:
    """Check that the object's required maps and lists stay, and stay of their type."""
    is_containers = at.parent in _POD_SPECS and at[-1] == "containers"
    if at not in _REQUIRED and not is_containers:
        return None
    if value is None:
        return "cannot be removed (null)", "delete the line, or write what to change below it"
    if is_containers and _list(value) is None:
        return "is not a list", "write a list: [{name: vllm}]"
    if not is_containers and _map(value) is None:
        return "is not a mapping", "write keys with values below it"
    return None


def _check_grace(at: Path, value: object, needed: int, drain: str) -> _Verdict:
    if at.parent not in _POD_SPECS or at[-1] != "terminationGracePeriodSeconds":
        return None
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value >= needed):
        return None
    text = "null" if value is None else value
    return f"cuts the drain short ({text}; drainTimeout {drain} needs {needed})", "remove it or lower drainTimeout"


def _check_devices(at: Path, value: object, devices: Collection[str]) -> _Verdict:
    """Check that a container's devices are neither set nor removed."""
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
            tensor = f": {number}" if str(number).isdigit() else ""
            what = f"sets a device that parallelism decides ({name}: {'null' if number is None else number})"
            return what, f"remove it and set parallelism.tensor{tensor}"
    return None


def _item(at: Path, value: object) -> _Verdict:
    """Check that the items of a list have names if required, and that no name occurs twice."""
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


def _check_credential(at: Path, value: object) -> _Verdict:
    variable = _map(value)
    if len(at) < len(("env", 0)) or at[-2] != "env" or variable is None:
        return None
    if environment.is_credential_in_clear(str(variable.get("name")), variable.get("value", "")):
        return environment.CREDENTIAL_IN_CLEAR
    return None
