"""The kinds of objects from which each link of a service is judged."""

from collections.abc import Collection, Iterable, Mapping

from judging.status.records import Finding, Link
from planning.ground.snapshot import (
    AUTOSCALER,
    CERTIFICATE,
    CLAIM,
    DEPLOYMENT,
    EVENT,
    GATEWAY,
    JOB,
    LEADER_WORKER_SET,
    LEASE,
    NODE,
    POD,
    POOL,
    ROUTE,
    SCALED_OBJECT,
    SERVICE,
    TLS_CERTIFICATE,
)

_PODS = frozenset({POD, EVENT, NODE})
"""Kinds from which the state of a pod is judged."""
_WORKLOADS = frozenset({DEPLOYMENT, LEADER_WORKER_SET})
_SCALERS = frozenset({AUTOSCALER, SCALED_OBJECT})
_KINDS: Mapping[Link, frozenset[str]] = {
    Link.GATEWAY: frozenset({GATEWAY, ROUTE, TLS_CERTIFICATE, CERTIFICATE}),
    Link.ROUTE: frozenset({GATEWAY, ROUTE, POOL}) | _WORKLOADS,
    Link.INTERCEPTOR: frozenset({ROUTE, DEPLOYMENT, SERVICE}) | _PODS,
    Link.POOL: frozenset({ROUTE, POOL, POD}) | _WORKLOADS,
    Link.PICKER: frozenset({ROUTE, POOL, DEPLOYMENT, LEASE}) | _PODS,
    Link.SCALING: _SCALERS | _WORKLOADS | {POD},
    Link.WORKLOAD: _SCALERS | _WORKLOADS | _PODS,
    Link.CLAIM: frozenset({CLAIM, JOB}) | _WORKLOADS | _PODS,
}


def of(links: Iterable[Link], chain: Iterable[Finding]) -> Collection[str]:
    """Return the kinds from which a culprit was found: those of the links, and of all links that may cause a state.

    `chain` are the states that follow from each other, the culprit the last.
    """
    causes = {cause for finding in chain for cause in finding.state.caused_by}
    by_name = {link.value: link for link in Link}
    # A cause that is a state may be that of an object of any link.
    of_states = set(Link) if causes - by_name.keys() else set[Link]()
    consulted = {*links, *(by_name[cause] for cause in causes if cause in by_name), *of_states}
    return {kind for link in consulted for kind in _KINDS[link]}
