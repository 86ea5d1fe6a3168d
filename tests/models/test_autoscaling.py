"""Autoscaling: metrics by type, bounds, and what only KEDA has."""

import pytest
from pydantic import TypeAdapter

from models.autoscaling import Autoscaling, CpuMetric, CustomMetric, RequestMetric
from tests.support.stacks import mistakes, tree

QUEUE = {"type": "queue-size", "target": 5}
HPA = {"type": "hpa", "maxReplicas": 4, "metrics": [QUEUE]}
KEDA = {**HPA, "type": "keda"}


@pytest.mark.parametrize(
    ("autoscaling", "message"),
    [
        ({**HPA, "metrics": []}, ".metrics: has 0 entries; write at least one, such as {type: queue-size, target: 5}"),
        (
            {**HPA, "metrics": [{**QUEUE, "target": 0}]},
            ".metrics[0].target: is not above 0 and at most 100000 (0); write a number above 0, such as 5",
        ),
        (
            {**HPA, "metrics": [{"type": "pool-saturation", "target": 11}]},
            ".metrics[0].target: is not above 0 and at most 10 (11); write a number above 0, such as 0.7",
        ),
        (
            {**HPA, "metrics": [{"type": "kv-cache-utilization", "target": 80}]},
            ".metrics[0].target: is not above 0 and at most 1 (80); write a share such as 0.9",
        ),
        (
            {**HPA, "type": "vpa"},
            ": has an unknown type (vpa); set type to one of hpa, keda",
        ),
        ({**KEDA, "pollingInterval": "0s"}, ".pollingInterval: is below a second (0s); write 1s or more"),
        ({**HPA, "maxReplicas": 0}, ".maxReplicas: is not a whole number from 1 to 2147483647 (0); write 1 or more"),
    ],
)
def test_mistaken_autoscaling_is_refused(autoscaling, message):
    assert mistakes(tree(qwen={"autoscaling": autoscaling})) == [f"services.qwen.autoscaling{message}"]


def test_only_keda_has_a_fallback():
    (line,) = mistakes(tree(qwen={"autoscaling": {**HPA, "fallback": {"replicas": 2}}}))
    assert line.startswith("services.qwen.autoscaling.fallback: unknown key (fallback); ")
    keda = TypeAdapter(Autoscaling).validate_python({**KEDA, "fallback": {"replicas": 2}})
    assert (keda.fallback.failure_threshold, keda.fallback.behavior) == (3, "static")


def test_replicas_go_slowly_and_at_least_one_stays_by_default():
    keda = TypeAdapter(Autoscaling).validate_python(KEDA)
    assert keda.min_replicas == 1
    assert keda.behavior == {"scaleDown": {"stabilizationWindowSeconds": 300}}
    assert (keda.polling_interval, keda.cooldown_period) == ("30s", "5m")


def test_the_type_of_a_metric_selects_its_keys():
    metrics = [QUEUE, {"type": "cpu", "targetPercent": 80}, {"type": "custom", "spec": {"type": "External"}}]
    hpa = TypeAdapter(Autoscaling).validate_python({**HPA, "metrics": metrics})
    assert [type(metric) for metric in hpa.metrics] == [RequestMetric, CpuMetric, CustomMetric]
