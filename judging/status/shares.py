"""The backends to which the routes of a service send requests, and the share that each backend gets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from judging.status.topology import ServiceView, VariantView, name_of
from models.trees import mapping, sequence
from planning.ground.api_groups import POOL_GROUP
from planning.ground.names import CANARY, PRIMARY
from planning.ground.snapshot import Manifest
from planning.interceptor import resolution

POOL, SERVICE = "InferencePool", "Service"
_ALL = 100


@dataclass(frozen=True, slots=True)
class BackendShare:
    """A backend of a rule, and what it gets of the rule's requests."""

    kind: str
    """`InferencePool` or `Service`, or whatever else a route names."""
    namespace: str
    name: str
    variant: str
    """Variant of the service that the backend belongs to; empty for another backend, such as an interceptor."""
    percent: int
    """BackendShare of the rule's requests, rounded up: it is 0 only if the backend gets none."""
    is_last: bool
    """Whether no later backend of the rule gets requests."""


def shares(view: ServiceView) -> Sequence[BackendShare]:
    """Return the backends of all rules for requests that do not ask for a variant by a header.

    A canary's header has a rule of its own, which names only the canary. It counts only if no rule names the primary.
    """
    rules = [_rule(view, route_namespace, rule) for route_namespace, rule in _rules(view)]
    usual = [rule for rule in rules if any(share.variant != CANARY for share in rule)]
    return [share for rule in usual or rules for share in rule]


def of_route(route: Manifest) -> Mapping[str, int]:
    """Return the shares of a service's route by name of the backend. The route has the name of the service."""
    namespace, name = name_of(route)
    view = ServiceView(namespace, name, "", (), (route,))
    return {share.name: share.percent for share in shares(view)}


def percents(view: ServiceView) -> Mapping[tuple[str, str, str], int]:
    """Return the shares of the backends that get requests, by kind, namespace and name. The largest share counts."""
    largest = dict[tuple[str, str, str], int]()
    for share in shares(view):
        key = (share.kind, share.namespace, share.name)
        if share.percent:
            largest[key] = max(share.percent, largest.get(key, 0))
    return largest


def led_through(view: ServiceView) -> Sequence[tuple[str, str]]:
    """Return namespace and name of the Services of other programs that get requests, such as interceptors."""
    others = {
        (share.namespace, share.name)
        for share in shares(view)
        if share.percent and share.kind == SERVICE and not share.variant
    }
    return sorted(others)


def is_metered(view: ServiceView, variant: VariantView) -> bool:
    """Tell whether an interceptor gets the requests for a variant, and forwards them to the variant's Service."""
    if not led_through(view):
        return False
    values = {str(value) for _, rule in _rules(view) for value in _header_values(rule)}
    forwarded = [name for name, base in bases(view).items() if any(value.startswith(f"{base}.") for value in values)]
    return variant.name in (forwarded or [PRIMARY])


def searched_ids(view: ServiceView) -> Sequence[str]:
    """Return the resource ids by whose labels an interceptor searches the Service of a service's requests, sorted."""
    return sorted({resource_id for route in view.routes for resource_id in resolution.searched_ids(route)})


def _rules(view: ServiceView) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the rules of all routes, each with the namespace of its route."""
    for route in view.routes:
        for rule in sequence(mapping(route.get("spec")).get("rules")):
            yield name_of(route)[0], mapping(rule)


def _rule(view: ServiceView, route_namespace: str, rule: Mapping[str, object]) -> Sequence[BackendShare]:
    refs = [mapping(ref) for ref in sequence(rule.get("backendRefs"))]
    weights = [_weight(ref) for ref in refs]
    total = sum(weights)
    last = max((index for index, weight in enumerate(weights) if weight), default=-1)
    return [
        _share(view, route_namespace, ref, _percent(weight, total), is_last=index == last)
        for index, (ref, weight) in enumerate(zip(refs, weights, strict=True))
    ]


def _share(
    view: ServiceView, route_namespace: str, ref: Mapping[str, object], percent: int, *, is_last: bool
) -> BackendShare:
    kind = str(ref.get("kind") or SERVICE)
    name = str(ref.get("name") or "")
    namespace = str(ref.get("namespace") or route_namespace)
    variant = ""
    if namespace == view.namespace:
        variant = _variant(view, kind, name)
    return BackendShare(kind, namespace, name, variant, percent, is_last)


def _variant(view: ServiceView, kind: str, name: str) -> str:
    """Return the variant that a backend's name belongs to, whether the backend exists or not."""
    base_of = bases(view)
    for variant in (CANARY, PRIMARY):
        is_generation = kind == POOL and name.startswith(f"{base_of[variant]}-")
        if name == base_of[variant] or is_generation:
            return variant
    return ""


def bases(view: ServiceView) -> Mapping[str, str]:
    """Return the beginnings of the names of the objects of each variant."""
    return {PRIMARY: view.name, CANARY: f"{view.name}-{CANARY}"}


def is_pool(ref: Mapping[str, object]) -> bool:
    """Tell whether a backend reference names an InferencePool."""
    return (ref.get("group"), ref.get("kind")) == (POOL_GROUP, POOL)


def _weight(ref: Mapping[str, object]) -> int:
    weight = ref.get("weight", 1)
    if isinstance(weight, int):
        return weight
    return 1


def _percent(weight: int, total: int) -> int:
    if not total:
        return 0
    return -(-weight * _ALL // total)


def _header_values(rule: Mapping[str, object]) -> Iterator[object]:
    """Yield the values of the headers that a rule sets."""
    for entry in map(mapping, sequence(rule.get("filters"))):
        for header in map(mapping, sequence(mapping(entry.get("requestHeaderModifier")).get("set"))):
            yield header.get("value")
