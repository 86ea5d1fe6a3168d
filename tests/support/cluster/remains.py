"""Objects that are still there after the end of their stack."""

import json
import time

from local.cluster import ControlPlane
from tests.support.cluster.server import read

_NAMESPACED = (
    "deployments,leaderworkersets,statefulsets,services,inferencepools,httproutes,configmaps,roles,rolebindings,"
    "serviceaccounts,poddisruptionbudgets,resourceclaimtemplates,resourceclaims,pods,destinationrules"
)
_GRANTED = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"), ("ServiceAccount", "models")}
"""Objects of every namespace of a test, which belong to no stack."""
_SECONDS = 240


def remains(plane: ControlPlane, namespace: str) -> set[tuple[str, str]]:
    """Return kind and name of what is still in a namespace, cluster-scoped objects of a stack included."""
    items = [*read(plane, _NAMESPACED, namespace), *read(plane, "clusterrolebindings")]
    about = [item for item in items if namespace in json.dumps(item["metadata"])]
    return {(item["kind"], item["metadata"]["name"]) for item in about} - _GRANTED


def assert_gone(plane: ControlPlane, namespace: str) -> None:
    """Assert that a stack is gone from its namespace. Controllers have some time to end pods."""
    deadline = time.monotonic() + _SECONDS
    while (remaining := remains(plane, namespace)) and time.monotonic() < deadline:
        time.sleep(1)
    assert remaining == set()
