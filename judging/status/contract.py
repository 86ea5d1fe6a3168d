"""Types of the status as JSON, from which its schema is generated: `schemas/status.schema.json`."""

from typing import Literal

from typing_extensions import TypedDict

VERSION = 1
"""Version of the contract. The version increases when a key is removed, or when the meaning of a key changes."""

ServiceState = Literal["healthy", "degraded", "starting", "asleep", "broken", "unknown"]
"""State of a service. `healthy`: it serves as configured. `degraded`: it serves, but something is wrong. `starting`: it
does not serve yet, and nothing is wrong. `asleep`: no replicas are asked for. `broken`: it does not serve, and
something is to blame. `unknown`: it cannot be told whether it serves."""
ConditionStatus = Literal["True", "False", "Unknown"]
"""Status of a condition, as Kubernetes writes it."""
Phase = Literal["Pending", "Running", "Ready"]
"""Phase of OtterScale's ModelService."""
RootStatus = Literal["Pending", "Starting", "Running", "Degraded", "Failed"]
"""Status of aim-engine's AIMService."""


class ObjectDocument(TypedDict):
    """An object of the cluster."""

    kind: str
    """Kind of the object."""
    namespace: str
    """Its namespace; empty for a cluster-scoped object."""
    name: str
    """Its name."""


class FindingDocument(TypedDict):
    """A state of an object, or of several objects for the same reason."""

    id: str
    """Id of the state."""
    level: Literal["normal", "degraded", "broken"]
    """Meaning of the state for the task of the object."""
    object: ObjectDocument
    """The object; of several the first by name."""
    count: int
    """Number of objects in the state."""
    role: str
    """Role of the pods to which the object belongs; empty if it belongs to no role."""
    since: str | None
    """Time since when the object has been in the state, in UTC; null if the cluster does not tell."""
    words: str
    """The fault, as the predicate of a sentence about the object."""
    do: str
    """The remedy; empty if there is nothing to do but to wait."""


class CauseDocument(TypedDict):
    """The state from which another state follows."""

    id: str
    """Id of the state."""
    object: ObjectDocument
    """The object that is in it."""


class ComponentDocument(TypedDict):
    """A link of the chain from the client to the pods."""

    link: str
    """Kind of the link: gateway, route, interceptor, pool, picker, scaling, workload or claim."""
    variant: str
    """`primary` or `canary`; empty for a link that all variants share."""
    role: str
    """Role of the pods; empty for a link without a role."""
    object: ObjectDocument
    """Main object of the link."""
    level: Literal["normal", "degraded", "broken"]
    """The worst level of the link's states."""
    broken: bool | None
    """Whether no request gets past the link; null if that cannot be told."""
    ready: int | None
    """Number of ready replicas or endpoints; null for a link without them."""
    desired: int | None
    """Number of replicas that are asked for; null if none are."""
    note: str
    """A remark on a link in order, such as its address."""
    states: list[str]
    """Ids of the states of the link's objects."""
    followsFrom: CauseDocument | None
    """The culprit, if the link's states follow from it; else null."""


class ReplicasDocument(TypedDict):
    """Replicas of a role of a variant."""

    variant: str
    """`primary` or `canary`."""
    role: str
    """Role of the pods."""
    ready: int | None
    """Number of ready replicas; null if it cannot be told."""
    desired: int | None
    """Number of replicas that are asked for."""
    min: int | None
    """Smallest number of replicas of the autoscaler; null without an autoscaler."""
    max: int | None
    """Largest number of replicas of the autoscaler; null without an autoscaler."""


class GatewayDocument(TypedDict):
    """A Gateway that a route of the service attaches to."""

    namespace: str
    """Namespace of the Gateway."""
    name: str
    """Its name."""
    addresses: list[str]
    """Addresses at which it listens; empty before a controller has given it any."""


class OtterscaleDocument(TypedDict):
    """The status of OtterScale's ModelService."""

    phase: Phase
    """Phase of the ModelService."""
    ready: ConditionStatus
    """Status of the condition `Ready`."""
    reason: str
    """Reason of the condition."""
    message: str
    """Message of the condition."""
    decodeReady: int
    """Number of ready decode replicas of the primary."""
    decodeReplicas: int
    """Number of decode replicas that are asked for."""
    prefillReady: int
    """Number of ready prefill replicas of the primary; 0 without prefill pods."""
    prefillReplicas: int
    """Number of prefill replicas that are asked for."""


class ConditionDocument(TypedDict):
    """A condition of aim-engine's AIMService."""

    type: str
    """Type of the condition: a component with `Ready` behind it, or one of aim-engine's own."""
    status: ConditionStatus
    """Whether the condition holds."""
    reason: str
    """Reason in aim-engine's words."""
    message: str
    """The reason in a sentence."""


class RuntimeDocument(TypedDict):
    """Numbers of replicas of aim-engine's AIMService."""

    currentReplicas: int
    """Number of replicas that exist, or that are ready if no autoscaler tells."""
    desiredReplicas: int
    """Number of replicas that are asked for."""
    minReplicas: int
    """Smallest number of replicas."""
    maxReplicas: int
    """Largest number of replicas."""
    replicas: str
    """The numbers as one text: `3`, or `1/2 (1-4)` if an autoscaler decides."""


class AimEngineDocument(TypedDict):
    """The status of aim-engine's AIMService."""

    status: RootStatus | None
    """Status of the AIMService; null if it cannot be told."""
    conditions: list[ConditionDocument]
    """Conditions by type."""
    runtime: RuntimeDocument
    """Numbers of replicas of the primary's decode role."""


class ZerfooDocument(TypedDict):
    """The status of zerfoo's ZerfooInferenceService."""

    ready: bool
    """Whether all replicas are ready and every link to them works."""
    replicas: int
    """Number of ready replicas of the primary."""
    canaryReplicas: int
    """Number of ready replicas of the canary."""
    message: str
    """The first condition that fails; empty if the service is ready."""


class HeritageDocument(TypedDict):
    """The status in the words of the systems that this program replaces."""

    otterscale: OtterscaleDocument
    """In OtterScale's words."""
    aimEngine: AimEngineDocument
    """In aim-engine's words."""
    zerfoo: ZerfooDocument
    """In zerfoo's words."""


class ServiceDocument(TypedDict):
    """The status of a service."""

    stack: str
    """Mark of the stack, `project.stack`; empty for objects without a mark."""
    namespace: str
    """Namespace of the service."""
    name: str
    """Name of the service in its objects' names."""
    serves: bool | None
    """Whether requests to the service are answered; null if that cannot be told."""
    state: ServiceState
    """State of the service in one word."""
    since: str | None
    """Time since when the culprit has been in its state, in UTC; null without a culprit, or if nothing tells."""
    culprit: FindingDocument | None
    """The state to blame; null if there is none. Its level is `normal` if the service only waits."""
    others: list[FindingDocument]
    """All other states."""
    components: list[ComponentDocument]
    """Links of the chain, from the client to the pods."""
    replicas: list[ReplicasDocument]
    """Replicas by variant and role."""
    gateways: list[GatewayDocument]
    """Gateways of the service's routes."""
    urls: list[str]
    """URLs of the service; empty if their scheme or their hosts are unknown."""
    log: list[str] | None
    """Last lines of the culprit's log; null if nobody asked for them, or if there is no log."""
    answer: str | None
    """Result of a request to the service; null if nobody asked for it."""
    heritage: HeritageDocument
    """The status in the words of the systems that this program replaces."""


class UnreadDocument(TypedDict):
    """A kind of objects that could not be read."""

    kind: str
    """The kind, as `apiVersion/Kind`."""
    reason: str
    """Why it could not be read."""


class StatusDocument(TypedDict):
    """The status of services of a cluster."""

    statusVersion: Literal[1]
    """Version of the contract."""
    readAt: str
    """Time at which the cluster was read, in UTC. Nothing else depends on the time of reading."""
    exitCode: Literal[0, 1, 4, 5]
    """Exit code of the command: 0 all serve, 1 it cannot be told, 4 something is wrong but all serve or wait, or
    something is not deployed, 5 a service does not serve."""
    services: list[ServiceDocument]
    """Services by stack, namespace and name."""
    notDeployed: list[str]
    """Keys of services of the stack file of which the cluster has nothing."""
    unread: list[UnreadDocument]
    """Kinds that could not be read."""
