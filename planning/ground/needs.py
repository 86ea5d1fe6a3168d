"""Records of the objects that a stack needs in its cluster and does not make itself."""

from dataclasses import dataclass

from models.paths import Path
from planning.ground.cluster_facts import GatewayRef

PRIVILEGED = "privileged"
BASELINE = "baseline"
RESTRICTED = "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
"""Pod Security levels. Each level admits fewer pods than the previous level."""


@dataclass(frozen=True, slots=True)
class NameReference:
    """Reference from an object of the stack to another object."""

    name: str
    """Name of the other object. Empty for the default object of its kind, such as the default StorageClass."""
    namespace: str
    """Namespace of the referring object, and of the other object unless that is cluster-scoped."""
    origin: Path
    """Path in the configuration at which a user wrote the name; for a default object, of the section that needs it."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A setting of pods that the Pod Security level `restricted` does not admit."""

    text: str
    """The setting, such as `hostNetwork: true`."""
    level: str
    """Strictest of `LEVELS` that admits the setting."""
    since: int = 0
    """First minor version of Kubernetes that does not admit the setting at stricter levels."""
    until: int | None = None
    """First minor version that admits it there; None if no version does."""

    def is_refused(self, minor: int | None) -> bool:
        """Tell whether the policy of a minor version of Kubernetes refuses the setting; None is the newest version."""
        if minor is None:
            return self.until is None
        return self.since <= minor and (self.until is None or minor < self.until)


@dataclass(frozen=True, slots=True)
class PodPrivileges:
    """Settings of an object's pods that the Pod Security level `restricted` does not admit."""

    excesses: tuple[Excess, ...]
    namespace: str
    section: Path
    """Path of the section of the configuration that decides about the pods."""
    pods_of: str
    """The object that makes the pods, such as `Deployment models/qwen-decode`."""

    def refusals(self, level: str, minor: int | None) -> tuple[str, ...]:
        """Return the settings that a level does not admit in a minor version of Kubernetes; None is the newest one."""
        if level not in LEVELS:
            return ()
        allowed = LEVELS.index(level)
        return tuple(
            excess.text for excess in self.excesses if LEVELS.index(excess.level) < allowed and excess.is_refused(minor)
        )

    def level(self, minor: int | None) -> str:
        """Return the strictest level that admits the pods in a minor version of Kubernetes; None is the newest one."""
        return next(level for level in reversed(LEVELS) if not self.refusals(level, minor))


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
    secrets: tuple[NameReference, ...] = ()
    """Secrets that the stack does not make, and without which its pods do not start."""
    metered: frozenset[str] = frozenset()
    """Namespaces of Services that the interceptor finds by their labels."""
    proxies: frozenset[tuple[str, str]] = frozenset()
    """Namespaces and names of the Services of the proxies beside pickers."""
    interceptors: frozenset[str] = frozenset()
    """Namespace of the interceptor to which routes lead, whoever deploys it; empty without an interceptor."""
    storage_classes: tuple[NameReference, ...] = ()
    priority_classes: tuple[NameReference, ...] = ()
    image_volumes: tuple[NameReference, ...] = ()
    """References of images that pods mount as volumes."""
    pods: tuple[PodPrivileges, ...] = ()
    nodes: bool = False
    """Whether the stack has pods. If it has, the nodes of the cluster are read."""
    quotas: frozenset[str] = frozenset()
    """Namespaces of the stack's pods. Quotas of these namespaces limit the pods."""
    slices: bool = False
    """Whether pods of the stack claim the devices of their accelerator classes. If they do, the ResourceSlices of the
    cluster are read."""


NOTHING_NEEDED = Needs()
