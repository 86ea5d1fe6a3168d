"""Replicas of AIMServices."""

from typing import Any

import pytest

from tests.support.migration import AIM_MODEL, aim_service, objects, only_service, places

RUNNING = 'query: "vllm:num_requests_running"'


def scaled(text: str):
    """Convert an AIMService with lines about replicas."""
    return objects(aim_service(f"{AIM_MODEL}{text}\n"))


def metric(text: str, target: str = 'type: Value, value: "2"'):
    """Convert an AIMService with one metric."""
    return scaled(
        f"autoScaling: {{metrics: [{{type: PodMetric, podmetric: {{metric: {{{text}}}, target: {{{target}}}}}}}]}}"
    )


def bounds(service: dict[str, Any]) -> tuple[int, int] | None:
    """Return the bounds of autoscaling; None if the number is fixed."""
    if "autoscaling" not in service:
        return None
    return service["autoscaling"]["minReplicas"], service["autoscaling"]["maxReplicas"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("replicas: 3", None),
        ("replicas: 0", None),
        ("minReplicas: 2", (2, 2)),
        ("maxReplicas: 5", (1, 5)),
        ("minReplicas: 1\nmaxReplicas: 3", (1, 3)),
        ("replicas: 4\nautoScaling: {}", (1, 1)),
    ],
)
def test_any_field_about_autoscaling_switches_it_on(text: str, expected: tuple[int, int] | None) -> None:
    """The bounds are those of aim-engine."""
    assert bounds(only_service(scaled(text))) == expected


def test_a_fixed_number_is_carried_and_beside_autoscaling_it_is_dropped() -> None:
    """It has no effect there."""
    assert only_service(scaled("replicas: 0"))["replicas"] == 0
    printed = scaled("replicas: 4\nmaxReplicas: 5")
    assert "replicas" not in only_service(printed)
    assert "spec.replicas" in places(printed, "dropped")


def test_without_a_metric_one_is_asked_for() -> None:
    """CPU says nothing where devices do the work."""
    printed = scaled("maxReplicas: 5")
    assert only_service(printed)["autoscaling"]["metrics"] == [{"type": "queue-size", "target": 5}]
    assert any("no metric for autoscaling" in note.reason for note in printed.notes)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (RUNNING, 'type: Value, value: "2"', {"type": "running-requests", "target": 2}),
        (
            'metricNames: ["vllm:num_requests_waiting"]',
            'type: AverageValue, averageValue: "3"',
            {"type": "queue-size", "target": 3},
        ),
    ],
)
def test_a_metric_of_the_engine_is_one_of_this_program(text: str, target: str, expected: dict[str, Any]) -> None:
    """By the series that both read."""
    printed = metric(text, target)
    assert only_service(printed)["autoscaling"]["metrics"] == [expected]
    assert places(printed, "differs") >= {"spec.autoScaling.metrics[0]"}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("query: sum(tokens)", 'type: Value, value: "2"'),
        (f"{RUNNING}, operationOverTime: rate", 'type: Value, value: "2"'),
        (f"{RUNNING}, operationOverTime: {{a: 1}}", 'type: Value, value: "2"'),
        (RUNNING, 'type: Value, value: "0.5"'),
        (RUNNING, 'type: Value, value: "0"'),
        (RUNNING, "type: Utilization, averageUtilization: 80"),
    ],
)
def test_any_other_metric_is_lost(text: str, target: str) -> None:
    """A number that means something else would scale to something else."""
    assert places(metric(text, target), "cannot") == {"spec.autoScaling.metrics[0]"}
