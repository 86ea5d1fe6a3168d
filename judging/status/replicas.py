"""Numbers of replicas of a role, and the bounds that an autoscaler has."""

from collections.abc import Iterator
from typing import NamedTuple

from judging.status.records import Link, ServiceLink
from judging.status.topology import RoleView, ServiceView, VariantView, name_of
from models.trees import at

_MAX_OF_KEDA = 100
"""KEDA's largest number of replicas if a ScaledObject has none (keda apis/keda/v1alpha1/scaledobject_types.go)."""


class Bounds(NamedTuple):
    """Smallest and largest number of replicas of an autoscaler."""

    smallest: int
    largest: int


class LiveWorkload(NamedTuple):
    """A workload of a role, as it is live, and as a link of the chain."""

    variant: VariantView
    role: RoleView
    component: ServiceLink


def workloads(view: ServiceView, components: tuple[ServiceLink, ...]) -> Iterator[LiveWorkload]:
    """Yield the workloads of a service, in the order of the components."""
    roles = {
        (role.kind, *name_of(role.workload)): (variant, role) for variant in view.variants for role in variant.roles
    }
    for component in components:
        place = (component.object.kind, component.object.namespace, component.object.name)
        if component.link is Link.WORKLOAD and place in roles:
            yield LiveWorkload(*roles[place], component)


def bounds(role: RoleView) -> Bounds | None:
    """Return the bounds of a role's autoscaler; None if it has none. What the object lacks has Kubernetes' default."""
    if role.scaled_object is not None:
        return Bounds(
            number(at(role.scaled_object, "spec", "minReplicaCount"), 0),
            number(at(role.scaled_object, "spec", "maxReplicaCount"), _MAX_OF_KEDA),
        )
    if role.autoscaler is not None:
        least = number(at(role.autoscaler, "spec", "minReplicas"), 1)
        return Bounds(least, number(at(role.autoscaler, "spec", "maxReplicas"), least))
    return None


def number(value: object, default: int) -> int:
    """Return a number of an object; the default if the object has something else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return default
