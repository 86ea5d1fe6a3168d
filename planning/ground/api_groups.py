"""API groups and versions that several modules share."""

GATEWAY_GROUP = "gateway.networking.k8s.io"
"""Gateway, HTTPRoute and ReferenceGrant (Gateway API)."""
POOL_GROUP = "inference.networking.k8s.io"
"""InferencePool (Gateway API Inference Extension)."""
DEPLOYMENT_API = "apps/v1"
"""Deployment (Kubernetes)."""
LEADER_WORKER_SET_API = "leaderworkerset.x-k8s.io/v1"
"""LeaderWorkerSet (LWS)."""
CLAIM_TEMPLATE_API = "resource.k8s.io/v1"
"""ResourceClaimTemplate (Kubernetes)."""
METRICS_GROUP = "custom.metrics.k8s.io"
"""Metrics of objects, as adapters offer them to HorizontalPodAutoscalers (Kubernetes)."""

_VOWELS = frozenset("aeiou")
_PLURALS = frozenset({"rules"})
"""Kinds that are plurals."""


def plural(kind: str) -> str:
    """Return the plural name of a kind, as URL paths and RBAC rules have it.

    Not every English plural is formed in this way, but those of all kinds of a stack are. The kind `Rules` is a plural
    itself (Google's Managed Service for Prometheus, monitoring.googleapis.com).
    """
    name = kind.lower()
    if name in _PLURALS:
        return name
    if name.endswith("y") and name[-2:-1] not in _VOWELS:
        return f"{name[:-1]}ies"
    return f"{name}s"
