"""Cluster facts: records of the target cluster, made by the readers in `facts/`.

A failed read is `Unknown`, never an empty record. Other records, such as those of nodes and namespaces, are in
`planning.ground.inventory`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planning.ground.inventory import (
    FactsOrigin,
    Listener,
    LivePools,
    Metered,
    Namespaces,
    Nodes,
    PriorityClasses,
    Quotas,
    Requested,
    Secrets,
    Slices,
    StorageClasses,
)
from planning.ground.marks import NO_MARK, Mark


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that was not read, or could not be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Served:
    """The kinds that the API server serves, as `apiVersion/Kind`."""

    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, order=True)
class GatewayRef:
    """Reference to the parent of a route: a Gateway, or an object of another kind."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ParentRef:
    """The Gateway that a route attaches to, with the selected listeners."""

    gateway: GatewayRef
    section_name: str | None
    """Name of a listener; None for all listeners."""
    port: int | None
    """Port of the listeners; None for any port."""


@dataclass(frozen=True, slots=True)
class LiveRouteMatch:
    """Conditions of a match of a route. A request must meet all of them."""

    type: str
    """`PathPrefix`, `Exact` or `RegularExpression`."""
    path: str
    headers: tuple[tuple[str, str, str], ...] = ()
    """Match type, name and value of each header."""
    more: tuple[str, ...] = ()
    """All other conditions, such as a method or query parameters, as JSON."""


@dataclass(frozen=True, slots=True)
class LiveRoute:
    """An HTTPRoute of the cluster."""

    namespace: str
    name: str
    parents: tuple[ParentRef, ...]
    hostnames: tuple[str, ...]
    """Hosts of the route; empty for every host."""
    matches: tuple[LiveRouteMatch, ...]
    mark: Mark = NO_MARK
    """The stack that the route belongs to, as its labels and annotations say."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The HTTPRoutes of all namespaces of the cluster."""

    routes: tuple[LiveRoute, ...]


@dataclass(frozen=True, slots=True)
class LiveGateway:
    """A Gateway of the cluster."""

    ref: GatewayRef
    accepted: bool
    """Whether a controller has accepted the Gateway (condition Accepted)."""
    programmed: bool
    """Whether the Gateway's configuration is in effect (condition Programmed)."""
    reason: str = ""
    """The controller's reason if one of the conditions is not met."""
    listeners: tuple[Listener, ...] = ()
    """Listeners. Empty only if they are unknown, because the API server requires at least one listener."""


@dataclass(frozen=True, slots=True)
class Gateways:
    """Gateways of the cluster: all, or only those that the routes of a stack name. Missing Gateways are left out."""

    gateways: tuple[LiveGateway, ...]


@dataclass(frozen=True, slots=True)
class OfferedMetrics:
    """The metrics that the cluster offers to HorizontalPodAutoscalers (custom.metrics.k8s.io)."""

    metrics: tuple[str, ...]
    """Metrics as `resource/name`, such as `pods/vllm_num_requests_waiting`."""


@dataclass(frozen=True, slots=True)
class Bundles:
    """Versions of the bundles that custom resource definitions come from."""

    bundles: Mapping[str, str]
    """Version by name of the definition. Definitions that do not exist or state no version are left out."""


_NOT_ASKED = Unknown("it was not asked for")


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Facts of one cluster at one time."""

    apis: Served | Unknown
    gateways: Gateways | Unknown = _NOT_ASKED
    routes: Routes | Unknown = _NOT_ASKED
    metrics: OfferedMetrics | Unknown = _NOT_ASKED
    bundles: Bundles | Unknown = _NOT_ASKED
    namespaces: Namespaces | Unknown = _NOT_ASKED
    secrets: Secrets | Unknown = _NOT_ASKED
    storage_classes: StorageClasses | Unknown = _NOT_ASKED
    priority_classes: PriorityClasses | Unknown = _NOT_ASKED
    nodes: Nodes | Unknown = _NOT_ASKED
    requested: Requested | Unknown = _NOT_ASKED
    quotas: Quotas | Unknown = _NOT_ASKED
    slices: Slices | Unknown = _NOT_ASKED
    metered: Metered | Unknown = _NOT_ASKED
    live_pools: LivePools | Unknown = _NOT_ASKED
    origin: FactsOrigin | None = None
    """Cluster and time of facts from a file; None for facts that were just read."""
    read_version: str | None = None
    """Version of Kubernetes that was just read; None if it was not asked for, could not be read, or is in `origin`."""

    @property
    def version(self) -> str | None:
        """Return the version of Kubernetes, such as `v1.36.3`; None if it is unknown."""
        if self.origin is not None:
            return self.origin.version
        return self.read_version

    def digest(self, needed: Iterable[str], awaited: Iterable[GatewayRef] = ()) -> str | None:
        """Return a SHA-256 of the facts that a stack depends on, or None if the served kinds are unknown.

        The digest covers whether the API server serves each kind in `needed`, and which Gateways are in `awaited`. A
        run waits until these Gateways have accepted the stack's routes. Other kinds are left out, so that an unrelated
        CRD does not change the digest.
        """
        if isinstance(self.apis, Unknown):
            return None
        facts: dict[str, bool] = {kind: kind in self.apis.kinds for kind in sorted(set(needed))}
        facts |= {f"{gateway.group}/{gateway.kind} {gateway}": True for gateway in awaited}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Pools:
    """The InferencePools of the cluster."""

    selectors: Mapping[tuple[str, str], Mapping[str, str]]
    """Pod selector of each pool, by namespace and name."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """Rights of the user of a run, as rules."""

    rules: Mapping[str, tuple[Mapping[str, Any], ...]]
    """Rules in the form of a Role, by namespace. The key of rules for the whole cluster is an empty text."""
    is_complete: bool = True
    """Whether the rules are complete. If false, rules of an authorizer outside of the API server are missing."""


IDENTITY = "kube-system"
"""Namespace whose UID identifies a cluster. Every cluster has this namespace from its start, and nobody can delete it.
The UID is the usual identity of a cluster, such as the attribute k8s.cluster.uid of OpenTelemetry."""

Place = tuple[str, str, str, str]
"""API group, kind, namespace and name, by which a cluster identifies an object."""


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """The fields of an object that one writer set last."""

    name: str
    """The writer's field manager, such as `kubectl-edit`."""
    time: str
    fields: Mapping[str, Any]
    """Tree of the fields in the format of the API server (FieldsV1).

    Its keys are `f:` with the name of a field, or `k:` with the keys of a list item. A field that is set as a whole has
    an empty tree.
    """


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object of the cluster."""

    content: Mapping[str, Any]
    others: tuple[FieldOwner, ...] = ()
    """Owners of the object's fields, except Pulumi."""
    ours: tuple[Mapping[str, Any], ...] = ()
    """Trees of the fields that Pulumi set, in the form of `FieldOwner.fields`."""

    def writer(self, *path: str) -> str | None:
        """Return the field manager that set a field last; None if Pulumi set it last, or if nobody owns the field."""
        return next((owner.name for owner in self.others if _has(owner.fields, path)), None)


def _has(fields: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    for name in path:
        if f"f:{name}" not in fields:
            return False
        fields = fields[f"f:{name}"]
    return True


@dataclass(frozen=True, slots=True)
class LiveObjects:
    """Objects of the cluster that this program made, and marks of all objects with the name of a planned object."""

    objects: Mapping[Place, LiveObject]
    refused: tuple[str, ...] = ()
    """Kinds (`apiVersion/Kind`) of objects that the API server did not let the run read."""
    marks: Mapping[Place, Mark] = field(default_factory=dict[Place, Mark])
    """Marks of the objects that have the name of an object of the stack."""
    unchecked: tuple[str, ...] = ()
    """Kinds (`apiVersion/Kind`) of objects whose marks the API server did not let the run read."""
    listed: frozenset[tuple[str, str, str]] = frozenset()
    """API group, kind and namespace of the lists from which `objects` were read."""
    cluster: str | None = None
    """UID of the namespace kube-system, which identifies the cluster; None if the API server did not let the run read
    it."""


PARTS: Mapping[str, type] = {
    "gateways": Gateways,
    "routes": Routes,
    "metrics": OfferedMetrics,
    "bundles": Bundles,
    "namespaces": Namespaces,
    "secrets": Secrets,
    "storage_classes": StorageClasses,
    "priority_classes": PriorityClasses,
    "nodes": Nodes,
    "requested": Requested,
    "quotas": Quotas,
    "slices": Slices,
    "metered": Metered,
    "live_pools": LivePools,
}
"""Types of the fields of `ClusterFacts` by name, except `apis`, `origin` and `read_version`.

Files with facts use the same names.
"""


def unread(reason: Unknown) -> ClusterFacts:
    """Return facts that are all unknown for the same reason."""
    parts: dict[str, Any] = dict.fromkeys(PARTS, reason)
    return ClusterFacts(reason, **parts)


NOTHING_READ = unread(Unknown("cluster.facts is none"))
"""The facts of a stack whose `cluster.facts` is `none`."""
