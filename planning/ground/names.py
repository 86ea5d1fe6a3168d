"""Every object name of a service, made in one place.

Names are legal and unique for all inputs: the base is the service's name, cut with a hash of the whole where the
longest derived name would not fit. Two services can still meet where one is *called* like another's derived name
(`qwen-epp` beside `qwen`'s picker); `planning.rules` refuses that pair.
"""

import hashlib
from dataclasses import dataclass

PRIMARY, CANARY = "primary", "canary"
"""The variants of a service."""
LONGEST = 63
"""Characters of a DNS label, and of a label's value."""
_LONGEST_SUFFIX = len("-canary-0fe1d-prefill-999-4294967295")
"""The longest value derived from a service's name: the revision label that Kubernetes puts on the further pods of the
thousandth replica, where replicas span pods (`<workload>-<replica>-<revision>`). Istio's shadow Service of a pool is
shorter (`<pool>-ip-<8 hex>`).
"""
_LONGEST_BASE = LONGEST - _LONGEST_SUFFIX
_HASH = 8
_LONGEST_CLAIM = LONGEST - _HASH - 1
"""Of a claim of weights; the Job that fills it adds a hash of what it brings."""


@dataclass(frozen=True, slots=True)
class Names:
    """The object names of a service, or of its canary."""

    namespace: str
    service: str
    """The service, as selectors and routes have it."""
    variant: str
    generation: str | None
    """Of pods that exchange their cache (`planning.variant.generation`); their pool and picker have it, too."""
    base: str
    """The variant's Service, and the service's HTTPRoute."""
    pool: str
    """The InferencePool."""
    decode: str
    """The decode, or only, workload and everything that is its own."""
    prefill: str
    """The prefill workload and everything that is its own."""
    picker: str
    """Every object of the endpoint picker in the namespace."""
    weights: str
    """The claims of the service's own weights, and the Jobs that fill them, before what they hold."""
    picker_cluster_scoped: str
    """The picker's cluster-scoped objects; a colon cannot occur in a namespace, so no two are alike."""
    metrics_reader: str
    """The identity that a scraper reads the picker's metrics with, and its token."""
    metrics_reader_cluster_scoped: str
    """What that identity may do."""

    @property
    def mirror_grant(self) -> str:
        """Return the name of the grant that lets routes of other namespaces copy requests to the service."""
        return f"{self.base}-mirror"

    def objective(self, key: str) -> str:
        """Return the name of an objective, which clients send."""
        return f"{self.base}-{key}"

    @property
    def claims(self) -> tuple[tuple[str, str], ...]:
        """Return kind and name of the objects that another service could also come to claim.

        A LeaderWorkerSet's controller makes a Service and a StatefulSet of the set's own name.
        """
        return (
            ("Service", self.base),
            ("Service", self.picker),
            ("workload", self.decode),
            ("workload", self.prefill),
            ("workload", self.picker),
            ("Service", self.decode),
            ("Service", self.prefill),
            ("InferencePool", self.pool),
        )


def address(name: str, namespace: str) -> str:
    """Return the DNS name of a Service, without the domain of the cluster."""
    return f"{name}.{namespace}.svc"


def names(namespace: str, service: str, variant: str = PRIMARY, generation: str | None = None) -> Names:
    """Return the names of the objects of a variant of a service called `service`."""
    whole = shortened(service, _LONGEST_BASE)
    base = whole if variant == PRIMARY else f"{whole}-{variant}"
    own = base if generation is None else f"{base}-{generation}"
    return Names(
        namespace=namespace,
        service=whole,
        variant=variant,
        generation=generation,
        base=base,
        pool=own,
        decode=f"{own}-decode",
        prefill=f"{own}-prefill",
        picker=f"{own}-epp",
        weights=f"{whole}-weights",
        picker_cluster_scoped=f"inference-stacks:{namespace}:{own}-epp",
        metrics_reader=f"{own}-epp-metrics-reader",
        metrics_reader_cluster_scoped=f"inference-stacks:{namespace}:{own}-epp-metrics-reader",
    )


def cache(key: str) -> str:
    """Return the name of a cache's claim."""
    return shortened(f"cache-{key}", _LONGEST_CLAIM)


def shortened(name: str, longest: int) -> str:
    """Return the name, or as much of it as fits before a hash of the whole."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: longest - _HASH - 1].rstrip('-.')}-{digest}"
