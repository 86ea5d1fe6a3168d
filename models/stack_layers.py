"""Merge of the layers of a stack: `defaults`, profiles, services, and each service's further roles and canary.

`models.layers` merges two layers. A layer takes precedence over the layers below it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from models.layers import (
    INHERITED,
    INHERITED_BY_CANARY,
    INHERITED_BY_POOLS,
    Layer,
    Origin,
    Source,
    copy_value,
    ineffective_null,
    is_mapping,
    merge,
    no_mapping,
)
from models.paths import Path
from models.problems import Problem
from models.trees import mapping

_DECODE = "decode"
_WITH_SETS = frozenset({_DECODE, "prefill"})
"""Sections with pods that may be divided into sets."""
_OF_WORKLOADS = ("replicas", "autoscaling", "patch")
"""Keys that every workload has for itself."""
_NO_PROFILES: Mapping[Path, Layer] = MappingProxyType({})


def merge_stack(
    tree: Mapping[str, Any], sources: Iterable[Source] = (), profiles: Mapping[Path, Layer] = _NO_PROFILES
) -> Layer:
    """Merge all layers of a stack: each service over `defaults`, then each further role and `canary` over its service.

    `sources` are the files below the stack file, the lowest first. `profiles` are layers between `defaults` and a
    service, by the path of the service, its prefill or its canary. A prefill or a canary without a profile gets the
    service's profile. Services and profiles do not change `defaults` in the result.
    """
    files = [*(Layer(source.tree, Origin(Path(), file=source.file)) for source in sources), Layer(tree, Origin(Path()))]
    stack = Layer({}, Origin(Path()))
    for file in files:
        stack = merge(stack, file.without("defaults", "services"))
    explicit = _above_null(_children(files, "defaults"))
    defaults, roles = _defaults(explicit)
    services = _services(_Below(defaults, roles, profiles), _above_null(_children(files, "services")))
    below = {**stack.origin.below, "services": services.origin}
    if any(is_mapping(layer.tree) for layer in explicit.layers):
        merged = _whole_defaults(explicit.layers, defaults, roles)
        stack.tree["defaults"] = merged.tree
        below["defaults"] = merged.origin
    if services.tree is not None:
        stack.tree["services"] = services.tree
    return Layer(stack.tree, Origin(Path(), below), (*stack.problems, *defaults.problems, *services.problems))


@dataclass(frozen=True, slots=True)
class _Below:
    """The layers below the services of a stack."""

    defaults: Layer
    """`defaults` without its further roles."""
    roles: Mapping[str, Sequence[Layer]]
    """The layers of the further roles in `defaults`, by key of the role."""
    profiles: Mapping[Path, Layer]

    def merge(self, at: Path, layers: Sequence[Layer]) -> Layer:
        """Return the layers of a service, merged over `defaults` and a profile.

        The profile is the profile of the path `at`, or else of the closest path above `at` that has a profile. `at` is
        the path of the service, or of its prefill or canary.
        """
        merged = self.defaults.without()
        holder = next((path for path in _holders(at) if path in self.profiles), None)
        if holder is not None:
            merged = merge(merged, self.profiles[holder])
        for layer in layers:
            merged = merge(merged, layer.without(*INHERITED, "canary"))
        return merged

    def has_other(self, at: Path) -> bool:
        """Return whether the prefill or canary at a path has a profile, and thus does not get the service's profile."""
        return at in self.profiles


def _holders(at: Path) -> Iterator[Path]:
    """Yield a path and the paths above it, up to the path of the service."""
    while len(at) > 1:
        yield at
        at = at.parent


def _children(layers: Iterable[Layer], key: str) -> list[Layer]:
    """Return, for each layer that has a key, the value of the key as a layer."""
    return [layer.child(key) for layer in layers if key in layer.tree]


class _Above(NamedTuple):
    """Layers that are merged, and the problems of layers that are left out."""

    layers: list[Layer]
    problems: tuple[Problem, ...]


def _above_null(layers: Iterable[Layer]) -> _Above:
    """Return the layers above the highest null, and the problems of nulls that remove nothing.

    A null removes the values of all layers below it.
    """
    above = list[Layer]()
    problems = list[Problem]()
    for layer in layers:
        if layer.tree is not None:
            above.append(layer)
            continue
        if not above:
            problems.append(ineffective_null(layer.origin.at, layer.origin.file))
        above = []
    return _Above(above, tuple(problems))


def _mappings(layers: Iterable[Layer]) -> _Above:
    """Return the layers that are mappings, and the problems of the other layers."""
    mappings = [layer for layer in layers if is_mapping(layer.tree)]
    return _Above(mappings, tuple(no_mapping(layer) for layer in layers if not is_mapping(layer.tree)))


def _defaults(explicit: _Above) -> tuple[Layer, dict[str, list[Layer]]]:
    """Return `defaults` without its further roles as one merged layer, and the unmerged layers of each such role.

    The layers of the roles keep their nulls, because these nulls may remove values of a service.
    """
    layers, problems = _mappings(explicit.layers)
    merged = Layer({}, Origin(Path("defaults")))
    for layer in layers:
        merged = merge(merged, layer.without("canary", *INHERITED))
    roles = {key: _above_null(_children(layers, key)) for key in INHERITED}
    canaries = map(_canary_in_defaults, _children(layers, "canary"))
    of_roles = (problem for role in roles.values() for problem in role.problems)
    problems = (*explicit.problems, *problems, *merged.problems, *of_roles, *canaries)
    return Layer(merged.tree, merged.origin, problems), {key: role.layers for key, role in roles.items()}


def _whole_defaults(explicit: Sequence[Layer], defaults: Layer, roles: Mapping[str, Sequence[Layer]]) -> Layer:
    """Return `defaults` with its further roles. If only one file has `defaults`, return its value unchanged."""
    if len(explicit) == 1:
        return Layer(copy_value(explicit[0].tree), explicit[0].origin)
    for key in INHERITED:
        layers, _ = _mappings(roles[key])
        role = Layer({}, defaults.origin.child(key))
        for layer in layers:
            role = merge(role, layer)
        if layers:
            defaults = _with_part(defaults, key, role)
    return defaults


def _canary_in_defaults(canary: Layer) -> Problem:
    what = "would be a canary of every service"
    remedy = "write it in the service that should have a canary"
    return Problem(canary.origin.at, what, remedy, file=canary.origin.file)


def _services(below: _Below, explicit: _Above) -> Layer:
    """Return `services`: each service, merged over the layers below it. The tree is None if no file has `services`."""
    origin = Origin(Path("services"))
    if not explicit.layers:
        return Layer(None, origin, explicit.problems)
    highest = explicit.layers[-1]
    if not is_mapping(highest.tree):
        return Layer(copy_value(highest.tree), highest.origin, explicit.problems)
    layers, mistaken = _mappings(explicit.layers)
    keys = dict.fromkeys(key for layer in layers for key in layer.tree)
    services = {key: _service(Path("services", key), below, _above_null(_children(layers, key))) for key in keys}
    trees = {key: service.tree for key, service in services.items() if service.tree is not None}
    problems = (problem for service in services.values() for problem in service.problems)
    origins = {key: service.origin for key, service in services.items()}
    return Layer(trees, Origin(origin.at, origins), (*explicit.problems, *mistaken, *problems))


def _service(at: Path, below: _Below, explicit: _Above) -> Layer:
    """Return the service at a path, merged over the layers below it. The tree is None if a null removes the service.

    A value that is not a mapping is returned unchanged. The validation of the stack reports such a value.
    """
    if not explicit.layers:
        return Layer(None, Origin(Path()), explicit.problems)
    highest = explicit.layers[-1]
    if not is_mapping(highest.tree):
        return Layer(copy_value(highest.tree), highest.origin, explicit.problems)
    layers, mistaken = _mappings(explicit.layers)
    merged = below.merge(at, layers)
    merged = Layer(merged.tree, merged.origin, (*explicit.problems, *mistaken, *merged.problems))
    service = _drop_inherited_replicas(merged, layers)
    for key in INHERITED:
        of_role = _above_null([*below.roles[key], *_children(layers, key)])
        service = _with_role(service, key, of_role, _other(below, at / key, layers) or service)
    service = _without_keys_of_workloads(service, layers)
    canary = _above_null(_children(layers, "canary"))
    if not canary.layers:
        return Layer(service.tree, service.origin, (*service.problems, *canary.problems))
    return _with_part(service, "canary", _canary(at / "canary", below, service, layers, canary.layers))


def _other(below: _Below, at: Path, layers: Sequence[Layer]) -> Layer | None:
    """Return the service with the profile of the role or canary at the path `at`, which inherits from that service.

    None if the path has no profile. The role or canary then inherits from the service with the service's profile.
    """
    if not below.has_other(at):
        return None
    return below.merge(at, layers)


def _with_part(service: Layer, key: str, part: Layer) -> Layer:
    """Return a service with a section or its canary added, or a section with its sets added."""
    origin = Origin(service.origin.at, {**service.origin.below, key: part.origin}, service.origin.file)
    return Layer({**service.tree, key: part.tree}, origin, (*service.problems, *part.problems))


def _with_role(service: Layer, key: str, of_role: _Above, inherited: Layer) -> Layer:
    """Return a service with the further role at a key, or without it if no layer has it or a null removes it.

    `inherited` is the service from which the role inherits keys.
    """
    if not of_role.layers:
        return Layer(service.tree, service.origin, (*service.problems, *of_role.problems))
    return _with_part(service, key, _role(inherited, key, of_role.layers))


def _role(service: Layer, key: str, layers: Sequence[Layer]) -> Layer:
    """Return the further role of a service at a key, merged over the keys that the role inherits from the service.

    If the null of a key in the role of `defaults` removes nothing from this service, no problem is reported, because
    the null may remove a value of another service.
    """
    highest: object = layers[-1].tree
    if not isinstance(highest, dict):
        return Layer(copy_value(highest), layers[-1].origin)
    at = service.origin.child(key).at
    explicit = [layer for layer in layers if layer.origin.at == at]
    mappings, mistaken = _mappings(layers)
    if key in _WITH_SETS:
        merged = _merge_inherited(service, INHERITED[key], at, [layer.without("sets") for layer in mappings])
        merged = _with_sets(merged, service if key == _DECODE else merged, _children(mappings, "sets"))
    else:
        merged = _merge_inherited(service, INHERITED[key], at, mappings)
    problems = tuple[Problem, ...]()
    if explicit:
        in_files = (problem for problem in mistaken if problem.file)
        problems = (*in_files, *merged.problems)
    return _drop_inherited_replicas(Layer(merged.tree, merged.origin, problems), _mappings(explicit).layers)


def _with_sets(section: Layer, role: Layer, layers: Sequence[Layer]) -> Layer:
    """Return a section with its sets, each merged over the keys that it inherits from a role.

    The role is the service for `decode`, and the section itself for `prefill`.
    """
    explicit = _above_null(layers)
    section = Layer(section.tree, section.origin, (*section.problems, *explicit.problems))
    if not explicit.layers:
        return section
    highest = explicit.layers[-1]
    if not is_mapping(highest.tree):
        return _with_part(section, "sets", Layer(copy_value(highest.tree), highest.origin))
    mappings, mistaken = _mappings(explicit.layers)
    at = section.origin.at / "sets"
    sets = {
        name: _set(role, at / name, _above_null(_children(mappings, name)))
        for name in dict.fromkeys(name for layer in mappings for name in layer.tree)
    }
    trees = {name: layer.tree for name, layer in sets.items() if layer.tree is not None}
    problems = (problem for layer in sets.values() for problem in layer.problems)
    origins = {name: layer.origin for name, layer in sets.items()}
    return _with_part(section, "sets", Layer(trees, Origin(at, origins), (*mistaken, *problems)))


def _set(role: Layer, at: Path, explicit: _Above) -> Layer:
    """Return a set of pods, merged over their role. The tree is None if a null removes the set."""
    if not explicit.layers:
        return Layer(None, Origin(at), explicit.problems)
    highest = explicit.layers[-1]
    if not is_mapping(highest.tree):
        return Layer(copy_value(highest.tree), highest.origin, explicit.problems)
    layers, mistaken = _mappings(explicit.layers)
    merged = _merge_inherited(role, INHERITED_BY_POOLS, highest.origin.at, layers)
    problems = (*explicit.problems, *mistaken, *merged.problems)
    return _drop_inherited_replicas(Layer(merged.tree, merged.origin, problems), layers)


def _canary(at: Path, below: _Below, service: Layer, services: Sequence[Layer], layers: Sequence[Layer]) -> Layer:
    """Return the canary at a path, merged over its service.

    The canary's further roles are merged over the layers of the service's. `services` are the layers of the service
    from which the canary inherits, and `layers` are the layers of the canary.
    """
    highest = layers[-1]
    if not is_mapping(highest.tree):
        return Layer(copy_value(highest.tree), highest.origin)
    explicit, mistaken = _mappings(layers)
    merged = _merge_canary(_other(below, at, services) or service, explicit, highest.origin.at)
    merged = Layer(merged.tree, merged.origin, (*mistaken, *merged.problems))
    canary = _drop_inherited_replicas(merged, explicit)
    for key in INHERITED:
        layers_of_role = list[Layer]()
        if key in service.tree:
            inherited = _above_null([*below.roles[key], *_children(services, key)]).layers
            layers_of_role += (_without_numbers(layer) for layer in inherited if is_mapping(layer.tree))
        layers_of_role += _children(explicit, key)
        for_role = canary
        other = _other(below, at / key, services)
        if other is not None:
            for_role = _merge_canary(other, explicit, highest.origin.at)
        canary = _with_role(canary, key, _above_null(layers_of_role), for_role)
    canary = _without_keys_of_workloads(canary, explicit)
    further = INHERITED.keys() - {_DECODE}
    if further & canary.tree.keys() or any("sidecar" in layer.tree for layer in explicit):
        return canary
    return Layer(_without(canary.tree, "sidecar"), canary.origin, canary.problems)


def _without_numbers(role: Layer) -> Layer:
    """Return a further role of a service, and its sets, without the numbers of replicas, which no canary inherits."""
    role = role.without("replicas", "autoscaling")
    sets = role.tree.get("sets")
    if is_mapping(sets):
        role.tree["sets"] = {name: _without(tree, "replicas", "autoscaling") for name, tree in mapping(sets).items()}
    return role


def _merge_canary(service: Layer, explicit: Sequence[Layer], at: Path) -> Layer:
    """Return a canary without its further roles, merged over its service."""
    layers = [layer.without(*INHERITED) for layer in explicit]
    return _merge_inherited(_without_sizes_of_another_source(service, explicit), INHERITED_BY_CANARY, at, layers)


def _without_sizes_of_another_source(service: Layer, canary: Iterable[Layer]) -> Layer:
    """Return the service without the sizes that its canary does not inherit.

    If the canary has another source than the service, it does not inherit the sizes of weights, claim and volume.
    """
    source = highest = mapping(service.tree.get("model")).get("source")
    for layer in canary:
        highest = mapping(layer.tree.get("model")).get("source", highest)
    if highest == source:
        return service
    tree = dict(service.tree)
    for key, sizes in (("model", ("size",)), ("storage", ("size", "sizeLimit"))):
        if key in tree:
            tree[key] = _without(tree[key], *sizes)
    return Layer(tree, service.origin)


def _merge_inherited(service: Layer, keys: Sequence[str], at: Path, layers: Sequence[Layer]) -> Layer:
    """Merge layers over the service's values of `keys`.

    If neither the service nor a layer sets one of the keys, the key gets an origin in the service. If the key is
    required, it is then reported as missing from the service.
    """
    inherited = {key: service.origin.child(key) for key in keys}
    merged = Layer(_select(service.tree, *keys), Origin(at, inherited))
    for layer in layers:
        merged = merge(Layer(merged.tree, merged.origin), layer)
    missing = {key: origin for key, origin in inherited.items() if key not in service.tree and key not in merged.tree}
    origin = Origin(merged.origin.at, {**missing, **merged.origin.below}, merged.origin.file)
    return Layer(merged.tree, origin, merged.problems)


def _drop_inherited_replicas(merged: Layer, explicit: Iterable[Layer]) -> Layer:
    """Remove `replicas` from `merged` if `autoscaling` is set there, and the layers in `explicit` set no `replicas`."""
    replicas = [layer.tree["replicas"] for layer in explicit if "replicas" in layer.tree]
    if merged.tree.get("autoscaling") is None or (replicas and replicas[-1] is not None):
        return merged
    return Layer(_without(merged.tree, "replicas"), merged.origin, merged.problems)


def _without_keys_of_workloads(service: Layer, explicit: Iterable[Layer]) -> Layer:
    """Remove keys of workloads that a service with sets of decode pods inherits, because its workloads are the sets'.

    Keys in the layers in `explicit` stay. They have no effect, and a rule reports them.
    """
    if not mapping(mapping(service.tree.get(_DECODE)).get("sets")):
        return service
    written = {key for layer in explicit for key in layer.tree}
    inherited = [key for key in _OF_WORKLOADS if key not in written]
    return Layer(_without(service.tree, *inherited), service.origin, service.problems)


def _select(tree: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: tree[key] for key in keys if key in tree}


def _without(value: object, *keys: str) -> object:
    """Return a mapping without `keys`. A value that is no mapping is returned unchanged; the validation rejects it."""
    if not is_mapping(value):
        return value
    return {name: inner for name, inner in mapping(value).items() if name not in keys}
