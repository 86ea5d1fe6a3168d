"""Specs of metrics scraping: the stack's monitor objects and the metrics of a service."""

from typing import Literal

from pydantic import Field

from models.base import Spec
from models.vocabulary import AbsolutePath, Interval, LabelKey, LabelValue


class Monitors(Spec):
    """Kinds of objects that make metrics scraped; each service's `metrics` selects its endpoints."""

    type: Literal["none", "prometheus-operator", "gmp"] = "none"
    """The kind of monitor objects: ServiceMonitor and PodMonitor of the Prometheus operator, PodMonitoring of Google's
    Managed Service for Prometheus (gmp), or none."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"release": "kube-prometheus-stack"}])
    """Labels that the scraper selects monitor objects by."""


class Metrics(Spec):
    """Endpoints of a service that are scraped, in the way that observability.metrics names."""

    decode: bool = True
    """Scrape the engines of the decode, or only, role."""
    prefill: bool = True
    """Scrape the engines of prefill."""
    picker: bool = True
    """Scrape the endpoint picker."""
    path: AbsolutePath = "/metrics"
    """Path of the engines' metrics; the picker's are always at /metrics."""
    interval: Interval = "30s"
    """Time between two scrapes, at least 1s."""
