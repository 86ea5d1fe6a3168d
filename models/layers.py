"""The one merge of configuration layers, and the memory of where each value was written.

RFC 7386: maps by key, scalars and lists whole, null removes; an explicit false, 0 or "" wins. Beyond it `engine.args`
merges by flag name, references are replaced whole, and a group whose `type` changes keeps nothing of the old one.
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
"""What prefill takes over from its service; replicas, autoscaling and patch are each role's own."""
INHERITED_BY_CANARY = tuple(
    field.alias or name
    for name, field in Variant.model_fields.items()
    if name not in {"prefill", "replicas", "autoscaling"}
)
"""What a canary takes over from its service; the number of its replicas is its own, and prefill inherits in turn."""
_WHOLE = frozenset({"gateway", "verify", "allocation", "facts", "tenants", "patch"})
_WHOLE_PAIRS = frozenset({("endpointPicker", "tls"), ("env", "*")})
_TYPED = frozenset({"storage", "rollout", "autoscaling"})
_NAMES_BELOW = frozenset({"services", "caches", "accelerators", "profiles", "adapters", "objectives", "env"})
"""Maps whose keys are the user's own names: a service called `gateway` is no gateway."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written, and which values below it were written elsewhere."""

    at: Path
    below: "Mapping[Any, Origin]" = field(default_factory=dict[Any, "Origin"])

    def child(self, part: str | int) -> "Origin":
        """Return the origin of what stands directly below."""
        return self.below.get(part) or Origin(self.at / part)

    def written(self, path: Path) -> Path:
        """Return where the value at a path of the merged tree was written."""
        origin = self
        for part in path:
            origin = origin.child(part)
        return origin.at


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, or several merged: the tree, where it was written, and what was wrong with it."""

    tree: Any
    origin: Origin
    problems: tuple[Problem, ...] = ()

    def without(self, *keys: str) -> "Layer":
        """Return the layer without some of its keys, and without its problems."""
        return Layer({name: value for name, value in self.tree.items() if name not in keys}, self.origin)

    def child(self, key: str) -> "Layer":
        """Return what stands below a key, as a layer."""
        return Layer(self.tree[key], self.origin.child(key))

    def written(self, path: Path, *, absent: bool) -> Path:
        """Return where the value at a path of a merged stack was written.

        What is absent is the service's to add, not the defaults', unless it lacks in what is only replaced whole.
        """
        written = self.origin.written(path)
        if absent and written[:1] == ("defaults",) and not _is_inside_whole(path):
            return Path(*path[:2], *written[1:])
        return written

    def holds(self, path: Path) -> bool:
        """Say whether the tree has a value at a path."""
        node: object = self.tree
        for part in path:
            items = enumerate(cast("list[object]", node)) if isinstance(node, list) else ()
            inside = {**_mapping(cast("object", node)), **dict(items)}
            if part not in inside:
                return False
            node = inside[part]
        return True


def merge(low: Layer, high: Layer) -> Layer:
    """Merge a higher layer over a lower one. Neither is changed, and the result shares nothing with them."""
    found = list[Problem]()
    merged = _over(low, high, Path(), found)
    return Layer(merged.tree, merged.origin, (*low.problems, *high.problems, *found))


def effective(tree: Mapping[str, Any]) -> Layer:
    """Return the tree of a stack with every service over `defaults`, every `prefill` and `canary` over its service.

    `defaults` stays as it was written.
    """
    root = Origin(Path())
    rest = {key: value for key, value in tree.items() if key not in {"defaults", "services"} or value is None}
    stack = merge(Layer({}, root), Layer(rest, root))
    beneath = _defaults(tree.get("defaults"))
    services = _services(beneath, tree.get("services"))
    if isinstance(tree.get("defaults"), dict):
        stack.tree["defaults"] = _copied(tree["defaults"])
    if tree.get("services") is not None:
        stack.tree["services"] = services.tree
    problems = (*stack.problems, *beneath.problems, *services.problems)
    return Layer(stack.tree, Origin(Path(), {"services": services.origin}), problems)


def _defaults(written: object) -> Layer:
    """Return `defaults` as a layer. Its prefill is left as it is: a null there may remove what a service has."""
    origin = Origin(Path("defaults"))
    nothing = Layer({}, origin)
    if written is None:
        return nothing
    if not isinstance(written, dict):
        what = f"is not a mapping{echo(origin.at, written)}"
        return Layer({}, origin, (Problem(origin.at, what, "write keys with values below it"),))
    own = Layer(cast("dict[str, Any]", written), origin)
    apart = {} if own.tree.get("prefill") is None else _only(own.tree, "prefill")
    merged = merge(nothing, own.without("canary", *apart))
    problems = (*merged.problems, *(_canary_of_all() if "canary" in own.tree else ()))
    return Layer({**merged.tree, **apart}, merged.origin, problems)


def _canary_of_all() -> Iterator[Problem]:
    yield Problem(
        Path("defaults", "canary"), "would be a canary of every service", "write it in the service that has one"
    )


def _services(defaults: Layer, written: object) -> Layer:
    origin = Origin(Path("services"))
    if not isinstance(written, dict):
        return Layer(_copied(written), origin)
    keys = cast("dict[str, Any]", written)
    every = {key: _service(defaults, Layer(own, origin.child(key))) for key, own in keys.items()}
    tree = {key: one.tree for key, one in every.items() if one.tree is not None}
    problems = tuple(problem for one in every.values() for problem in one.problems)
    return Layer(tree, Origin(origin.at, {key: one.origin for key, one in every.items()}), problems)


def _service(defaults: Layer, own: Layer) -> Layer:
    """Return a service over the defaults; what is no mapping stays for the specs to refuse, null is taken away."""
    if own.tree is None:
        return Layer(None, own.origin, (_nothing_to_remove(own.origin.at),))
    if not _is_mapping(own.tree):
        return Layer(_copied(own.tree), own.origin)
    every, its = defaults.without("prefill"), own.without("prefill", "canary")
    service = _numbered(merge(every, its), own)
    prefills = [layer.child("prefill") for layer in (defaults, own) if "prefill" in layer.tree]
    whole = _with_prefill(service, prefills)
    if "canary" not in own.tree:
        return whole
    if own.tree["canary"] is None:
        return Layer(whole.tree, whole.origin, (*whole.problems, _nothing_to_remove(own.origin.at / "canary")))
    return _with(whole, "canary", _canary(whole, prefills, own.child("canary")))


def _with(service: Layer, key: str, role: Layer) -> Layer:
    """Return a service with one of its roles."""
    origin = Origin(service.origin.at, {**service.origin.below, key: role.origin})
    return Layer({**service.tree, key: role.tree}, origin, (*service.problems, *role.problems))


def _with_prefill(service: Layer, layers: Sequence[Layer]) -> Layer:
    """Return a service with the prefill that layers make of it; null in the highest takes it away."""
    if not layers:
        return service
    if layers[-1].tree is None:
        problems = () if len(layers) > 1 else (_nothing_to_remove(layers[0].origin.at),)
        return Layer(service.tree, service.origin, (*service.problems, *problems))
    return _with(service, "prefill", _prefill(service, layers))


def _prefill(service: Layer, layers: Sequence[Layer]) -> Layer:
    """Return prefill over what it inherits; a null that `defaults` writes may find nothing to remove."""
    highest: object = layers[-1].tree
    if not isinstance(highest, dict):
        return Layer(_copied(highest), layers[-1].origin)
    at = service.origin.child("prefill").at
    own = layers[-1] if layers[-1].origin.at == at else Layer({}, Origin(at))
    merged = _inheriting(service, INHERITED_BY_PREFILL, at, [one for one in layers if isinstance(one.tree, dict)])
    return _numbered(Layer(merged.tree, merged.origin, merged.problems if own is layers[-1] else ()), own)


def _canary(service: Layer, prefills: Sequence[Layer], own: Layer) -> Layer:
    """Return a canary over its service, and its prefill over the layers of the service's."""
    if not _is_mapping(own.tree):
        return Layer(_copied(own.tree), own.origin)
    beneath = service
    if "source" in _mapping(own.tree.get("model")) and "model" in service.tree:
        # Another source is of another size.
        beneath = Layer({**service.tree, "model": _without(service.tree["model"], "size")}, service.origin)
    canary = _numbered(_inheriting(beneath, INHERITED_BY_CANARY, own.origin.at, [own.without("prefill")]), own)
    apart = [one.without("replicas", "autoscaling") for one in prefills if _is_mapping(one.tree)]
    layers = [*(apart if "prefill" in service.tree else ()), *([own.child("prefill")] if "prefill" in own.tree else ())]
    whole = _with_prefill(canary, layers)
    routes = "prefill" in whole.tree or "sidecar" in own.tree
    return whole if routes else Layer(_without(whole.tree, "sidecar"), whole.origin, whole.problems)


def _inheriting(service: Layer, keys: Sequence[str], at: Path, layers: Sequence[Layer]) -> Layer:
    """Return layers over some keys of a service; what is in neither lacks in the service."""
    inherited = {key: service.origin.child(key) for key in keys}
    merged = Layer(_only(service.tree, *keys), Origin(at, inherited))
    for layer in layers:
        merged = merge(Layer(merged.tree, merged.origin), layer)
    absent = {key: origin for key, origin in inherited.items() if key not in service.tree and key not in merged.tree}
    return Layer(merged.tree, Origin(merged.origin.at, {**absent, **merged.origin.below}), merged.problems)


def _numbered(merged: Layer, own: Layer) -> Layer:
    """Take away an inherited number of replicas where autoscaling owns it."""
    inherited = merged.tree.get("autoscaling") is not None and own.tree.get("replicas") is None
    return Layer(_without(merged.tree, "replicas"), merged.origin, merged.problems) if inherited else merged


def _only(tree: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: tree[key] for key in keys if key in tree}


def _without(value: object, key: str) -> object:
    """Return a mapping without a key; anything else is left for the specs to refuse."""
    return {name: inner for name, inner in _mapping(value).items() if name != key} if _mapping(value) else value


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _over(low: Layer, high: Layer, path: Path, found: list[Problem]) -> Layer:
    """Merge two values at a path of the merged tree, in which the user's own names are written as `*`."""
    if _is_merged(low.tree, high.tree, path):
        return _mappings(low, high, path, found)
    if path[-2:] == ("engine", "args") and _is_tokens(low.tree) and _is_tokens(high.tree):
        return _arguments(low, high, found)
    return Layer(_settled(high.tree, high.origin.at, found), high.origin)


def _mappings(low: Layer, high: Layer, path: Path, found: list[Problem]) -> Layer:
    """Merge two mappings. Origins are kept only for what is not simply below the higher one's."""
    tree, below = dict[str, Any](), dict(high.origin.below)
    named = bool(path) and path[-1] in _NAMES_BELOW
    for key, value in low.tree.items():
        if key not in high.tree:
            tree[key], below[key] = _copied(value), low.origin.child(key)
        elif isinstance(high.tree[key], dict | list):
            merged = _over(low.child(key), high.child(key), path / ("*" if named else key), found)
            tree[key], below[key] = merged.tree, merged.origin
        elif high.tree[key] is not None:
            tree[key] = high.tree[key]
    new = {key: value for key, value in high.tree.items() if key not in low.tree}
    return Layer(tree | _settled(new, high.origin.at, found), Origin(high.origin.at, below))


def _is_merged(low: object, high: object, path: Path) -> bool:
    """Say whether a mapping merges with what is beneath it, instead of replacing it whole."""
    if not isinstance(low, dict) or not isinstance(high, dict) or not path:
        return isinstance(low, dict) and isinstance(high, dict)
    if path[-1] in _WHOLE or path[-2:] in _WHOLE_PAIRS:
        return False
    old, new = cast("dict[str, Any]", low).get("type"), cast("dict[str, Any]", high).get("type")
    return path[-1] not in _TYPED or old is None or new is None or old == new


def _is_inside_whole(path: Path) -> bool:
    """Say whether a path of a stack leads into a service's list, or into a value that is replaced whole."""
    above = path[2:-1]
    return any(isinstance(part, int) or part in _WHOLE for part in above) or any(
        (outer, inner) in _WHOLE_PAIRS or (outer, "*") in _WHOLE_PAIRS for outer, inner in pairwise(above)
    )


def _is_tokens(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(token, str) for token in cast("list[object]", value))


def _arguments(low: Layer, high: Layer, found: list[Problem]) -> Layer:
    """Merge arguments by flag; JSON that should merge and is broken must not silently give way to the other layer's."""
    origins = (low.origin, high.origin)
    for layer, flag in flags.malformed_json(low.tree, high.tree):
        found += flags.json_problems(origins[layer].child(flag.value_index).at, flag)
    placed = flags.merge_with_origins(low.tree, high.tree)
    below = {position: origins[one.layer].child(one.index) for position, one in enumerate(placed)}
    return Layer([one.token for one in placed], Origin(high.origin.at, below))


def _nothing_to_remove(path: Path) -> Problem:
    inherited = {"canary": INHERITED_BY_CANARY, "prefill": INHERITED_BY_PREFILL}.get(str(path[-1]), ())
    return Problem(
        path,
        "has no value (null) and nothing is inherited that it could remove",
        f"{fields.remedy_for_null(path, inherited)}, or delete the line",
    )


def _settled(value: Value, at: Path, found: list[Problem]) -> Value:
    """Copy what has nothing beneath it: a null there has nothing to remove, but in a patch, which has an object."""
    if not isinstance(value, dict):
        return _copied(value)
    if at[-1:] == ("patch",) and at[-2] not in _NAMES_BELOW:
        return cast("Value", _copied(cast("dict[str, Any]", value)))
    settled = dict[str, Any]()
    for key, inner in cast("dict[str, Any]", value).items():
        if inner is None:
            found.append(_nothing_to_remove(at / key))
        else:
            settled[key] = _settled(inner, at / key, found)
    return cast("Value", settled)


def _copied(value: Value) -> Value:
    """Copy what may be changed in place."""
    if isinstance(value, dict):
        return cast("Value", {key: _copied(inner) for key, inner in cast("dict[Any, Any]", value).items()})
    if isinstance(value, list):
        return cast("Value", [_copied(inner) for inner in cast("list[Any]", value)])
    return value
