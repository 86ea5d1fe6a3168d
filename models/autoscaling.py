"""Specs of autoscaling: an HPA or a KEDA ScaledObject that sets a role's number of replicas from metrics."""

from typing import Annotated, Literal

from pydantic import Field

from models.base import Spec
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
)


class RequestMetric(Spec):
    """Requests, on average over the replicas."""

    type: Literal["queue-size", "running-requests"]
    """queue-size: requests that wait for a place in a batch; running-requests: those that are in one."""
    target: Annotated[float, Between(0, 100_000, "write a number above 0, such as 5"), Field(examples=[5])]
    """Requests of one replica, above which there are too few replicas."""


class CacheMetric(Spec):
    """How full the KV caches are, on average over the replicas."""

    type: Literal["kv-cache-utilization"]
    """How full the KV caches are."""
    target: Annotated[Share, Field(examples=[0.8])]
    """Share of the cache in use, above which there are too few replicas."""


class CpuMetric(Spec):
    """CPU time, on average over the replicas; says little where devices do the work."""

    type: Literal["cpu"]
    """CPU time."""
    target_percent: Annotated[Count, Field(examples=[80])]
    """Percent of the requested CPU, above which there are too few replicas."""


class CustomMetric(Spec):
    """A metric in the autoscaler's own words."""

    type: Literal["custom"]
    """A metric in the autoscaler's own words."""
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
    """For hpa a MetricSpec of autoscaling/v2, for keda a trigger of a ScaledObject."""


Metric = Annotated[RequestMetric | CacheMetric | CpuMetric | CustomMetric, Field(discriminator="type")]


class _Bounds(Spec):
    """Bounds, behaviour and metrics, which every autoscaler has."""

    min_replicas: CountOrNone = 1
    """Replicas at least."""
    max_replicas: Annotated[Count, Field(examples=[4])]
    """Replicas at most."""
    behavior: KubernetesObject = Field(
        default={"scaleDown": {"stabilizationWindowSeconds": 300}},
        examples=[{"scaleUp": {"stabilizationWindowSeconds": 60}}],
    )
    """How fast the number may change, as autoscaling/v2 has it; absent: down by what the last 300 seconds allowed."""
    metrics: Annotated[
        Items[Metric],
        Entries(1, None, "write at least one, such as {type: queue-size, target: 5}"),
        Field(examples=[[{"type": "queue-size", "target": 5}]]),
    ]
    """Metrics of the role. Each asks for a number of replicas, and the highest counts."""


class HpaAutoscaling(_Bounds):
    """A HorizontalPodAutoscaler. An adapter has to expose the engine's metrics as metrics of pods.

    Their names are those of the engine with an underscore for the colon, such as vllm_num_requests_waiting.
    """

    type: Literal["hpa"]
    """A HorizontalPodAutoscaler."""


class KedaAutoscaling(_Bounds):
    """A ScaledObject of KEDA, which asks observability.prometheus and runs an HPA of its own."""

    type: Literal["keda"]
    """A ScaledObject of KEDA."""
    polling_interval: Interval = "30s"
    """Time between two queries, at least 1s."""
    cooldown_period: Duration = "5m"
    """Time without any load before the last replica may go."""


Autoscaling = Annotated[HpaAutoscaling | KedaAutoscaling, Field(discriminator="type")]
