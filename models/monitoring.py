"""Specs of what is watched: the stack's monitors, rules and dashboards, and the metrics of a service."""

import string
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from models.base import Spec
from models.vocabulary import AbsolutePath, DnsLabel, Interval, LabelKey, LabelValue, Shape, Text, refuse

_ALERT = "alert"
"""Placeholder for the id of an alert in the address of its entry in a runbook."""


def _check_placeholders(address: str) -> str:
    """Reject an address with braces that `str.format` cannot fill, or with another placeholder than the alert."""
    remedy = "write {alert} where the id of the alert belongs, such as https://wiki.example.com/inference#{alert}"
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(address)]
    except ValueError:
        raise refuse("has a brace without its other half", remedy) from None
    if any(name not in (None, _ALERT) or spec or conversion for name, spec, conversion in fields):
        raise refuse("has another placeholder than {alert}", remedy)
    return address


RunbookAddress = Annotated[
    str,
    Shape(
        "is not the address of a runbook",
        r"https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/{}-]*)?(\?[A-Za-z0-9._~/{}=&-]*)?(#[A-Za-z0-9._~/{}=&-]*)?",
        "write http(s)://host/path with {alert}, such as https://wiki.example.com/inference#{alert}",
        512,
    ),
    AfterValidator(_check_placeholders),
]


class Monitors(Spec):
    """Objects that tell a scraper which endpoints to scrape.

    `metrics` of a service selects the endpoints of that service.
    """

    type: Literal["none", "prometheus-operator", "gmp"] = "none"
    """The kind of monitor objects: ServiceMonitor and PodMonitor of the Prometheus operator, PodMonitoring of Google's
    Managed Service for Prometheus (gmp), or none."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"release": "kube-prometheus-stack"}])
    """Labels by which the scraper selects monitor objects."""


class Severities(Spec):
    """Values of the label `severity` of alerts, by which an Alertmanager routes them."""

    page: Text = "critical"
    """Somebody should look at once: requests fail, or soon will."""
    ticket: Text = "warning"
    """Somebody should look on the next working day."""


class AlertRules(Spec):
    """Alerts about each service, and rules that record what these alerts need.

    They are a PrometheusRule of the Prometheus operator, or Rules of Google's Managed Service for Prometheus.
    """

    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"release": "kube-prometheus-stack"}])
    """Labels by which a Prometheus selects the objects with its rules. Google's Managed Service takes all of them."""
    severities: Severities = Severities.default()
    """Values of the label `severity`."""
    runbooks: RunbookAddress | None = Field(default=None, examples=["https://wiki.example.com/inference#{alert}"])
    """Address of the entry of an alert in a runbook, with {alert} for the alert's id. It is the annotation
    `runbook_url` of every alert. Absent: the alerts have no such annotation."""


class Dashboards(Spec):
    """Dashboards for Grafana: a ConfigMap for each service, and one with an overview of the stack."""

    namespace: DnsLabel | None = Field(default=None, examples=["monitoring"])
    """Namespace of the ConfigMaps, which must exist. Absent: those of the services, and the stack's for the
    overview."""
    labels: dict[LabelKey, LabelValue] = Field(
        default={"grafana_dashboard": "1"}, examples=[{"grafana_dashboard": "1"}]
    )
    """Labels by which Grafana's sidecar finds the ConfigMaps."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"grafana_folder": "Inference"}])
    """Annotations of the ConfigMaps, such as the one with the folder."""


class Metrics(Spec):
    """Endpoints of a service that are scraped. observability.metrics decides the kind of monitor objects."""

    decode: bool = True
    """Scrape the engines of the decode role, or of the only role."""
    prefill: bool = True
    """Scrape the engines of the prefill role."""
    encode: bool = True
    """Scrape the engines of the encode role."""
    picker: bool = True
    """Scrape the endpoint picker."""
    path: AbsolutePath = "/metrics"
    """Path of the engines' metrics; the picker's are always at /metrics. For engine.type trtllm-serve, the default is
    /prometheus/metrics."""
    interval: Interval = "30s"
    """Time between two scrapes, at least 1s."""
