"""API groups of custom kinds that several modules name."""

GATEWAY_GROUP = "gateway.networking.k8s.io"
"""Gateway, HTTPRoute and ReferenceGrant (Gateway API)."""
POOL_GROUP = "inference.networking.k8s.io"
"""InferencePool (Gateway API Inference Extension)."""
