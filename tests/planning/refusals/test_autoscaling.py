"""Metrics and behaviour of autoscalers that Kubernetes refuses are refused before."""

import pytest

from models.paths import Path
from planning.refusals import autoscaling
from tests.support.stacks import lines

TARGET = {"type": "Utilization", "averageUtilization": 80}
RESOURCE = {"type": "Resource", "resource": {"name": "cpu", "target": TARGET}}


def of_cpu(**target):
    return {"resource": {"name": "cpu", "target": target}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"type": "resource"}, "at.type: is not known to Kubernetes"),
        ({"type": "Pods"}, "at.resource: belongs to type Resource, and the type is Pods"),
        ({"resource": {"name": "", "target": TARGET}}, "at.resource.name: is empty"),
        (
            of_cpu(averageUtilization=0),
            "at.resource.target.averageUtilization: is ",
        ),
        (
            of_cpu(type="Utilization"),
            "at.resource.target: has no number that type",
        ),
        ({"resource": None}, "at.resource: is missing, and type Resource needs it"),
    ],
)
def test_a_metric_names_what_it_measures_and_compares_it_with_a_number(change, message):
    messages = lines(autoscaling.metric(Path("at"), RESOURCE | change), "error")
    assert [line[: len(message or "")] for line in messages[:1]] == ([] if message is None else [message])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"stabilizationWindowSeconds": 3600, "selectPolicy": "Max"}, None),
        ({"stabilizationWindowSeconds": 3601}, "at.scaleUp.stabilizationWindowSeconds: is not from 0 to 3600"),
        ({"policies": []}, "at.scaleUp.policies: is empty"),
        ({"policies": [{"type": "Pods", "value": 0}]}, "at.scaleUp.policies[0].value: is below 1"),
    ],
)
def test_behaviour_has_windows_and_policies_in_their_ranges(rules, message):
    messages = lines(autoscaling.behavior(Path("at"), {"scaleUp": rules}), "error")
    assert [line[: len(message or "")] for line in messages] == ([] if message is None else [message])
