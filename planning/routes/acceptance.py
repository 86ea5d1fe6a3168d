"""Which routes a deployment run waits for: those of a Gateway whose controller will accept or refuse them.

Without a controller a route's status never comes, and a wait for it would only fail late.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from models.paths import Path
from models.problems import Problem, warning
from planning.ground.awaiting import CURRENT, Wait
from planning.ground.cluster_facts import GatewayRef, Gateways, LiveGateway, Unknown
from planning.routes.collisions import reference
from planning.routes.records import Route

ACCEPTED_SECONDS = 300
"""Cloud load balancers take minutes to take a route on; controllers in the cluster seconds."""
_TYPES = ("Accepted", "ResolvedRefs")
"""The conditions of a route that say that its Gateway takes it on, and that all that it leads to is found."""
_KIND = "Gateway"
_NAMED = 3
"""Services that a warning names before it counts the others."""


@dataclass(frozen=True, slots=True)
class Waits:
    """The routes that are awaited, and what a preview says of the others."""

    routes: frozenset[str]
    """By the key of their service."""
    gateways: tuple[GatewayRef, ...]
    """Whose controllers accept them."""
    warnings: tuple[Problem, ...]


def gateways(routes: Iterable[Route]) -> frozenset[GatewayRef]:
    """Return what the routes attach to."""
    return frozenset(reference(route).gateway for route in routes)


def decide(routes: Iterable[Route], live: Gateways | Unknown) -> Waits:
    """Say which routes are awaited; what is not known to have a controller is not, and is a warning."""
    attached = dict[GatewayRef, list[str]]()
    for route in routes:
        attached.setdefault(reference(route).gateway, []).append(route.key)
    known = {} if isinstance(live, Unknown) else {one.ref: one for one in live.gateways}
    accepting = tuple(sorted(ref for ref in attached if ref in known and known[ref].accepted))
    awaited = frozenset(key for ref in accepting for key in attached[ref])
    said = (one for ref in sorted(attached) for one in _said(ref, _services(attached[ref]), live, known.get(ref)))
    return Waits(awaited, accepting, tuple(said))


def wait(route: Route) -> Wait:
    """Return when an awaited route is done: when its Gateway says of this very generation that it takes it on.

    The first condition is for the message alone: the provider reports what it found where a scalar was expected, so it
    selects a refusal whole, with its reason, before anything else. Parentheses pair what is joined, because the
    provider's parser takes no three terms in a row.
    """
    parent = f".status.parents[?(@.parentRef.name=='{route.parent.name}')]"
    refusals = ", ".join(f"?@.type=='{name}' && (@.status=='False' && {CURRENT})" for name in _TYPES)
    conditions = (
        f"jsonpath={{{parent}..[{refusals}, ?@=='True']}}=True",
        *(f"jsonpath={{{parent}.conditions[?(@.type=='{name}' && {CURRENT})].status}}=True" for name in _TYPES),
    )
    return Wait(ACCEPTED_SECONDS, conditions)


def _said(ref: GatewayRef, services: str, live: Gateways | Unknown, found: LiveGateway | None) -> Iterator[Problem]:
    at = Path(str(ref))
    if isinstance(live, Unknown):
        yield warning(at, f"whether anybody accepts the routes of {services} went unchecked: {live.reason}")
    elif found is None and ref.kind != _KIND:
        yield warning(at, f"whether anybody accepts the routes of {services} went unchecked: it is of kind {ref.kind}")
    elif found is None:
        yield warning(at, f"there is no such Gateway, so nobody will accept the routes of {services}")
    elif not found.accepted:
        why = f" ({found.reason})" if found.reason else ""
        yield warning(
            at, f"no controller has accepted this Gateway{why}, so nobody will accept the routes of {services}"
        )
    elif not found.programmed:
        why = f" ({found.reason})" if found.reason else ""
        yield warning(at, f"this Gateway is not in effect yet{why}, nor are the routes of {services}")


def _services(keys: list[str]) -> str:
    named = ", ".join(f"services.{key}" for key in sorted(keys)[:_NAMED])
    more = len(keys) - _NAMED
    return f"{named} and {more} more" if more > 0 else named
