"""Records of the objects that a stack needs in its cluster and does not make itself."""

from dataclasses import dataclass

from planning.ground.cluster_facts import GatewayRef

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
"""Pod Security levels. Each level admits fewer pods than the previous level."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Reference from an object of the stack to another object."""

    name: str
    """Name of the other object. Empty for the default object of its kind, such as the default StorageClass."""
    namespace: str
    """Namespace of the referring object, and of the other object unless that is cluster-scoped."""
    owner: str
    """Owner of the referring object."""
    referrer: str
    """The referring object, such as `Deployment models/qwen-decode`."""


@dataclass(frozen=True, slots=True)
class PodLevel:
    """Pod Security level that the pods of an object need."""

    level: str
    """Strictest of `LEVELS` that admits the pods."""
    causes: tuple[str, ...]
    """Settings of the pods that the next stricter level does not admit."""
    namespace: str
    owner: str
    pods_of: str
    """The object that makes the pods, such as `Deployment models/qwen-decode`."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Objects of the cluster that a stack needs. Other objects are not read."""

    kinds: frozenset[str] = frozenset()
    """Kinds of the stack's objects, as `apiVersion/Kind`."""
    gateways: frozenset[GatewayRef] = frozenset()
    namespaces: frozenset[str] = frozenset()
    """Namespaces of the stack's objects, and namespaces that the stack creates."""
    created: frozenset[str] = frozenset()
    """Namespaces that the stack creates."""
    secrets: tuple[Reference, ...] = ()
    """Secrets that the stack does not make, and without which its pods do not start."""
    metered: frozenset[str] = frozenset()
    """Namespaces of Services that the interceptor finds by their labels."""
    storage_classes: tuple[Reference, ...] = ()
    priority_classes: tuple[Reference, ...] = ()
    pods: tuple[PodLevel, ...] = ()
    nodes: bool = False
    """Whether the stack has pods. If it has, the nodes of the cluster are read."""
    quotas: frozenset[str] = frozenset()
    """Namespaces of the stack's pods. Quotas of these namespaces limit the pods."""
    slices: bool = False
    """Whether pods of the stack claim devices (ResourceClaimTemplate). If they do, the cluster's ResourceSlices are
    read."""


NOTHING_NEEDED = Needs()
