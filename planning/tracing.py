"""OpenTelemetry's environment variables, alike for engine, sidecar and picker."""

from collections.abc import Mapping

from models.stack import Tracing

NOTHING: Mapping[str, str] = {}


def environment(traces: Tracing | None, service: str, untraced: Mapping[str, str] = NOTHING) -> dict[str, str]:
    """Return the variables of a container that reports as `service`; `untraced` where nothing is traced."""
    if traces is None:
        return dict(untraced)
    return {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": traces.endpoint,
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_TRACES_SAMPLER": traces.sampler,
        "OTEL_TRACES_SAMPLER_ARG": traces.sampler_arg,
    }
