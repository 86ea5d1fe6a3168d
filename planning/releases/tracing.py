"""OpenTelemetry environment variables, the same for engine, sidecar and picker."""

from collections.abc import Iterator, Mapping

from models.paths import Path
from models.problems import Problem, warning
from models.stack import Tracing
from planning.releases import Release

NO_VARIABLES: Mapping[str, str] = {}


def environment(
    traces: Tracing | None, service: str, tracing_off_variables: Mapping[str, str] = NO_VARIABLES
) -> dict[str, str]:
    """Return the tracing variables of a container; `tracing_off_variables` if the stack has no tracing.

    The container reports its traces under the name `service`. That name contains no generation, so that all traces of a
    service are found under one name.
    """
    if traces is None:
        return dict(tracing_off_variables)
    return {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": traces.endpoint,
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_TRACES_SAMPLER": traces.sampler,
        "OTEL_TRACES_SAMPLER_ARG": traces.sampler_arg,
    }


def judge(traces: Tracing | None, release: Release) -> Iterator[Problem]:
    """Warn if the engines support the sampler, but picker and sidecar do not."""
    samplers = release.tracing.samplers
    if traces is not None and traces.sampler not in samplers:
        components = "picker and sidecar support"
        if release.sidecar is None:
            components = "picker supports"
        what = f"{release.name}'s {components} only {', '.join(samplers)} ({traces.sampler})"
        yield warning(Path("observability", "tracing", "sampler"), what, release.tracing.otherwise)
