"""Merge of the configuration's layers, with a record of the path and the file at which each value was written.

The layers are `defaults`, the profile that is selected for a service, the service, its `prefill` and its `canary`. Each
layer may stand in several files: the platform's outputs, base files, and the stack file above them. Layers merge by RFC
7386: mappings merge by key, scalars and lists are replaced, and null removes a value, from lower files and from lower
layers. An explicit false, 0 or "" wins like any other value.

Three rules are added. `engine.args` merges by flag name. A few mappings are replaced whole: `gateway`, `verify`,
`allocation`, `facts`, `tenants`, `patch`, the `tls` of a picker, and each variable under `env`. `storage`, `rollout`,
`autoscaling` and each of `volumes` are replaced whole if their `type` changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

from models import fields, flags
from models.paths import Path
from models.problems import Problem, echo
from models.service import Variant
from models.trees import mapping, sequence

Value = TypeVar("Value")
INHERITED_BY_PREFILL = (
    "selection",
    "engine",
    "accelerator",
    "acceleratorMemory",
    "parallelism",
    "resources",
    "pod",
    "health",
    "rollout",
    "disruptionBudget",
)
"""Keys that prefill inherits from its service. Replicas, autoscaling and patch are not inherited."""
INHERITED_BY_POOLS = tuple(key for key in INHERITED_BY_PREFILL if key != "selection")
"""Keys that encode and each set of decode inherit from their service, and each set of prefill from prefill."""
INHERITED: Mapping[str, tuple[str, ...]] = {"prefill": INHERITED_BY_PREFILL, "encode": INHERITED_BY_POOLS, "decode": ()}
"""Keys that each section with pods inherits from its service, by key of the section. `decode` itself has only sets."""
INHERITED_BY_CANARY = tuple(
    field.alias or name
    for name, field in Variant.model_fields.items()
    if name not in {*INHERITED, "replicas", "autoscaling"}
)
"""Keys that a canary inherits from its service. Replicas and autoscaling are not inherited; the further roles are
merged separately."""
_REPLACED_WHOLE = frozenset({"gateway", "verify", "allocation", "facts", "tenants", "patch"})
"""Keys whose value a higher layer replaces whole."""
_REPLACED_WHOLE_BELOW = frozenset({("endpointPicker", "tls"), ("env", "*")})
"""Parent and key, for keys whose value is replaced whole only below this parent. `*` stands for names that the user
chose."""
_WITHOUT = "withoutArgs"
"""Key of an engine with the flags that it does not inherit."""
_TYPED = frozenset({"storage", "rollout", "autoscaling"})
"""Keys whose value a higher layer replaces whole if it has another `type`."""
_TYPED_BELOW = "volumes"
"""Key whose mapping has values that a higher layer replaces whole if they have another `type`."""
_NAMES_BELOW = frozenset(
    {
        "services",
        "caches",
        "accelerators",
        "profiles",
        "adapters",
        "objectives",
        "env",
        "containers",
        "initContainers",
        "volumes",
        "claims",
        "sets",
    }
)
"""Mappings whose keys are names that the user chose. In the paths of a merge, `*` replaces such a name, so that a
service with the name `gateway` merges like any other service."""


class Source(NamedTuple):
    """A file whose values the stack file overrides: its name, and its tree, which has the keys of a stack."""

    file: str
    tree: Mapping[str, Any]


class Place(NamedTuple):
    """Path and file at which a value was written."""

    path: Path
    file: str = ""
    """Name of the file; empty for the stack file."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Place at which a value was written. `below` has the origins of inner values that were written elsewhere."""

    at: Path
    below: "Mapping[Any, Origin]" = field(default_factory=dict[Any, "Origin"])
    file: str = ""

    def child(self, part: str | int) -> "Origin":
        """Return the origin of the value at a key or an index."""
        return self.below.get(part) or Origin(self.at / part, file=self.file)

    def find(self, path: Path) -> "Origin":
        """Return the origin of the value at `path` of the merged tree."""
        origin = self
        for part in path:
            origin = origin.child(part)
        return origin

    def locate(self, path: Path) -> Path:
        """Return the path at which the value at `path` of the merged tree was written."""
        return self.find(path).at


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, or the result of merging several: its tree, the origins of its values, and its problems."""

    tree: Any
    origin: Origin
    problems: tuple[Problem, ...] = ()

    def without(self, *keys: str) -> "Layer":
        """Return the layer without some of its keys and without its problems."""
        return Layer({name: value for name, value in self.tree.items() if name not in keys}, self.origin)

    def child(self, key: str) -> "Layer":
        """Return the value at a key as a layer."""
        return Layer(self.tree[key], self.origin.child(key))

    def locate(self, path: Path, *, absent: bool) -> Place:
        """Return the place at which the user wrote the value at `path` of a merged stack.

        If the value is `absent`, return the place at which it should be written. That place is in the service of the
        stack file, not in `defaults` or another file, with one exception: a key that is absent inside a list, or inside
        a value that is replaced whole (such as `gateway`), belongs where the list or that value is written.
        """
        origin = self.origin.find(path)
        if not absent or _is_inside_whole(path):
            return Place(origin.at, origin.file)
        if origin.at[:1] == ("defaults",):
            return Place(Path(*path[:2], *origin.at[1:]))
        return Place(origin.at)

    def holds(self, path: Path) -> bool:
        """Return whether the tree has a value at a path."""
        node: object = self.tree
        for part in path:
            children = {**mapping(node), **dict(enumerate(sequence(node)))}
            if part not in children:
                return False
            node = children[part]
        return True


def merge(low: Layer, high: Layer) -> Layer:
    """Merge a higher layer over a lower one. The result shares no mapping and no list with them."""
    problems = list[Problem]()
    merged = _merge_values(low, high, Path(), problems)
    return Layer(merged.tree, merged.origin, (*low.problems, *high.problems, *problems))


def no_mapping(layer: Layer) -> Problem:
    """Return the problem of a layer whose value is not a mapping."""
    what = f"is not a mapping{echo(layer.origin.at, layer.tree)}"
    return Problem(layer.origin.at, what, "write keys with values below it", file=layer.origin.file)


def is_mapping(value: object) -> bool:
    """Return whether a value is a mapping."""
    return isinstance(value, dict)


def _merge_values(low: Layer, high: Layer, path: Path, problems: list[Problem]) -> Layer:
    """Merge two values. `path` is the path of both in the merged tree, with `*` for names that the user chose."""
    if _is_merged_by_key(low.tree, high.tree, path):
        if path[-1:] == ("engine",):
            low, high = _without_arguments(low, high)
        return _merge_mappings(low, high, path, problems)
    if path[-2:] == ("engine", "args") and _is_tokens(low.tree) and _is_tokens(high.tree):
        return _merge_arguments(low, high, problems)
    if low.origin.file and is_mapping(high.tree) and _is_of_wrong_type(low.tree, path):
        problems.append(no_mapping(low))
    return Layer(_copy_without_nulls(high.tree, high.origin, problems), high.origin)


def _merge_mappings(low: Layer, high: Layer, path: Path, problems: list[Problem]) -> Layer:
    """Merge two mappings.

    The origin of the result is that of the higher layer, with further entries in `below`: for each key that only the
    lower layer has, and for each key of both layers whose higher value is a mapping or a list. Other values need no
    entry: they are from the higher layer, and were written there at their keys.
    """
    tree = dict[str, Any]()
    below = dict(high.origin.below)
    has_names = bool(path) and path[-1] in _NAMES_BELOW
    for key, value in low.tree.items():
        step = "*" if has_names else key
        if key not in high.tree:
            tree[key] = copy_value(value)
            below[key] = low.origin.child(key)
        elif isinstance(high.tree[key], dict | list):
            merged = _merge_values(low.child(key), high.child(key), path / step, problems)
            tree[key] = merged.tree
            below[key] = merged.origin
        elif high.tree[key] is not None:
            tree[key] = high.tree[key]
    added = {key: value for key, value in high.tree.items() if key not in low.tree}
    origin = Origin(high.origin.at, below, high.origin.file)
    return Layer(tree | _copy_without_nulls(added, high.origin, problems), origin)


def _is_merged_by_key(low: object, high: object, path: Path) -> bool:
    """Return whether two values are mappings that merge by key. If not, the higher value replaces the lower one."""
    if not isinstance(low, dict) or not isinstance(high, dict) or not path:
        return isinstance(low, dict) and isinstance(high, dict)
    if path[-1] in _REPLACED_WHOLE or path[-2:] in _REPLACED_WHOLE_BELOW:
        return False
    low_type = cast("dict[str, Any]", low).get("type")
    high_type = cast("dict[str, Any]", high).get("type")
    is_typed = path[-1] in _TYPED or path[-2:-1] == (_TYPED_BELOW,)
    return not is_typed or low_type is None or high_type is None or low_type == high_type


def _is_of_wrong_type(low: object, path: Path) -> bool:
    """Return whether the lower value should be a mapping, but is not. Below `env`, it may be text instead."""
    return not isinstance(low, dict) and path[-2:-1] != ("env",)


def _is_inside_whole(path: Path) -> bool:
    """Return whether a path of a stack is inside a list, or inside a value that is replaced whole."""
    ancestors = path[:-1]
    if path[:1] == ("services",):
        ancestors = path[2:-1]
    return any(isinstance(part, int) or part in _REPLACED_WHOLE for part in ancestors) or any(
        (outer, inner) in _REPLACED_WHOLE_BELOW or (outer, "*") in _REPLACED_WHOLE_BELOW
        for outer, inner in pairwise(ancestors)
    )


def _is_tokens(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(token, str) for token in cast("list[object]", value))


def _merge_arguments(low: Layer, high: Layer, problems: list[Problem]) -> Layer:
    """Merge arguments by flag.

    If a flag has a JSON object in both layers, the objects merge as well. Malformed JSON in one of the layers is
    reported as a problem, because the higher value would then silently replace the lower value.
    """
    origins = (low.origin, high.origin)
    for layer, flag in flags.malformed_json(low.tree, high.tree):
        origin = origins[layer].child(flag.value_index)
        problems += (replace(problem, file=origin.file) for problem in flags.json_problems(origin.at, flag))
    merged = flags.merge_with_origins(low.tree, high.tree)
    below = {position: origins[token.layer].child(token.index) for position, token in enumerate(merged)}
    return Layer([token.token for token in merged], Origin(high.origin.at, below, high.origin.file))


def _without_arguments(low: Layer, high: Layer) -> tuple[Layer, Layer]:
    """Return two layers of an engine: the lower one without the arguments that `withoutArgs` of the higher one drops.

    The higher layer keeps the entries that drop nothing. The rules refuse these.
    """
    dropped = high.tree.get(_WITHOUT)
    arguments = low.tree.get("args")
    if not _is_tokens(dropped) or not _is_tokens(arguments):
        return low, high
    parsed = flags.parse(arguments)
    inherited = {flag.switch for flag in parsed if flag.name}
    names = inherited.intersection(flag.switch for entry in dropped for flag in flags.parse([entry]))
    origin = low.origin.child("args")
    remaining = [
        (token, origin.child(flag.index + offset))
        for flag in parsed
        if flag.switch not in names
        for offset, token in enumerate(flag.tokens)
    ]
    useless = {
        index: entry
        for index, entry in enumerate(dropped)
        if not {flag.switch for flag in flags.parse([entry])} <= names
    }
    origins = Origin(origin.at, {index: at for index, (_, at) in enumerate(remaining)}, origin.file)
    below = Origin(low.origin.at, {**low.origin.below, "args": origins}, low.origin.file)
    rest = {key: value for key, value in high.tree.items() if key != _WITHOUT}
    written = high.origin.child(_WITHOUT)
    places = {place: written.child(index) for place, index in enumerate(useless)}
    above = {**high.origin.below, _WITHOUT: Origin(written.at, places, written.file)}
    if useless:
        rest[_WITHOUT] = list(useless.values())
    return Layer({**low.tree, "args": [token for token, _ in remaining]}, below), Layer(
        rest, Origin(high.origin.at, above, high.origin.file)
    )


def ineffective_null(path: Path, file: str) -> Problem:
    """Return the problem of a null that removes nothing."""
    inherited = {"canary": INHERITED_BY_CANARY, **INHERITED}.get(str(path[-1]), ())
    if path[-2:-1] == ("sets",):
        inherited = INHERITED_BY_POOLS
    return Problem(
        path,
        "is null, and there is no inherited value to remove",
        f"{fields.remedy_for_null(path, inherited)}, or delete the line",
        file=file,
    )


def _copy_without_nulls(value: Value, origin: Origin, problems: list[Problem]) -> Value:
    """Copy a value that has no counterpart in a lower layer, and report the nulls in it, which remove nothing.

    The nulls in a patch are remaining, because they remove keys of the rendered object.
    """
    return _copy_below(value, origin.at, origin.file, problems)


def _copy_below(value: Value, at: Path, file: str, problems: list[Problem]) -> Value:
    if not isinstance(value, dict):
        return copy_value(value)
    if at[-1:] == ("patch",) and at[-2] not in _NAMES_BELOW:
        return cast("Value", copy_value(cast("dict[str, Any]", value)))
    tree = dict[str, Any]()
    for key, inner in cast("dict[str, object]", value).items():
        if inner is None:
            problems.append(ineffective_null(at / key, file))
        else:
            tree[key] = _copy_below(inner, at / key, file, problems)
    return cast("Value", tree)


def copy_value(value: Value) -> Value:
    """Copy mappings and lists at any depth; other values are immutable."""
    if isinstance(value, dict):
        return cast("Value", {key: copy_value(inner) for key, inner in cast("dict[Any, Any]", value).items()})
    if isinstance(value, list):
        return cast("Value", [copy_value(inner) for inner in cast("list[Any]", value)])
    return value
