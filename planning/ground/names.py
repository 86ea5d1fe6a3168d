"""Object names of services and caches.

The names of a service's objects begin with a base, so that all names are legal. The base is the service's name. If the
longest derived name would not fit, the base is the beginning of the service's name and a hash of the full name.

Two services collide if the name of one service equals a derived name of the other. For example, the picker of `qwen` is
called `qwen-epp`, so a service called `qwen-epp` would collide with `qwen`. `planning.rules` rejects such a pair.
"""

import hashlib
from dataclasses import dataclass

from planning.ground import stages

PRIMARY, CANARY = "primary", "canary"
"""The variants of a service."""
LONGEST = 63
"""Maximum length of a DNS label, and of a label's value, in characters."""
_LONGEST_SUFFIX = len("-canary-0fe1d-prefill-999-4294967295")
"""Length of the longest suffix that is added to a service's name.

If replicas span pods, Kubernetes puts a revision label (`<workload>-<replica>-<revision>`) on the worker pods. The
longest value of this label is that of replica 999 with a revision of ten digits. The suffix of Istio's shadow Service
of a pool (`<pool>-ip-<8 hex>`) is shorter.
"""
_LONGEST_BASE = LONGEST - _LONGEST_SUFFIX
_LONGEST_WORKLOAD = LONGEST - len("-999-4294967295")
_HASH = 8
_LONGEST_CLAIM = LONGEST - _HASH - 1
"""Maximum length of the name of a cache. Its claim and its Job add a hyphen and a hash of the source to this name."""


@dataclass(frozen=True, slots=True)
class Names:
    """The object names of one variant of a service."""

    namespace: str
    service: str
    """Name of the service in selectors and routes."""
    variant_name: str
    """`PRIMARY` or `CANARY`."""
    generation: str | None
    """Generation of the KV cache (`planning.variant.generation`); None if the pods do not exchange their cache."""
    base: str
    """Name of the variant's Service. The name of the primary's Service is also that of the service's HTTPRoute."""
    pool: str
    """Name of the InferencePool."""
    picker: str
    """Name of the endpoint picker's objects in the namespace."""
    weights: str
    """Beginning of the names of the service's claims for weights and of the Jobs that fill these claims."""
    picker_cluster_scoped: str
    """Name of the picker's cluster-scoped objects. Colons separate the namespace in this name. No namespace contains a
    colon, so the name is unique."""
    metrics_reader: str
    """Name of the service account with which a scraper reads the picker's metrics, and of the Secret with its token."""
    metrics_reader_cluster_scoped: str
    """Name of the ClusterRole and ClusterRoleBinding of that service account."""

    def workload(self, role: str) -> str:
        """Return the name of the workload of a role, and of the objects that belong to it.

        The name of a set may be long. It shortens only the names of the set's own objects.
        """
        return shorten(f"{self.pool}-{role}", _LONGEST_WORKLOAD)

    @property
    def decode(self) -> str:
        """Return the name of the workload that gets the requests of clients. Every variant has this workload."""
        return self.workload(stages.DECODE.name)

    @property
    def prefill(self) -> str:
        """Return the name of the workload that only processes prompts."""
        return self.workload(stages.PREFILL.name)

    @property
    def proxy(self) -> str:
        """Return the name of the Service of the proxies beside the pickers.

        It has no generation, so that clients need no other address for a new one.
        """
        return proxy_service(self.base)

    @property
    def mirror_grant(self) -> str:
        """Return the name of the ReferenceGrant that lets routes of other namespaces mirror requests to the service."""
        return f"{self.base}-mirror"

    @property
    def model_names(self) -> str:
        """Return the name of the ConfigMap with the service's model names."""
        return f"{self.base}-models"

    def objective(self, key: str) -> str:
        """Return the name of an objective. Clients send this name with a request."""
        return f"{self.base}-{key}"

    def exclusive_names(self, *roles: str) -> tuple[tuple[str, str], ...]:
        """Return kind and name of the objects whose names may collide with those of another service.

        `roles` are the names of the variant's roles. Workloads are listed as Services, too, because the controller of a
        LeaderWorkerSet creates a Service (and a StatefulSet) with the set's name.
        """
        further = [self.workload(role) for role in roles if role not in (stages.DECODE.name, stages.PREFILL.name)]
        return (
            ("Service", self.base),
            ("Service", self.picker),
            ("workload", self.decode),
            ("workload", self.prefill),
            ("workload", self.picker),
            ("Service", self.decode),
            ("Service", self.prefill),
            ("InferencePool", self.pool),
            *(("workload", name) for name in further),
            *(("Service", name) for name in further),
        )


def address(name: str, namespace: str) -> str:
    """Return the DNS name of a Service, without the cluster domain."""
    return f"{name}.{namespace}.svc"


def proxy_service(base: str) -> str:
    """Return the name of the Service of a variant's proxies."""
    return f"{base}-proxy"


def names(namespace: str, service: str, variant: str = PRIMARY, generation: str | None = None) -> Names:
    """Return the object names of a variant of the service called `service`."""
    short = shorten(service, _LONGEST_BASE)
    base = short if variant == PRIMARY else f"{short}-{variant}"
    pool = base if generation is None else f"{base}-{generation}"
    return Names(
        namespace=namespace,
        service=short,
        variant_name=variant,
        generation=generation,
        base=base,
        pool=pool,
        picker=f"{pool}-epp",
        weights=f"{short}-weights",
        picker_cluster_scoped=f"inference-stacks:{namespace}:{pool}-epp",
        metrics_reader=f"{pool}-epp-metrics-reader",
        metrics_reader_cluster_scoped=f"inference-stacks:{namespace}:{pool}-epp-metrics-reader",
    )


def cache(key: str) -> str:
    """Return the name of a cache. The names of its claim and of its fill Job begin with this name."""
    return shorten(f"cache-{key}", _LONGEST_CLAIM)


def shorten(name: str, longest: int) -> str:
    """Return a name of at most `longest` characters: `name` itself, or its beginning and a hash of the full name."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: longest - _HASH - 1].rstrip('-.')}-{digest}"
