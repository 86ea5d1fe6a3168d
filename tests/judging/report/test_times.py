"""Minutes until pods are ready, from the bytes of their weights."""

from dataclasses import replace

from judging.report import growth, times
from judging.report.times import Rates
from models.role import RollingUpdate
from tests.support.stacks import plan, tree

RATES = Rates(fetch=2**30, load=2 * 2**30, begin=60)
MODEL = {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "10Gi"}


def change(**service):
    (only,) = growth.changes(plan(tree(qwen={"model": MODEL, **service})), {}, {})
    return only


def with_rollout(surge, unavailable, replicas=4):
    found = change(replicas=replicas)
    return replace(
        found,
        workload=replace(
            found.workload,
            rollout=RollingUpdate.default(type="RollingUpdate", max_surge=surge, max_unavailable=unavailable),
        ),
    )


def test_a_start_begins_fetches_and_loads_within_its_deadline():
    found = change()
    assert times.start_seconds(found, "10Gi", RATES) == 60 + 10 + 5
    deadline = found.workload.progress_deadline
    assert times.start_seconds(found, None, RATES) == times.start_seconds(found, "100Ti", RATES) == deadline


def test_an_engine_that_opens_the_source_fetches_too_and_loads_what_it_streams_at_once():
    by_engine = {"storage": {"type": "engine"}}
    hub = change(model={"source": "hf://org/m@v1", "size": "10Gi"}, **by_engine)
    assert times.start_seconds(hub, "10Gi", RATES) == 60 + 10 + 5
    bucket = change(model={"name": "org/m", "source": "s3://bucket/m", "size": "10Gi"}, **by_engine)
    assert times.start_seconds(bucket, "10Gi", RATES) == 60 + 10
    claim = change(model={"name": "org/m", "source": "pvc://weights/m", "size": "10Gi"})
    assert times.start_seconds(claim, "10Gi", RATES) == 60 + 5


def test_the_drain_counts_only_without_a_surge():
    without, beside = with_rollout(0, 1), with_rollout(1, 0)
    drain = without.workload.drain.grace
    assert times.outage_seconds(without, "10Gi", RATES) == 75 + drain
    assert times.outage_seconds(beside, "10Gi", RATES) == 75


def test_a_rollout_takes_a_step_for_each_group_of_replicas():
    assert times.rollout_seconds(with_rollout(2, 0), "10Gi", RATES) == 2 * 75
    assert times.rollout_seconds(with_rollout(3, 0), "10Gi", RATES) == 2 * 75
    assert times.rollout_seconds(with_rollout(4, 0), "10Gi", RATES) == 75


def test_minutes_are_whole_and_at_least_one():
    assert [times.minutes(seconds) for seconds in (0, 1, 60, 61)] == [1, 1, 1, 2]
