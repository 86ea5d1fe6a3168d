"""A profile whose replica finds no place on the nodes is dropped, with the reason."""

import pytest

from planning.selection.records import Reason
from tests.support.stacks.profiles import among, facts, node, profile

CLASS = "nvidia-h100-80gb"


@pytest.mark.parametrize(
    ("devices", "counts", "detail"),
    [
        (8, (4,), "a replica needs 8 devices in a pod, but the largest node has 4"),
        (16, (4, 4), "a replica needs 2 pods of 8 devices, but the largest node has 4"),
        (16, (8, 4), "a replica needs 2 pods of 8 devices, but nodes have room for 1"),
    ],
)
def test_a_replica_without_places_is_dropped_with_what_nodes_have(devices, counts, detail):
    parallelism = {"tensor": 8, "pipeline": devices // 8}
    nodes = facts(node(f"node-{number}", CLASS, count) for number, count in enumerate(counts))
    (row,) = among({"wide": profile(CLASS, devices, service={"parallelism": parallelism})}, nodes).rows
    assert (row.stage, row.reason, row.detail) == ("nodes", Reason.NODES, detail)


def test_a_replica_with_places_stays():
    nodes = facts(node(f"node-{number}", CLASS) for number in range(2))
    (row,) = among({"wide": profile(CLASS, 16, service={"parallelism": {"tensor": 8, "pipeline": 2}})}, nodes).rows
    assert row.stage == "comparison"
