"""Requests and limits of containers."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

from models.role import Resources
from models.vocabulary import amount

_CPU, _MEMORY, _MEMORY_LIMIT, _SHARED_MEMORY = 4, 32, 48, 8
"""Defaults per device: cores, and Gi of requested, limited and shared memory."""
_GI = 2**30


def engine(own: Resources, devices: int, offload: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return requests and limits of an engine: the user's, over defaults that give way where they would contradict.

    `offload` is host memory that the KV cache takes besides, on top of the defaults.
    """
    factor, more = max(devices, 1), 0 if offload is None else _whole(amount(offload))
    requests = {"cpu": f"{_CPU * factor}", "memory": f"{_MEMORY * factor + more}Gi", **own.requests}
    limits = {"memory": f"{_MEMORY_LIMIT * factor + more}Gi", **own.limits}
    for name in requests.keys() & limits.keys():
        if amount(requests[name]) > amount(limits[name]):
            if name in own.limits:
                requests[name] = limits[name]
            else:
                limits[name] = requests[name]
    return requests, limits


def shared_memory(own: str | None, devices: int) -> str:
    """Return the size of /dev/shm of one pod."""
    return own or (f"{_SHARED_MEMORY * devices}Gi" if devices else "1Gi")


def volume(sizes: Mapping[str, str | None], headroom_percent: int) -> str | None:
    """Return the size of a volume for contents of these sizes, in whole Gi; nothing where one of them is unknown."""
    known = [amount(size) for size in sizes.values() if size is not None]
    if len(known) < len(sizes):
        return None
    return f"{_whole(sum(known, Decimal(0)) * (100 + headroom_percent) / 100)}Gi"


def claim_gi(size: Decimal | int, headroom_percent: int) -> int:
    """Return the whole Gi of a claim for weights of this many bytes; at least 1."""
    return max(1, _whole(Decimal(size) * (100 + headroom_percent) / 100))


def _whole(size: Decimal) -> int:
    """Return bytes in Gi, rounded up."""
    return int((size / _GI).to_integral_value(ROUND_CEILING))
