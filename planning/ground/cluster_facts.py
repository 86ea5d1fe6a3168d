"""What is known of the target cluster. Readers in `facts/` make it; a failed read is `Unknown`, never "empty"."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that could not be read, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Served:
    """The kinds that the API server serves, as `apiVersion/Kind`."""

    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, order=True)
class GatewayRef:
    """A Gateway, or what stands for one."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ParentRef:
    """What a route attaches to."""

    gateway: GatewayRef
    section_name: str | None
    """The one listener that is meant; absent: all of them."""
    port: int | None
    """The port of the listeners that are meant; absent: all of them."""


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """What a request has to have, as the Gateway API says it."""

    type: str
    """`PathPrefix`, `Exact` or `RegularExpression`."""
    path: str
    headers: tuple[tuple[str, str, str], ...] = ()
    """Type, name and value of each."""
    more: tuple[str, ...] = ()
    """Whatever else it has to have, as JSON: a method, query parameters."""


@dataclass(frozen=True, slots=True)
class LiveRoute:
    """An HTTPRoute that is there."""

    namespace: str
    name: str
    part_of: str | None
    """Its label `app.kubernetes.io/part-of`."""
    parents: tuple[ParentRef, ...]
    hostnames: tuple[str, ...]
    """Without any: every host."""
    matches: tuple[RouteMatch, ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """The HTTPRoutes that are there, of all namespaces."""

    routes: tuple[LiveRoute, ...]


@dataclass(frozen=True, slots=True)
class LiveGateway:
    """A Gateway that is there."""

    ref: GatewayRef
    accepted: bool
    """Whether a controller has taken it on (condition Accepted)."""
    programmed: bool
    """Whether what it says is in effect (condition Programmed)."""
    reason: str = ""
    """What its controller says against it."""


@dataclass(frozen=True, slots=True)
class Gateways:
    """The Gateways that are there, of those that were asked for."""

    gateways: tuple[LiveGateway, ...]


_NOT_ASKED = Unknown("it was not asked for")


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Facts of one cluster at one time."""

    apis: Served | Unknown
    gateways: Gateways | Unknown = _NOT_ASKED
    routes: Routes | Unknown = _NOT_ASKED

    def digest(self, needed: Iterable[str], awaited: Iterable[GatewayRef] = ()) -> str | None:
        """Return a SHA-256 over the facts that decide about this stack, or nothing where its kinds are not known.

        Kinds that the stack does not need stay out, so that somebody else's CRD does not change the digest. Of the
        Gateways, those count whose routes are awaited.
        """
        if isinstance(self.apis, Unknown):
            return None
        known: dict[str, bool] = {kind: kind in self.apis.kinds for kind in sorted(set(needed))}
        known |= {f"{one.group}/{one.kind} {one}": True for one in awaited}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Pools:
    """The InferencePools that are there."""

    selectors: Mapping[tuple[str, str], Mapping[str, str]]
    """The labels that each selects pods by; by namespace and name."""


_NOT_READ = Unknown("cluster.facts is none")
NOTHING_READ = ClusterFacts(_NOT_READ, _NOT_READ, _NOT_READ)
