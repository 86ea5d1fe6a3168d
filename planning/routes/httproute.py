"""Plan of a service's HTTPRoute: matches, rules, mirror and timeouts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.paths import Path
from models.routing import Gateway, RouteMatch
from planning.ground import gateways
from planning.ground.names import PRIMARY
from planning.ground.ports import ROUTED_PORT
from planning.interceptor import edge
from planning.routes import model_names, request_claims, templates
from planning.routes.records import Match, Mirror, Parent, PlannedRoute, RouteBackend, RouteRule, TimeLimits
from planning.variant.context import Contexts, VariantContext, VariantId

CATCH_ALL = "/"
"""Path prefix that matches every path."""


def route(contexts: Contexts, key: str, matches: tuple[Match, ...], rules: tuple[RouteRule, ...]) -> PlannedRoute:
    """Return the route of a service with a gateway. `matches` and `rules` have passed the checks."""
    variant = contexts.primary(key)
    spec = variant.service.route
    gateway = variant.gateway
    if gateway is None:
        raise ValueError("this service has no gateway")
    remove_headers = spec.remove_headers
    interceptor = variant.stack.interceptor
    if interceptor is not None and variant.metered_as is not None:
        remove_headers = (*remove_headers, *edge.removed_headers(interceptor.mode))
    planned = PlannedRoute(
        key=key,
        namespace=variant.namespace,
        name=variant.names.base,
        parent=_parent(gateway, variant.stack.namespace),
        gateway_at=gateway_path(variant),
        hostnames=spec.hostnames,
        matches=matches,
        rules=rules,
        annotations=spec.annotations,
        set_headers=dict(sorted(spec.set_headers.items())),
        remove_headers=remove_headers,
        mirror=_mirror(contexts, variant),
        timeouts=timeouts(variant),
        model_names=model_names.plan(variant),
    )
    return request_claims.with_claims(planned)


def gateway_path(variant: VariantContext) -> Path:
    """Return the path of the key that sets the Gateway for a service's route."""
    if variant.service.route.gateway is None:
        return Path("gateway")
    return variant.path / "route" / "gateway"


def mirroring_namespaces(routes: Iterable[PlannedRoute]) -> dict[str, set[str]]:
    """Return the namespaces of the routes that mirror requests to a service, by the service's key."""
    namespaces = dict[str, set[str]]()
    for route in routes:
        if route.mirror is not None:
            namespaces.setdefault(route.mirror.key, set()).add(route.namespace)
    return namespaces


def resolve_match(variant: VariantContext, at: Path, match: RouteMatch) -> Match:
    """Return a match with a rendered path, and with a header in place of the model.

    `at` is the place of the match in the configuration. Raises `TemplateError` for a path that cannot be rendered.
    """
    path = CATCH_ALL
    if match.path is not None:
        path = templates.path(match.path, record(variant, match.path))
    headers = dict(match.headers)
    if match.model is not None:
        headers[variant.release.picker.headers.base_model] = match.model
    return Match(path, dict(sorted(headers.items())), at)


def record(variant: VariantContext, template: str) -> dict[str, Any]:
    """Return the record that a path template reads: metadata of the service, and its configuration after merging."""
    service = variant.service
    spec = dict[str, Any]()
    if ".spec" in template:
        # Dumping the service takes longer than the rest of a route's plan, and few templates read it.
        spec = service.model_dump(by_alias=True, exclude_none=True, warnings=False)
    return {
        "metadata": {
            "name": service.name or variant.key,
            "namespace": variant.namespace,
            "labels": {**variant.stack.labels, **service.labels},
            "annotations": dict(service.annotations),
        },
        "spec": spec,
    }


def rules(variant: VariantContext, matches: tuple[Match, ...], canary: VariantContext | None) -> tuple[RouteRule, ...]:
    """Return the rules for matches. A rule with the canary's headers precedes the rule without them.

    The primary is the last backend: a gateway that asks only one picker for a rule asks the picker of the last backend.
    """
    share = variant.share
    target = _target(variant)
    of_canary = None
    if canary is not None:
        of_canary = _target(canary)
        if variant.metered_as is None:
            target = _Target((_backend(canary, share.canary), _backend(variant, share.primary)), {})
        elif share.canary:
            # The interceptor forwards all requests of a rule to one Service, so the canary gets all of them or none.
            target = of_canary
    planned = list[RouteRule]()
    for prefix, group in _rule_groups(matches, variant.service.route.replace_prefix_match):
        if of_canary is not None and share.headers:
            with_headers = tuple(_with_headers(match, share.headers) for match in group)
            planned.append(RouteRule(with_headers, of_canary.backends, prefix, of_canary.set_headers))
        planned.append(RouteRule(group, target.backends, prefix, target.set_headers))
    return tuple(planned)


@dataclass(frozen=True, slots=True)
class _Target:
    """Backends that get the requests of a rule, and headers that the rule sets."""

    backends: tuple[RouteBackend, ...]
    set_headers: Mapping[str, str]


def _target(variant: VariantContext) -> _Target:
    """Return the target of rules that send all requests to one variant."""
    metering = edge.edge(variant)
    if metering is None:
        return _Target((_backend(variant, 1),), {})
    namespace = None
    if metering.namespace != variant.namespace:
        namespace = metering.namespace
    backend = RouteBackend(metering.name, 1, metering.port, namespace)
    return _Target((backend,), metering.set_headers)


def _backend(variant: VariantContext, weight: int) -> RouteBackend:
    """Return the backend of a variant: its pool, or its Service if it has no endpoint picker."""
    if variant.has_pool:
        return RouteBackend(variant.names.pool, weight)
    return RouteBackend(variant.names.base, weight, ROUTED_PORT)


def _rule_groups(matches: tuple[Match, ...], prefix: str) -> Iterator[tuple[str | None, tuple[Match, ...]]]:
    """Yield a pair for each rule: the prefix that replaces the path (None if paths stay unchanged), and the matches.

    Gateway API requires a separate rule for each path that is rewritten.
    """
    unchanged = tuple(match for match in matches if match.path == prefix)
    yield from ((prefix, (match,)) for match in matches if match.path != prefix)
    if unchanged:
        yield None, unchanged


def _with_headers(match: Match, headers: Mapping[str, str]) -> Match:
    return Match(match.path, dict(sorted({**match.headers, **headers}.items())), match.at)


def _parent(gateway: Gateway, namespace: str) -> Parent:
    return Parent(
        group=gateway.group,
        kind=gateway.kind,
        name=gateway.name,
        namespace=gateway.namespace or namespace,
        section_name=gateway.section_name,
        port=gateway.port,
        provider=gateway.provider,
    )


def _mirror(contexts: Contexts, variant: VariantContext) -> Mirror | None:
    """Return the mirror of a route; None if it has no mirror, or if the channel of the mirror's service is unknown."""
    spec = variant.service.route.mirror
    # `defaults` can name a service as the mirror of all services. This service does not mirror requests to itself.
    if spec is None or spec.service == variant.key:
        return None
    service = contexts.variants.get(VariantId(spec.service, PRIMARY))
    if service is None:
        return None
    target = service.names
    return Mirror(spec.service, target.base, target.namespace, spec.percent)


def timeouts(variant: VariantContext) -> TimeLimits | None:
    """Return the time limits of a service's route. None if the route has no limits, or the gateway ignores them."""
    spec = variant.service.route.timeouts
    gateway = variant.gateway
    if spec is None or spec.request is spec.backend_request is None or not takes_timeouts(gateway):
        return None
    return TimeLimits(spec.request, spec.backend_request)


def takes_timeouts(gateway: Gateway | None) -> bool:
    """Tell whether a gateway applies the time limits of routes. Without facts about this, the answer is yes."""
    if gateway is None:
        return True
    facts = gateways.facts(gateway)
    return facts is None or facts.timeouts is None or facts.timeouts.route
