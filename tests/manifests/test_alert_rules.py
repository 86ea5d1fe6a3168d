"""Objects with recorded series and alerts."""

import pytest

from judging.preflight.kinds import kinds
from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.cluster_facts import ClusterFacts, Served
from planning.ground.order import Id
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.stacks.watched import KINDS, alert, watched


@pytest.mark.parametrize(
    ("scraper", "kind", "api"),
    [
        ("prometheus-operator", "PrometheusRule", "monitoring.coreos.com/v1"),
        ("gmp", "Rules", "monitoring.googleapis.com/v1"),
    ],
)
def test_a_service_has_one_object_of_the_kind_of_its_scraper(scraper, kind, api):
    everything = rendered(watched(scraper, qwen={"canary": {"weight": 10}}, other={}))
    objects = [manifest for manifest in everything if manifest["kind"] in KINDS]
    assert [(manifest["kind"], manifest["apiVersion"]) for manifest in objects] == [(kind, api)] * 2
    names = [group["name"] for group in find(everything, kind, "qwen")["spec"]["groups"]]
    assert names == ["qwen-primary", "qwen-canary", "qwen-service"]


def test_rules_follow_the_monitors_of_both_variants_and_nothing_follows_rules():
    stack = watched(qwen={"prefill": {}, "canary": {"weight": 10, "metrics": {"picker": False}}})
    after = {resource.id: resource.after for resource in objects(render(plan(stack)))}
    assert set(after[Id("qwen", parts.RULES)]) == {
        Id("qwen", parts.DECODE.monitor),
        Id("qwen", parts.PREFILL.monitor),
        Id("qwen.canary", parts.DECODE.monitor),
        Id("qwen.canary", parts.PREFILL.monitor),
    }
    assert not [identity for identity, before in after.items() if Id("qwen", parts.RULES) in before]
    order = [*after]
    assert all(order.index(before) < order.index(identity) for identity in order for before in after[identity])


def test_labels_of_the_object_are_those_by_which_a_prometheus_selects_it():
    stack = watched()
    stack["observability"]["rules"] = {"labels": {"release": "kps"}}
    metadata = find(rendered(stack), "PrometheusRule", "qwen")["metadata"]
    assert metadata["labels"]["release"] == "kps"
    assert metadata["labels"]["app.kubernetes.io/component"] == "rules"


def test_an_alert_tells_whose_it_is_and_what_to_do():
    stack = watched()
    stack["observability"]["rules"] = {
        "severities": {"page": "p1"},
        "runbooks": "https://wiki.example.com/inference#{alert}",
    }
    rule = alert(stack, "crash", role="decode") or {}
    identity = {"namespace": "models", "inference_service": "qwen", "variant": "primary", "role": "decode"}
    assert rule["labels"] == {**identity, "severity": "warning", "state": "crash"}
    assert rule["alert"] == "InferenceCrash"
    assert rule["annotations"]["runbook_url"] == "https://wiki.example.com/inference#crash"
    assert rule["annotations"].keys() == {"summary", "remedy", "runbook_url"}
    page = alert(stack, "no-endpoints") or {}
    assert page["labels"]["severity"] == "p1"


def test_without_a_runbook_no_alert_names_one():
    assert "runbook_url" not in (alert(watched(), "crash") or {})["annotations"]


def test_a_stack_without_rules_has_no_such_object():
    stack = tree() | {"observability": {"metrics": {"type": "prometheus-operator"}}}
    assert not [manifest for manifest in rendered(stack) if manifest["kind"] in KINDS]


@pytest.mark.parametrize(
    ("scraper", "kind"),
    [
        ("prometheus-operator", "monitoring.coreos.com/v1/PrometheusRule"),
        ("gmp", "monitoring.googleapis.com/v1/Rules"),
    ],
)
def test_a_cluster_without_the_kind_of_the_rules_is_refused_with_the_command_that_installs_it(scraper, kind):
    needed = {f"{manifest['apiVersion']}/{manifest['kind']}" for manifest in rendered(watched(scraper))}
    (line,) = lines(kinds(needed, ClusterFacts(apis=Served(frozenset(needed - {kind}))), "strict"), "error")
    assert kind.rpartition("/")[2] in line
    assert "install " in line
