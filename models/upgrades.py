"""Spec of upgrades: how many running services a run restarts at the same time, and for what."""

from pydantic import Field

from models.base import Spec
from models.vocabulary import Count, Dns1035Label, Items


class Upgrades(Spec):
    """Limit on the services that a run restarts at the same time.

    A service restarts if the run replaces its pods, those of its canary, or its endpoint pickers. New services and
    services that do not restart are not limited.
    """

    at_once: Count = 1
    """Maximum number of services that a run restarts at the same time. With 1, a service begins when the service before
    it is ready; with n, when all services are ready that are n places before it, or more. The run stops at a service
    that does not become ready, and leaves the later ones as they are."""
    order: Items[Dns1035Label] = Field(default=(), examples=[["internal", "search"]])
    """Keys of the services that restart first, from first to last. All others follow, ordered by key."""
    postpone: bool = True
    """Whether postponed fields wait for the next change that replaces the pods anyway. A postponed field of a container
    is one that a new version of this program adds, and without which running pods serve as well. If false, this run
    sets all of them, and replaces the pods that lack one. There is one such field: terminationMessagePolicy, with which
    the status of a pod says why a container ended."""
