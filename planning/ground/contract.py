"""Types of the outputs of a stack, from which their JSON schema is generated: `schemas/outputs.schema.json`."""

from typing import Literal

from typing_extensions import TypedDict

VERSION = 2
"""Version of the contract. The version increases when a key is removed, or when the meaning of a key changes."""

Awaited = Literal["endpointPicker", "pool", "replicas", "route", "workload"]


class Locked(TypedDict):
    """Content of a source, as the lock of the stack pins it."""

    source: str
    """URI that is fetched: with the digest of a ModelKit or an image, or with the commit of a repository."""
    digest: str | None
    """Hash of the listing of an S3 prefix; null for sources whose digest is in the URI, and for claims."""


class Model(TypedDict):
    """A model that clients can ask for."""

    name: str
    """Name that clients send."""
    source: str
    """URI of the weights, as the configuration has it; empty if somebody else runs the pods."""
    digest: str | None
    """Digest in the source, `sha256:` and 64 hex digits; null if the source has no digest."""
    revision: str | None
    """Revision in a source without a digest; null if the source has no revision."""
    locked: Locked | None
    """Content of the weights, as the lock of the stack pins it. Null if the stack has no lock, and while the pods serve
    files that they fetched before the lock had the source."""
    lockedAdapters: dict[str, Locked]
    """Content of the LoRA adapters, as the lock of the stack pins it, by the names of the adapters."""


class Gateway(TypedDict):
    """The Gateway that a route attaches to."""

    name: str
    """Its name."""
    namespace: str
    """Its namespace."""
    sectionName: str | None
    """Name of the listener that the route attaches to; null for all listeners of the Gateway."""


class Interceptor(TypedDict):
    """How requests to a service are metered."""

    mode: Literal["label", "header"]
    """How the interceptor finds the Service: by its labels, or by a header that the route sets."""
    layout: Literal["service"]
    """Place of the interceptor: in front of the Service."""
    resourceId: str
    """Identity by which requests are billed."""


class Pool(TypedDict):
    """An InferencePool, in the namespace of the service."""

    group: str
    """Its API group."""
    name: str
    """Its name."""


class WorkloadReference(TypedDict):
    """The object that makes the pods of a role, in the namespace of the service."""

    kind: str
    """Deployment or LeaderWorkerSet."""
    name: str
    """Its name."""


class Fixed(TypedDict):
    """A number of replicas that the configuration states."""

    type: Literal["fixed"]
    """The configuration states the number."""
    replicas: int
    """The number of replicas."""


class Autoscaled(TypedDict):
    """A number of replicas that an autoscaler decides."""

    type: Literal["hpa", "keda"]
    """Kind of the autoscaler."""
    minReplicas: int
    """Smallest number of replicas."""
    maxReplicas: int
    """Largest number of replicas."""


Gpus = TypedDict("Gpus", {"class": str, "vendor": str, "product": str | None, "perReplica": int, "max": int})
"""Devices of a role: class, vendor and product. `perReplica` is the number of devices of one replica, `max` that of the
largest number of replicas. The type is made by a call, because `class` is a keyword of Python."""


class Role(TypedDict):
    """Pods of one role."""

    workload: WorkloadReference
    """The object that makes the pods."""
    scaling: Fixed | Autoscaled
    """The number of replicas."""
    gpus: Gpus | None
    """Devices of the pods: class, vendor, product, and the numbers of devices of one replica and of the largest number
    of replicas. Null if the pods have no devices."""


class DeviceHours(TypedDict):
    """Hours of devices of one accelerator class in a month."""

    low: int
    """Hours with the smallest number of replicas."""
    high: int
    """Hours with the largest number of replicas."""


class Amounts(TypedDict):
    """Money for a month."""

    low: float
    """Amount with the smallest number of replicas."""
    high: float
    """Amount with the largest number of replicas."""


class Bill(TypedDict):
    """Devices that a service is expected to have for a month, and what they cost.

    Replicas that exist during a rollout only are left out, and so are pods that somebody else runs.
    """

    hours: int
    """Hours of the month."""
    deviceHours: dict[str, DeviceHours]
    """Hours of devices by accelerator class, of primary and canary together. Empty if the pods have no devices."""
    currency: str
    """Currency of the prices of the stack, as a code of ISO 4217."""
    cost: Amounts | None
    """Cost of the devices. Null if a class has no price."""
    unpriced: list[str]
    """Accelerator classes of the service without a price."""


class Profile(TypedDict):
    """A serving profile."""

    id: str
    """Id of the profile in its catalogue."""
    reasons: list[str]
    """Why the profile was selected."""
    source: str
    """Origin of the numbers in the profile."""
    locked: bool
    """Whether the profile was taken from the lock of the stack."""


class Variant(TypedDict):
    """A primary or a canary: its pods, and its pool and endpoint picker if there are any."""

    release: str
    """Name of its release channel."""
    pool: Pool | None
    """The InferencePool of the pods. Null if there is no endpoint picker; the route then leads to the Service."""
    objectives: list[str]
    """Names of the InferenceObjectives that clients may send."""
    serviceHost: str
    """Address of the Service in front of the pods, `host:port`; empty for a pool that somebody else made."""
    endpointPickerHost: str | None
    """Address of the endpoint picker, `host:port`; null if there is no endpoint picker."""
    proxyHost: str | None
    """Address of the proxy beside the picker, `host:port`, for clients in the cluster; null if there is no proxy."""
    roles: dict[str, Role]
    """Roles by name: decode, and prefill if there are prefill pods."""
    profiles: dict[str, Profile]
    """Serving profiles by role; empty if none was selected."""
    patched: list[str]
    """Parts whose objects a patch of the configuration changes: roles, and `endpointPicker`."""


class Canary(Variant):
    """A canary."""

    weight: int
    """Percentage of the service's requests that the canary gets."""
    model: Model
    """Its model."""


class Service(TypedDict):
    """A service."""

    name: str
    """Base of the names of its objects."""
    namespace: str
    """Namespace of its objects."""
    model: Model
    """Its model."""
    urls: list[str]
    """URLs of the service; empty if their scheme or their hosts are unknown."""
    paths: list[str]
    """Path prefixes of its route."""
    hostnames: list[str]
    """Hostnames of its route; empty for all hostnames of the Gateway."""
    gateway: Gateway | None
    """The Gateway of its route; null without a route."""
    weight: int
    """Percentage of the service's requests that the primary gets."""
    primary: Variant
    """The primary of the service."""
    canary: Canary | None
    """The canary of the service; null if there is none."""
    profile: Profile | None
    """The serving profile of the primary's decode role; null if none was selected."""
    interceptor: Interceptor | None
    """How requests to the service are metered; null if requests are not metered."""
    bill: Bill
    """Hours of devices in a month, and their cost, as the configuration lets expect them."""
    awaited: list[Awaited]
    """Kinds of objects that were ready at the end of the run that wrote these outputs. `replicas` means that workloads
    had all replicas that the configuration states, `route` that the Gateway had accepted the route. Objects of kinds
    that are not in the list may be ready or not."""
    ready: bool
    """Whether the run that wrote these outputs saw everything ready that a request needs: pods of each variant that
    gets requests, its endpoint picker, and the route. False if the run did not see it, which `message` explains; the
    service may be ready nevertheless."""
    message: str
    """Everything that a request needs and that the run did not see; empty if `ready` is true."""
    warnings: list[str]
    """Warnings about the service."""


class Outputs(TypedDict):
    """Outputs of a stack."""

    contractVersion: Literal[2]
    """Version of the contract."""
    release: str
    """Name of the stack's release channel. Services may have others."""
    factsDigest: str | None
    """SHA-256 of those facts of the cluster on which the stack depends; null if they are unknown."""
    services: dict[str, Service]
    """The services by key."""
