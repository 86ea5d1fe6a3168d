"""What is scraped of a variant: which ports, how, and who it is that asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from models.monitoring import Monitors
from models.service import Variant
from models.vocabulary import milliseconds
from planning.serving.workload import Workload

PICKER_PORT = "http-metrics"
"""Name of the picker's port for metrics, on its pods and its Service."""
PICKER_PATH = "/metrics"
"""The picker's metrics; whoever reads them has to be allowed to get this path."""
LABEL = "model_service"
"""On every series: the service or canary that it is about, whatever its pods are called."""
GMP_COLLECTORS = (("gmp-system", "collector"), ("gke-gmp-system", "collector"))
"""Namespace and account of Google's collector, in a standard cluster and under Autopilot."""
_SECOND = 1000


@dataclass(frozen=True, slots=True)
class Scrape:
    """How pods of one kind are scraped."""

    port: str
    """Name of the port."""
    path: str
    interval: str
    """As Prometheus reads it: one number and one unit."""
    tls: bool = False
    """Whether they serve with a certificate; it names no address of a pod, so it is not verified."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """What is scraped of a variant."""

    type: Literal["prometheus-operator", "gmp"]
    labels: Mapping[str, str]
    """By which the scraper selects monitor objects."""
    roles: Mapping[str, Scrape]
    """Of a role's pods that serve, where they are scraped."""
    picker: Scrape | None
    """Of the picker; absent: it is not scraped."""
    authenticated: bool
    """Whether the picker asks its scraper for a token."""
    token_readers: tuple[tuple[str, str], ...]
    """Namespace and account of scrapers that have to be let read the token: unlike the operator of Prometheus, Google's
    collector may read no Secrets by itself."""


def plan(spec: Variant, roles: Mapping[str, Workload], monitors: Monitors) -> Monitoring | None:
    """Decide what is scraped of a variant; nothing where nobody scrapes."""
    wish = spec.metrics
    if monitors.type == "none":
        return None
    interval = _interval(wish.interval)
    wanted = {"decode": wish.decode, "prefill": wish.prefill}
    authenticated = wish.picker and spec.endpoint_picker.metrics_auth
    return Monitoring(
        type=monitors.type,
        labels=monitors.labels,
        roles={
            name: Scrape(one.engine_port_name, wish.path, interval, tls=one.engine.certificate is not None)
            for name, one in roles.items()
            if wanted[name]
        },
        picker=Scrape(PICKER_PORT, PICKER_PATH, interval) if wish.picker else None,
        authenticated=authenticated,
        token_readers=GMP_COLLECTORS if authenticated and monitors.type == "gmp" else (),
    )


def _interval(duration: str) -> str:
    """Write a duration as Prometheus reads it: its units may not stand in any order, nor twice."""
    total = milliseconds(duration)
    return f"{total}ms" if total % _SECOND else f"{total // _SECOND}s"
