"""The endpoint pickers of pools."""

from collections.abc import Iterator

from judging.status import pods
from judging.status.evidence import Evidence
from judging.status.records import Component, Link, ObjectRef, finding
from judging.status.topology import VariantView


def components(variant: VariantView, reading: Evidence) -> Iterator[Component]:
    """Yield the endpoint pickers of a variant. A picker is broken if none of its pods is ready."""
    for picker in variant.pickers:
        at_object = ObjectRef.of(picker.deployment, "Deployment")
        ready = sum(map(pods.is_ready, picker.pods))
        states = () if ready else (finding("picker-down", at_object),)
        yield Component(Link.PICKER, at_object, states, not ready, variant.name, ready=ready)
