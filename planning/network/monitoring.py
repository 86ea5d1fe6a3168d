"""Plan of scraping a variant: ports, intervals, and the identity of the scraper."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from models.monitoring import Monitors
from models.service import Variant
from models.vocabulary import milliseconds
from planning.ground import labels
from planning.serving.workload import Workload

PICKER_PORT = "http-metrics"
"""Name of the picker's port for metrics, on its pods and its Service."""
PICKER_PATH = "/metrics"
"""Path of the picker's metrics. With authentication, a reader needs permission for this path."""
LABEL = "model_service"
"""Label of every series. The value of the label is the name of the variant."""
SERVICE_LABEL = "inference_service"
"""Label of every series with the name of the service.

It is not called `service`: the Prometheus operator writes the name of the scraped Kubernetes Service into that label
(prometheus-operator v0.85.0, pkg/prometheus/promcfg.go, generateServiceMonitorConfig), and boards read it there.
"""
VARIANT_LABEL = "variant"
"""Label of every series: `primary` or `canary`."""
ROLE_LABEL = "role"
"""Label of the series of serving pods: the name of the role, such as `decode` or `prefill`."""
POD_SERIES: Mapping[str, str] = {
    labels.NAME: LABEL,
    labels.SERVICE: SERVICE_LABEL,
    labels.VARIANT: VARIANT_LABEL,
    labels.ROLE: ROLE_LABEL,
}
"""Labels of the series of serving pods, by the labels of the pods whose values they have."""
PICKER_SERIES: Mapping[str, str] = {
    labels.NAME: LABEL,
    labels.PICKER: SERVICE_LABEL,
    labels.VARIANT: VARIANT_LABEL,
}
"""Labels of the series of pickers, by the labels of the pickers' pods and Services whose values they have."""
GMP_COLLECTORS = (("gmp-system", "collector"), ("gke-gmp-system", "collector"))
"""Namespace and service account of Google's collector, in standard and in Autopilot clusters."""
_SECOND = 1000


@dataclass(frozen=True, slots=True)
class Scrape:
    """Settings for scraping the pods of a role or of the picker."""

    ports: tuple[str, ...]
    """Names of the ports. Each port has its own metrics."""
    path: str
    interval: str
    """Interval in the form of Prometheus: a number with one unit."""
    tls: bool = False
    """Whether the pods serve TLS. The scraper verifies no certificates, because these lack the pods' addresses."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Plan of scraping a variant."""

    type: Literal["prometheus-operator", "gmp"]
    labels: Mapping[str, str]
    """Labels by which the scraper selects monitor objects."""
    roles: Mapping[str, Scrape]
    """Scraping of the serving pods, by role. Roles that are not scraped are absent."""
    picker: Scrape | None
    """Scraping of the picker. None if it is not scraped."""
    authenticated: bool
    """Whether the picker requires a token from its scraper."""
    token_readers: tuple[tuple[str, str], ...]
    """Namespace and service account of scrapers that need permission to read the Secret with the token.

    Google's collector does not have this permission. The Prometheus operator has it already.
    """

    @property
    def scrapes(self) -> tuple[Scrape, ...]:
        """Return the scraping of all roles and of the picker; empty if nothing is scraped."""
        of_picker = () if self.picker is None else (self.picker,)
        return (*self.roles.values(), *of_picker)


def plan(spec: Variant, roles: Mapping[str, Workload], monitors: Monitors) -> Monitoring | None:
    """Return the plan of scraping a variant. None if the stack has no scraper."""
    metrics = spec.metrics
    if monitors.type == "none":
        return None
    interval = _interval(metrics.interval)
    scrapes_picker = metrics.picker and spec.has_picker
    authenticated = scrapes_picker and spec.endpoint_picker.metrics_auth
    picker = None
    if scrapes_picker:
        picker = Scrape((PICKER_PORT,), PICKER_PATH, interval)
    token_readers = ()
    if authenticated and monitors.type == "gmp":
        token_readers = GMP_COLLECTORS
    return Monitoring(
        type=monitors.type,
        labels=monitors.labels,
        roles={
            name: Scrape(
                workload.engine_port_names,
                workload.engine.metrics_path,
                interval,
                tls=workload.engine.certificate is not None,
            )
            for name, workload in roles.items()
            if getattr(metrics, workload.stage.name)
        },
        picker=picker,
        authenticated=authenticated,
        token_readers=token_readers,
    )


def _interval(duration: str) -> str:
    """Return a duration with a single unit. Prometheus rejects durations with repeated or wrongly ordered units."""
    total = milliseconds(duration)
    if total % _SECOND:
        return f"{total}ms"
    return f"{total // _SECOND}s"
