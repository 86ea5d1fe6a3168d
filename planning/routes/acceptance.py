"""Decision on the routes that a run waits for: the routes of the Gateways that a controller has accepted.

Without a controller, a route never gets a status. A run that waits for this route would fail only after the timeout.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from models.paths import Path
from models.problems import Problem, gap, warning
from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.awaiting import CURRENT, Wait
from planning.ground.cluster_facts import GatewayRef, Gateways, LiveGateway, Unknown
from planning.routes.records import PlannedRoute
from planning.routes.request_claims import reference

ACCEPTED_SECONDS = 300
"""Seconds to wait for acceptance. Cloud load balancers take minutes; controllers in the cluster take seconds."""
_CONDITIONS = ("Accepted", "ResolvedRefs")
"""Conditions of a route: the Gateway accepts the route; the route's backends exist."""
_KIND = "Gateway"
_MAX_NAMES = 3
"""Maximum number of services that a warning names. Of the remaining services, the warning states only the number."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Routes that a run waits for, and warnings about the other routes."""

    routes: frozenset[str]
    """Keys of the services whose routes the run waits for."""
    gateways: tuple[GatewayRef, ...]
    """Gateways of these routes."""
    warnings: tuple[Problem, ...]


def gateways(routes: Iterable[PlannedRoute]) -> frozenset[GatewayRef]:
    """Return the gateways that the routes attach to."""
    return frozenset(reference(route).gateway for route in routes)


def decide(routes: Iterable[PlannedRoute], live: Gateways | Unknown, locked: Collection[str] | None = None) -> Waits:
    """Select the routes to wait for: the routes of Gateways that a controller is known to have accepted.

    A route of any other Gateway gets a warning.

    `locked` are the accepted Gateways of a lock, as namespace/name. They replace the accepted Gateways of the cluster,
    so that the decision does not depend on what the user who starts the run may read.
    """
    keys = dict[GatewayRef, list[str]]()
    for route in routes:
        keys.setdefault(reference(route).gateway, []).append(route.key)
    live_gateways = dict[GatewayRef, LiveGateway]()
    if not isinstance(live, Unknown):
        live_gateways = {gateway.ref: gateway for gateway in live.gateways}
    accepted = {ref for ref in keys if ref in live_gateways and live_gateways[ref].accepted}
    accepting = tuple(sorted(accepted))
    if locked is not None:
        accepting = tuple(sorted(ref for ref in keys if is_gateway(ref) and str(ref) in locked))
    awaited_keys = frozenset(key for ref in accepting for key in keys[ref])
    if locked is not None and isinstance(live, Unknown):
        return Waits(awaited_keys, accepting, ())
    warnings = chain.from_iterable(
        _gateway_warnings(ref, _service_list(keys[ref]), live, live_gateways.get(ref)) for ref in sorted(keys)
    )
    since = list[Problem]()
    if locked is not None:
        since += map(_since_lock, sorted(accepted - {*accepting}))
    return Waits(awaited_keys, accepting, (*warnings, *since))


def is_gateway(ref: GatewayRef) -> bool:
    """Tell whether a reference is to a Gateway, and not to another kind of parent."""
    return (ref.group, ref.kind) == (GATEWAY_GROUP, _KIND)


def _since_lock(ref: GatewayRef) -> Problem:
    """Return the warning about a Gateway that was accepted after the lock was written."""
    what = "a controller has accepted this Gateway since the lock was written, but no run waits for its routes"
    return warning(Path(str(ref)), what, "run `python -m cli lock` with --update cluster")


def wait(route: PlannedRoute) -> Wait:
    """Return the wait for a route: until its Gateway accepts the current `metadata.generation` of the route.

    The first condition only improves the error message: every accepted route meets this condition, too. If the gateway
    refuses the route, the JSONPath selects a condition of the route with status False. The provider prints this
    condition in full, with the reason of the refusal. Parentheses group terms in pairs, because the provider's parser
    rejects three terms in a row.
    """
    parent = f".status.parents[?(@.parentRef.name=='{route.parent.name}')]"
    refusals = ", ".join(f"?@.type=='{name}' && (@.status=='False' && {CURRENT})" for name in _CONDITIONS)
    conditions = (
        f"jsonpath={{{parent}..[{refusals}, ?@=='True']}}=True",
        *(f"jsonpath={{{parent}.conditions[?(@.type=='{name}' && {CURRENT})].status}}=True" for name in _CONDITIONS),
    )
    return Wait(ACCEPTED_SECONDS, conditions)


def _gateway_warnings(
    ref: GatewayRef, services: str, live: Gateways | Unknown, gateway: LiveGateway | None
) -> Iterator[Problem]:
    at = Path(str(ref))
    if isinstance(live, Unknown):
        yield gap(at, f"acceptance of the routes of {services}", live.reason)
    elif gateway is None and ref.kind != _KIND:
        yield gap(at, f"acceptance of the routes of {services}", f"the parent is not a Gateway ({ref.kind})")
    elif gateway is None:
        yield warning(at, f"there is no such Gateway, so nobody will accept the routes of {services}")
    elif not gateway.accepted:
        what = f"no controller has accepted this Gateway{_reason(gateway)}, so nobody will accept the routes of"
        yield warning(at, f"{what} {services}")
    elif not gateway.programmed:
        yield warning(at, f"this Gateway is not in effect yet{_reason(gateway)}, nor are the routes of {services}")


def _reason(gateway: LiveGateway) -> str:
    if not gateway.reason:
        return ""
    return f" ({gateway.reason})"


def _service_list(keys: list[str]) -> str:
    names = ", ".join(f"services.{key}" for key in sorted(keys)[:_MAX_NAMES])
    more = len(keys) - _MAX_NAMES
    if more > 0:
        return f"{names} and {more} more"
    return names
