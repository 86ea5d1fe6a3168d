"""The backends to which the routes of a service send requests, and the share that each backend gets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.status.topology import ServiceView, VariantView, name_of
from models.trees import mapping, sequence
from planning.ground.api_groups import POOL_GROUP
from planning.ground.names import CANARY, PRIMARY
from planning.ground.snapshot import Manifest
from planning.interceptor import resolution

POOL, SERVICE = "InferencePool", "Service"
_ALL = 100
_EXACT = "Exact"
"""Type of the match of a header if none is written (Gateway API v1.4, HTTPHeaderMatch)."""
_EVERY_PATH = {"type": "PathPrefix", "value": "/"}
"""Path of a match if none is written (Gateway API v1.4, HTTPRouteMatch)."""


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
    """Share of the rule's requests, rounded up: it is 0 only if the backend gets none."""
    is_last: bool
    """Whether no later backend of the rule gets requests."""


def shares(view: ServiceView) -> Sequence[BackendShare]:
    """Return the backends of all rules for requests without special headers."""
    return [share for route_namespace, rule in _rules(view) for share in _rule(view, route_namespace, rule)]


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
    """Yield the rules of all routes for requests without special headers, each with the namespace of its route."""
    for route in view.routes:
        for rule in usual_rules(route):
            yield name_of(route)[0], rule


def usual_rules(route: Manifest) -> Sequence[Mapping[str, Any]]:
    """Return the rules of a route for requests without special headers.

    A header is special if another rule has the same match without it. A canary's header has such a rule of its own.
    """
    rules = [mapping(rule) for rule in sequence(mapping(route.get("spec")).get("rules"))]
    matches = [match for rule in rules for match in _matches(rule)]
    return [
        rule for rule in rules if any(all(not other.is_above(match) for other in matches) for match in _matches(rule))
    ]


def leaves_requests(route: Manifest) -> bool:
    """Tell whether a rule for requests without special headers gives them to no backend, or there is no rule.

    A gateway answers such requests with status 500 (Gateway API v1.4, HTTPRouteRule.backendRefs). A redirect needs no
    backend.
    """
    rules = usual_rules(route)
    return not rules or not all(_is_redirect(rule) or any(map(_weight, _refs(rule))) for rule in rules)


def _is_redirect(rule: Mapping[str, object]) -> bool:
    return any("requestRedirect" in mapping(entry) for entry in sequence(rule.get("filters")))


def _refs(rule: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
    return [mapping(ref) for ref in sequence(rule.get("backendRefs"))]


@dataclass(frozen=True, slots=True)
class _Match:
    """A match of a rule."""

    others: object
    """Conditions besides those of headers."""
    headers: frozenset[tuple[str, str, str]]
    """Name, type and value of each header that a request must have."""

    def is_above(self, other: "_Match") -> bool:
        """Tell whether another match is this one with further headers."""
        return self.others == other.others and self.headers < other.headers


def _matches(rule: Mapping[str, object]) -> Sequence[_Match]:
    """Return the matches of a rule. A rule without any matches every request (Gateway API v1.4, HTTPRouteRule)."""
    return [_match(mapping(match)) for match in sequence(rule.get("matches")) or ({},)]


def _match(match: Mapping[str, object]) -> _Match:
    others = {key: value for key, value in match.items() if key != "headers"}
    headers = map(mapping, sequence(match.get("headers")))
    conditions = frozenset(
        (str(header.get("name")).lower(), str(header.get("type") or _EXACT), str(header.get("value")))
        for header in headers
    )
    return _Match({**others, "path": others.get("path") or _EVERY_PATH}, conditions)


def _rule(view: ServiceView, route_namespace: str, rule: Mapping[str, object]) -> Sequence[BackendShare]:
    refs = _refs(rule)
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
    """Return the variant that a backend's name belongs to, whether the backend exists or not.

    The name of a pool that somebody else made tells nothing; it is that of a variant's pool.
    """
    base_of = bases(view)
    for live in view.variants:
        if kind == POOL and (view.namespace, name) in map(name_of, live.pools):
            return live.name
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
