"""Queries for hours of devices, evaluated by promtool on pods that come, wait, fail and go."""

import pytest

from judging.report import spending
from tests.support.prometheus import promtool
from tests.support.prometheus.promtool import Suite
from tests.support.stacks import plan, tree

pytestmark = pytest.mark.real

H100 = "nvidia-h100-80gb"
PLAN = plan(tree(qwen={"accelerator": H100, "parallelism": {"tensor": 2}, "replicas": 2}))
QUERIES = spending.queries(PLAN, "1h")
READ = {QUERIES.read["qwen"]: 12, QUERIES.covered["qwen"]: 12}
POD = 'namespace="models",pod="qwen-decode-7f9c-abcd{}"'
REQUEST = 'kube_pod_container_resource_requests{{{},container="engine",resource="{}",node="{}",unit="integer"}}'
PHASE = 'kube_pod_status_phase{{{},phase="{}"}}'
UP = 'up{{namespace="models",inference_service="qwen",variant="primary"{}}}'
WHOLE = "1x60"
LATE = "_x33 1x27"
"""A pod that exists from minute 33 on: it counts in 6 of 12 steps."""


def requests(pod, node="a", resource="nvidia_com_gpu", phase="Running", values="2x60"):
    """Return the series of a pod that requests devices."""
    place = POD.format(pod)
    return {
        REQUEST.format(place, resource, node): values,
        PHASE.format(place, phase): "1x60",
        PHASE.format(place, "Unknown"): "0x60",
    }


def suite(name, query, expected, series):
    """Return a test of a query: its result, or None if it must have none."""
    samples = [] if expected is None else [{"labels": "{}", "value": expected}]
    inputs = [{"series": series_name, "values": values} for series_name, values in series.items()]
    test = {
        "interval": "1m",
        "input_series": inputs,
        "promql_expr_test": [{"expr": query, "eval_time": "60m", "exp_samples": samples}],
    }
    return Suite(name, (), (test,))


def test_hours_are_those_of_pods_that_hold_devices(tools, tmp_path):
    (count,) = QUERIES.workloads
    requested = count.requested or ""
    scraped = {UP.format(f',role="decode",pod="{pod}"'): WHOLE for pod in "ab"}
    late = {UP.format(',role="decode",pod="c"'): LATE}
    covered = QUERIES.covered["qwen"]
    other = {UP.format(',role="prefill",pod="d"'): WHOLE, UP.format(',pod="picker"'): WHOLE}
    suites = [
        suite("scraped", count.scraped, 30, scraped | late | other),
        suite("unscraped", count.scraped, None, other),
        suite(
            "two engines of a pod",
            count.scraped,
            12,
            {UP.format(f',role="decode",pod="a",endpoint="{port}"'): WHOLE for port in "xy"},
        ),
        suite("read", QUERIES.read["qwen"], 12, other),
        suite("read late", QUERIES.read["qwen"], 6, late),
        suite("requested", requested, 48, scraped | requests("a") | requests("b")),
        suite("requested late", requested, 36, scraped | requests("a") | requests("b", values="_x33 2x27")),
        suite("without a node", requested, 24, scraped | requests("a") | requests("b", node="", phase="Pending")),
        suite("loading on a node", requested, 48, scraped | requests("a") | requests("b", phase="Pending")),
        suite("failed", requested, 24, scraped | requests("a") | requests("b", phase="Failed")),
        suite("other resource", requested, 24, scraped | requests("a") | requests("b", resource="memory")),
        suite("no kube-state-metrics", requested, None, scraped),
        suite("requested before the service was read", requested, 24, late | requests("a") | requests("b")),
        suite("covered", covered, 12, scraped | requests("a")),
        suite("covered by another pod of the namespace", covered, 12, scraped | requests("a", resource="memory")),
        suite("covered while it was read", covered, 6, late | requests("a")),
        suite("not covered", covered, None, scraped),
    ]
    failures = promtool.failures(tools["promtool"].path, suites, tmp_path / "suites")
    assert {name: texts for name, texts in failures.items() if texts} == {}


def test_a_wrong_number_of_hours_is_noticed(tools, tmp_path):
    (count,) = QUERIES.workloads
    wrong = suite("wrong", count.scraped, 11, {UP.format(',role="decode",pod="a"'): WHOLE})
    assert promtool.failures(tools["promtool"].path, [wrong], tmp_path / "suites")["wrong"]


def test_hours_become_costs():
    (count,) = QUERIES.workloads
    (row,) = spending.compare(PLAN, QUERIES, {**READ, count.requested or "": 36})
    assert (row.hours, row.low, row.seen) == (1, 4, 3)
