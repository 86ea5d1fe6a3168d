"""Times of a rollout: minutes until pods are ready, from the bytes of their weights and the rates of a table."""

from dataclasses import dataclass

from judging.report.growth import Change
from models.role import Recreate
from models.vocabulary import amount
from planning.ground.loading import Loading

_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates at which pods become ready."""

    fetch: int
    """Bytes in a second from a source to a pod."""
    load: int
    """Bytes in a second from a volume to devices."""
    begin: int
    """Seconds of a start, without the time for fetching and loading weights."""


def start_seconds(change: Change, size: str | None, rates: Rates) -> int:
    """Return the seconds from a pod's creation until it is ready; `size` is the size of the weights.

    The result is at most the progress deadline of the workload, which includes the startup budget. If the size is
    unknown, the result is the deadline.
    """
    deadline = change.workload.progress_deadline
    if size is None:
        return deadline
    count = int(amount(size))
    loading = change.workload.loading
    fetched = loaded = 0
    if change.workload.weights.fetches or loading.is_by_engine:
        fetched = count // rates.fetch
    if loading is not Loading.STREAMED:
        loaded = count // rates.load
    return min(deadline, rates.begin + fetched + loaded)


def outage_seconds(change: Change, size: str | None, rates: Rates) -> int:
    """Return the seconds without a ready replica if all replicas restart together.

    Old pods drain, then new pods start. With a surge, new pods start while old pods drain, so the drain adds no time.
    """
    rollout = change.workload.rollout
    drain = change.workload.drain.grace
    waits = isinstance(rollout, Recreate) or not rollout.max_surge
    return start_seconds(change, size, rates) + (drain if waits else 0)


def rollout_seconds(change: Change, size: str | None, rates: Rates) -> int:
    """Return the seconds from the start of a rollout to its end."""
    rollout = change.workload.rollout
    replicas = change.after.high
    at_once = replicas
    if not isinstance(rollout, Recreate):
        at_once = max(1, rollout.max_surge + rollout.max_unavailable)
    steps = max(1, -(-replicas // max(1, at_once)))
    return steps * outage_seconds(change, size, rates)


def minutes(seconds: int) -> int:
    """Return whole minutes, at least one."""
    return max(1, -(-seconds // _MINUTE))
