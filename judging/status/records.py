"""Records of a status: findings about objects, components of a service, and the status of the service itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from judging.status import states
from judging.status.states import Level, State
from models.printable import printable
from models.trees import mapping, sequence
from planning.ground.snapshot import Manifest


class Link(StrEnum):
    """A link of the chain from the client to the pods, in this order."""

    GATEWAY = "gateway"
    ROUTE = "route"
    INTERCEPTOR = "interceptor"
    POOL = "pool"
    PICKER = "picker"
    SCALING = "scaling"
    WORKLOAD = "workload"
    CLAIM = "claim"


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """Reference to an object of the cluster."""

    kind: str
    namespace: str
    """Namespace; empty for a cluster-scoped object."""
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}".replace(" /", " ")

    @classmethod
    def of(cls, manifest: Manifest, kind: str) -> "ObjectRef":
        """Return the reference to an object of a kind, such as `Pod`. Items of lists do not have their kind."""
        metadata = mapping(manifest.get("metadata"))
        return cls(kind, str(metadata.get("namespace", "")), str(metadata.get("name", "")))


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of an object, or of several objects that are in it for the same reason."""

    state: State
    object: ObjectRef
    """The object, or one of the objects: the first by name."""
    since: datetime | None = None
    """Time since when the object has been in this state; None if the API server does not tell."""
    values: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Values of the fields in the state's words and remedy."""
    count: int = 1
    """Number of objects."""
    role: str = ""
    """Role of the pods to which the object belongs: `decode` or `prefill`; empty if it belongs to no role."""

    @property
    def level(self) -> Level:
        """Return the meaning of the state for the object's task."""
        return self.state.level

    @property
    def words(self) -> str:
        """Return the mistake, as a predicate without the object's name."""
        return printable(self.state.words.format_map(self.values))

    @property
    def steady_words(self) -> str:
        """The same words, without a duration that grows from reading to reading."""
        return printable((self.state.steady or self.state.words).format_map(self.values))

    @property
    def remedy(self) -> str:
        """Return the advice; empty if there is nothing to do but to wait."""
        return printable(self.state.remedy.format_map(self.values))


def finding(
    state: str, at: ObjectRef, since: datetime | None = None, *, count: int = 1, role: str = "", **values: object
) -> Finding:
    """Return a finding of the state with this id. `values` are the fields of the state's words and remedy."""
    texts = {name: str(value) for name, value in values.items()}
    return Finding(states.by_id()[state], at, since, texts, count, role)


@dataclass(frozen=True, slots=True)
class ServiceLink:
    """A link of one variant of a service, and the states of its objects."""

    link: Link
    object: ObjectRef
    """The link's main object, such as the Deployment of a role. It need not exist."""
    findings: tuple[Finding, ...] = ()
    is_broken: bool | None = False
    """Whether no request gets past this link. None if it cannot be told, because a read failed."""
    variant: str = ""
    """`primary` or `canary`; empty for the links that all variants share."""
    role: str = ""
    """`decode` or `prefill`; empty for other links than `Link.WORKLOAD` and `Link.SCALING`."""
    ready: int | None = None
    """Number of ready replicas; None for links without replicas."""
    desired: int | None = None
    note: str = ""
    """Text about a link in order, such as its address."""

    @property
    def level(self) -> Level:
        """Return the worst level of the findings.

        The level of a link that requests get past is at most degraded. That of another link is normal while, for
        example, its pods start.
        """
        worst = max((finding.level for finding in self.findings), default=None, key=list(Level).index)
        if worst is None:
            return Level.BROKEN if self.is_broken else Level.NORMAL
        if worst is Level.BROKEN and self.is_broken is False:
            return Level.DEGRADED
        return worst


def time(text: object) -> datetime | None:
    """Return a time as the API server writes it, in UTC, to the second or finer; None for anything else.

    A time that UTC has in no year from 1 to 9999 is none.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def condition(manifest: Manifest, name: str) -> Mapping[str, Any]:
    """Return the condition with this type in an object's status; empty if there is none."""
    return conditions(manifest.get("status")).get(name, {})


def conditions(status: object) -> Mapping[str, Mapping[str, Any]]:
    """Return the conditions of a status, or of a part of one, by type. The first of a type counts."""
    entries = map(mapping, sequence(mapping(status).get("conditions")))
    return {str(entry.get("type")): entry for entry in reversed([*entries])}
