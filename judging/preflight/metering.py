"""Checks that the interceptor finds exactly one Service for each resource id.

`unresolved_ids` searches the planned Services. `metering` compares these Services with the Services of the cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from models.problems import SEVERITIES, Mode, Problem, warning
from planning.ground import labels
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.inventory import MeteredService
from planning.ground.marks import Identity, Verdict
from planning.interceptor.resolution import Unresolved, resolve
from planning.plans import ServicePlan, StackPlan

_TWO = "the interceptor would find two Services and answer 404"


def unresolved_ids(plan: StackPlan, services: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield an error for each resource id that the interceptor cannot resolve. `services` are the rendered Services."""
    by_id = dict[str, list[Mapping[str, Any]]]()
    for service in services:
        identifier = service["metadata"].get("labels", {}).get(labels.RESOURCE_ID)
        if identifier is not None:
            by_id.setdefault(identifier, []).append(service)
    for service in plan.services:
        primary = service.primary
        if primary.search_id is None:
            continue
        address = resolve(by_id.get(primary.search_id, ()), primary.search_id, primary.names.namespace)
        if isinstance(address, Unresolved):
            yield Problem(primary.path / "interceptor", f"leads to 404: {address.value} ({primary.search_id})")


def metering(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for each Service of the cluster that has a planned Service's resource id, but another name."""
    if mode == "skip" or isinstance(facts.metered, Unknown):
        return
    holders = dict[tuple[str, str], list[MeteredService]]()
    for service in facts.metered.metered:
        if service.is_found:
            holders.setdefault((service.namespace, service.resource_id), []).append(service)
    for service in plan.services:
        names = service.primary.names
        identifier = service.primary.search_id
        for holder in holders.get((names.namespace, identifier), ()) if identifier is not None else ():
            if holder.name != names.base:
                yield from _duplicate_problems(service, holder, plan.identity, mode)


def _duplicate_problems(
    service: ServicePlan, holder: MeteredService, identity: Identity, mode: Mode
) -> Iterator[Problem]:
    """Yield the problem of a resource id that another Service has.

    If only the name of a service changes, the run deletes the old Service before it creates the new Service, but the
    interceptor keeps the address of the old one (`cachePositiveTTL`, 5 minutes by default; internal/registry of phoebe
    ae059e9). If the service's key changes, the run deletes the old Service only at the end. Until then, two Services
    have the id.
    """
    at = service.primary.path / "interceptor" / "resourceId"
    place = f"Service {holder.namespace}/{holder.name}"
    is_ours = identity.verdict(holder.mark) is Verdict.OURS
    if is_ours and holder.key == service.key:
        what = f"gets a Service of another name than {place}, whose address the interceptor keeps for up to 5 minutes"
        remedy = "keep the name, or restart the interceptor's pods after the run; until then requests are answered 502"
        yield warning(service.primary.path, what, remedy)
        return
    if is_ours:
        until = f"which is deleted only after the new Service exists: {_TWO}"
        what = f"is also the id of {place}, {until} ({holder.resource_id})"
        remedy = "first deploy with another id; deploy with this id when the old Service is gone"
    else:
        whose = "somebody else"
        if holder.mark.owner is not None:
            whose = f"stack {holder.mark.owner}"
        what = f"is also the id of {place} of {whose}: {_TWO} ({holder.resource_id})"
        remedy = "choose another id"
    yield Problem(at, what, remedy, severity=SEVERITIES[mode])
