"""OpenTelemetry's environment variables, alike for engine, sidecar and picker."""

from models.stack import Tracing


def environment(traces: Tracing | None, service: str) -> dict[str, str]:
    """Return the variables of a container that reports as `service`; none where nothing is traced."""
    if traces is None:
        return {}
    return {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": traces.endpoint,
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_TRACES_SAMPLER": traces.sampler,
        "OTEL_TRACES_SAMPLER_ARG": traces.sampler_arg,
    }
