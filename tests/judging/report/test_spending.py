"""Hours of devices that a Prometheus saw, beside those that a stack is expected to have."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import promql_parser
import pytest

from judging.report import spending
from judging.report.spending import Spending, SpendingQueries
from tests.support.prometheus import selectors
from tests.support.stacks import plan, tree
from tests.support.stacks.existing import existing

H100 = "nvidia-h100-80gb"
HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
PRICES = {"prices": {"perDeviceHour": {H100: 4.0}}}
STEPS = 12
"""Steps of an hour."""


def queries(stack: Mapping[str, Any]) -> SpendingQueries:
    """Return the queries about a stack."""
    return spending.queries(plan(stack), "7d")


def rows(stack: Mapping[str, Any], results: Mapping[str, float]) -> list[Spending]:
    """Return the rows for some results."""
    planned = plan(stack)
    return list(spending.compare(planned, spending.queries(planned, "7d"), results))


def test_every_query_is_one_of_prometheus_and_of_series_that_exist():
    asked = queries(tree(qwen={"prefill": {"replicas": 2}, "canary": {"weight": 10}}))
    assert len(asked.workloads) == 4
    names = frozenset[str]().union(*(selectors.of(expression).series for expression in asked.expressions))
    assert names == {"up", "kube_pod_container_resource_requests", "kube_pod_status_phase"}
    assert all("[7d:5m]" in expression for expression in asked.expressions)
    assert all(promql_parser.parse(expression) for expression in asked.expressions)


def test_requests_of_pods_count_before_pods_that_are_scraped():
    stack = tree(qwen={"accelerator": H100, "parallelism": {"tensor": 2}, "replicas": 3}) | PRICES
    asked = queries(stack)
    (count,) = asked.workloads
    scraped = {asked.read["qwen"]: 10 * STEPS, count.scraped: 29 * STEPS}
    (row,) = rows(stack, scraped)
    assert row == Spending(
        "qwen", H100, Decimal(10), Decimal(60), Decimal(60), Decimal(58), Decimal("4.0"), by_requests=False
    )
    assert count.requested is not None
    covered = {asked.covered["qwen"]: 10 * STEPS}
    (row,) = rows(stack, {**scraped, **covered, count.requested: 60 * STEPS})
    assert (row.seen, row.by_requests) == (60, True)


@pytest.mark.parametrize(("covered", "seen"), [(9.5, 6), (9.4, 60), (0, 60)])
def test_requests_of_pods_count_only_if_they_are_known_for_the_time_in_which_the_service_was_read(
    covered: float, seen: int
):
    stack = tree(qwen={"accelerator": H100, "parallelism": {"tensor": 2}, "replicas": 3})
    asked = queries(stack)
    (count,) = asked.workloads
    assert count.requested is not None
    results = {asked.read["qwen"]: 10 * STEPS, asked.covered["qwen"]: covered * STEPS}
    (row,) = rows(stack, {**results, count.scraped: 30 * STEPS, count.requested: 6 * STEPS})
    assert (row.seen, row.by_requests) == (seen, seen == 6)


def test_an_autoscaled_service_is_expected_within_a_range():
    stack = tree(qwen={"accelerator": H100, "autoscaling": HPA})
    asked = queries(stack)
    (row,) = rows(stack, {asked.read["qwen"]: 2 * STEPS})
    assert (row.low, row.high, row.seen, row.price) == (2, 8, 0, None)


def test_a_replica_of_several_pods_counts_by_the_pod_that_is_scraped():
    group = {"accelerator": H100, "parallelism": {"tensor": 8, "pipeline": 2}, "replicas": 1}
    (count,) = queries(tree(qwen=group)).workloads
    assert count.devices == 16
    assert count.requested is not None
    assert 'pod=~"qwen-decode-[0-9]+(-[0-9]+)?"' in count.requested


def test_classes_of_a_service_have_rows_of_their_own():
    stack = tree(qwen={"accelerator": H100, "prefill": {"accelerator": "nvidia", "replicas": 2}})
    asked = queries(stack)
    results = {asked.read["qwen"]: float(STEPS)} | {count.scraped: float(STEPS) for count in asked.workloads}
    assert [(row.accelerator, row.low, row.seen) for row in rows(stack, results)] == [("nvidia", 2, 1), (H100, 1, 1)]


def test_a_service_without_devices_and_one_of_others_is_not_asked_for():
    assert not queries(tree(qwen={"accelerator": "cpu"})).expressions
    assert not queries(existing()).expressions


def test_a_service_that_was_never_read_has_no_hours():
    (row,) = rows(tree(qwen={}), {})
    assert (row.hours, row.low, row.high, row.seen) == (0, 0, 0, 0)
