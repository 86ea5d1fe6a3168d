"""OpenTelemetry's environment variables, alike for engine, sidecar and picker."""

from collections.abc import Iterator, Mapping

from models.paths import Path
from models.problems import Problem, warning
from models.stack import Tracing
from planning.releases import Release

NOTHING: Mapping[str, str] = {}


def environment(traces: Tracing | None, service: str, untraced: Mapping[str, str] = NOTHING) -> dict[str, str]:
    """Return the variables of a container that reports as `service`; `untraced` where nothing is traced.

    No generation is in that name: a service is found under one name, whichever pods of it answer.
    """
    if traces is None:
        return dict(untraced)
    return {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": traces.endpoint,
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_TRACES_SAMPLER": traces.sampler,
        "OTEL_TRACES_SAMPLER_ARG": traces.sampler_arg,
    }


def warnings(traces: Tracing | None, release: Release) -> Iterator[Problem]:
    """Say where a choice of traces is the engines' alone."""
    known = release.tracing.samplers
    if traces is not None and traces.sampler not in known:
        who = "picker knows" if release.sidecar is None else "picker and sidecar know"
        what = f"{release.name}'s {who} {', '.join(known)} alone ({traces.sampler})"
        yield warning(Path("observability", "tracing", "sampler"), what, release.tracing.otherwise)
