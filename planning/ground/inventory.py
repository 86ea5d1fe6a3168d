"""Records of a cluster's nodes, namespaces, classes, quotas, Secrets, devices and pools.

Some of these records, such as `Nodes`, have a single field. This field has the same name as the field of `ClusterFacts`
that holds the record.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from planning.ground import labels
from planning.ground.marks import NO_MARK, Mark

SAME = "Same"
EVERY = "All"
SELECTED = "Selector"
NONE = "None"
"""Namespaces from which a listener admits routes (Gateway API, FromNamespaces)."""

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
"""Format of times in UTC."""


@dataclass(frozen=True, slots=True)
class FactsOrigin:
    """The cluster from which facts were read, and the time of the reading."""

    cluster: str | None
    """Name of the cluster in the kubeconfig; None if the kubeconfig has no name for the cluster."""
    version: str | None
    """Version of Kubernetes; None if it could not be read."""
    time: str
    """Time of the reading, in UTC, as `2026-11-22T05:00:00Z`."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of a label selector (`matchExpressions`)."""

    key: str
    operator: str
    """`In`, `NotIn`, `Exists` or `DoesNotExist`."""
    values: tuple[str, ...] = ()

    def admits(self, found: Mapping[str, str]) -> bool:
        """Tell whether labels meet the requirement."""
        value = found.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case _:
                return value is None


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener of a Gateway."""

    name: str
    port: int
    protocol: str
    hostname: str | None
    """Host of the requests that the listener takes, such as `*.example.com`; None for every host."""
    namespaces: str = SAME
    """Namespaces whose routes the listener admits: `SAME`, `EVERY`, `SELECTED` or `NONE`."""
    selector: tuple[Requirement, ...] = ()
    """Requirements that the labels of a namespace must meet if `namespaces` is `SELECTED`; otherwise empty."""
    kinds: tuple[str, ...] = ()
    """Kinds of routes that the listener admits; empty if it admits the usual kinds for its protocol."""


@dataclass(frozen=True, slots=True)
class LiveNamespace:
    """A namespace of the cluster."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    terminating: bool = False

    @property
    def level(self) -> str | None:
        """Return the enforced Pod Security level. None if no label states a level.

        A namespace without this label has the cluster's default level. Unless a cluster sets another default, the level
        is `privileged`.
        """
        return self.labels.get(labels.POD_SECURITY_LEVEL)


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Namespaces of the cluster, by name. Namespaces that the reader was not asked for are missing."""

    namespaces: Mapping[str, LiveNamespace]


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secrets of the cluster. Secrets that the reader was not asked for are missing."""

    secrets: tuple[tuple[str, str], ...]
    """Namespace and name of each Secret. The values of Secrets are never read."""


@dataclass(frozen=True, slots=True)
class StorageClasses:
    """The StorageClasses by name."""

    storage_classes: Mapping[str, bool]
    """Whether the class is the default."""


@dataclass(frozen=True, slots=True)
class PriorityClasses:
    """The PriorityClasses by name."""

    priority_classes: Mapping[str, bool]
    """Whether the class is the default."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class LiveNode:
    """A node of the cluster."""

    name: str
    labels: Mapping[str, str]
    ready: bool
    cordoned: bool
    taints: tuple[Taint, ...]
    devices: Mapping[str, int]
    """Number of devices that the node can give to pods, by extended resource (`status.allocatable`)."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of the cluster."""

    nodes: tuple[LiveNode, ...]


@dataclass(frozen=True, slots=True)
class Requested:
    """Devices that the pods of each node have requested."""

    requested: Mapping[str, Mapping[str, int]]
    """Number by node and extended resource. Pods that have ended are not counted."""


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota."""

    namespace: str
    name: str
    hard: Mapping[str, str]
    used: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Quotas:
    """The ResourceQuotas of the cluster."""

    quotas: tuple[Quota, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """Devices of one driver and pool (ResourceSlice)."""

    driver: str
    pool: str
    node: str | None
    """Name of the node; None for devices of several nodes."""
    devices: int
    """Number of devices."""


@dataclass(frozen=True, slots=True)
class Slices:
    """The ResourceSlices of the cluster."""

    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class MeteredService:
    """A Service with the label `labels.RESOURCE_ID`. The interceptor may ignore the Service: see `is_found`."""

    namespace: str
    name: str
    resource_id: str
    service_type: str | None = None
    """Value of the label `labels.SERVICE_TYPE`; None if the Service does not have this label."""
    key: str | None = None
    """Key of the service in the configuration; None if the Service lacks the annotation `labels.SERVICE_KEY`."""
    mark: Mark = NO_MARK
    """The stack that the Service belongs to."""

    @property
    def is_found(self) -> bool:
        """Tell whether the interceptor finds the Service by its resource id: whether the Service has the right type."""
        return self.service_type == labels.routing_contract(self.resource_id)[labels.SERVICE_TYPE]


@dataclass(frozen=True, slots=True)
class Metered:
    """The Services with a resource id."""

    metered: tuple[MeteredService, ...]


@dataclass(frozen=True, slots=True)
class LivePool:
    """An InferencePool of the cluster, with the verdict of gateway controllers."""

    namespace: str
    name: str
    selector: Mapping[str, str]
    accepted: bool | None
    """Whether every controller that reports accepts the pool and the pool's picker; None if no controller reports."""
    reason: str = ""
    """Reason of a controller that rejects the pool or the pool's picker; empty if no controller rejects them."""


@dataclass(frozen=True, slots=True)
class LivePools:
    """The InferencePools of the cluster."""

    live_pools: tuple[LivePool, ...]
