"""Parsers of a cluster's Gateways and HTTPRoutes. Their input is the JSON of the API server."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planning.ground import marks
from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.cluster_facts import GatewayRef, LiveGateway, LiveRoute, LiveRouteMatch, ParentRef
from planning.ground.inventory import SAME, Listener, Requirement

KIND = "Gateway"
_ANY_PATH = {"type": "PathPrefix", "value": "/"}
_EMPTY: Mapping[str, Any] = {}
"""An empty rule, match or condition. An empty rule or match selects every request."""


def gateway(item: Mapping[str, Any]) -> LiveGateway:
    """Return a Gateway with the status that its controller wrote.

    A Gateway without a status is neither accepted nor programmed.
    """
    metadata = item["metadata"]
    conditions = {condition["type"]: condition for condition in item.get("status", {}).get("conditions", ())}
    states = [conditions.get(name, _EMPTY) for name in ("Accepted", "Programmed")]
    accepted, programmed = (state.get("status") == "True" for state in states)
    reasons = [f"{state['reason']}: {state.get('message', '')}" for state in states if state.get("status") == "False"]
    return LiveGateway(
        GatewayRef(GATEWAY_GROUP, KIND, metadata["namespace"], metadata["name"]),
        accepted,
        programmed,
        "".join(reasons[:1]),
        tuple(map(_listener, item.get("spec", _EMPTY).get("listeners", ()))),
    )


def _listener(item: Mapping[str, Any]) -> Listener:
    allowed = item.get("allowedRoutes", _EMPTY)
    namespaces = allowed.get("namespaces", _EMPTY)
    return Listener(
        item["name"],
        item["port"],
        item["protocol"],
        item.get("hostname") or None,
        namespaces.get("from", SAME),
        tuple(_requirements(namespaces.get("selector", _EMPTY))),
        # If an entry has no group, its kind belongs to the Gateway API.
        tuple(kind["kind"] for kind in allowed.get("kinds", ()) if kind.get("group", GATEWAY_GROUP) == GATEWAY_GROUP),
    )


def _requirements(selector: Mapping[str, Any]) -> Iterator[Requirement]:
    for key, value in selector.get("matchLabels", _EMPTY).items():
        yield Requirement(key, "In", (value,))
    for expression in selector.get("matchExpressions", ()):
        yield Requirement(expression["key"], expression["operator"], tuple(expression.get("values", ())))


def route(item: Mapping[str, Any]) -> LiveRoute:
    """Return an HTTPRoute with its parents, hostnames and matches."""
    metadata = item["metadata"]
    spec = item["spec"]
    matches = (match for rule in spec.get("rules") or [_EMPTY] for match in rule.get("matches") or [_EMPTY])
    return LiveRoute(
        namespace=metadata["namespace"],
        name=metadata["name"],
        parents=tuple(_parents(spec, metadata["namespace"])),
        hostnames=tuple(spec.get("hostnames", ())),
        matches=tuple(dict.fromkeys(map(_match, matches))),
        mark=marks.read(metadata),
    )


def _parents(spec: Mapping[str, Any], namespace: str) -> Iterator[ParentRef]:
    for parent in spec.get("parentRefs", ()):
        group = parent.get("group", GATEWAY_GROUP)
        kind = parent.get("kind", KIND)
        ref = GatewayRef(group, kind, parent.get("namespace", namespace), parent["name"])
        yield ParentRef(ref, parent.get("sectionName"), parent.get("port"))


def _match(match: Mapping[str, Any]) -> LiveRouteMatch:
    path = {**_ANY_PATH, **match.get("path", {})}
    headers = ((header.get("type", "Exact"), header["name"], header["value"]) for header in match.get("headers", ()))
    others = ({field: match[field]} for field in ("method", "queryParams") if field in match)
    conditions = tuple(json.dumps(condition, sort_keys=True) for condition in others)
    return LiveRouteMatch(path["type"], path["value"], tuple(sorted(headers)), conditions)
