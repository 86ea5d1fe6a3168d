"""The HTTPRoute of a service: its matches, and the rules that they become."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.routing import Gateway, RouteMatch
from planning.routes import templates
from planning.routes.records import Backend, Match, Mirror, Parent, Route, Rule, Timeouts
from planning.variant.context import Contexts, VariantContext

CATCH_ALL = "/"
"""The prefix of every path."""


def route(contexts: Contexts, key: str, matches: tuple[Match, ...], rules: tuple[Rule, ...]) -> Route:
    """Decide the route of a service that has one. Its matches and rules are known to be sound."""
    context = contexts.primary(key)
    spec, gateway = context.service.route, context.gateway
    if gateway is None:
        raise ValueError("this service has no gateway")
    return Route(
        key=key,
        namespace=context.namespace,
        name=context.names.base,
        parent=_parent(gateway, context.stack.namespace),
        hostnames=spec.hostnames,
        matches=matches,
        rules=rules,
        annotations=spec.annotations,
        set_headers=dict(sorted(spec.set_headers.items())),
        remove_headers=spec.remove_headers,
        mirror=_mirror(contexts, context),
        timeouts=_timeouts(context),
    )


def mirrored_from(routes: Mapping[str, Route], key: str, namespace: str) -> tuple[str, ...]:
    """Return the other namespaces whose routes copy requests to a service of a namespace."""
    sources = {route.namespace for route in routes.values() if route.mirror is not None and route.mirror.key == key}
    return tuple(sorted(sources - {namespace}))


def matched(own: VariantContext, index: int, match: RouteMatch) -> Match:
    """Return a match as the gateway sees it.

    Raises `TemplateError` for a path that cannot be rendered.
    """
    path = CATCH_ALL if match.path is None else templates.path(match.path, record(own, match.path))
    model = {} if match.model is None else {own.release.picker.headers.base_model: match.model}
    headers = dict(sorted({**match.headers, **model}.items()))
    return Match(path, headers, own.path / "route" / "matches" / index)


def record(own: VariantContext, template: str) -> dict[str, Any]:
    """Return what a path template reads: the service as merged, and what its objects say of themselves."""
    spec = own.service
    # Writing the whole service out takes longer than all else about a route, and few templates ask for it.
    whole = spec.model_dump(by_alias=True, exclude_none=True, warnings=False) if ".spec" in template else {}
    return {
        "metadata": {
            "name": spec.name or own.key,
            "namespace": own.namespace,
            "labels": {**own.stack.labels, **spec.labels},
            "annotations": dict(spec.annotations),
        },
        "spec": whole,
    }


def rules(own: VariantContext, matches: tuple[Match, ...], canary_pool: str | None) -> tuple[Rule, ...]:
    """Return the rules of matches; of those for a path and its canary's headers, the more exact one comes first."""
    share, found = own.share, list[Rule]()
    for prefix, alike in _treated_alike(matches, own.service.route.replace_prefix_match):
        if canary_pool is None:
            found.append(Rule(alike, (Backend(own.names.pool, 1),), prefix))
            continue
        if share.headers:
            joined = tuple(_joined(match, share.headers) for match in alike)
            found.append(Rule(joined, (Backend(canary_pool, 1),), prefix))
        both = Backend(own.names.pool, share.primary), Backend(canary_pool, share.canary)
        found.append(Rule(alike, both, prefix))
    return tuple(found)


def _treated_alike(matches: tuple[Match, ...], prefix: str) -> Iterator[tuple[str | None, tuple[Match, ...]]]:
    """Yield what may share a rule: a path that is rewritten has one of its own, because Gateway API wants it so."""
    kept = tuple(match for match in matches if match.path == prefix)
    yield from ((prefix, (match,)) for match in matches if match.path != prefix)
    if kept:
        yield None, kept


def _joined(match: Match, headers: Mapping[str, str]) -> Match:
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


def _mirror(contexts: Contexts, own: VariantContext) -> Mirror | None:
    wish = own.service.route.mirror
    # Of what the defaults say of all services, the one that is meant has nothing to copy.
    if wish is None or wish.service == own.key:
        return None
    target = contexts.primary(wish.service).names
    return Mirror(wish.service, target.base, target.namespace, wish.percent)


def _timeouts(own: VariantContext) -> Timeouts | None:
    wish = own.service.route.timeouts
    if wish is None or wish.request is wish.backend_request is None:
        return None
    return Timeouts(wish.request, wish.backend_request)
