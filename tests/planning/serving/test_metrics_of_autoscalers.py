"""Metrics that autoscalers follow: who reports them, and whether anybody reads them."""

import re
from pathlib import Path

import pytest
import yaml

from judging.preflight import kinds
from planning.ground.cluster_facts import ClusterFacts, OfferedMetrics, Served, Unknown
from planning.releases import channel, channels
from tests.support.stacks import lines, plan, tree

PROMETHEUS = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
CUSTOM = {"type": "Pods", "pods": {"metric": {"name": "own"}, "target": {"type": "AverageValue", "averageValue": "5"}}}
METRICS = [
    {"type": "queue-size", "target": 5},
    {"type": "cpu", "targetPercent": 80},
    {"type": "custom", "spec": CUSTOM},
]
AT = "services.qwen.autoscaling.metrics"
REMEDY = "give the metrics adapter the rule in docs/run.md; an adapter offers only metrics that pods reported"
KINDS = Served(frozenset({"v1/Service"}))


def scaled(kind="hpa"):
    """Return a stack with a load metric, one that Kubernetes knows itself, and one of the user's own."""
    stack = tree(
        qwen={"autoscaling": {"type": kind, "maxReplicas": 3, "metrics": METRICS[: 3 if kind == "hpa" else 2]}}
    )
    return stack | {"observability": PROMETHEUS}


def told(facts, stack=None, mode="strict"):
    return lines(kinds.metrics(plan(stack or scaled()), facts, mode), "warning")


def offering(*metrics):
    return ClusterFacts(KINDS, metrics=OfferedMetrics(metrics))


def test_a_cluster_that_offers_every_metric_of_pods_is_told_nothing():
    assert told(offering("namespaces/x", "pods/own", "pods/vllm_num_requests_waiting")) == []


def test_a_metric_that_the_cluster_does_not_offer_is_told_with_what_offers_it():
    """The rule that upstream ships offers metrics of namespaces alone. See defects A14."""
    what = "(custom.metrics.k8s.io), but the autoscaler asks for the metric of pods"
    assert told(offering("namespaces/vllm_num_requests_waiting")) == [
        f"{AT}[0]: the cluster offers vllm_num_requests_waiting of namespaces alone {what}; {REMEDY}",
        f"{AT}[2].spec: the cluster offers own of no kind of object {what}; {REMEDY}",
    ]


@pytest.mark.parametrize("mode", ["strict", "warn"])
def test_metrics_that_could_not_be_read_are_told_once(mode):
    assert told(ClusterFacts(KINDS, metrics=Unknown("no answer yet")), mode=mode) == [
        f"{AT}[0]: whether the cluster offers vllm_num_requests_waiting of pods went unchecked: no answer yet",
        f"{AT}[2].spec: whether the cluster offers own of pods went unchecked: no answer yet",
    ]
    assert told(ClusterFacts(Unknown("no answer"), metrics=Unknown("no answer")), mode=mode) == []


def test_nobody_is_asked_for_metrics_of_keda_or_without_the_check():
    assert told(offering(), scaled("keda")) == []
    assert told(offering(), tree()) == []
    assert told(offering(), mode="skip") == []


def rules():
    """Return the rules that the documentation gives to metrics adapters."""
    text = Path("docs/run.md").read_text(encoding="utf-8")
    block, _ = re.findall(r"```yaml\n(rules:\n.*?)```", text, re.DOTALL)
    return yaml.safe_load(block)["rules"]


@pytest.mark.parametrize("release", channels())
def test_the_documented_rules_offer_the_load_of_engines_by_namespace_and_pod(release):
    """See defects A14."""
    for metric in channel(release).engine.metrics.values():
        (rule,) = [rule for rule in rules() if re.search(rule["name"]["matches"], metric.series)]
        assert (
            re.sub(rule["name"]["matches"], rule["name"]["as"].replace("$1", r"\1"), metric.series) == metric.pod_metric
        )
        assert f'__name__="{metric.series}"' in rule["seriesQuery"] or metric.series in re.findall(
            r"vllm:\w+", rule["seriesQuery"]
        )
        assert rule["resources"]["overrides"] == {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}
        assert rule["metricsQuery"].startswith(metric.aggregation)
