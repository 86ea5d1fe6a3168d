"""Requests and limits of containers."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

from models.containers import Resources
from models.vocabulary import amount

_CPU = 4
"""Cores per device by default."""
_MEMORY = 32
"""Requested memory per device by default, in Gi."""
_MEMORY_LIMIT = 48
"""Limit of memory per device by default, in Gi."""
_SHARED_MEMORY = 8
"""Shared memory per device by default, in Gi."""
_GI = 2**30


def engine(spec: Resources, devices: int, offload: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return requests and limits of an engine: the defaults, overridden by the user's values.

    A default request above a user's limit becomes equal to that limit, and a default limit below a user's request
    becomes equal to that request. `offload` is the size of the KV cache in host memory. The
    default request and the default limit of memory include this size.
    """
    multiplier = max(devices, 1)
    offload_gi = 0 if offload is None else _whole(amount(offload))
    requests = {"cpu": f"{_CPU * multiplier}", "memory": f"{_MEMORY * multiplier + offload_gi}Gi", **spec.requests}
    limits = {"memory": f"{_MEMORY_LIMIT * multiplier + offload_gi}Gi", **spec.limits}
    for name in requests.keys() & limits.keys():
        if amount(requests[name]) > amount(limits[name]):
            if name in spec.limits:
                requests[name] = limits[name]
            else:
                limits[name] = requests[name]
    return requests, limits


def shared_memory(explicit: str | None, devices: int, offloaded: str | None = None) -> str:
    """Return the size of `/dev/shm` in a pod with `devices` devices: the user's value (`explicit`), or a default.

    `offloaded` is the size of the KV cache in `/dev/shm`. The default includes this size.
    """
    base = _SHARED_MEMORY * devices if devices else 1
    return explicit or f"{base + (0 if offloaded is None else _whole(amount(offloaded)))}Gi"


def volume(sizes: Mapping[str, str | None], headroom_percent: int) -> str | None:
    """Return the size of a volume for contents of the given sizes, in whole Gi; None if a size is unknown.

    The volume is larger than its contents by `headroom_percent`.
    """
    known = [amount(size) for size in sizes.values() if size is not None]
    if len(known) < len(sizes):
        return None
    return f"{_whole(sum(known, Decimal(0)) * (100 + headroom_percent) / 100)}Gi"


def claim_gi(size: Decimal | int, headroom_percent: int) -> int:
    """Return the size of a claim for weights of `size` bytes, in whole Gi; at least 1."""
    return max(1, _whole(Decimal(size) * (100 + headroom_percent) / 100))


def _whole(size: Decimal) -> int:
    """Return a number of bytes in Gi, rounded up."""
    return int((size / _GI).to_integral_value(ROUND_CEILING))
