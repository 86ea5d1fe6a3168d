"""Last change of what a comparison of primary and canary needs: the shares of both, and pods that are ready."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from judging.status import history
from judging.status.records import condition, time
from judging.status.topology import ServiceView, VariantView, name_of
from models.trees import at
from planning.ground.names import CANARY, PRIMARY
from planning.ground.snapshot import Manifest

_ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of pods that stay in the cluster, but serve nothing any more."""


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of a service, or the reason for which there is none to count from."""

    at: datetime | None
    """Time of the change in UTC; None if variants cannot be compared at present."""
    words: str
    """The change, or the reason."""


def of(view: ServiceView | None) -> LastChange:
    """Return the later of the last change of the shares and of the newest pod of both variants that became ready.

    Each role of both needs a ready pod. Further pods that are pending, or not ready, count from when they are ready.
    """
    if view is None:
        return LastChange(None, "the service is not deployed")
    variants = {variant.name: variant for variant in view.variants}
    changes = list(_weight_changes(view))
    for name in (PRIMARY, CANARY):
        if name not in variants:
            return LastChange(None, f"the {name} is not deployed")
        changes += _pod_changes(variants[name])
    if not view.routes:
        return LastChange(None, "the service has no route")
    unknown = next((change for change in changes if change.at is None), None)
    if unknown is not None:
        return unknown
    return max(changes, key=_moment)


def ready_pods(variant: VariantView, roles: Collection[str]) -> int:
    """Return how many pods of some roles, and of those that somebody else runs, are ready.

    They have been so since the last change of the service, or became ready then.
    """
    pods = [pod for view in variant.roles if view.role in roles for pod in view.pods]
    pods += variant.existing_pods or ()
    return sum(1 for pod in pods if _is_serving(pod) and _readiness(pod).at is not None)


def _weight_changes(view: ServiceView) -> Iterator[LastChange]:
    """Yield the last change of each route's rules.

    The API server notes when a writer last changed any of its fields, so the rules may be older, but not newer.
    """
    for route in view.routes:
        name = name_of(route)[1]
        writer = history.writer(route, "spec", "rules")
        moment = writer.at if writer is not None else None
        if moment is None:
            moment = history.change_time(route)
        if moment is None:
            yield LastChange(None, f"nobody noted when route {name} was written")
        yield LastChange(moment, f"route {name} was written")


def _pod_changes(variant: VariantView) -> Iterator[LastChange]:
    """Yield when each ready pod of a variant became ready, and the reason for each role without any.

    Pods that are not ready get no requests, so that they change nothing before they are ready.
    """
    serving = [[pod for pod in pods if _is_serving(pod)] for pods in _pods(variant)]
    if not any(serving):
        yield LastChange(None, f"the {variant.name} has no pod")
    for pods in filter(None, serving):
        changes = [_readiness(pod) for pod in pods]
        ready = [change for change in changes if change.at is not None]
        yield from ready or changes[:1]


def _readiness(pod: Manifest) -> LastChange:
    """Return when a pod became ready."""
    name = name_of(pod)[1]
    readiness = condition(pod, "Ready")
    moment = time(readiness.get("lastTransitionTime"))
    if readiness.get("status") != "True" or moment is None:
        return LastChange(None, f"pod {name} is not ready")
    return LastChange(moment, f"pod {name} became ready")


def _is_serving(pod: Manifest) -> bool:
    has_ended = str(at(pod, "status", "phase")) in _ENDED
    return not has_ended and at(pod, "metadata", "deletionTimestamp") is None


def _pods(variant: VariantView) -> Iterator[Sequence[Manifest]]:
    """Yield the pods that do the same: those of each role in all generations, leaders and workers apart."""
    firsts = defaultdict[str, list[Manifest]](list)
    workers = defaultdict[str, list[Manifest]](list)
    for view in variant.roles:
        firsts[view.role] += view.pods
        workers[view.role] += view.workers
    yield from (*firsts.values(), *workers.values(), variant.existing_pods or ())


def _moment(change: LastChange) -> float:
    return 0.0 if change.at is None else change.at.timestamp()
