"""Resources that Pulumi's state has at the beginning of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from planning.ground import instances
from planning.ground.cluster_facts import Place

_TYPES = "$"
_PARTS = "::"
_COMPONENTS = "inference-stacks:index:"
"""Beginning of the type tokens of this program's components."""


class RecordedIdentity(NamedTuple):
    """Identity of a resource in Pulumi's state.

    It leaves out the inference stack and everything around it: logical names of two inference stacks differ, because
    they begin with different prefixes.
    """

    component: str
    """Type of the component that contains the resource; empty if an inference stack contains the resource directly."""
    type: str
    """Type of the resource, such as `kubernetes:apps/v1:Deployment`."""
    name: str
    """Logical name of the resource."""


@dataclass(frozen=True, slots=True)
class RecordedObject:
    """An object of a cluster, as Pulumi's state has it."""

    urn: str
    identity: RecordedIdentity
    place: Place
    uid: str
    """UID that the API server gave to the object; empty if the state lacks it."""
    content: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The whole object if it is a workload; empty for other kinds."""


class ClusterRecord(NamedTuple):
    """A cluster to which an inference stack was deployed."""

    uid: str
    """UID of the namespace kube-system. It identifies a cluster: it survives new names and addresses of the cluster,
    and no other cluster has it."""
    name: str
    """Name of the cluster in the configuration or the kubeconfig of the run that first deployed there."""


class ServiceRecord(NamedTuple):
    """A service to which a workload belongs."""

    key: str
    release: str
    """Release channel of the service's primary in the run that wrote the record."""
    instance: str = ""
    """Logical name of the inference stack that has the service; empty if unknown."""


class WorkloadName(NamedTuple):
    """Namespace, kind and name of a workload."""

    namespace: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The part of Pulumi's state with which this program compares its plan."""

    objects: tuple[RecordedObject, ...] = ()
    instances: Mapping[str, str] = field(default_factory=dict[str, str])
    """URNs of the inference stacks, by logical name."""
    clusters: Mapping[str, ClusterRecord] = field(default_factory=dict[str, ClusterRecord])
    """Clusters by logical name of the inference stack. A stack that no run has completed has none."""
    providers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Identifiers of clusters (`clusterIdentifier`), by URN of the provider."""
    services: Mapping[WorkloadName, ServiceRecord] = field(default_factory=dict[WorkloadName, ServiceRecord])
    """Services of the last complete run, by their workloads."""
    releases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Release channels of the last complete run, by logical name of the inference stack. A stack that no run has
    completed has none."""


NOTHING_RECORDED = Recorded()
"""The state of a stack in which nothing is deployed."""


def identity(urn: str) -> RecordedIdentity:
    """Return the identity of a resource.

    A URN is `urn:pulumi:<stack>::<project>::<types of parents and of the resource, joined by $>::<logical name>`
    (sdk/go/common/resource/urn/urn.go of pulumi).
    """
    *_, types, name = urn.split(_PARTS, 3)
    *parents, type_token = types.split(_TYPES)
    parent = parents[-1] if parents else ""
    is_component = parent.startswith(_COMPONENTS) and parent != instances.TYPE
    return RecordedIdentity(parent if is_component else "", type_token, name)
