"""Record of what a stack refers to in its cluster and does not make itself."""

from dataclasses import dataclass

from planning.ground.cluster_facts import GatewayRef

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
"""Pod Security levels. Each admits less than the one before it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Name of an object that an object of the stack refers to."""

    name: str
    """Name of the object. Empty for the default of its kind."""
    namespace: str
    """Namespace of the object, and of the one that refers to it."""
    owner: str
    """Owner of the object that refers to it."""
    referrer: str
    """The object that refers to it, such as `Deployment models/qwen-decode`."""


@dataclass(frozen=True, slots=True)
class PodLevel:
    """Pod Security level that the pods of an object need."""

    level: str
    """Strictest of `LEVELS` that admits the pods."""
    causes: tuple[str, ...]
    """Parts of the pods that the next stricter level does not admit."""
    namespace: str
    owner: str
    pods_of: str
    """The object whose pods they are, such as `Deployment models/qwen-decode`."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Objects of the cluster that a stack needs. Nothing else is read."""

    kinds: frozenset[str] = frozenset()
    """Kinds of its objects, as `apiVersion/Kind`."""
    gateways: frozenset[GatewayRef] = frozenset()
    namespaces: frozenset[str] = frozenset()
    """Namespaces of its objects, and those that it creates."""
    created: frozenset[str] = frozenset()
    """Namespaces that it creates."""
    secrets: tuple[Reference, ...] = ()
    """Secrets without which pods do not start."""
    metered: frozenset[str] = frozenset()
    """Namespaces of Services that the interceptor finds by their labels."""
    storage_classes: tuple[Reference, ...] = ()
    priority_classes: tuple[Reference, ...] = ()
    pods: tuple[PodLevel, ...] = ()
    nodes: bool = False
    """Whether it has pods that need nodes."""
    quotas: frozenset[str] = frozenset()
    """Namespaces of its pods, whose quotas limit them."""
    slices: bool = False
    """Whether its pods claim devices (ResourceClaimTemplate)."""


NOTHING_NEEDED = Needs()
