"""Ports that several modules have to agree about, and that no user chooses."""

HTTP_PORT, HTTPS_PORT = 80, 443
"""Ports that a URL means which names none."""
ROUTED_PORT = 8000
"""Port of the routed Service, in number and name: the interceptor looks for the name first."""
HEALTH_PORT = 9003
"""Port of the picker's gRPC health service."""
METRICS_PORT = 9090
"""Port of the picker's metrics."""
