"""Validation of routes and rewrites. `resolve` returns the routes of a stack together with their problems."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from models.paths import Path
from models.problems import Problem, errors, warning, warnings
from models.routing import MAX_HEADERS, Gateway, Rewrite, RouteMatch
from models.routing import Route as RouteSpec
from models.source import served_name
from models.vocabulary import milliseconds
from planning.ground import gateways
from planning.ground.names import PRIMARY
from planning.interceptor import edge
from planning.routes import collisions, hosts_and_ties, httproute, model_names, nested_paths, pickers, requests
from planning.routes.records import Match, PlannedRoute, RouteRule
from planning.routes.templates import TemplateError
from planning.variant.context import Contexts, VariantContext

_MAX_RULES = 16
"""Maximum number of rules in an HTTPRoute."""
_FRAMING_HEADERS = frozenset({"content-length", "host", "transfer-encoding"})
"""Headers with the length or destination of a message. If a route changes them, proxies refuse or misread messages."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Planned routes of a stack, with errors and warnings about them."""

    routes: Mapping[str, PlannedRoute]
    """Routes by service key. A service is left out if its route is disabled, has no gateway, or has an error."""
    of_services: Mapping[str, tuple[Problem, ...]]
    """Problems of routes, objectives and rewrites, by service key."""
    between_services: tuple[Problem, ...]
    """Problems of several routes together."""


def resolve(contexts: Contexts) -> Routing:
    """Return the planned routes, and every problem of routes, objectives and rewrites.

    A route with an error is left out, unless all errors of the route count only for explicit values (`explicit_only`).
    """
    routes = dict[str, PlannedRoute]()
    sound_routes = list[PlannedRoute]()
    of_services = dict[str, tuple[Problem, ...]]()
    for variant in contexts.of(PRIMARY):
        route, problems = _route(contexts, variant)
        canary = contexts.canary(variant.key)
        doubts = list[Problem]()
        if route is not None:
            routes[variant.key] = route
            doubts += [*_undrained_requests(variant), *_mirrored_model(variant), *warnings(problems)]
            if not errors(problems):
                sound_routes.append(route)
        of_services[variant.key] = (*errors(problems), *_rewrites(variant), *doubts, *requests.judge(variant, canary))
    between_services = (
        *collisions.judge(sound_routes),
        *model_names.collisions(sound_routes),
        *model_names.different_headers(sound_routes),
        *hosts_and_ties.judge(routes.values()),
        *nested_paths.judge(routes.values()),
    )
    return Routing(routes, of_services, between_services)


def _undrained_requests(variant: VariantContext) -> Iterator[Problem]:
    """Yield a warning for each variant whose drain timeout is below the route's time limit for requests.

    A limit of 0 means that requests may take any time.
    """
    canary = variant.service.canary
    timeouts = httproute.timeouts(variant)
    if timeouts is None or timeouts.request is None:
        return
    longest = milliseconds(timeouts.request)
    drains = {"drainTimeout": variant.spec.drain_timeout}
    if canary is not None and canary.drain_timeout != variant.spec.drain_timeout:
        drains["canary.drainTimeout"] = canary.drain_timeout
    for name, drain in drains.items():
        if longest and longest <= milliseconds(drain):
            continue
        difference = "sets no limit, unlike"
        if longest:
            difference = "is above"
        cut = f"requests longer than {drain} are cut when pods are replaced"
        what = f"{difference} {name} ({timeouts.request}, {drain}): {cut}"
        remedy = f"set {name} to the time of the longest request"
        if longest:
            remedy = f"set {name}: {timeouts.request}"
        yield warning(variant.path / "route" / "timeouts" / "request", what, remedy)


def _mirrored_model(variant: VariantContext) -> Iterator[Problem]:
    """Yield a warning if the mirror's target serves another model than the requests ask for."""
    mirror = variant.service.route.mirror
    if mirror is None or mirror.service == variant.key or mirror.service not in variant.stack.services:
        return
    target = variant.stack.services[mirror.service].model
    requested, served = (served_name(model.name, model.source) for model in (variant.spec.model, target))
    if requested != served:
        what = f"services.{mirror.service} refuses requests for {requested}, because it serves {served}"
        yield warning(variant.path / "route" / "mirror", what)


def _route(contexts: Contexts, variant: VariantContext) -> tuple[PlannedRoute | None, list[Problem]]:
    """Return a service's route and its problems.

    The route is None if it is disabled, if there is no gateway, or if one of the problems is not `explicit_only`.
    """
    spec = variant.service.route
    at = variant.path / "route"
    gateway = variant.gateway
    mirror_problems = list(_mirror(variant, at))
    if gateway is None:
        return None, [*_without_gateway(spec, at), *mirror_problems]
    matches, match_problems = _matches(variant, gateway)
    canary = contexts.canary(variant.key)
    asked = [context for context in (variant, canary) if context is not None and context.has_picker]
    problems = [*_version(variant, asked, gateway), *match_problems]
    problems += _headers(variant, asked, at)
    problems += _timeouts(spec, at, gateway)
    problems += _header_commands(spec, at, gateway)
    problems += _repeated_hostnames(spec, at)
    if not spec.enabled:
        # A mistake in a disabled route counts only in keys that the service writes, not in inherited keys.
        return None, [*(replace(problem, explicit_only=True) for problem in problems), *mirror_problems]
    problems += mirror_problems
    if match_problems:
        return None, problems
    problems += _repeated_matches(matches)
    problems += pickers.judge(variant, gateway)
    rules = httproute.rules(variant, matches, canary)
    problems += _rule_count(variant, at, rules)
    if not all(problem.explicit_only for problem in errors(problems)):
        return None, problems
    return httproute.route(contexts, variant.key, matches, rules), problems


def _version(variant: VariantContext, asked: Sequence[VariantContext], gateway: Gateway) -> Iterator[Problem]:
    """Reject a version of the gateway that is too old for the InferencePools of a service's release channels.

    `asked` are the variants of the service with pickers that the gateway asks.
    """
    at = httproute.gateway_path(variant)
    facts = gateways.facts(gateway)
    version = gateway.version
    if facts is None or version is None or not asked:
        return
    newest = max(asked, key=lambda context: gateways.numbers(context.release.requirements.istio.version))
    requirement = facts.minimum
    if gateway.provider == "istio":
        requirement = newest.release.requirements.istio
    if requirement is not None and gateways.numbers(version) < gateways.numbers(requirement.version):
        what = f"is too old for release {newest.release.name} ({version})"
        remedy = f"upgrade {facts.title} to {requirement.version} or newer"
        yield Problem(at / "version", what, remedy, (at / "provider", Path("release"), newest.path / "release"))


def _without_gateway(spec: RouteSpec, at: Path) -> Iterator[Problem]:
    for name, field in RouteSpec.model_fields.items():
        if getattr(spec, name) != field.get_default():
            what = "has no effect without a gateway"
            remedy = "add gateway, or remove it"
            yield Problem(at / (field.alias or name), what, remedy, (Path("gateway"),), explicit_only=True)


def _matches(variant: VariantContext, gateway: Gateway) -> tuple[tuple[Match, ...], list[Problem]]:
    """Return the matches of a service's route that can be rendered, and the problems of all matches."""
    matches = list[Match]()
    problems = list[Problem]()
    top = variant.path / "route" / "matches"
    for index, spec in enumerate(variant.service.route.matches):
        at = top / index
        if spec.model is not None and not gateway.body_router:
            what = "is matched in a header that nobody sets (gateway.bodyRouter is false)"
            remedy = (
                "match a header, or put a payload processor in front of the gateway and set gateway.bodyRouter: true"
            )
            problems.append(Problem(at / "model", what, remedy, (Path("gateway"), variant.path / "route" / "gateway")))
        problems += _match_headers(variant, spec, at)
        try:
            match = httproute.resolve_match(variant, at, spec)
        except TemplateError as error:
            problems.append(_render_problem(variant, at / "path", error))
        else:
            matches.append(match)
            problems += _catch_all(variant, match, gateway)
    if gateway.body_router:
        problems += model_names.judge(variant)
    return tuple(matches), problems


def _repeated_hostnames(spec: RouteSpec, at: Path) -> Iterator[Problem]:
    for index, hostname in enumerate(spec.hostnames):
        first = spec.hostnames.index(hostname)
        if first < index:
            yield Problem(at / "hostnames" / index, f"repeats hostnames[{first}] ({hostname})", "remove one of them")


def _repeated_matches(matches: Sequence[Match]) -> Iterator[Problem]:
    """Reject a match that repeats an earlier match. The message has no header values, which may be credentials."""
    seen = dict[tuple[str, frozenset[tuple[str, str]]], Match]()
    for match in matches:
        headers = frozenset((name.lower(), value) for name, value in match.headers.items())
        first = seen.setdefault((match.path.rstrip("/"), headers), match)
        if first is not match:
            what = f"repeats {first.at.below(first.at.parent.parent)} ({match.path})"
            yield Problem(match.at, what, "remove one of them")


def _render_problem(variant: VariantContext, at: Path, error: TemplateError) -> Problem:
    """Return the problem of a path that cannot be rendered. For an inherited path, the message names the service."""
    depends_on = (variant.path / "labels", variant.path / "annotations", Path("labels"))
    what = f"cannot be rendered for {variant.path} ({error})"
    inherited = Problem(at, what, error.remedy, depends_on, names_service=True)
    return Problem(at, f"cannot be rendered ({error})", error.remedy, depends_on, when_inherited=inherited)


def _catch_all(variant: VariantContext, match: Match, gateway: Gateway) -> Iterator[Problem]:
    if match.path == httproute.CATCH_ALL and not match.headers and not variant.service.route.hostnames:
        place = f"{gateway.namespace or variant.stack.namespace}/{gateway.name}"
        what = f"would catch all traffic of {place} (/ without header, model or hostname)"
        remedy = "add a hostname, or use another path"
        yield Problem(match.at, what, remedy, (variant.path / "route" / "hostnames",))


def _match_headers(variant: VariantContext, match: RouteMatch, at: Path) -> Iterator[Problem]:
    """Reject a header that occurs twice: in the match, as the header of the match's model, or in the canary's headers.

    Also reject a match that has too many headers in all.
    """
    if not match.headers and match.model is None:
        return
    canary = variant.service.canary
    depends_on = (variant.path / "canary" / "headers",)
    holders = dict[str, str]()
    if canary is not None:
        holders = {name.lower(): "canary.headers" for name in canary.headers}
    places = [(at / "headers" / name, name) for name in match.headers]
    if match.model is not None:
        places.append((at / "model", variant.release.picker.headers.base_model))
    for place, name in places:
        if name.lower() in holders:
            what = f"is matched by {holders[name.lower()]}, too ({name})"
            yield Problem(place, what, "name the header once", depends_on)
        holders.setdefault(name.lower(), "headers")
    if len(holders) > MAX_HEADERS:
        what = f"gives a match {len(holders)} headers, including the headers of model and canary"
        yield Problem(at / "headers", what, f"leave at most {MAX_HEADERS}", depends_on)


def _headers(variant: VariantContext, asked: Iterable[VariantContext], at: Path) -> Iterator[Problem]:
    """Reject a second change of one header, changes of the pickers' headers, and changes of `_FRAMING_HEADERS`.

    A gateway applies the filters of a route after it has asked the endpoint picker. The picker therefore never reads a
    header that a route sets, and a route could change the headers that the picker sets.
    """
    spec = variant.service.route
    if not spec.set_headers and not spec.remove_headers:
        return
    places = [(at / "setHeaders" / name, name) for name in spec.set_headers]
    reserved = set[str]()
    for release in {context.release.name: context.release for context in asked}.values():
        facts = release.picker.headers
        reserved |= {name.lower() for name in (facts.destination, facts.prefill) if name is not None}
        for place, name in places:
            if name.lower() in facts.of_requests:
                what = f"is read by the endpoint picker before a route sets headers ({name})"
                yield Problem(place, what, "remove it, and let clients send the header")
    places += [(at / "removeHeaders" / index, name) for index, name in enumerate(spec.remove_headers)]
    for place, name in places:
        if name.lower() in reserved:
            yield Problem(place, f"is a header that the endpoint picker sets ({name})", "remove it")
        if name.lower() in _FRAMING_HEADERS:
            yield Problem(place, f"controls the framing or the destination of messages ({name})", "remove it")
    yield from _repeated_headers(spec, at)


def _repeated_headers(spec: RouteSpec, at: Path) -> Iterator[Problem]:
    added = {name.lower() for name in spec.set_headers}
    removed = set[str]()
    for index, name in enumerate(spec.remove_headers):
        if name.lower() in added | removed:
            other = "is listed twice"
            if name.lower() in added:
                other = "is in setHeaders, too"
            yield Problem(at / "removeHeaders" / index, f"{other} ({name})", "keep one of them", (at / "setHeaders",))
        removed.add(name.lower())


def _header_commands(spec: RouteSpec, at: Path, gateway: Gateway) -> Iterator[Problem]:
    """Reject values with commands of the gateway. The message has no values, which may be credentials."""
    mark = gateways.command_mark(gateway)
    facts = gateways.facts(gateway)
    if mark is None:
        return
    proxies = "proxies made from Envoy"
    if facts is not None:
        proxies = facts.title
    for name, value in spec.set_headers.items():
        if mark in value:
            what = f"has {mark!r}, with which a command for {proxies} begins"
            depends_on = Path("gateway"), at / "gateway"
            yield Problem(at / "setHeaders" / name, what, "write the value without it", depends_on)


def _timeouts(spec: RouteSpec, at: Path, gateway: Gateway) -> Iterator[Problem]:
    timeouts = spec.timeouts
    if timeouts is None:
        return
    if not httproute.takes_timeouts(gateway):
        what = "has no effect on GKE's gateway, which takes the limit from its backend policy (provider gke)"
        remedy = "remove it, and set drainTimeout to the time of the longest request"
        yield Problem(at / "timeouts", what, remedy, (Path("gateway"), at / "gateway"), explicit_only=True)
    if timeouts.request is None or timeouts.backend_request is None or not milliseconds(timeouts.request):
        return
    if milliseconds(timeouts.backend_request) > milliseconds(timeouts.request):
        what = f"is above timeouts.request ({timeouts.backend_request}, {timeouts.request})"
        yield Problem(at / "timeouts" / "backendRequest", what, "swap the two values, or raise timeouts.request")


def _mirror(variant: VariantContext, at: Path) -> Iterator[Problem]:
    mirror = variant.service.route.mirror
    if mirror is None:
        return
    services = variant.stack.services
    if mirror.service not in services:
        what = f"is no service of this stack ({mirror.service})"
        # A mistake in the defaults is reported only once if its message is the same for all services that inherit it.
        inherited = Problem(at / "mirror" / "service", what, _known_services(mirror.service, services))
        remedy = _known_services(mirror.service, services.keys() - {variant.key})
        yield Problem(at / "mirror" / "service", what, remedy, when_inherited=inherited)
    if mirror.service == variant.key:
        what = f"is the service itself ({mirror.service})"
        yield Problem(at / "mirror" / "service", what, "name another service, or remove mirror", explicit_only=True)
    target = services.get(mirror.service)
    if target is not None and target.parallelism.load_balancing == "external":
        reason = "its Service, which reaches only the first copy of the model in a pod"
        what = f"gets mirrored requests through {reason} ({mirror.service})"
        depends_on = (Path("services", mirror.service, "parallelism"),)
        yield Problem(at / "mirror" / "service", what, "name another service, or remove mirror", depends_on)
    if target is not None and edge.is_metered(target, variant.stack):
        what = f"gets mirrored requests past the interceptor, so nobody meters them ({mirror.service})"
        remedy = f"name another service, or set services.{mirror.service}.interceptor.enabled: false"
        depends_on = (Path("interceptor"), Path("services", mirror.service, "interceptor"))
        yield Problem(at / "mirror" / "service", what, remedy, depends_on)


def _known_services(name: str, services: Collection[str]) -> str:
    """Return the advice for a name that no service has: a service with a similar name, or all services."""
    for similar in difflib.get_close_matches(name, sorted(services), n=1):
        return f"did you mean {similar}?"
    return f"known: {', '.join(sorted(services))}" if services else "remove mirror"


def _rule_count(variant: VariantContext, at: Path, rules: Sequence[RouteRule]) -> Iterator[Problem]:
    """Reject more rules than an HTTPRoute may have. The spec itself limits the number of matches and hostnames."""
    canary = variant.service.canary
    if len(rules) > _MAX_RULES:
        per_path = "a rule for each rewritten path"
        if canary is not None and canary.headers:
            per_path = "two rules for each rewritten path, one of them for canary.headers"
        what = f"needs {len(rules)} rules, but a route has at most {_MAX_RULES} ({per_path})"
        yield Problem(at / "matches", what, "remove some matches", (variant.path / "canary",))


def _rewrites(variant: VariantContext) -> Iterator[Problem]:
    if not variant.service.rewrites:
        return
    served = _served_names(variant)
    seen = set[str]()
    for index, rewrite in enumerate(variant.service.rewrites):
        at = variant.path / "rewrites" / index
        if rewrite.model in seen:
            yield Problem(at / "model", f"is in an earlier entry ({rewrite.model})", "write one entry with all targets")
        seen.add(rewrite.model)
        if len({target.weight is None for target in rewrite.targets}) > 1:
            yield Problem(at / "targets", "gives weights to some targets only", "write a weight for all, or for none")
        yield from _targets(variant, rewrite, at, served)


def _targets(variant: VariantContext, rewrite: Rewrite, at: Path, served: tuple[str, ...]) -> Iterator[Problem]:
    """Check the targets of a rewrite, which are among the names that the engine serves (`_served_names`)."""
    seen = set[str]()
    for index, target in enumerate(rewrite.targets):
        target_path = at / "targets" / index / "model"
        model = target.model
        if served and model not in served:
            depends_on = (variant.path / "model", variant.path / "engine")
            what = f"is not a model of this service ({model})"
            yield Problem(target_path, what, f"write {' or '.join(served)}", depends_on)
        elif model in seen:
            yield Problem(target_path, f"is a target twice ({model})", "write it once, with the sum of the weights")
        seen.add(model)


def _served_names(variant: VariantContext) -> tuple[str, ...]:
    """Return the model names that the engine serves. Empty if only a custom image knows these names."""
    name = served_name(variant.spec.model.name, variant.spec.model.source)
    if name is None or not variant.kind.serves_name:
        return ()
    lora = variant.spec.model.lora
    if lora is None:
        return (name,)
    return (name, *lora.names)
