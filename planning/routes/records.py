"""The HTTPRoute of a service, as it is decided."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.paths import Path


@dataclass(frozen=True, slots=True)
class Parent:
    """What a route attaches to (Gateway API ParentReference), and who implements it."""

    group: str
    kind: str
    name: str
    namespace: str
    section_name: str | None
    """The one listener that is meant; absent: all of them."""
    port: int | None
    """The port of the listeners that are meant; absent: all of them."""
    provider: str


@dataclass(frozen=True, slots=True)
class Match:
    """Requests that have a path prefix and all of some headers."""

    path: str
    """The prefix, by whole segments; `/` is every path."""
    headers: Mapping[str, str]
    """Exact values by name as it is written; capitals of names make no difference."""
    at: Path
    """Where it stands in the configuration: `services.qwen.route.matches[0]`."""


@dataclass(frozen=True, slots=True)
class Backend:
    """An InferencePool and its share of the requests."""

    pool: str
    weight: int


@dataclass(frozen=True, slots=True)
class Mirror:
    """The Service that gets copies of requests; its answers are thrown away."""

    key: str
    """Of the service."""
    name: str
    namespace: str
    percent: int


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a request may take; absent: as long as the gateway lets it."""

    request: str | None
    backend_request: str | None


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests that are treated alike."""

    matches: tuple[Match, ...]
    """Any one of them."""
    backends: tuple[Backend, ...]
    prefix: str | None
    """What takes the place of the path prefix; absent: the path stays as it is."""


@dataclass(frozen=True, slots=True)
class Route:
    """The HTTPRoute of one service."""

    key: str
    """Of the service."""
    namespace: str
    name: str
    parent: Parent
    hostnames: tuple[str, ...]
    """Absent: every host of the listener."""
    matches: tuple[Match, ...]
    """What is the service's own, as it is written: without the headers of its canary."""
    rules: tuple[Rule, ...]
    """What the matches become; of rules that match equally well, the first is taken."""
    annotations: Mapping[str, str]
    """Over those of all the service's objects."""
    set_headers: Mapping[str, str]
    remove_headers: tuple[str, ...]
    mirror: Mirror | None
    timeouts: Timeouts | None

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the path prefixes, each once, sorted."""
        return tuple(sorted({match.path for match in self.matches}))


@dataclass(frozen=True, slots=True)
class Objective:
    """A priority that requests ask for by name."""

    key: str
    """As the user calls it."""
    name: str
    """The object's, which clients send."""
    priority: int


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of models that a pool serves."""

    model: str
    """The name that clients send."""
    targets: Mapping[str, int | None]
    """Who answers, and its share in proportion to the others'; absent for all: they share alike."""


@dataclass(frozen=True, slots=True)
class PoolRequests:
    """What the endpoint picker of a pool makes of requests."""

    api_version: str
    """Of the objects that tell it."""
    objectives: tuple[Objective, ...]
    aliases: tuple[Alias, ...]
