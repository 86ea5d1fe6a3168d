"""Bounds of autoscalers have Kubernetes' and KEDA's defaults, and workloads are joined with their links."""

import pytest

from judging.status import replicas
from judging.status.records import Link
from judging.status.replicas import Bounds
from judging.status.topology import RoleView
from tests.support.statuses import component, service, workload


@pytest.mark.parametrize(
    ("autoscaler", "scaled_object", "expected"),
    [
        pytest.param(None, None, None, id="none"),
        pytest.param({"spec": {"minReplicas": 2, "maxReplicas": 5}}, None, Bounds(2, 5), id="HPA"),
        pytest.param({"spec": {"maxReplicas": 5}}, None, Bounds(1, 5), id="least of an HPA"),
        pytest.param(None, {"spec": {}}, Bounds(0, 100), id="KEDA"),
        pytest.param(
            {"spec": {"minReplicas": 1, "maxReplicas": 3}}, {"spec": {"maxReplicaCount": 3}}, Bounds(0, 3), id="both"
        ),
        pytest.param({"spec": {"minReplicas": True, "maxReplicas": "x"}}, None, Bounds(1, 1), id="garbage"),
    ],
)
def test_bounds_are_those_of_the_autoscaler(autoscaler, scaled_object, expected):
    role = RoleView("decode", "Deployment", {}, (), (), autoscaler, scaled_object)
    assert replicas.bounds(role) == expected


def test_each_workload_is_joined_with_its_link():
    status = service(component(Link.ROUTE), workload(1, 1), workload(2, 2, variant="canary"))
    joined = [
        (entry.variant.name, entry.role.role, entry.component.ready)
        for entry in replicas.workloads(status.view, status.components)
    ]
    assert joined == [("primary", "decode", 1), ("canary", "decode", 2)]
