"""Specs of autoscaling: an HPA or a KEDA ScaledObject that sets a role's number of replicas from metrics."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models import cron
from models.base import Spec
from models.cron import CronTime, TimeZone
from models.vocabulary import (
    Between,
    Count,
    CountOrNone,
    Duration,
    Entries,
    Interval,
    Items,
    KubernetesObject,
    Share,
    Text,
    refuse,
)


class RequestMetric(Spec):
    """Number of requests, averaged over the replicas."""

    type: Literal["queue-size", "running-requests"]
    """queue-size: requests that wait for a place in a batch; running-requests: requests that are in a batch."""
    target: Annotated[float, Between(0, 100_000, "write a number above 0, such as 5"), Field(examples=[5])]
    """Number of requests per replica above which replicas are added."""


class CacheMetric(Spec):
    """Share of the KV cache that is in use, averaged over the replicas."""

    type: Literal["kv-cache-utilization"]
    """Share of the KV cache that is in use."""
    target: Annotated[Share, Field(examples=[0.8])]
    """Share in use above which replicas are added."""


class PickerMetric(Spec):
    """Number of requests that the endpoint picker reports, divided by the number of replicas."""

    type: Literal["picker-queue-size", "picker-running-requests"]
    """picker-queue-size: requests that wait in flow control of the picker; picker-running-requests: requests that the
    picker has sent to pods, and that pods have not answered yet."""
    target: Annotated[float, Between(0, 100_000, "write a number above 0, such as 5"), Field(examples=[5])]
    """Number of requests per replica above which replicas are added."""


class SaturationMetric(Spec):
    """Saturation of the pool, as flow control of the endpoint picker reports it. From 1 on, new requests wait."""

    type: Literal["pool-saturation"]
    """Saturation of the pool. If the service has prefill: saturation of the role's pods alone."""
    target: Annotated[float, Between(0, 10, "write a number above 0, such as 0.7"), Field(examples=[0.7])]
    """Saturation above which replicas are added."""


class CpuMetric(Spec):
    """CPU time, averaged over the replicas. It says little about the load if devices do the work."""

    type: Literal["cpu"]
    """CPU time."""
    target_percent: Annotated[Count, Field(examples=[80])]
    """Percentage of the requested CPU above which replicas are added."""


class CustomMetric(Spec):
    """A metric in the syntax of the autoscaler."""

    type: Literal["custom"]
    """A metric in the syntax of the autoscaler."""
    spec: Annotated[
        KubernetesObject,
        Field(
            examples=[
                {
                    "type": "External",
                    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}},
                }
            ]
        ),
    ]
    """With type hpa, a MetricSpec of autoscaling/v2. With type keda, a trigger of a ScaledObject."""


Metric = Annotated[
    RequestMetric | CacheMetric | PickerMetric | SaturationMetric | CpuMetric | CustomMetric,
    Field(discriminator="type"),
]


class _Bounds(Spec):
    """Bounds, behaviour and metrics of an autoscaler of any type."""

    min_replicas: CountOrNone = 1
    """Minimum number of replicas."""
    max_replicas: Annotated[Count, Field(examples=[4])]
    """Maximum number of replicas."""
    behavior: KubernetesObject = Field(
        default={"scaleDown": {"stabilizationWindowSeconds": 300}},
        examples=[{"scaleUp": {"stabilizationWindowSeconds": 60}}],
    )
    """Limits on how fast the number of replicas changes (HorizontalPodAutoscalerBehavior of autoscaling/v2). Absent:
    the number of replicas falls only to the highest number that the metrics gave in the last 300 seconds."""
    metrics: Annotated[
        Items[Metric],
        Entries(1, None, "write at least one, such as {type: queue-size, target: 5}"),
        Field(examples=[[{"type": "queue-size", "target": 5}]]),
    ]
    """Metrics of the role. Each metric gives a number of replicas, and the highest number is used."""


class Fallback(Spec):
    """Number of replicas while metrics cannot be read."""

    failure_threshold: Count = 3
    """Number of failed queries in a row after which the fallback applies."""
    replicas: Annotated[CountOrNone, Field(examples=[2])]
    """Number of replicas."""
    behavior: Literal["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"] = "static"
    """static: `replicas`; currentReplicas: the number of running replicas; currentReplicasIfHigher: the higher of both
    numbers; currentReplicasIfLower: the lower of both numbers."""


class ScalingModifiers(Spec):
    """A formula over all metrics. Only the result of the formula, and the metric cpu, decide the number of replicas."""

    formula: Text = Field(examples=["max([queue_size, picker_queue_size])"])
    """Formula of KEDA (expr-lang). In the formula, a metric has the name of its type with underscores, such as
    queue_size; a custom metric has the `name` in its spec."""
    target: Annotated[float, Between(0, 1_000_000, "write a number above 0, such as 5"), Field(examples=[5])]
    """Result above which replicas are added: per replica, or in total if metricType is Value."""
    activation_target: float | None = Field(default=None, examples=[1])
    """With minReplicas 0: result above which the first replica is added; absent: 0."""
    metric_type: Literal["AverageValue", "Value"] = "AverageValue"
    """AverageValue: the result is divided by the number of replicas; Value: the result is compared as it is."""


class Schedule(Spec):
    """A time window with a minimum number of replicas."""

    start: CronTime = Field(examples=["0 7 * * 1-5"])
    """Beginning of each window, as minute, hour, day of the month, month and day of the week."""
    end: CronTime = Field(examples=["0 19 * * 1-5"])
    """End of each window."""
    timezone: TimeZone = Field(examples=["Europe/Berlin"])
    """Time zone of start and end, by its name in the IANA database."""
    replicas: Annotated[Count, Field(examples=[4])]
    """Number of replicas in the window. Metrics can give more."""

    @model_validator(mode="after")
    def _is_a_window(self) -> "Schedule":
        if cron.parse(self.start) == cron.parse(self.end):
            raise refuse(f"begins and ends at the same time ({self.start})", "write another end", echoed=False)
        return self


class HpaAutoscaling(_Bounds):
    """A HorizontalPodAutoscaler. A metrics adapter must expose the engine's metrics as metrics of pods.

    In the names of metrics, the adapter must replace the colon by an underscore, as in vllm_num_requests_waiting. The
    adapter must expose metrics of the endpoint picker as metrics of the picker's Service.
    """

    type: Literal["hpa"]
    """A HorizontalPodAutoscaler."""


class KedaAutoscaling(_Bounds):
    """A ScaledObject of KEDA. KEDA queries observability.prometheus, and creates the HPA."""

    type: Literal["keda"]
    """A ScaledObject of KEDA."""
    polling_interval: Interval = "30s"
    """Time between two queries, at least 1s."""
    cooldown_period: Duration = "5m"
    """With minReplicas 0: time without load after which the last replica is removed. It counts while a replica starts,
    too, once no request waits for it: choose a time in which a pod can start and load the model."""
    schedules: Items[Schedule] = Field(
        default=(),
        examples=[[{"end": "0 19 * * 1-5", "replicas": 4, "start": "0 7 * * 1-5", "timezone": "Europe/Berlin"}]],
    )
    """Time windows with a minimum number of replicas. Refused together with scalingModifiers, whose formula would
    replace them."""
    fallback: Fallback | None = Field(default=None, examples=[{"replicas": 2}])
    """Number of replicas while metrics cannot be read; absent: the number stays as it is."""
    scaling_modifiers: ScalingModifiers | None = Field(
        default=None, examples=[{"formula": "max([queue_size, picker_queue_size])", "target": 5}]
    )
    """A formula over all metrics; absent: each metric gives a number of replicas, and the highest number is used."""


Autoscaling = Annotated[HpaAutoscaling | KedaAutoscaling, Field(discriminator="type")]
