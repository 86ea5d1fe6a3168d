"""References of a route that its controller does not find: whether requests end there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judging.status import shares
from judging.status.topology import ServiceView, name_of
from models.trees import at, mapping, sequence
from planning.ground.api_groups import POOL_GROUP
from planning.ground.snapshot import Manifest

_NOT_FOUND = "BackendNotFound"
_OTHER_KIND = "InvalidKind"
_OF_BACKENDS = frozenset({_NOT_FOUND, "RefNotPermitted", _OTHER_KIND})
"""Reasons of `ResolvedRefs` that concern single backends: requests to the other backends are answered (Gateway API
v1.4, apis/v1/httproute_types.go, HTTPBackendRef)."""


def stops(view: ServiceView, route: Manifest, reason: object, *, is_early: bool) -> bool | None:
    """Tell whether an unresolved reference stops requests that no other link accounts for; None if that is unknown.

    `reason` is that of `ResolvedRefs`, which does not name the reference. A pool that is missing is a broken link of
    its own (`pools`). A backend without a share, one for special headers, or a target of copies of requests, stops
    nothing. Beside a Service with a share nothing is known: either may be meant. `is_early` means that the controller
    may not have seen all pools yet.
    """
    if reason not in _OF_BACKENDS:
        return True
    namespace, _ = name_of(route)
    asked = [ref for ref in _of_rules(shares.usual_rules(route)) if ref.get("weight", 1)]
    idle = [ref for ref in _references(route) if ref not in asked]
    if not all(_is_plain_pool(ref, namespace) for ref in asked):
        return None if idle else True
    if reason == _OTHER_KIND:
        # Istio without support of InferencePools says so of each of them (pilot/pkg/config/kube/gateway/conversion.go).
        return bool(asked) and not any(_is_of_other_kind(ref) for ref in idle)
    pools = {name_of(pool)[1] for variant in view.variants for pool in variant.pools}
    names = {ref.get("name") for ref in asked}
    is_explained = not names <= pools or any(ref.get("name") not in names for ref in idle)
    return reason == _NOT_FOUND and not is_explained and not is_early


def _references(route: Manifest) -> Iterator[Mapping[str, Any]]:
    """Yield all references of a route: to backends, and to targets of copies of requests."""
    rules = [mapping(rule) for rule in sequence(at(route, "spec", "rules"))]
    yield from _of_rules(rules)
    for rule in rules:
        for entry in map(mapping, sequence(rule.get("filters"))):
            if "requestMirror" in entry:
                yield mapping(at(entry, "requestMirror", "backendRef"))


def _of_rules(rules: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for rule in rules:
        yield from map(mapping, sequence(rule.get("backendRefs")))


def _is_plain_pool(ref: Mapping[str, Any], namespace: str) -> bool:
    """Tell whether a backend is an InferencePool beside the route: no grant is needed for it."""
    return shares.is_pool(ref) and ref.get("namespace", namespace) == namespace


def _is_of_other_kind(ref: Mapping[str, Any]) -> bool:
    """Tell whether a reference names neither an InferencePool nor a Service."""
    return (ref.get("group", ""), ref.get("kind", shares.SERVICE)) not in {
        (POOL_GROUP, shares.POOL),
        ("", shares.SERVICE),
    }
