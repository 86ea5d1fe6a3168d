"""Autoscaling by what the picker reports, and the words of KEDA beside it."""

import re
from pathlib import Path

import pytest
import yaml

from judging.preflight.kinds import metrics
from planning.ground.cluster_facts import ClusterFacts, OfferedMetrics, Served
from planning.releases import channel, channels
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.shapes import told

QUEUE = {"type": "picker-queue-size", "target": 5}
RUNNING = {"type": "picker-running-requests", "target": 16}
FULL = {"type": "pool-saturation", "target": 0.7}
HOLDS = {"endpointPicker": {"flowControl": {}}}
PROMETHEUS = {"prometheus": {"serverAddress": "http://prometheus.monitoring:9090"}}
SCRAPED = PROMETHEUS | {"metrics": {"type": "prometheus-operator"}}
PODS = 'namespace="models",pod=~"qwen-epp-[0-9a-z]{1,10}-[0-9a-z]{5}"'
AT = "services.qwen.autoscaling"


def scaled(*metrics, kind="keda", release="llm-d-0.10", service=None, **more):
    scaling = {"type": kind, "maxReplicas": 4, "metrics": list(metrics), **more}
    stack = tree(qwen={**(HOLDS if service is None else service), "autoscaling": scaling})
    return stack | {"release": release, "observability": SCRAPED}


def keda(*metrics, stack=None, **more):
    return find(rendered(stack or scaled(*metrics, **more)), "ScaledObject", "qwen-decode")["spec"]


def queries(*metrics, **more):
    return [trigger["metadata"]["query"] for trigger in keda(*metrics, **more)["triggers"]]


@pytest.mark.parametrize(
    ("release", "queue", "running"),
    [
        ("llm-d-0.10", "llm_d_epp_flow_control_queue_size", "llm_d_epp_request_running"),
        ("llm-d-0.9", "llm_d_epp_flow_control_queue_size", "llm_d_epp_request_running"),
        ("llm-d-0.8", "llm_d_epp_flow_control_queue_size", "llm_d_epp_request_running"),
        ("llm-d-0.6", "inference_extension_flow_control_queue_size", "inference_objective_running_requests"),
    ],
)
def test_keda_asks_for_the_requests_of_all_pickers_by_the_names_of_the_release(release, queue, running):
    expected = [f"sum({queue}{{{PODS}}})", f"sum({running}{{{PODS}}})"]
    assert queries(QUEUE, RUNNING, release=release) == expected


@pytest.mark.parametrize(
    ("release", "stage"), [("llm-d-0.10", ',stage="effective"'), ("llm-d-0.9", ""), ("llm-d-0.8", "")]
)
def test_of_several_pickers_the_fullest_pool_is_not_the_one_of_a_picker_that_knows_no_pods(release, stage):
    assert queries(FULL, release=release) == [f"min(llm_d_epp_flow_control_pool_saturation{{{PODS}{stage}}})"]


def test_with_prefill_a_role_follows_its_own_pods():
    scaling = {"type": "keda", "maxReplicas": 4, "metrics": [FULL]}
    stack = tree(qwen={**HOLDS, "autoscaling": scaling, "prefill": {"autoscaling": scaling}})
    everything = rendered(stack | {"observability": SCRAPED})
    for role in ("decode", "prefill"):
        (trigger,) = find(everything, "ScaledObject", f"qwen-{role}")["spec"]["triggers"]
        assert f'stage="{role}"' in trigger["metadata"]["query"]
        assert trigger["metricType"] == "Value"


def test_an_hpa_asks_for_metrics_of_the_pickers_service():
    spec = find(rendered(scaled(QUEUE, FULL, kind="hpa")), "HorizontalPodAutoscaler", "qwen-decode")["spec"]
    of_the_service = {"apiVersion": "v1", "kind": "Service", "name": "qwen-epp"}
    queue, full = (metric["object"] for metric in spec["metrics"])
    assert queue["describedObject"] == full["describedObject"] == of_the_service
    assert queue["target"] == {"type": "AverageValue", "averageValue": "5"}
    assert full["target"] == {"type": "Value", "value": "700m"}
    assert full["metric"]["selector"] == {"matchLabels": {"stage": "effective"}}


def test_a_metric_of_the_picker_that_the_cluster_does_not_offer_is_told():
    stack, kinds = scaled(RUNNING, kind="hpa"), Served(frozenset({"v1/Service"}))
    offered = ClusterFacts(kinds, metrics=OfferedMetrics(("services/llm_d_epp_request_running",)))
    assert metrics(plan(stack), offered, "strict") == []
    lacking = ClusterFacts(kinds, metrics=OfferedMetrics(("pods/llm_d_epp_request_running",)))
    (line,) = lines(metrics(plan(stack), lacking, "strict"), "warning")
    what = "the cluster offers llm_d_epp_request_running of pods alone (custom.metrics.k8s.io)"
    assert line.startswith(f"{AT}.metrics[0]: {what}, but the autoscaler asks for the metric of services")


@pytest.mark.parametrize("release", channels())
def test_the_documented_rule_offers_the_metrics_of_the_picker_by_namespace_and_service(release):
    text = Path("docs/run.md").read_text(encoding="utf-8")
    rules = [
        rule
        for block in re.findall(r"```yaml\n(rules:\n.*?)```", text, re.DOTALL)
        for rule in yaml.safe_load(block)["rules"]
    ]
    for metric in channel(release).picker.metrics.series.values():
        (rule,) = [rule for rule in rules if metric.series in re.findall(r"\w+", rule["seriesQuery"])]
        assert rule["resources"]["overrides"] == {
            "namespace": {"resource": "namespace"},
            "service": {"resource": "service"},
        }
        assert rule["metricsQuery"].startswith(f"{metric.aggregation}(")


def test_a_role_that_sleeps_by_the_pickers_queue_is_woken_by_it_once():
    assert len(keda(QUEUE, minReplicas=0)["triggers"]) == 1
    assert len(keda(RUNNING, minReplicas=0)["triggers"]) == 2


@pytest.mark.parametrize(
    ("observability", "reason"),
    [(PROMETHEUS, "observability.metrics.type: none; use a scraper of your own"), (SCRAPED, None)],
)
def test_a_picker_that_nobody_scrapes_is_told(observability, reason):
    found = lines(plan(scaled(RUNNING) | {"observability": observability}).warnings, "warning")
    told_of = [line for line in found if "picker-running-requests" in line]
    line = f"{AT}.metrics[0]: follows the picker's picker-running-requests, which nobody scrapes ({reason})"
    assert told_of == ([] if reason is None else [line])


def test_kedas_credentials_reach_every_query():
    stack = scaled(QUEUE, {"type": "queue-size", "target": 5}, RUNNING, minReplicas=0)
    authentication = {"name": "prometheus", "modes": ["bearer", "tls"]}
    stack["observability"] = SCRAPED | {"prometheus": PROMETHEUS["prometheus"] | {"authentication": authentication}}
    for trigger in keda(stack=stack)["triggers"]:
        assert trigger["authenticationRef"] == {"name": "prometheus", "kind": "TriggerAuthentication"}
        assert trigger["metadata"]["authModes"] == "bearer,tls"


def test_a_clouds_identity_needs_no_mode():
    stack = scaled(QUEUE)
    stack["observability"] = {"prometheus": PROMETHEUS["prometheus"] | {"authentication": {"name": "cloud"}}}
    (trigger,) = keda(stack=stack)["triggers"]
    assert "authModes" not in trigger["metadata"]
    assert trigger["authenticationRef"]["name"] == "cloud"


def test_a_fallback_says_how_many_there_are_while_nothing_is_known():
    assert keda(QUEUE, fallback={"replicas": 2})["fallback"] == {
        "failureThreshold": 3,
        "replicas": 2,
        "behavior": "static",
    }


def test_a_formula_finds_every_trigger_by_its_name():
    """KEDA refuses triggers without a name beside a formula (kedacore/keda v2.20.2, formula.go)."""
    cron = {"type": "custom", "spec": {"type": "cron", "name": "hours", "metadata": {}}}
    modifiers = {"formula": "hours + (queue_size > 1 ? waiting : 0)", "target": 5}
    load = {"type": "queue-size", "target": 5}
    spec = keda(cron, load, minReplicas=0, scalingModifiers=modifiers)
    assert [trigger["name"] for trigger in spec["triggers"]] == ["hours", "queue_size", "waiting"]
    assert spec["advanced"]["scalingModifiers"] == {**modifiers, "target": "5", "metricType": "AverageValue"}


@pytest.mark.parametrize(
    ("formula", "unknown"),
    [
        ("picker_queue_size + 1.5", None),
        ("let x = picker_queue_size; x > 1 ? x : 0", None),
        ("max([picker_queue_size, 'other'])", None),
        ("picker_queue_size ?? nil", None),
        ("queue_size", "queue_size"),
        ("picker_queue_size + other", "other"),
    ],
)
def test_a_formula_names_metrics_that_there_are(formula, unknown):
    stack = scaled(QUEUE, scalingModifiers={"formula": formula, "target": 5})
    at = f"{AT}.scalingModifiers.formula"
    expected = [f"{at}: names no metric ({unknown}); use picker_queue_size"]
    if unknown is None:
        assert keda(stack=stack)
    else:
        assert told(stack) == expected
