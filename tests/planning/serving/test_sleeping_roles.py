"""Roles without replicas, which the queue of their picker wakes."""

import pytest

from tests.support.stacks import lines, plan, tree

FLOW = {"flowControl": {"defaultRequestTTL": "2h"}}
SLEEPS = {
    "type": "keda",
    "minReplicas": 0,
    "maxReplicas": 4,
    "cooldownPeriod": "2h",
    "metrics": [{"type": "cpu", "targetPercent": 80}],
}
PROMETHEUS = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}


@pytest.mark.parametrize("monitors", [{}, {"metrics": {"type": "none"}}])
def test_a_role_that_sleeps_is_told_when_the_stack_scrapes_nothing(monitors):
    """The role never wakes while nobody scrapes the picker. See defects A27."""
    stack = tree(qwen={"endpointPicker": FLOW, "autoscaling": SLEEPS})
    stack["observability"] = {**PROMETHEUS, **monitors}
    reason = "observability.metrics.type: none; use a scraper of your own"
    what = f"services.qwen.autoscaling: decode is woken by the picker's queue, which nobody scrapes ({reason})"
    assert lines(plan(stack).warnings, "warning") == [what]
