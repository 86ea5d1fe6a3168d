"""A cluster that is broken in each way that preflight knows, one at a time and all together: the exact report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from composition import Live, compose
from planning.ground.cluster_facts import (
    Bundles,
    LiveRoute,
    LiveRouteMatch,
    OfferedMetrics,
    ParentRef,
    Routes,
    Served,
)
from planning.ground.inventory import (
    LiveNamespace,
    Namespaces,
    Nodes,
    PriorityClasses,
    Requested,
    Secrets,
    StorageClasses,
)
from tests.support.cluster import loopback
from tests.support.cluster.loopback import discovery
from tests.support.stacks import NAME, tree
from tests.support.stacks.whole_clusters import ANY, GATEWAY, NODE, REF, STACK, composed, listening, whole

POOL, HTTPROUTES = "inference.networking.k8s.io/v1/InferencePool", "httproutes.gateway.networking.k8s.io"
KEDA = "keda.sh/v1alpha1/ScaledObject"
PATCHED = "pods of Deployment chat/bert-decode are not admitted in namespace chat, whose level is restricted"


def labelled(facts, name, **fields):
    found = {**facts.namespaces.namespaces, name: LiveNamespace(**{"labels": {}, "annotations": {}, **fields})}
    return replace(facts, namespaces=Namespaces(found))


def without(facts, name):
    found = {key: live for key, live in facts.namespaces.namespaces.items() if key != name}
    return replace(facts, namespaces=Namespaces(found))


def taken(facts):
    match = LiveRouteMatch("PathPrefix", "/models/qwen")
    route = LiveRoute("other", "theirs", (ParentRef(REF, None, None),), ("llm.example.com",), (match,))
    return replace(facts, routes=Routes((route,)))


RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
BREAKS = {
    "kind": (
        lambda facts: replace(facts, apis=Served(facts.apis.kinds - {POOL})),
        "error",
        f"{POOL}: the cluster does not serve it; install Gateway API Inference Extension ",
    ),
    "version": (
        lambda facts: replace(facts, bundles=Bundles({HTTPROUTES: "v1.2.1"})),
        "error",
        f"{HTTPROUTES}: comes from Gateway API v1.2.1, but release llm-d-0.10 needs v1.3.0 or newer; ",
    ),
    "metric": (
        lambda facts: replace(facts, metrics=OfferedMetrics(())),
        "warning",
        "services.bert.autoscaling.metrics[0]: the cluster offers vllm_num_requests_waiting of no kind of object ",
    ),
    "namespace": (
        lambda facts: without(facts, "models"),
        "error",
        (
            "namespace: the cluster has no namespace of this name (models); create it, or write "
            "namespaceOptions: {create: true}"
        ),
    ),
    "level": (
        lambda facts: labelled(facts, "chat", labels=RESTRICTED),
        "error",
        (
            f"services.bert: {PATCHED} (hostNetwork: true); remove these settings, or set "
            "pod-security.kubernetes.io/enforce: privileged on the namespace"
        ),
    ),
    "listener": (
        lambda facts: listening(facts, replace(ANY, hostname="*.example.org")),
        "error",
        (
            f"services.qwen.route.hostnames: no listener of {GATEWAY} takes these hosts (llm.example.com); write hosts "
            "of its listeners: *.example.org"
        ),
    ),
    "storage class": (
        lambda facts: replace(facts, storage_classes=StorageClasses({"slow": True})),
        "error",
        (
            "services.qwen.storage.storageClassName: the cluster has no StorageClass of this name (fast); create it, "
            "or write one of slow"
        ),
    ),
    "priority class": (
        lambda facts: replace(facts, priority_classes=PriorityClasses({})),
        "error",
        (
            "services.qwen.pod.priorityClassName: the cluster has no PriorityClass of this name (high); create it, or "
            "write the name of a class that you create"
        ),
    ),
    "secret": (
        lambda facts: replace(facts, secrets=Secrets(())),
        "warning",
        (
            "services.qwen.model.secrets[0]: namespace models has no Secret of this name, and pods wait until "
            "the Secret exists; create it, or correct its name"
        ),
    ),
    "node": (
        lambda facts: replace(facts, nodes=Nodes((replace(NODE, labels={}),))),
        "warning",
        (
            "services.qwen.accelerator: no node has the labels and devices of this class, and pods wait until such a "
            "node joins"
        ),
    ),
    "route": (
        taken,
        "error",
        (
            "services.qwen.route.matches[0].path: is taken on gateways/gateway by HTTPRoute other/theirs "
            "(/models/qwen, llm.example.com); give one of the two routes another path or hostname"
        ),
    ),
}
"""Damage to the cluster, with the severity and the line, or its beginning, that preflight says of it.

In the order of the report.
"""


def report(facts, stack=STACK):
    """Return severity and text of each problem."""
    return [(problem.severity, str(problem)) for problem in composed(stack, facts).preflight]


def test_a_whole_cluster_has_no_problems():
    assert report(whole()) == []


def assert_lines(found, breaks):
    expected = [BREAKS[each][1:] for each in breaks]
    assert [severity for severity, _ in found] == [severity for severity, _ in expected]
    for (_, line), (_, start) in zip(found, expected, strict=True):
        assert line.startswith(start) if start.endswith(" ") else line == start


@pytest.mark.parametrize("name", BREAKS)
def test_one_break_is_one_line(name):
    assert_lines(report(BREAKS[name][0](whole())), [name])


def test_all_breaks_together_are_told_at_once():
    facts = whole()
    for apply, *_ in BREAKS.values():
        facts = apply(facts)
    assert_lines(report(facts), BREAKS)


@pytest.mark.parametrize(("mode", "severities"), [("warn", {"warning"}), ("skip", set())])
def test_breaks_are_as_severe_as_the_configuration_says(mode, severities):
    facts = whole()
    for apply, *_ in BREAKS.values():
        facts = apply(facts)
    found = report(facts, STACK | {"checks": {"preflight": mode}})
    assert {severity for severity, _ in found} == severities
    assert len(found) == (len(BREAKS) if severities else 0)


def test_a_node_that_joins_changes_no_output_and_no_digest():
    before, after = (
        composed(STACK, replace(whole(), nodes=Nodes(nodes), requested=Requested({}))) for nodes in ((), (NODE,))
    )
    assert before.contract == after.contract
    assert before.facts_digest == after.facts_digest is not None
    assert before.objects == after.objects


def live(*nodes):
    """Return what a run makes of a live cluster that serves nothing but these nodes."""
    answers = {"/api": discovery(), "/apis": discovery(), "/api/v1/nodes?limit=500": {"items": [*nodes]}}
    with loopback.serve(answers, authorization=None) as server:
        return compose(tree() | {"checks": {"preflight": "warn"}}, Live(kubeconfig(server.url), Path()), NAME)


def kubeconfig(url):
    return json.dumps(
        {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here"}}],
            "clusters": [{"name": "here", "cluster": {"server": url}}],
        }
    )


def test_a_node_that_joins_a_live_cluster_changes_no_output_and_no_digest():
    joining = {
        "metadata": {"name": "gpu-0"},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    before, after = live(), live(joining)
    assert before.contract == after.contract
    assert before.facts_digest == after.facts_digest is not None
    assert before.objects == after.objects
    (line,) = {str(each) for each in before.preflight} - {str(each) for each in after.preflight}
    assert line.startswith("services.qwen.accelerator: no node has the labels and devices of this class")
