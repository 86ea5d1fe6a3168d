"""Mistakes in routes, objectives and rewrites."""

import difflib
from collections.abc import Iterator, Sequence

from models.paths import Path
from models.problems import Problem, warning
from models.routing import MOST_HEADERS, Gateway, Rewrite, RouteMatch
from models.routing import Route as RouteSpec
from models.source import served_name
from models.vocabulary import milliseconds
from planning.ground.names import PRIMARY
from planning.routes import collisions, httproute
from planning.routes.records import Match, Route, Rule
from planning.routes.templates import TemplateError
from planning.variant import images
from planning.variant.context import Contexts, VariantContext

_MOST_RULES = 16
"""Of an HTTPRoute."""


def resolve(contexts: Contexts) -> tuple[dict[str, Route], tuple[Problem, ...]]:
    """Decide the route of every service that has one, by the service's key; return every mistake in routes besides.

    A service is left out whose route has a mistake, unless that is none in what a service inherits.
    """
    routes, sound, found = dict[str, Route](), list[Route](), list[Problem]()
    for context in contexts.of(PRIMARY):
        route, problems = _route(contexts, context)
        found += [*problems, *_rewrites(context)]
        if route is not None:
            routes[context.key] = route
            sound += [] if problems else [route]
    return routes, (*found, *collisions.problems(sound))


def warnings(own: VariantContext) -> Iterator[Problem]:
    """Say what is allowed and seldom meant."""
    mirror = own.service.route.mirror
    if mirror is None or mirror.service == own.key:
        return
    other = own.stack.services[mirror.service].model
    asked, served = (served_name(one.name, one.source) for one in (own.spec.model, other))
    if asked != served:
        what = f"services.{mirror.service} refuses requests for {asked}, because it serves {served}"
        yield warning(own.path / "route" / "mirror", what)


def _route(contexts: Contexts, own: VariantContext) -> tuple[Route | None, list[Problem]]:
    """Return a service's route, where it has a sound one, and what is wrong with it."""
    spec, at, gateway = own.service.route, own.path / "route", own.gateway
    if gateway is None:
        return None, list(_without_gateway(spec, at))
    if not spec.enabled:
        return None, []
    matches, unmatched = _matches(own, gateway)
    found = [*unmatched, *_headers(own, at), *_timeouts(spec, at, gateway), *_mirror(own, at)]
    if unmatched:
        return None, found
    canary = contexts.canary(own.key)
    rules = httproute.rules(own, matches, None if canary is None else canary.names.pool)
    found += _size(own, at, rules)
    is_sound = all(problem.explicit_only for problem in found)
    return (httproute.route(contexts, own.key, matches, rules) if is_sound else None), found


def _without_gateway(spec: RouteSpec, at: Path) -> Iterator[Problem]:
    for name, field in RouteSpec.model_fields.items():
        if getattr(spec, name) != field.get_default():
            what, remedy = "has no effect without a gateway", "add gateway, or remove it"
            yield Problem(at / (field.alias or name), what, remedy, (Path("gateway"),), explicit_only=True)


def _matches(own: VariantContext, gateway: Gateway) -> tuple[tuple[Match, ...], list[Problem]]:
    """Return the matches of a service's route that can be rendered, and what is wrong with any."""
    matches, found = list[Match](), list[Problem]()
    for index, spec in enumerate(own.service.route.matches):
        at = own.path / "route" / "matches" / index
        if spec.model is not None and not gateway.body_router:
            what = "is matched in a header that nobody sets (gateway.bodyRouter is false)"
            remedy = "put a payload processor in front and set gateway.bodyRouter: true, or match a header"
            found.append(Problem(at / "model", what, remedy, (Path("gateway"), own.path / "route" / "gateway")))
        found += _told_apart(own, spec, at)
        try:
            match = httproute.matched(own, index, spec)
        except TemplateError as error:
            found.append(_unrendered(own, at / "path", error))
        else:
            matches.append(match)
            found += _catch_all(own, match, gateway)
    return tuple(matches), found


def _unrendered(own: VariantContext, at: Path, error: TemplateError) -> Problem:
    """Tell a path that cannot be rendered; where the defaults say it of all services, for which of them."""
    whose = f" for {own.path}" if _is_of_the_defaults(own) else ""
    what = f"cannot be rendered{whose} ({error})"
    return Problem(at, what, error.remedy, (own.path / "labels", own.path / "annotations", Path("labels")))


def _is_of_the_defaults(own: VariantContext) -> bool:
    """Say whether the matches of a service are those that the defaults say."""
    route = own.stack.defaults.get("route")
    said = route.get("matches") if isinstance(route, dict) else None
    return said == [match.model_dump(by_alias=True, exclude_unset=True) for match in own.service.route.matches]


def _catch_all(own: VariantContext, match: Match, gateway: Gateway) -> Iterator[Problem]:
    if match.path == httproute.CATCH_ALL and not match.headers and not own.service.route.hostnames:
        place = f"{gateway.namespace or own.stack.namespace}/{gateway.name}"
        what = f"would catch all traffic of {place} (/ without header, model or hostname)"
        remedy = "add a hostname, or use another path"
        yield Problem(match.at, what, remedy, (own.path / "route" / "hostnames",))


def _told_apart(own: VariantContext, one: RouteMatch, at: Path) -> Iterator[Problem]:
    """Refuse a header that a match, its model and the canary want in several values, and more than fit."""
    canary, depends_on = own.service.canary, (own.path / "canary" / "headers",)
    holders = {} if canary is None else {name.lower(): "canary.headers" for name in canary.headers}
    places = [(at / "headers" / name, name) for name in one.headers]
    places += [] if one.model is None else [(at / "model", own.release.picker.headers.base_model)]
    for place, name in places:
        if name.lower() in holders:
            what = f"is matched by {holders[name.lower()]}, too ({name})"
            yield Problem(place, what, "name the header once", depends_on)
        holders.setdefault(name.lower(), "headers")
    if len(holders) > MOST_HEADERS:
        what = f"makes {len(holders)} headers of one match, with those of model and canary"
        yield Problem(at / "headers", what, f"leave at most {MOST_HEADERS}", depends_on)


def _headers(own: VariantContext, at: Path) -> Iterator[Problem]:
    """Refuse what two modifications would do to one header, or one to a header of the endpoint picker."""
    spec, facts = own.service.route, own.release.picker.headers
    decided = {name.lower() for name in (facts.destination, facts.prefill) if name is not None}
    added, removed = {name.lower() for name in spec.set_headers}, set[str]()
    places = [(at / "setHeaders" / name, name) for name in spec.set_headers]
    places += [(at / "removeHeaders" / index, name) for index, name in enumerate(spec.remove_headers)]
    for place, name in places:
        if name.lower() in decided:
            yield Problem(place, f"is the endpoint picker's own ({name})", "remove it")
    for index, name in enumerate(spec.remove_headers):
        if name.lower() in added | removed:
            other = "is set, too" if name.lower() in added else "comes twice"
            yield Problem(at / "removeHeaders" / index, f"{other} ({name})", "keep one of them", (at / "setHeaders",))
        removed.add(name.lower())


def _timeouts(spec: RouteSpec, at: Path, gateway: Gateway) -> Iterator[Problem]:
    wish = spec.timeouts
    if wish is None:
        return
    if gateway.provider == "gke":
        what = "is not for GKE's gateway, whose limit is its backend policy's (provider gke)"
        remedy = "remove it, and set drainTimeout to the longest request"
        yield Problem(at / "timeouts", what, remedy, (Path("gateway"), at / "gateway"))
    if wish.request is None or wish.backend_request is None or not milliseconds(wish.request):
        return
    if milliseconds(wish.backend_request) > milliseconds(wish.request):
        what = f"is above timeouts.request ({wish.backend_request}, {wish.request})"
        yield Problem(at / "timeouts" / "backendRequest", what, "swap them, or raise timeouts.request")


def _mirror(own: VariantContext, at: Path) -> Iterator[Problem]:
    wish = own.service.route.mirror
    if wish is None:
        return
    known = own.stack.services
    if wish.service not in known:
        close = difflib.get_close_matches(wish.service, known, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(sorted(known))}"
        yield Problem(at / "mirror" / "service", f"is no service of this stack ({wish.service})", remedy)
    if wish.service == own.key:
        what = f"is the service itself ({wish.service})"
        yield Problem(at / "mirror" / "service", what, "name another, or remove mirror", explicit_only=True)


def _size(own: VariantContext, at: Path, rules: Sequence[Rule]) -> Iterator[Problem]:
    """Refuse more rules than an HTTPRoute takes. Matches and hostnames are counted where they are read."""
    canary = own.service.canary
    if len(rules) > _MOST_RULES:
        twice = "two rules, one of them for canary.headers" if canary is not None and canary.headers else "a rule"
        what = f"needs {len(rules)} rules, of {_MOST_RULES} in a route ({twice}, for each path that is rewritten)"
        yield Problem(at / "matches", what, "remove some", (own.path / "canary",))


def _rewrites(own: VariantContext) -> Iterator[Problem]:
    seen = set[str]()
    for index, one in enumerate(own.service.rewrites):
        at = own.path / "rewrites" / index
        if one.model in seen:
            yield Problem(at / "model", f"is rewritten before ({one.model})", "write one entry with all targets")
        seen.add(one.model)
        if len({target.weight is None for target in one.targets}) > 1:
            yield Problem(at / "targets", "gives weights to some", "write a weight for all of them, or for none")
        yield from _targets(own, one, at)


def _targets(own: VariantContext, one: Rewrite, at: Path) -> Iterator[Problem]:
    served, seen = _served(own), set[str]()
    for index, target in enumerate(one.targets):
        inside, model = at / "targets" / index / "model", target.model
        if served and model not in served:
            depends_on = (own.path / "model", own.path / "engine")
            yield Problem(inside, f"is not served here ({model})", f"write {' or '.join(served)}", depends_on)
        elif model in seen:
            yield Problem(inside, f"is a target twice ({model})", "write it once, with the sum of the weights")
        seen.add(model)


def _served(own: VariantContext) -> tuple[str, ...]:
    """Return the names that the engine answers to; nothing where only its image knows them."""
    name = served_name(own.spec.model.name, own.spec.model.source)
    if name is None or images.is_custom(own.spec, own.spec):
        return ()
    lora = own.spec.model.lora
    return (name, *sorted(lora.adapters if lora is not None else ()))
