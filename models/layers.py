"""Merge of the configuration's layers, with a record of the path at which each value was written.

The layers are `defaults`, a service, its `prefill` and its `canary`. They merge by RFC 7386: mappings merge by key,
scalars and lists are replaced, and null removes a value. An explicit false, 0 or "" wins like any other value.

Three rules are added. `engine.args` merges by flag name. A few mappings are replaced whole: `gateway`, `verify`,
`allocation`, `facts`, `tenants`, `patch`, the `tls` of a picker, and each variable under `env`. `storage`, `rollout`
and `autoscaling` are replaced whole if their `type` changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeGuard, TypeVar, cast

from models import fields, flags
from models.paths import Path
from models.problems import Problem, echo
from models.service import Variant

Value = TypeVar("Value")
INHERITED_BY_PREFILL = (
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
INHERITED_BY_CANARY = tuple(
    field.alias or name
    for name, field in Variant.model_fields.items()
    if name not in {"prefill", "replicas", "autoscaling"}
)
"""Keys that a canary inherits from its service. Replicas and autoscaling are not inherited; prefill is merged
separately."""
_REPLACED_WHOLE = frozenset({"gateway", "verify", "allocation", "facts", "tenants", "patch"})
"""Keys whose value a higher layer replaces whole."""
_REPLACED_WHOLE_BELOW = frozenset({("endpointPicker", "tls"), ("env", "*")})
"""Parent and key, for keys whose value is replaced whole only below this parent. `*` stands for names that the user
chose."""
_TYPED = frozenset({"storage", "rollout", "autoscaling"})
"""Keys whose value a higher layer replaces whole if it has another `type`."""
_NAMES_BELOW = frozenset(
    {"services", "caches", "accelerators", "profiles", "adapters", "objectives", "env", "containers"}
)
"""Mappings whose keys are names that the user chose. In the paths of a merge, `*` stands for such a name, so that a
service may be called `gateway`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Path at which a value was written. `below` has the origins of inner values that were written elsewhere."""

    at: Path
    below: "Mapping[Any, Origin]" = field(default_factory=dict[Any, "Origin"])

    def child(self, part: str | int) -> "Origin":
        """Return the origin of the value at a key or an index."""
        return self.below.get(part) or Origin(self.at / part)

    def locate(self, path: Path) -> Path:
        """Return the path at which the value at `path` of the merged tree was written."""
        origin = self
        for part in path:
            origin = origin.child(part)
        return origin.at


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

    def locate(self, path: Path, *, absent: bool) -> Path:
        """Return the path at which the user wrote the value at `path` of a merged stack.

        If the value is `absent`, return the path at which it should be written. That path is in the service, not in
        `defaults`, with one exception: if a list, or a value that is replaced whole (such as `gateway`), is written in
        `defaults`, what is absent inside it should be written in `defaults`, too.
        """
        origin = self.origin.locate(path)
        if absent and origin[:1] == ("defaults",) and not _is_inside_whole(path):
            return Path(*path[:2], *origin[1:])
        return origin

    def holds(self, path: Path) -> bool:
        """Return whether the tree has a value at a path."""
        node: object = self.tree
        for part in path:
            items = enumerate(cast("list[object]", node)) if isinstance(node, list) else ()
            children = {**_mapping(cast("object", node)), **dict(items)}
            if part not in children:
                return False
            node = children[part]
        return True


def merge(low: Layer, high: Layer) -> Layer:
    """Merge a higher layer over a lower one. The result shares no mapping and no list with them."""
    problems = list[Problem]()
    merged = _merge_values(low, high, Path(), problems)
    return Layer(merged.tree, merged.origin, (*low.problems, *high.problems, *problems))


def merge_stack(tree: Mapping[str, Any]) -> Layer:
    """Merge all layers of a stack: each service over `defaults`, then each `prefill` and `canary` over its service.

    `defaults` itself is unchanged in the result.
    """
    root = Origin(Path())
    rest = {key: value for key, value in tree.items() if key not in {"defaults", "services"} or value is None}
    stack = merge(Layer({}, root), Layer(rest, root))
    defaults = _defaults(tree.get("defaults"))
    services = _services(defaults, tree.get("services"))
    if isinstance(tree.get("defaults"), dict):
        stack.tree["defaults"] = _copy(tree["defaults"])
    if tree.get("services") is not None:
        stack.tree["services"] = services.tree
    problems = (*stack.problems, *defaults.problems, *services.problems)
    return Layer(stack.tree, Origin(Path(), {"services": services.origin}), problems)


def _defaults(tree: object) -> Layer:
    """Return `defaults` as a layer. Nulls in its prefill are kept, because they may remove values of a service."""
    origin = Origin(Path("defaults"))
    empty = Layer({}, origin)
    if tree is None:
        return empty
    if not isinstance(tree, dict):
        what = f"is not a mapping{echo(origin.at, tree)}"
        return Layer({}, origin, (Problem(origin.at, what, "write keys with values below it"),))
    defaults = Layer(cast("dict[str, Any]", tree), origin)
    prefill = {} if defaults.tree.get("prefill") is None else _select(defaults.tree, "prefill")
    merged = merge(empty, defaults.without("canary", *prefill))
    problems = (*merged.problems, *(_canary_in_defaults() if "canary" in defaults.tree else ()))
    return Layer({**merged.tree, **prefill}, merged.origin, problems)


def _canary_in_defaults() -> Iterator[Problem]:
    yield Problem(
        Path("defaults", "canary"), "would be a canary of every service", "write it in the service that has one"
    )


def _services(defaults: Layer, tree: object) -> Layer:
    """Return all services, each merged over the defaults."""
    origin = Origin(Path("services"))
    if not isinstance(tree, dict):
        return Layer(_copy(tree), origin)
    explicit = {key: Layer(value, origin.child(key)) for key, value in cast("dict[str, Any]", tree).items()}
    services = {key: _service(defaults, layer) for key, layer in explicit.items()}
    trees = {key: service.tree for key, service in services.items() if service.tree is not None}
    problems = tuple(problem for service in services.values() for problem in service.problems)
    return Layer(trees, Origin(origin.at, {key: service.origin for key, service in services.items()}), problems)


def _service(defaults: Layer, explicit: Layer) -> Layer:
    """Return a service merged over the defaults.

    A service that is null is a problem. Other values that are no mappings are reported by the validation.
    """
    if explicit.tree is None:
        return Layer(None, explicit.origin, (_ineffective_null(explicit.origin.at),))
    if not _is_mapping(explicit.tree):
        return Layer(_copy(explicit.tree), explicit.origin)
    merged = merge(defaults.without("prefill"), explicit.without("prefill", "canary"))
    prefills = [layer.child("prefill") for layer in (defaults, explicit) if "prefill" in layer.tree]
    service = _with_prefill(_drop_inherited_replicas(merged, explicit), prefills)
    if "canary" not in explicit.tree:
        return service
    if explicit.tree["canary"] is None:
        null = _ineffective_null(explicit.origin.at / "canary")
        return Layer(service.tree, service.origin, (*service.problems, null))
    return _with_part(service, "canary", _canary(service, prefills, explicit.child("canary")))


def _with_part(service: Layer, key: str, part: Layer) -> Layer:
    """Return a service with its prefill or its canary added."""
    origin = Origin(service.origin.at, {**service.origin.below, key: part.origin})
    return Layer({**service.tree, key: part.tree}, origin, (*service.problems, *part.problems))


def _with_prefill(service: Layer, layers: Sequence[Layer]) -> Layer:
    """Return a service with its prefill merged from `layers`, the lowest first.

    If the highest layer is null, the service has no prefill.
    """
    if not layers:
        return service
    if layers[-1].tree is None:
        problems = () if len(layers) > 1 else (_ineffective_null(layers[0].origin.at),)
        return Layer(service.tree, service.origin, (*service.problems, *problems))
    return _with_part(service, "prefill", _prefill(service, layers))


def _prefill(service: Layer, layers: Sequence[Layer]) -> Layer:
    """Return prefill, merged over the keys that it inherits.

    A null in the prefill of `defaults` that removes nothing is no problem: it may remove a value of another service.
    """
    highest: object = layers[-1].tree
    if not isinstance(highest, dict):
        return Layer(_copy(highest), layers[-1].origin)
    at = service.origin.child("prefill").at
    explicit = layers[-1] if layers[-1].origin.at == at else Layer({}, Origin(at))
    mappings = [layer for layer in layers if isinstance(layer.tree, dict)]
    merged = _merge_inherited(service, INHERITED_BY_PREFILL, at, mappings)
    problems = merged.problems if explicit is layers[-1] else ()
    return _drop_inherited_replicas(Layer(merged.tree, merged.origin, problems), explicit)


def _canary(service: Layer, prefills: Sequence[Layer], explicit: Layer) -> Layer:
    """Return a canary merged over its service, and its prefill merged over the layers of the service's prefill."""
    if not _is_mapping(explicit.tree):
        return Layer(_copy(explicit.tree), explicit.origin)
    merged = _merge_inherited(
        _without_sizes_of_another_source(service, explicit),
        INHERITED_BY_CANARY,
        explicit.origin.at,
        [explicit.without("prefill")],
    )
    layers = list[Layer]()
    if "prefill" in service.tree:
        layers += [layer.without("replicas", "autoscaling") for layer in prefills if _is_mapping(layer.tree)]
    if "prefill" in explicit.tree:
        layers.append(explicit.child("prefill"))
    canary = _with_prefill(_drop_inherited_replicas(merged, explicit), layers)
    has_sidecar = "prefill" in canary.tree or "sidecar" in explicit.tree
    return canary if has_sidecar else Layer(_without(canary.tree, "sidecar"), canary.origin, canary.problems)


def _without_sizes_of_another_source(service: Layer, canary: Layer) -> Layer:
    """Return a service without its sizes of weights, claim and volume if the canary has another source."""
    model = _mapping(service.tree.get("model"))
    source = model.get("source")
    if _mapping(canary.tree.get("model")).get("source", source) == source:
        return service
    tree = dict(service.tree)
    for key, sizes in (("model", ("size",)), ("storage", ("size", "sizeLimit"))):
        if key in tree:
            tree[key] = _without(tree[key], *sizes)
    return Layer(tree, service.origin)


def _merge_inherited(service: Layer, keys: Sequence[str], at: Path, layers: Sequence[Layer]) -> Layer:
    """Merge layers over the service's values of `keys`.

    A key that no layer sets gets an origin in the service, so that it is reported as missing there.
    """
    inherited = {key: service.origin.child(key) for key in keys}
    merged = Layer(_select(service.tree, *keys), Origin(at, inherited))
    for layer in layers:
        merged = merge(Layer(merged.tree, merged.origin), layer)
    missing = {key: origin for key, origin in inherited.items() if key not in service.tree and key not in merged.tree}
    return Layer(merged.tree, Origin(merged.origin.at, {**missing, **merged.origin.below}), merged.problems)


def _drop_inherited_replicas(merged: Layer, explicit: Layer) -> Layer:
    """Remove an inherited number of replicas if autoscaling decides it."""
    is_overruled = merged.tree.get("autoscaling") is not None and explicit.tree.get("replicas") is None
    return Layer(_without(merged.tree, "replicas"), merged.origin, merged.problems) if is_overruled else merged


def _select(tree: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: tree[key] for key in keys if key in tree}


def _without(value: object, *keys: str) -> object:
    """Return a mapping without some keys. A value that is no mapping is returned unchanged; validation rejects it."""
    return {name: inner for name, inner in _mapping(value).items() if name not in keys} if _mapping(value) else value


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _merge_values(low: Layer, high: Layer, path: Path, problems: list[Problem]) -> Layer:
    """Merge two values. `path` is the path of both in the merged tree, with `*` for names that the user chose."""
    if _is_merged_by_key(low.tree, high.tree, path):
        return _merge_mappings(low, high, path, problems)
    if path[-2:] == ("engine", "args") and _is_tokens(low.tree) and _is_tokens(high.tree):
        return _merge_arguments(low, high, problems)
    return Layer(_copy_without_nulls(high.tree, high.origin.at, problems), high.origin)


def _merge_mappings(low: Layer, high: Layer, path: Path, problems: list[Problem]) -> Layer:
    """Merge two mappings.

    The origin of the result is that of the higher layer. Its `below` has entries only for keys of the lower layer, and
    for keys whose values are merged mappings or lists. Every other key has its path in the higher layer.
    """
    tree, below = dict[str, Any](), dict(high.origin.below)
    has_names = bool(path) and path[-1] in _NAMES_BELOW
    for key, value in low.tree.items():
        if key not in high.tree:
            tree[key], below[key] = _copy(value), low.origin.child(key)
        elif isinstance(high.tree[key], dict | list):
            merged = _merge_values(low.child(key), high.child(key), path / ("*" if has_names else key), problems)
            tree[key], below[key] = merged.tree, merged.origin
        elif high.tree[key] is not None:
            tree[key] = high.tree[key]
    added = {key: value for key, value in high.tree.items() if key not in low.tree}
    return Layer(tree | _copy_without_nulls(added, high.origin.at, problems), Origin(high.origin.at, below))


def _is_merged_by_key(low: object, high: object, path: Path) -> bool:
    """Return whether two values are mappings that merge by key. If not, the higher value replaces the lower one."""
    if not isinstance(low, dict) or not isinstance(high, dict) or not path:
        return isinstance(low, dict) and isinstance(high, dict)
    if path[-1] in _REPLACED_WHOLE or path[-2:] in _REPLACED_WHOLE_BELOW:
        return False
    low_type, high_type = cast("dict[str, Any]", low).get("type"), cast("dict[str, Any]", high).get("type")
    return path[-1] not in _TYPED or low_type is None or high_type is None or low_type == high_type


def _is_inside_whole(path: Path) -> bool:
    """Return whether a path of a stack is inside a list, or inside a value that is replaced whole."""
    ancestors = path[2:-1]
    return any(isinstance(part, int) or part in _REPLACED_WHOLE for part in ancestors) or any(
        (outer, inner) in _REPLACED_WHOLE_BELOW or (outer, "*") in _REPLACED_WHOLE_BELOW
        for outer, inner in pairwise(ancestors)
    )


def _is_tokens(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(token, str) for token in cast("list[object]", value))


def _merge_arguments(low: Layer, high: Layer, problems: list[Problem]) -> Layer:
    """Merge arguments by flag.

    If a flag has a JSON object in both layers, the objects merge as well. Malformed JSON cannot be merged. It would
    silently replace the value of the other layer, and is therefore reported as a problem.
    """
    origins = (low.origin, high.origin)
    for layer, flag in flags.malformed_json(low.tree, high.tree):
        problems += flags.json_problems(origins[layer].child(flag.value_index).at, flag)
    merged = flags.merge_with_origins(low.tree, high.tree)
    below = {position: origins[token.layer].child(token.index) for position, token in enumerate(merged)}
    return Layer([token.token for token in merged], Origin(high.origin.at, below))


def _ineffective_null(path: Path) -> Problem:
    """Return the problem of a null that removes nothing."""
    inherited = {"canary": INHERITED_BY_CANARY, "prefill": INHERITED_BY_PREFILL}.get(str(path[-1]), ())
    return Problem(
        path,
        "has no value (null) and nothing is inherited that it could remove",
        f"{fields.remedy_for_null(path, inherited)}, or delete the line",
    )


def _copy_without_nulls(value: Value, at: Path, problems: list[Problem]) -> Value:
    """Copy a value that has no counterpart in a lower layer, and report its nulls, which remove nothing.

    A patch keeps its nulls: they remove keys of the rendered object.
    """
    if not isinstance(value, dict):
        return _copy(value)
    if at[-1:] == ("patch",) and at[-2] not in _NAMES_BELOW:
        return cast("Value", _copy(cast("dict[str, Any]", value)))
    tree = dict[str, Any]()
    for key, inner in cast("dict[str, Any]", value).items():
        if inner is None:
            problems.append(_ineffective_null(at / key))
        else:
            tree[key] = _copy_without_nulls(inner, at / key, problems)
    return cast("Value", tree)


def _copy(value: Value) -> Value:
    """Copy mappings and lists at any depth; other values are immutable."""
    if isinstance(value, dict):
        return cast("Value", {key: _copy(inner) for key, inner in cast("dict[Any, Any]", value).items()})
    if isinstance(value, list):
        return cast("Value", [_copy(inner) for inner in cast("list[Any]", value)])
    return value
