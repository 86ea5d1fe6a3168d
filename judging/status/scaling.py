"""The autoscalers of workloads."""

from collections.abc import Iterator

from judging.status.evidence import Evidence
from judging.status.records import Component
from judging.status.topology import RoleView, VariantView


def components(variant: VariantView, role: RoleView, reading: Evidence) -> Iterator[Component]:
    """Yield the autoscaler of a role."""
    yield from ()
