"""The status of deployed stacks, for the command `status` and for programs."""

from collections.abc import Collection

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import Scope
from judging.status import verdict
from judging.status.verdict import Status


def read(access: KubeAccess, *, stack: str | None = None, services: Collection[str] = ()) -> Status:
    """Read a cluster and return the status of its services.

    `stack` is the mark of a stack (`project.stack`); None for all stacks of the cluster. `services` are names of
    services; empty for all.
    """
    snapshot = reader.read(access, Scope(stack))
    status = verdict.of(snapshot, {})
    return status.only(stack, services)
