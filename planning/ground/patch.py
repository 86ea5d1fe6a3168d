"""The user's patch of a workload. A patch must not change the identity, the drain or the devices of the workload.

Maps merge by key, and `null` removes a key (RFC 7386). A list whose items all have names merges by name; the name
of a volume mount is its `mountPath`. New items come at the end of the list. Any other list is replaced as a whole.

A variable or a volume has exactly one kind of source, such as a Secret or a ConfigMap. A merge of two kinds would be
invalid. A patch therefore replaces a variable as a whole. A generated volume loses each key that the patch does not
set. A key that both the volume and the patch have is merged.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from planning.ground import labels
from planning.ground.lifecycle import Drain

_Verdict = tuple[str, str] | None
"""Pair of text and remedy of a problem; None if there is no problem."""
_Tree = Mapping[str, Any]

_RESERVED_PREFIX = labels.SERVICE.partition("/")[0] + "/"
"""Prefix of the labels and annotations that this program sets."""
TEMPLATES = (
    Path("spec", "template"),
    Path("spec", "leaderWorkerTemplate", "leaderTemplate"),
    Path("spec", "leaderWorkerTemplate", "workerTemplate"),
)
"""Pod templates of a Deployment or a LeaderWorkerSet."""
_METADATA = (Path("metadata"), *(template / "metadata" for template in TEMPLATES))
_LABELLED = frozenset(at / field for at in _METADATA for field in ("labels", "annotations"))
_POD_SPECS = frozenset(template / "spec" for template in TEMPLATES)
_REQUIRED = frozenset(
    {Path("spec"), Path("spec", "leaderWorkerTemplate"), *TEMPLATES, *_METADATA, *_LABELLED, *_POD_SPECS}
)
"""Maps that no patch may remove. A patch may remove keys below these maps."""
_LABELS = frozenset(at / "labels" for at in _METADATA)
_ANNOTATIONS = frozenset(at / "annotations" for at in _METADATA)
_IDENTITY = "is part of the object's identity"
PROVIDER_REMEDY = "remove it: this program decides how a run waits for its objects, and how they are deleted"
"""Remedy for an annotation that Pulumi's provider obeys."""
_DECIDED: Mapping[Path, tuple[str, str]] = {
    Path("apiVersion"): (_IDENTITY, "remove it"),
    Path("kind"): (_IDENTITY, "remove it"),
    Path("metadata", "name"): (_IDENTITY, "remove it and set name"),
    Path("metadata", "namespace"): (_IDENTITY, "remove it and set namespace"),
    Path("spec", "selector"): (_IDENTITY, "remove it"),
    Path("spec", "leaderWorkerTemplate", "size"): ("follows from parallelism", "remove it and set parallelism"),
    Path("status"): ("is written by Kubernetes", "remove it"),
}
"""Fields that no patch may set, each with what is wrong and a remedy."""
_NAMED = frozenset({"containers", "initContainers", "volumes", "env", "volumeMounts"})
"""Lists whose items must all have names. If an item of a list in a patch had no name, this list would replace the whole
generated list."""


@dataclass(frozen=True, slots=True)
class PatchTarget:
    """The kind of workload that a patch changes."""

    container: str
    """Name of a generated container, for messages."""
    decided: Mapping[Path, tuple[str, str]]
    """Fields that a patch of this kind may not set, each with what is wrong and a remedy."""
    drained: frozenset[str]
    """Names of the containers that must pause before they end, because requests still arrive after a pod's deletion."""
    reading: frozenset[str]
    """Names of the containers that read the variables in `Limits.reserved`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Properties of a workload that a patch must not change."""

    drain: Drain
    drain_timeout: str
    """The service's drainTimeout as text, for messages."""
    devices: Collection[str]
    """Resource names of all devices."""
    reserved: Mapping[str, str]
    """Variables that this program sets, each with the reason why a user may not set it."""


_ENGINES = frozenset({"vllm", "engine"})
SERVING = PatchTarget("vllm", {Path("spec", "replicas"): ("has its own key", "set replicas")}, _ENGINES, _ENGINES)
SERVING_GROUP = replace(
    SERVING,
    decided={
        **SERVING.decided,
        Path("spec", "leaderWorkerTemplate", "leaderTemplate"): (
            "is no template of this workload, whose pods all get requests",
            "write workerTemplate, which is the template of all pods",
        ),
    },
)
"""Target for a LeaderWorkerSet whose pods all get requests."""
PICKER = PatchTarget(
    "epp",
    {
        Path("spec", "replicas"): ("has its own key", "set endpointPicker.replicas"),
        Path("spec", "template", "metadata", "annotations", "checksum/config"): (
            "restarts the pickers when their configuration changes",
            "remove it",
        ),
    },
    frozenset(),
    frozenset({"epp"}),
)


def apply(manifest: _Tree, patch: _Tree) -> dict[str, Any]:
    """Return the manifest with the patch applied. `problems` must have found no problem in the patch."""
    return _merge_map(manifest, patch)


def origins(path: Path, patch: _Tree, patched: _Tree) -> dict[Path, Path]:
    """Return paths in the patched object, each with its path in the configuration, for `Rendered.origins`.

    `path` is the path of the patch in the configuration. The result maps the root of the object (the empty path) to
    `path`. The longest path that leads to a field decides where problems of the field are reported. If no other entry
    leads to a field, a problem of the field is therefore reported at the patch, even if the field is generated.
    """
    return {Path(): path, **dict(_item_origins("", path, patch, Path(), patched))}


def problems(path: Path, patch: _Tree, limits: Limits, target: PatchTarget = SERVING) -> list[Problem]:
    """Reject changes of the object's identity, drain or devices, and patches that cannot be applied."""
    mistakes = list[Problem]()
    for at, value in _nodes(patch, Path()):
        verdicts = (
            _check_key(at, target),
            _check_shape(at, value, target),
            _check_grace(at, value, limits.drain.grace, limits.drain_timeout),
            _check_pre_stop(at, value, limits.drain, target),
            _check_devices(at, value, limits.devices),
            _check_item_names(at, value),
        )
        mistakes += [Problem(Path(*path, *at), *verdict) for verdict in verdicts if verdict is not None]
        mistakes += _reserved_variables(Path(*path, *at), at, value, limits.reserved, target)
    return mistakes


def items(patch: _Tree, at: Path) -> Iterator[_Tree]:
    """Yield each mapping in the list that a patch has at the path `at`."""
    value: object = patch
    for part in at:
        value = (_map(value) or {}).get(str(part))
    yield from (item for item in map(_map, _list(value) or ()) if item is not None)


def _map(value: object) -> _Tree | None:
    if isinstance(value, Mapping):
        return cast("_Tree", value)
    return None


def _list(value: object) -> Sequence[Any] | None:
    if isinstance(value, list | tuple):
        return cast("Sequence[Any]", value)
    return None


def _key(field: str) -> str:
    if field == "volumeMounts":
        return "mountPath"
    return "name"


def _name(field: str, item: object) -> str | None:
    """Return the name of an item of the list `field`, or None if the item has no name."""
    name = (_map(item) or {}).get(_key(field))
    if isinstance(name, str):
        return name
    return None


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
    """Return `item`, a generated item, without the keys that it loses when the patch `change` is applied.

    A variable loses all keys. A volume loses the keys that the patch does not set.
    """
    match field:
        case "env":
            return {}
        case "volumes":
            return {key: value for key, value in item.items() if key in change}
        case _:
            return item


def _item_origins(field: str, path: Path, change: object, at: Path, patched: object) -> Iterator[tuple[Path, Path]]:
    """Yield, for each list item of a patch, its path in the patched object and its path in the configuration.

    The indexes in these two paths may differ if a list merges by name.
    """
    tree = _map(change)
    items = _list(change)
    patched_items = _list(patched)
    if tree is not None:
        patched_tree = _map(patched) or {}
        for key in tree.keys() & patched_tree.keys():
            yield from _item_origins(key, path / key, tree[key], at / key, patched_tree[key])
    elif items is not None and patched_items is not None:
        patched_indexes = {_name(field, item): index for index, item in enumerate(patched_items)}
        by_name = _is_by_name(field, items)
        for index, item in enumerate(items):
            patched_index = patched_indexes.get(_name(field, item), index) if by_name else index
            yield at / patched_index, path / index
            yield from _item_origins("", path / index, item, at / patched_index, patched_items[patched_index])
    elif tree is None and items is None:
        yield at, path


def _nodes(value: object, at: Path) -> Iterator[tuple[Path, object]]:
    tree = _map(value)
    children: Collection[tuple[str | int, Any]] = tree.items() if tree is not None else [*enumerate(_list(value) or ())]
    for key, child in children:
        yield at / key, child
        yield from _nodes(child, at / key)


def _check_key(at: Path, target: PatchTarget) -> _Verdict:
    """Reject a key that is a directive of another patch format, that is reserved, or that another key decides."""
    key = at[-1]
    if isinstance(key, str) and key.startswith("$"):
        remedy = "write null to remove a key; an item of a list cannot be removed"
        return f"is a directive of another patch format ({key})", remedy
    if at.parent in _LABELLED and isinstance(key, str) and key.startswith(_RESERVED_PREFIX):
        return f"is reserved ({_RESERVED_PREFIX})", "remove it, or use a key of your own"
    if at.parent in _ANNOTATIONS and isinstance(key, str) and labels.is_providers(key):
        return f"is obeyed by Pulumi's provider ({key})", PROVIDER_REMEDY
    if at.parent in _LABELS and isinstance(key, str) and labels.is_reserved(key):
        return f"is decided by this program ({key})", "remove it, or use another key"
    return _DECIDED.get(at) or target.decided.get(at)


def _check_shape(at: Path, value: object, target: PatchTarget) -> _Verdict:
    """Reject a patch that removes a required map or the list of containers, or gives it a value of another type."""
    is_containers = at.parent in _POD_SPECS and at[-1] == "containers"
    if at not in _REQUIRED and not is_containers:
        return None
    if value is None:
        return "cannot be removed (null)", "delete the line, or write the changes below it"
    if is_containers and _list(value) is None:
        return "is not a list", f"write a list: [{{name: {target.container}}}]"
    if not is_containers and _map(value) is None:
        return "is not a mapping", "write keys with values below it"
    return None


def _check_grace(at: Path, value: object, needed: int, drain_timeout: str) -> _Verdict:
    """Reject a termination grace period in which a pod cannot drain. `needed` is in seconds."""
    if at.parent not in _POD_SPECS or at[-1] != "terminationGracePeriodSeconds":
        return None
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value >= needed):
        return None
    text = "null" if value is None else value
    what = f"cuts the drain short ({text}; drainTimeout {drain_timeout} needs {needed})"
    return what, "remove it or lower drainTimeout"


def _check_pre_stop(at: Path, value: object, drain: Drain, target: PatchTarget) -> _Verdict:
    """Reject a patch that drops or shortens the pause before an engine ends. Requests arrive during this pause."""
    container = _map(value)
    if at.parent.parent not in _POD_SPECS or at.parent[-1] != "containers" or container is None:
        return None
    if _name("containers", container) not in target.drained or "lifecycle" not in container:
        return None
    needed = drain.worker_pre_stop if "workerTemplate" in at else drain.pre_stop
    remedy = "remove it: requests still arrive after a pod's deletion"
    lifecycle = _map(container["lifecycle"])
    if lifecycle is None or ("preStop" in lifecycle and _map(lifecycle["preStop"]) is None):
        return "drops the pause before the engine ends (lifecycle.preStop)", remedy
    hook = _map(lifecycle.get("preStop")) or {}
    others = [name for name, handler in hook.items() if name != "sleep" and handler is not None]
    if "sleep" in hook and hook["sleep"] is None and not others:
        return "drops the pause before the engine ends (lifecycle.preStop.sleep)", remedy
    pause = (_map(hook.get("sleep")) or {}).get("seconds", needed)
    if not isinstance(pause, int) or pause < needed:
        text = "null" if pause is None else pause
        return f"shortens the pause before the engine ends ({text}; {needed} seconds are needed)", remedy
    return None


def _reserved_variables(
    path: Path, at: Path, value: object, reserved: Mapping[str, str], target: PatchTarget
) -> Iterator[Problem]:
    """Reject variables of a generated container that this program sets. `path` is that of `at` in the configuration."""
    container = _map(value)
    if container is None or at.parent.parent not in _POD_SPECS or at.parent[-1] != "containers":
        return
    if _name("containers", container) not in target.reading:
        return
    for index, variable in enumerate(_list(container.get("env")) or ()):
        reason = reserved.get(_name("env", variable) or "")
        if reason is not None:
            yield Problem(path / "env" / index, f"is set by this program ({variable['name']})", f"remove it: {reason}")


def _check_devices(at: Path, value: object, devices: Collection[str]) -> _Verdict:
    """Reject a patch that sets or removes devices of a container."""
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
            what = f"sets a device that parallelism decides ({name}: {'null' if number is None else number})"
            return what, device_remedy(number)
    return None


def device_remedy(number: object) -> str:
    """Return the remedy for a number of devices in the resources of an engine. Devices are whole."""
    is_whole = str(number).isdecimal() and int(str(number)) > 0
    return f"remove it and set parallelism.tensor{f': {number}' if is_whole else ' to a whole number of devices'}"


def _check_item_names(at: Path, value: object) -> _Verdict:
    """Reject unnamed items in a list whose items must have names, and several items with the same name in a list."""
    field = at[-1]
    items = _list(value)
    if not isinstance(field, str) or items is None:
        return None
    names = [_name(field, item) for item in items]
    if field in _NAMED and None in names:
        return f"has an item without {_key(field)} (item {names.index(None)})", f"add its {_key(field)}"
    duplicate = next((name for name in names if name is not None and names.count(name) > 1), None)
    if duplicate is not None and None not in names:
        return f"has two items with the same {_key(field)} ({duplicate})", "keep one of them"
    return None
