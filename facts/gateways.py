"""Gateways and HTTPRoutes of a cluster, from what its API server says of them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.cluster_facts import GatewayRef, LiveGateway, LiveRoute, ParentRef, RouteMatch

KIND = "Gateway"
_ANY_PATH = {"type": "PathPrefix", "value": "/"}
_EVERY: Mapping[str, Any] = {}
"""A rule, or a match, that is left out: it takes every request."""


def gateway(item: Mapping[str, Any]) -> LiveGateway:
    """Return what a Gateway's controller says of it; where none has looked at it, its conditions are not True."""
    at = item["metadata"]
    conditions = {one["type"]: one for one in item.get("status", {}).get("conditions", ())}
    states = [conditions.get(name, _EVERY) for name in ("Accepted", "Programmed")]
    accepted, programmed = (state.get("status") == "True" for state in states)
    refused = [f"{state['reason']}: {state.get('message', '')}" for state in states if state.get("status") == "False"]
    return LiveGateway(
        GatewayRef(GATEWAY_GROUP, KIND, at["namespace"], at["name"]),
        accepted,
        programmed,
        refused[0] if refused else "",
    )


def route(item: Mapping[str, Any]) -> LiveRoute:
    """Return where an HTTPRoute attaches to, and which requests it asks for."""
    at, spec = item["metadata"], item["spec"]
    matches = (match for rule in spec.get("rules") or [_EVERY] for match in rule.get("matches") or [_EVERY])
    return LiveRoute(
        namespace=at["namespace"],
        name=at["name"],
        part_of=at.get("labels", {}).get("app.kubernetes.io/part-of"),
        parents=tuple(_parents(spec, at["namespace"])),
        hostnames=tuple(spec.get("hostnames", ())),
        matches=tuple(dict.fromkeys(map(_match, matches))),
    )


def _parents(spec: Mapping[str, Any], namespace: str) -> Iterator[ParentRef]:
    for one in spec.get("parentRefs", ()):
        group, kind = one.get("group", GATEWAY_GROUP), one.get("kind", KIND)
        ref = GatewayRef(group, kind, one.get("namespace", namespace), one["name"])
        yield ParentRef(ref, one.get("sectionName"), one.get("port"))


def _match(match: Mapping[str, Any]) -> RouteMatch:
    path = {**_ANY_PATH, **match.get("path", {})}
    headers = ((one.get("type", "Exact"), one["name"], one["value"]) for one in match.get("headers", ()))
    more = ({field: match[field]} for field in ("method", "queryParams") if field in match)
    told = tuple(json.dumps(one, sort_keys=True) for one in more)
    return RouteMatch(path["type"], path["value"], tuple(sorted(headers)), told)
