"""Metrics of Kubernetes itself, from exporters such as kube-state-metrics."""

from collections.abc import Mapping
from typing import Literal

from models.base import Spec
from planning.ground import tables
from planning.ground.metric_facts import MetricFacts
from planning.ground.tables import Sourced

ClusterMetricName = Literal[
    "container_restarts",
    "container_waiting",
    "pod_ready",
    "deployment_replicas",
    "deployment_available",
    "autoscaler_maximum",
    "autoscaler_current",
    "autoscaler_desired",
    "autoscaler_condition",
    "claim_used",
    "claim_capacity",
    "claim_available",
    "target_up",
]
"""Names by which this program asks for metrics of clusters. An autoscaler is a HorizontalPodAutoscaler, also KEDA's."""


class Exporter(Sourced):
    """A program whose metrics a Prometheus may scrape."""

    metrics: dict[ClusterMetricName, MetricFacts]


class _Table(Spec):
    exporters: dict[Literal["kube-state-metrics", "kubelet", "prometheus"], Exporter]


def metrics() -> Mapping[ClusterMetricName, MetricFacts]:
    """Return the metrics of all exporters."""
    return {name: metric for exporter in _exporters().values() for name, metric in exporter.metrics.items()}


def exporter_of(name: ClusterMetricName) -> str:
    """Return the name of the exporter that has a metric."""
    return next(exporter for exporter, facts in _exporters().items() if name in facts.metrics)


def _exporters() -> Mapping[str, Exporter]:
    return tables.read(_Table, "cluster-series.yaml").exporters
