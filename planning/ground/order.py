"""What is registered after what.

The endpoint picker is neither live nor ready before its pool exists, and the pool needs only the *name* of the picker's
Service: so the pool comes first, and nothing waits for the Service. The route comes when what it leads to is there.
A network policy comes before the pods that it is about, so that none of them ever runs without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """The parts of a stack that have a place in its order."""

    NAMESPACE = "namespace"
    DECODE_SERVICE_ACCOUNT = "decode-service-account"
    DECODE_ROLE = "decode-role"
    DECODE_ROLE_BINDING = "decode-role-binding"
    WEIGHTS_CLAIM = "weights-claim"
    FILL_NETWORK_POLICY = "fill-network-policy"
    FILL = "fill"
    DECODE_NETWORK_POLICY = "decode-network-policy"
    DECODE_WORKER_NETWORK_POLICY = "decode-worker-network-policy"
    DECODE_CLAIM = "decode-claim"
    DECODE_BUDGET = "decode-budget"
    DECODE = "decode"
    DECODE_AUTOSCALER = "decode-autoscaler"
    DECODE_MONITOR = "decode-monitor"
    PREFILL_NETWORK_POLICY = "prefill-network-policy"
    PREFILL_WORKER_NETWORK_POLICY = "prefill-worker-network-policy"
    PREFILL_CLAIM = "prefill-claim"
    PREFILL_BUDGET = "prefill-budget"
    PREFILL = "prefill"
    PREFILL_AUTOSCALER = "prefill-autoscaler"
    PREFILL_MONITOR = "prefill-monitor"
    SERVICE = "service"
    PICKER_SERVICE_ACCOUNT = "service-account"
    PICKER_ROLE = "role"
    PICKER_ROLE_BINDING = "role-binding"
    PICKER_METRICS_AUTH = "metrics-auth"
    PICKER_NETWORK_POLICY = "network-policy"
    PICKER_CONFIG = "config"
    PICKER_SERVICE = "picker-service"
    POOL = "pool"
    PICKER = "picker"
    DESTINATION_RULE = "destination-rule"
    HEALTH_CHECK_POLICY = "health-check-policy"
    BACKEND_POLICY = "backend-policy"
    METRICS_READER = "metrics-reader"
    METRICS_READER_TOKEN = "metrics-reader-token"  # noqa: S105, a part's name
    METRICS_READER_ROLE = "metrics-reader-role"
    METRICS_READER_BINDING = "metrics-reader-binding"
    TOKEN_ROLE = "token-role"  # noqa: S105, a part's name
    TOKEN_ROLE_BINDING = "token-role-binding"  # noqa: S105, a part's name
    PICKER_MONITOR = "picker-monitor"
    OBJECTIVE = "objective"
    MODEL_REWRITE = "model-rewrite"
    MIRROR_GRANT = "mirror-grant"
    ROUTE = "route"
    INTERCEPTOR_ROLE = "interceptor-role"
    INTERCEPTOR_ROLE_BINDING = "interceptor-role-binding"


AFTER: Mapping[Part, tuple[Part, ...]] = {
    Part.NAMESPACE: (),
    Part.DECODE_SERVICE_ACCOUNT: (Part.NAMESPACE,),
    Part.DECODE_ROLE: (Part.NAMESPACE,),
    Part.DECODE_ROLE_BINDING: (Part.DECODE_ROLE, Part.DECODE_SERVICE_ACCOUNT),
    Part.WEIGHTS_CLAIM: (Part.NAMESPACE,),
    Part.FILL_NETWORK_POLICY: (Part.NAMESPACE,),
    Part.FILL: (Part.WEIGHTS_CLAIM, Part.FILL_NETWORK_POLICY),
    Part.DECODE_NETWORK_POLICY: (Part.NAMESPACE,),
    Part.DECODE_WORKER_NETWORK_POLICY: (Part.NAMESPACE,),
    Part.DECODE_CLAIM: (Part.NAMESPACE,),
    Part.DECODE_BUDGET: (Part.NAMESPACE,),
    Part.DECODE: (
        Part.DECODE_ROLE_BINDING,
        Part.DECODE_NETWORK_POLICY,
        Part.DECODE_WORKER_NETWORK_POLICY,
        Part.DECODE_CLAIM,
        Part.FILL,
    ),
    Part.DECODE_AUTOSCALER: (Part.DECODE,),
    Part.DECODE_MONITOR: (Part.DECODE,),
    Part.PREFILL_NETWORK_POLICY: (Part.NAMESPACE,),
    Part.PREFILL_WORKER_NETWORK_POLICY: (Part.NAMESPACE,),
    Part.PREFILL_CLAIM: (Part.NAMESPACE,),
    Part.PREFILL_BUDGET: (Part.NAMESPACE,),
    Part.PREFILL: (
        Part.PREFILL_NETWORK_POLICY,
        Part.PREFILL_WORKER_NETWORK_POLICY,
        Part.PREFILL_CLAIM,
        Part.FILL,
    ),
    Part.PREFILL_AUTOSCALER: (Part.PREFILL,),
    Part.PREFILL_MONITOR: (Part.PREFILL,),
    Part.SERVICE: (Part.NAMESPACE,),
    Part.PICKER_SERVICE_ACCOUNT: (Part.NAMESPACE,),
    Part.PICKER_ROLE: (Part.NAMESPACE,),
    Part.PICKER_ROLE_BINDING: (Part.PICKER_ROLE, Part.PICKER_SERVICE_ACCOUNT),
    Part.PICKER_METRICS_AUTH: (Part.PICKER_SERVICE_ACCOUNT,),
    Part.PICKER_NETWORK_POLICY: (Part.NAMESPACE,),
    Part.PICKER_CONFIG: (Part.NAMESPACE,),
    Part.PICKER_SERVICE: (Part.NAMESPACE,),
    Part.POOL: (Part.PICKER_SERVICE,),
    Part.PICKER: (
        Part.PICKER_ROLE_BINDING,
        Part.PICKER_METRICS_AUTH,
        Part.PICKER_NETWORK_POLICY,
        Part.PICKER_CONFIG,
        Part.POOL,
    ),
    Part.DESTINATION_RULE: (Part.PICKER_SERVICE,),
    Part.HEALTH_CHECK_POLICY: (Part.POOL,),
    Part.BACKEND_POLICY: (Part.POOL,),
    Part.METRICS_READER: (Part.NAMESPACE,),
    Part.METRICS_READER_TOKEN: (Part.METRICS_READER,),
    Part.METRICS_READER_ROLE: (),
    Part.METRICS_READER_BINDING: (Part.METRICS_READER_ROLE, Part.METRICS_READER),
    Part.TOKEN_ROLE: (Part.NAMESPACE,),
    Part.TOKEN_ROLE_BINDING: (Part.TOKEN_ROLE,),
    Part.PICKER_MONITOR: (
        Part.PICKER,
        Part.METRICS_READER_TOKEN,
        Part.METRICS_READER_BINDING,
        Part.TOKEN_ROLE_BINDING,
    ),
    # A new generation takes the priorities over from the one before when it can serve, and the requests right after.
    Part.OBJECTIVE: (Part.POOL, Part.PICKER, Part.DECODE, Part.PREFILL),
    Part.MODEL_REWRITE: (Part.POOL,),
    Part.MIRROR_GRANT: (Part.NAMESPACE,),
    Part.ROUTE: (
        Part.OBJECTIVE,
        Part.MODEL_REWRITE,
        Part.POOL,
        Part.PICKER,
        Part.DECODE,
        Part.PREFILL,
        Part.SERVICE,
        Part.DESTINATION_RULE,
        Part.HEALTH_CHECK_POLICY,
        Part.BACKEND_POLICY,
    ),
    Part.INTERCEPTOR_ROLE: (Part.NAMESPACE,),
    Part.INTERCEPTOR_ROLE_BINDING: (Part.INTERCEPTOR_ROLE,),
}
"""Each part, and the parts that exist before it. Where one is not made, its own predecessors take its place."""


@dataclass(frozen=True, slots=True, order=True)
class Id:
    """One object of a stack: whose it is (a service's key, a cache or a namespace) and which part."""

    owner: str
    part: Part
    which: str = ""
    """Of several that are the same part."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What the order of a stack's objects follows from besides their parts."""

    namespaces: Mapping[str, str]
    """The namespace of each owner's objects; of cluster-scoped ones, the namespace that they are about."""
    weights: Mapping[str, str]
    """The owner of the Job that fills the claim that an owner's pods mount."""
    beside: Mapping[Id, tuple[str, ...]]
    """Further owners, before an object of which the same parts exist as of its own owner."""
    others: Mapping[Id, tuple[Id, ...]]
    """Objects of other owners that exist before an object, where they are made."""


def after(ids: Iterable[Id], relations: Relations) -> dict[Id, tuple[Id, ...]]:
    """Return for each object of a stack those that exist before it; for a part that is not made, its predecessors."""
    made = dict[tuple[str, Part], list[Id]]()
    for identity in ids:
        made.setdefault((identity.owner, identity.part), []).append(identity)
    everything = [identity for identities in made.values() for identity in identities]
    return {identity: tuple(dict.fromkeys(_before(identity, made, relations))) for identity in everything}


def _before(identity: Id, made: Mapping[tuple[str, Part], list[Id]], relations: Relations) -> Iterator[Id]:
    """Yield the objects that exist before one, some of them more than once."""
    namespace = relations.namespaces.get(identity.owner, "")

    def predecessors(owner: str, part: Part) -> Iterator[Id]:
        for needed in AFTER[part]:
            whose = {Part.NAMESPACE: namespace, Part.FILL: relations.weights.get(owner, owner)}.get(needed, owner)
            yield from made.get((whose, needed)) or predecessors(whose, needed)

    for owner in (identity.owner, *relations.beside.get(identity, ())):
        yield from predecessors(owner, identity.part)
    for other in relations.others.get(identity, ()):
        yield from (found for found in made.get((other.owner, other.part), ()) if found == other)
