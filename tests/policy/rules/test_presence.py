"""Objects that have to stand beside workloads, and selectors as Kubernetes reads them."""

import pytest

from policy.rules.presence import selects
from tests.support.policies import lines, raw, verdicts, view
from tests.support.stacks import tree


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchLabels": {"a": "1", "b": "1"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_selector_selects_what_kubernetes_selects(selector, selected):
    assert selects(selector, {"a": "1"}) is selected


def workload(replicas=1, namespace="n", kind="Deployment", **labels):
    template = {"metadata": {"labels": labels or {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    metadata = {"name": "d", "namespace": namespace}
    spec = {"replicas": replicas, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def selecting(kind, field, labels, namespace="n"):
    metadata = {"name": "s", "namespace": namespace}
    return {"apiVersion": "x/v1", "kind": kind, "metadata": metadata, "spec": {field: {"matchLabels": labels}}}


@pytest.mark.parametrize(
    ("labels", "namespace", "refused"),
    [({"app": "d"}, "n", False), ({}, "n", False), ({"app": "x"}, "n", True), ({"app": "d"}, "other", True)],
)
def test_a_network_policy_counts_if_it_selects_the_pods_in_their_namespace(labels, namespace, refused):
    judged = raw(workload(), selecting("NetworkPolicy", "podSelector", labels, namespace))
    assert bool(lines(judged, "network-policies")) is refused


def test_rules_on_neighbours_hold_in_some_namespaces_alone():
    judged = raw(workload(replicas=2))
    for rule in ("network-policies", "disruption-budgets"):
        assert len(lines(judged, rule, namespaces=["n"])) == 1
        assert lines(judged, rule, namespaces=["other"]) == []


@pytest.mark.parametrize(("replicas", "refused"), [(1, False), (2, True)])
def test_a_workload_of_several_replicas_needs_a_budget(replicas, refused):
    assert bool(lines(raw(workload(replicas)), "disruption-budgets")) is refused
    budget = selecting("PodDisruptionBudget", "selector", {"app": "d"})
    assert lines(raw(workload(replicas), budget), "disruption-budgets") == []
    elsewhere = selecting("PodDisruptionBudget", "selector", {"app": "d"}, "other")
    assert bool(lines(raw(workload(replicas), elsewhere), "disruption-budgets")) is refused


def test_jobs_and_daemons_need_no_budget():
    assert lines(raw(workload(3, kind="DaemonSet"), workload(3, kind="Job")), "disruption-budgets") == []


def test_pickers_of_a_stack_need_no_budget():
    assert lines(view(tree(qwen={"endpointPicker": {"replicas": 2}})), "disruption-budgets") == []


@pytest.mark.parametrize(("replicas", "refused"), [(1, True), (2, False)])
def test_a_pool_needs_two_pickers(replicas, refused):
    assert bool(lines(view(tree(qwen={"endpointPicker": {"replicas": replicas}})), "two-pickers")) is refused


@pytest.mark.parametrize("field", ["endpointPickerRef", "extensionRef"])
def test_a_pool_of_others_needs_two_pickers_behind_the_service_that_it_names(field):
    pool = {"kind": "InferencePool", "metadata": {"name": "p", "namespace": "n"}, "spec": {field: {"name": "epp"}}}
    service = {"kind": "Service", "metadata": {"name": "epp", "namespace": "n"}, "spec": {"selector": {"app": "d"}}}
    assert "write spec.replicas: 2" in lines(raw(pool, service, workload(1)), "two-pickers")[0]
    assert lines(raw(pool, service, workload(2)), "two-pickers") == []
    assert lines(raw(pool, service, workload(1, "other")), "two-pickers") == []
    assert lines(raw(pool, service, workload(1, app="x")), "two-pickers") == []
    assert lines(raw(pool, service, workload(1)), "two-pickers", namespaces=["other"]) == []


def test_a_picker_that_is_deployed_elsewhere_is_a_question():
    pool = {
        "kind": "InferencePool",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"endpointPickerRef": {"name": "epp"}},
    }
    (verdict,) = verdicts(raw(pool), "two-pickers")
    assert not verdict.is_refusal
    assert "can't tell: InferencePool n/p names a picker that is deployed elsewhere (epp)" in str(verdict)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["--pool-name=p", "--metrics-endpoint-auth=false"], True),
        (["--pool-name=p", "--metrics-endpoint-auth=0"], True),
        (["--pool-name=p", "--metrics-endpoint-auth=true"], False),
        (["--pool-name=p", "--metrics-endpoint-auth"], False),
        (["--pool-name=p"], False),
        (["--pool-name=p", "--metrics-endpoint-auth=false", "--metrics-endpoint-auth=true"], False),
        (["--metrics-endpoint-auth=false"], False),
    ],
)
def test_a_picker_shows_its_metrics_only_to_those_who_may_read_them(arguments, refused):
    manifest = workload()
    manifest["spec"]["template"]["spec"]["containers"][0]["args"] = arguments
    assert bool(lines(raw(manifest), "metrics-auth")) is refused
    assert lines(raw(manifest), "metrics-auth", namespaces=["other"]) == []
