"""Records of planned routing: the HTTPRoute of a service, and the objectives and aliases of a pool."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from models.paths import Path
from planning.ground.cluster_facts import LiveRouteMatch, ParentRef

EVERY_HOST = "*"
"""Host of a claim without hostnames."""


@dataclass(frozen=True, slots=True)
class Parent:
    """Parent of a route (Gateway API ParentReference), with the provider that implements the gateway."""

    group: str
    kind: str
    name: str
    namespace: str
    section_name: str | None
    """Name of a single listener. None for all listeners."""
    port: int | None
    """Port of the listeners. None for listeners on any port."""
    provider: str


@dataclass(frozen=True, slots=True)
class Match:
    """Requests that have a path prefix and all of the headers."""

    path: str
    """Path prefix in whole segments; `/` matches every path."""
    headers: Mapping[str, str]
    """Exact values by header name. Names are as the user wrote them, and match without regard to case."""
    at: Path
    """Path in the configuration, such as `services.qwen.route.matches[0]`."""


@dataclass(frozen=True, slots=True)
class RouteBackend:
    """An InferencePool or a Service, and its weight relative to the other backends of the rule."""

    name: str
    weight: int
    port: int | None = None
    """Port of the Service. None for an InferencePool."""
    namespace: str | None = None
    """Namespace of the Service. None for the namespace of the route."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """Service that receives copies of another service's requests. The responses to the copies are discarded."""

    key: str
    """Key of the service that receives the copies."""
    name: str
    namespace: str
    percent: int


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Maximum durations of a request, as the user wrote them. None for the gateway's default."""

    request: str | None
    backend_request: str | None


@dataclass(frozen=True, slots=True)
class RouteRule:
    """Rule of a route: the requests that have the same backends and the same rewrite."""

    matches: tuple[Match, ...]
    """A request has to meet at least one of these matches."""
    backends: tuple[RouteBackend, ...]
    prefix: str | None
    """Replacement of the path prefix. None if the path stays as it is."""
    set_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers that this rule sets, besides the headers that the route sets."""


@dataclass(frozen=True, slots=True)
class ModelNames:
    """Names that clients may write as the model into requests to a service. Payload processors need these names."""

    base: str
    """Name of the base model. Payload processors write this name into a header."""
    others: tuple[str, ...]
    """Names for which payload processors also write `base` into the header: adapters and aliases, sorted."""
    header: str
    """Name of the header."""


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """The requests that one match of a route claims, on the hosts and listeners of the route."""

    at: Path
    """Path of the match in the configuration, or the name of a route from the cluster."""
    holder: Path
    """Path of the service that claims the requests, or the name of a route from the cluster."""
    parents: tuple[ParentRef, ...]
    hostnames: tuple[str, ...]
    """Hosts of the requests; empty for every host."""
    match: LiveRouteMatch

    def parents_and_hosts(self) -> Iterator[tuple[ParentRef, str]]:
        """Yield the listeners and hosts of the claim."""
        return product(self.parents, self.hostnames or (EVERY_HOST,))

    @property
    def header_names(self) -> tuple[str, ...]:
        """Return the names of the headers that the claim requires."""
        return tuple(name for _, name, _ in self.match.headers)


@dataclass(frozen=True, slots=True)
class PlannedRoute:
    """HTTPRoute of a service."""

    key: str
    """Key of the service."""
    namespace: str
    name: str
    parent: Parent
    gateway_at: Path
    """Path in the configuration of the key that sets the Gateway."""
    hostnames: tuple[str, ...]
    """Hosts of the route. Empty for every host of the listener."""
    matches: tuple[Match, ...]
    """Matches from the configuration, without the headers of the canary."""
    rules: tuple[RouteRule, ...]
    """Rules for the matches, and for the matches with the canary's headers. Of rules that match equally well, the first
    applies."""
    annotations: Mapping[str, str]
    """Annotations of the route. They take precedence over the annotations of all objects of the service."""
    set_headers: Mapping[str, str]
    remove_headers: tuple[str, ...]
    mirror: Mirror | None
    timeouts: TimeLimits | None
    model_names: ModelNames | None = None
    """Names for payload processors. None if no match of the route has a model."""
    claims: tuple[RequestClaim, ...] = ()
    """Requests that the route claims; see `planning.routes.request_claims`."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the distinct path prefixes, sorted."""
        return tuple(sorted({match.path for match in self.matches}))


@dataclass(frozen=True, slots=True)
class PoolObjective:
    """Priority that a request gets by naming the objective."""

    key: str
    """Name in the configuration."""
    name: str
    """Name of the object. Clients send this name."""
    priority: int


@dataclass(frozen=True, slots=True)
class Alias:
    """Model name that the picker replaces by the name of a model in its pool."""

    model: str
    """Name that clients send."""
    targets: Mapping[str, int | None]
    """Relative weight of each model that replaces the alias, by the model's name; None for all models if their shares
    are equal."""


@dataclass(frozen=True, slots=True)
class PoolRequests:
    """Objectives and aliases that the endpoint picker of a pool applies to requests."""

    api_version: str
    """apiVersion of the InferenceObjective and InferenceModelRewrite objects."""
    objectives: tuple[PoolObjective, ...]
    aliases: tuple[Alias, ...]
