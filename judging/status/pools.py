"""The backends of routes: InferencePools with the endpoints that they select, and Services."""

from collections.abc import Iterator

from judging.status import pods
from judging.status.evidence import Evidence
from judging.status.records import Component, Link, ObjectRef, finding
from judging.status.topology import ServiceView, VariantView, is_selected, pool_selector


def components(view: ServiceView, variant: VariantView, reading: Evidence) -> Iterator[Component]:
    """Yield the pools of a variant. A pool is broken if a route leads to it and it has no ready endpoint."""
    serving = [pod for role in variant.roles if role.role != "prefill" for pod in role.pods]
    for pool in variant.pools:
        at_object = ObjectRef.of(pool, "InferencePool")
        endpoints = sum(pods.is_ready(pod) and is_selected(pool_selector(pool), pod) for pod in serving)
        states = () if endpoints else (finding("no-endpoints", at_object),)
        yield Component(Link.POOL, at_object, states, not endpoints, variant.name, ready=endpoints)
