"""Specs of the probes of an engine."""

from typing import Literal

from pydantic import Field, model_validator

from models.base import Spec
from models.paths import Path
from models.vocabulary import AbsolutePath, Count, Duration, milliseconds, refuse, seconds

_SECOND = 1000
"""Shortest interval and timeout of a probe, in milliseconds."""


class EngineProbe(Spec):
    """Settings of one probe. Absent keys have the values for all probes."""

    type: Literal["http", "tcp"] = "http"
    """http: the engine must answer a request for the path with a status below 400; tcp: it must accept a
    connection."""
    path: AbsolutePath | None = Field(default=None, examples=["/health"])
    """Path of the requests."""
    initial_delay: Duration | None = Field(default=None, examples=["15s"])
    """Time from the start of the container until the first probe; absent: none."""
    interval: Duration | None = Field(default=None, examples=["30s"])
    """Time between two probes; at least 1s."""
    timeout: Duration | None = Field(default=None, examples=["2s"])
    """Time within which the probe must be answered; from 1s up to the interval."""

    @model_validator(mode="after")
    def _has_a_path_to_ask(self) -> "EngineProbe":
        if self.type == "tcp" and self.path is not None:
            what = f"has a path, but a probe of type tcp sends no request ({self.path})"
            raise refuse(what, "remove path", echoed=False)
        return self


class RepeatedProbe(EngineProbe):
    """Settings of a probe that goes on as long as the container runs. Absent keys have the values for all probes."""

    failure_threshold: Count | None = Field(default=None, examples=[3])
    """Number of failed probes in a row after which the probe has failed."""


class Health(Spec):
    """The probes of the engine container, on the port that the engine listens on."""

    path: AbsolutePath | None = Field(default=None, examples=["/health"])
    """Path of the startup and readiness probes; absent: /v1/models, or /health if the engine requires an API key."""
    liveness_path: AbsolutePath = "/health"
    """Path of the liveness probe."""
    interval: Duration = "10s"
    """Time between two probes; at least 1s."""
    timeout: Duration = "5s"
    """Time within which a probe must be answered; from 1s up to the interval."""
    failure_threshold: Count = 3
    """Number of failed probes in a row after which a pod is not ready (readiness) or its engine restarts (liveness)."""
    startup_timeout: Duration | None = Field(default=None, examples=["45m"])
    """Time from the start of the container within which the model must be loaded; absent: 10m plus 1s for each 64Mi of
    weights, or 30m if their size is unknown. With storage.type engine, it includes the fetch: 1s for each 32Mi."""
    startup: EngineProbe = EngineProbe.default()
    """Settings of the startup probe alone. startupTimeout less initialDelay, which must be shorter, decides its number
    of failures."""
    readiness: RepeatedProbe = RepeatedProbe.default()
    """Settings of the readiness probe alone."""
    liveness: RepeatedProbe = RepeatedProbe.default()
    """Settings of the liveness probe alone."""

    @property
    def written_paths(self) -> dict[Path, str]:
        """Return the paths that probes ask for, by their place below this section; generated ones are left out."""
        paths = {Path("path"): self.path, Path("livenessPath"): self.liveness_path}
        paths |= {Path("startup", "path"): self.startup.path, Path("readiness", "path"): self.readiness.path}
        paths |= {Path("liveness", "path"): self.liveness.path}
        return {at: path for at, path in paths.items() if path is not None}

    @model_validator(mode="after")
    def _probes_fit_intervals(self) -> "Health":
        _check_times("a probe", self.interval, self.timeout)
        for name in ("startup", "readiness", "liveness"):
            probe: EngineProbe = getattr(self, name)
            _check_times(f"the {name} probe", probe.interval or self.interval, probe.timeout or self.timeout)
        return self


def _check_times(noun: str, interval: str, timeout: str) -> None:
    """Reject a timeout above the interval, and times below a second."""
    if seconds(timeout) > seconds(interval):
        what = f"{noun} may take longer than the time between two probes (timeout {timeout}, interval {interval})"
        raise refuse(what, "lower timeout or raise interval", echoed=False)
    if min(milliseconds(interval), milliseconds(timeout)) < _SECOND:
        raise refuse("has an interval or timeout of less than a second", "write 1s or more", echoed=False)
