"""Port numbers that several modules share and that users cannot change."""

HTTP_PORT, HTTPS_PORT = 80, 443
"""Default ports of URLs."""
ROUTED_PORT = 8000
"""Port of the routed Service. The port's name is the same number as text. The interceptor looks for this name first."""
HEALTH_PORT = 9003
"""Port of the picker's gRPC health service."""
METRICS_PORT = 9090
"""Port of the picker's metrics."""
MAX_TARGET_PORTS = 8
"""Maximum number of target ports of an InferencePool (gateway-api-inference-extension v1.1.0, config/crd/bases)."""
