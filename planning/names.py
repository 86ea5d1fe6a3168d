"""Every object name of a service, made in one place.

Names are legal and unique for all inputs: the base is the service's name, cut with a hash of the whole where the
longest derived name would not fit. Two services can still meet where one is *called* like another's derived name
(`qwen-epp` beside `qwen`'s picker); `planning.checks` refuses that pair.
"""

import hashlib
from dataclasses import dataclass

_LONGEST = 63
_LONGEST_SUFFIX = len("-canary-ip-00000000")
"""Istio's shadow Service of a canary's pool is the longest name derived from a service's: `<pool>-ip-<8 hex>`."""
_LONGEST_BASE = _LONGEST - _LONGEST_SUFFIX
_HASH = 8


@dataclass(frozen=True, slots=True)
class Names:
    """The object names of one service."""

    namespace: str
    base: str
    """The routed Service, the InferencePool and the HTTPRoute."""
    decode: str
    picker: str
    """Every object of the endpoint picker in the namespace."""
    picker_cluster_scoped: str
    """The picker's cluster-scoped objects; a colon cannot occur in a namespace, so no two are alike."""

    @property
    def claims(self) -> tuple[tuple[str, str], ...]:
        """Return kind and name of the objects that another service could also come to claim."""
        return (
            ("Service", self.base),
            ("Service", self.picker),
            ("Deployment", self.decode),
            ("Deployment", self.picker),
        )


def names(namespace: str, service: str) -> Names:
    """Return the names of the objects of a service called `service`."""
    base = shortened(service, _LONGEST_BASE)
    return Names(
        namespace=namespace,
        base=base,
        decode=f"{base}-decode",
        picker=f"{base}-epp",
        picker_cluster_scoped=f"inference-stacks:{namespace}:{base}-epp",
    )


def shortened(name: str, longest: int) -> str:
    """Return the name, or as much of it as fits before a hash of the whole."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: longest - _HASH - 1].rstrip('-')}-{digest}"
