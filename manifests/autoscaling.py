"""Autoscaler of a role: a HorizontalPodAutoscaler (HPA), or a ScaledObject from which KEDA makes an HPA."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from manifests import about
from manifests.objects import Manifest, compact
from models.autoscaling import Schedule
from models.paths import Path
from planning.plans import VariantPlan
from planning.serving import formulas
from planning.serving.autoscaling import Autoscaler, Cpu, EngineLoad, Keda, PickerLoad, UserMetric
from planning.serving.workload import Workload

REPLICAS = ("spec.replicas",)
"""Fields of a workload that its autoscaler writes. The manifest omits these fields, and Pulumi ignores them."""
_PODS = {"Deployment": "-[0-9a-z]{1,10}-[0-9a-z]{5}", "LeaderWorkerSet": "-[0-9]+"}
"""Regular expression for the end of a pod's name, by kind of the workload that makes the pod."""
_EVERY_POD = "-[0-9]+(-[0-9]+)?"
"""The same for a LeaderWorkerSet whose pods all get requests. The first expression matches leaders only."""
_TARGETS = {"AverageValue": "averageValue", "Value": "value"}
"""Name of the field that holds the number in a metric's target, by type of the target."""
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
    pods = f'namespace="{variant.names.namespace}",pod=~"{workload.name}{_pods(workload)}"'
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": _scaled_object(target, autoscaler, autoscaler.keda, pods, variant.names.namespace),
    }


def _pods(workload: Workload) -> str:
    """Return the regular expression for the end of the names of the pods that get requests."""
    if workload.layout.every_pod_serves:
        return _EVERY_POD
    return _PODS[workload.kind]


def origins(autoscaler: Autoscaler) -> dict[Path, Path]:
    """Return which fields of the manifest come unchanged from the user's configuration.

    Keys are paths in the manifest. Values are paths in the configuration.
    """
    indexes = [metric.at for metric in autoscaler.metrics if isinstance(metric, UserMetric)]
    behavior = autoscaler.path / "behavior"
    metrics = Path("spec", "metrics")
    rendered_behavior = Path("spec", "behavior")
    if autoscaler.keda is not None:
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


def _metric(metric: EngineLoad | PickerLoad | Cpu | UserMetric) -> Mapping[str, Any]:
    if isinstance(metric, UserMetric):
        return metric.spec
    if isinstance(metric, PickerLoad):
        return {"type": "Object", "object": _object(metric)}
    if isinstance(metric, Cpu):
        target = {"type": "Utilization", "averageUtilization": metric.percent}
        return {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    target = {"type": "AverageValue", "averageValue": _quantity(metric.target)}
    return {"type": "Pods", "pods": {"metric": {"name": metric.metric.pod_metric}, "target": target}}


def _object(metric: PickerLoad) -> dict[str, Any]:
    """Render a metric of the picker as a metric of the picker's Service. A metrics adapter must provide the metric."""
    identifier: dict[str, Any] = {"name": metric.metric.series}
    if metric.labels:
        identifier["selector"] = {"matchLabels": dict(metric.labels)}
    target = {"type": _metric_type(metric), _TARGETS[_metric_type(metric)]: _quantity(metric.target)}
    return {
        "metric": identifier,
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": metric.picker},
        "target": target,
    }


def _metric_type(metric: PickerLoad) -> str:
    if metric.is_per_replica:
        return "AverageValue"
    return "Value"


def _quantity(number: Decimal) -> str:
    """Return a Kubernetes quantity, in the largest unit in which the number is whole, or else in thousandths."""
    milli = int(number * 1000)
    return next((f"{milli // size}{suffix}" for size, suffix in _SUFFIXES if milli % size == 0), f"{milli}m")


def _scaled_object(
    target: Mapping[str, str], autoscaler: Autoscaler, keda: Keda, pods: str, namespace: str
) -> dict[str, Any]:
    fallback: dict[str, Any] = {}
    if keda.fallback is not None:
        fallback = keda.fallback.model_dump(by_alias=True)
    triggers = [_trigger(metric, keda, pods, namespace) for metric in autoscaler.metrics]
    if keda.queue is not None:
        triggers.append(_waking_trigger(keda.queue, keda, namespace))
    triggers += map(_schedule_trigger, keda.schedules)
    return compact(
        {
            "scaleTargetRef": target,
            "pollingInterval": keda.polling_seconds,
            "cooldownPeriod": keda.cooldown_seconds,
            "minReplicaCount": autoscaler.min_replicas,
            "maxReplicaCount": autoscaler.max_replicas,
            "advanced": _advanced_settings(autoscaler, keda),
            "fallback": fallback,
            "triggers": triggers,
        }
    )


def _advanced_settings(autoscaler: Autoscaler, keda: Keda) -> dict[str, Any]:
    formula: dict[str, Any] = {}
    if keda.modifiers is not None:
        formula = keda.modifiers.model_dump(by_alias=True, exclude_none=True)
    for field in ("target", "activationTarget"):
        if field in formula:
            formula[field] = _decimal(formula[field])
    behavior = compact({"behavior": autoscaler.behavior})
    return compact({"horizontalPodAutoscalerConfig": behavior, "scalingModifiers": formula})


def _trigger(
    metric: EngineLoad | PickerLoad | Cpu | UserMetric, keda: Keda, pods: str, namespace: str
) -> Mapping[str, Any]:
    if isinstance(metric, UserMetric):
        return metric.spec
    if isinstance(metric, Cpu):
        return {"type": "cpu", "metricType": "Utilization", "metadata": {"value": str(metric.percent)}}
    if isinstance(metric, PickerLoad):
        return _picker_trigger(metric, keda, namespace)
    series = f"{metric.metric.series}{{{pods}}}"
    if metric.metric.aggregation != "sum":
        series = f"{metric.metric.aggregation} by (pod) ({series})"
    # With KEDA's default (`ignoreNullValues: true`), a missing series would count as zero load.
    settings = {"threshold": _decimal(metric.target), "ignoreNullValues": "false"}
    return _query(f"sum({series})", keda, settings, name=metric.type)


def _picker_trigger(metric: PickerLoad, keda: Keda, namespace: str) -> dict[str, Any]:
    """Render a trigger on a metric of the picker.

    If the metric counts requests, KEDA counts a missing series as 0, because the picker writes the series only after
    the first request.
    """
    settings = {"threshold": _decimal(metric.target), "ignoreNullValues": str(metric.is_per_replica).lower()}
    query = _picker_query(metric, namespace)
    return _query(query, keda, settings, name=metric.type, metric_type=_metric_type(metric))


def _waking_trigger(metric: PickerLoad, keda: Keda, namespace: str) -> dict[str, Any]:
    """Render the trigger that adds the first replica of a role that has no replicas.

    KEDA counts a missing series as 0, because the picker writes the series only after the first request.
    """
    settings = {"threshold": _decimal(metric.target), "activationThreshold": "0", "ignoreNullValues": "true"}
    return _query(_picker_query(metric, namespace), keda, settings, name=formulas.WAKING)


def _schedule_trigger(schedule: Schedule) -> dict[str, Any]:
    """Render a trigger for a time window (keda v2.18.0, pkg/scalers/cron_scaler.go, `cronMetadata`)."""
    window = {"timezone": schedule.timezone, "start": schedule.start, "end": schedule.end}
    return {"type": "cron", "metadata": {**window, "desiredReplicas": str(schedule.replicas)}}


def _picker_query(metric: PickerLoad, namespace: str) -> str:
    pods = f'namespace="{namespace}",pod=~"{metric.picker}{_PODS["Deployment"]}"'
    labels = "".join(f',{name}="{value}"' for name, value in sorted(metric.labels.items()))
    return f"{metric.metric.aggregation}({metric.metric.series}{{{pods}{labels}}})"


def _query(
    query: str, keda: Keda, settings: Mapping[str, str], *, name: str, metric_type: str = "AverageValue"
) -> dict[str, Any]:
    """Render a trigger on a query to Prometheus.

    The trigger has a name only if there is a formula over all metrics, because only formulas refer to triggers by name.
    """
    metadata: dict[str, Any] = {"serverAddress": keda.server, "query": query, **settings}
    trigger: dict[str, Any] = {"type": "prometheus", "name": None, "metricType": metric_type, "metadata": metadata}
    if keda.modifiers is not None:
        trigger["name"] = name.replace("-", "_")
    credentials = keda.authentication
    if credentials is not None:
        metadata["authModes"] = ",".join(credentials.modes) or None
        trigger["authenticationRef"] = {"name": credentials.name, "kind": credentials.kind}
    return compact({**trigger, "metadata": compact(metadata)})


def _decimal(number: Decimal | float) -> str:
    return f"{Decimal(str(number)).normalize():f}"
