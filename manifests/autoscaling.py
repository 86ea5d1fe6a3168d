"""Autoscaler of a role: a HorizontalPodAutoscaler, or a ScaledObject from which KEDA makes one."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from manifests import about
from manifests.objects import Manifest, compact
from models.paths import Path
from planning.plans import VariantPlan
from planning.serving.autoscaling import Autoscaler, Cpu, EngineLoad, Keda, Passed
from planning.serving.workload import Workload

REPLICAS = ("spec.replicas",)
"""Fields of a workload that its autoscaler writes. The manifest omits them, and a run does not change them."""
_PODS = {"Deployment": "-[0-9a-z]{1,10}-[0-9a-z]{5}", "LeaderWorkerSet": "-[0-9]+"}
"""Regular expression for the end of a serving pod's name, by kind of workload."""
_SUFFIXES = ((10**12, "G"), (10**9, "M"), (10**6, "k"), (10**3, ""))


def manifest(variant: VariantPlan, workload: Workload, autoscaler: Autoscaler) -> Manifest:
    """Render the autoscaler of a workload."""
    metadata = about.metadata(variant, about.MODEL_SERVER, workload.name)
    target = {"apiVersion": workload.api_version, "kind": workload.kind, "name": workload.name}
    if autoscaler.keda is None:
        return {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": metadata,
            "spec": _hpa(target, autoscaler),
        }
    pods = f'namespace="{variant.names.namespace}",pod=~"{workload.name}{_PODS[workload.kind]}"'
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": _scaled_object(target, autoscaler, autoscaler.keda, pods, variant.names.namespace),
    }


def origins(autoscaler: Autoscaler) -> dict[Path, Path]:
    """Return the parts of the manifest that a user wrote: path in the manifest to path in the configuration."""
    indexes = [metric.at for metric in autoscaler.metrics if isinstance(metric, Passed)]
    behavior = autoscaler.path / "behavior"
    if autoscaler.keda is None:
        metrics, rendered_behavior = Path("spec", "metrics"), Path("spec", "behavior")
    else:
        metrics = Path("spec", "triggers")
        rendered_behavior = Path("spec", "advanced", "horizontalPodAutoscalerConfig", "behavior")
    return {rendered_behavior: behavior, **{metrics / at: autoscaler.path / "metrics" / at / "spec" for at in indexes}}


def _hpa(target: Mapping[str, str], autoscaler: Autoscaler) -> dict[str, Any]:
    return compact(
        {
            "scaleTargetRef": target,
            "minReplicas": autoscaler.min_replicas,
            "maxReplicas": autoscaler.max_replicas,
            "behavior": autoscaler.behavior,
            "metrics": [_metric(metric) for metric in autoscaler.metrics],
        }
    )


def _metric(metric: EngineLoad | Cpu | Passed) -> Mapping[str, Any]:
    if isinstance(metric, Passed):
        return metric.spec
    if isinstance(metric, Cpu):
        target = {"type": "Utilization", "averageUtilization": metric.percent}
        return {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    target = {"type": "AverageValue", "averageValue": _quantity(metric.target)}
    return {"type": "Pods", "pods": {"metric": {"name": metric.metric.pod_metric}, "target": target}}


def _quantity(number: Decimal) -> str:
    """Return a quantity as Kubernetes writes it: in the largest unit that gives a whole number, or in thousandths."""
    milli = int(number * 1000)
    return next((f"{milli // size}{suffix}" for size, suffix in _SUFFIXES if milli % size == 0), f"{milli}m")


def _scaled_object(
    target: Mapping[str, str], autoscaler: Autoscaler, keda: Keda, pods: str, namespace: str
) -> dict[str, Any]:
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": autoscaler.behavior}} if autoscaler.behavior else None
    return compact(
        {
            "scaleTargetRef": target,
            "pollingInterval": keda.polling_seconds,
            "cooldownPeriod": keda.cooldown_seconds,
            "minReplicaCount": autoscaler.min_replicas,
            "maxReplicaCount": autoscaler.max_replicas,
            "advanced": advanced,
            "triggers": [
                *(_trigger(metric, keda, pods) for metric in autoscaler.metrics),
                *_wake_trigger(keda, namespace),
            ],
        }
    )


def _trigger(metric: EngineLoad | Cpu | Passed, keda: Keda, pods: str) -> Mapping[str, Any]:
    if isinstance(metric, Passed):
        return metric.spec
    if isinstance(metric, Cpu):
        return {"type": "cpu", "metricType": "Utilization", "metadata": {"value": str(metric.percent)}}
    series = f"{metric.metric.series}{{{pods}}}"
    per_pod = series if metric.metric.aggregation == "sum" else f"{metric.metric.aggregation} by (pod) ({series})"
    return {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": compact(
            {
                "serverAddress": keda.server,
                "query": f"sum({per_pod})",
                "threshold": f"{metric.target.normalize():f}",
                # Without this, KEDA would take missing series as zero load.
                "ignoreNullValues": "false",
            }
        ),
    }


def _wake_trigger(keda: Keda, namespace: str) -> Iterator[dict[str, Any]]:
    """Yield the trigger that wakes a role. Missing series count as 0: a picker has none before its first request."""
    queue = keda.queue
    if queue is None:
        return
    pods = f'namespace="{namespace}",pod=~"{queue.picker}{_PODS["Deployment"]}"'
    yield {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": compact(
            {
                "serverAddress": keda.server,
                "query": f"sum({queue.series}{{{pods}}})",
                "threshold": f"{queue.target.normalize():f}",
                "activationThreshold": "0",
                "ignoreNullValues": "true",
            }
        ),
    }
