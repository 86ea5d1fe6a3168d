"""How long a deployment run waits for a rollout."""

import pytest

from manifests.assembly import objects, render
from planning.ground import lifecycle, parts
from tests.support.stacks import plan, tree

ROLLING = {"type": "RollingUpdate"}
GROWTH = {"type": "hpa", "maxReplicas": 6, "metrics": [{"type": "cpu", "targetPercent": 50}]}


@pytest.mark.parametrize("drain_timeout", ["30s", "20m"])
@pytest.mark.parametrize(
    ("service", "steps"),
    [
        ({"replicas": 1}, 1),
        ({"replicas": 4}, 4),
        ({"replicas": 4, "rollout": {**ROLLING, "maxUnavailable": 2}}, 2),
        ({"replicas": 5, "rollout": {**ROLLING, "maxSurge": 1, "maxUnavailable": 1}}, 3),
        ({"replicas": 4, "rollout": {"type": "Recreate"}}, 1),
        ({"autoscaling": GROWTH}, 6),
    ],
    ids=["one-replica", "one-by-one", "two-by-two", "surge", "recreate", "autoscaled"],
)
def test_the_wait_outlives_the_deadline_and_the_grace_period_of_every_step(service, steps, drain_timeout):
    stack = tree(qwen={**service, "drainTimeout": drain_timeout})
    (workload,) = [each for each in objects(render(plan(stack))) if each.id.part is parts.DECODE.workload]
    spec = workload.manifest["spec"]
    step = spec["progressDeadlineSeconds"] + spec["template"]["spec"]["terminationGracePeriodSeconds"]
    assert steps * step < workload.wait.seconds < (steps + 1) * step


@pytest.mark.parametrize(("size", "fetched", "loaded"), [("65Gi", 2080, 130), ("33Mi", 2, 0), (None, 1800, 0)])
def test_weights_take_a_time_to_fetch_slowly_and_a_time_to_load_fast(size, fetched, loaded):
    assert (lifecycle.fetching_seconds(size), lifecycle.fastest_load_seconds(size)) == (fetched, loaded)
