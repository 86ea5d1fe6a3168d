"""Specs of metrics scraping: the stack's monitor objects and the metrics of a service."""

from typing import Literal

from pydantic import Field

from models.base import Spec
from models.vocabulary import AbsolutePath, Interval, LabelKey, LabelValue


class Monitors(Spec):
    """Objects that tell a scraper which endpoints to scrape.

    `metrics` of a service selects the endpoints of that service.
    """

    type: Literal["none", "prometheus-operator", "gmp"] = "none"
    """The kind of monitor objects: ServiceMonitor and PodMonitor of the Prometheus operator, PodMonitoring of Google's
    Managed Service for Prometheus (gmp), or none."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"release": "kube-prometheus-stack"}])
    """Labels by which the scraper selects monitor objects."""


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
