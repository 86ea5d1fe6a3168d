"""A cluster that is broken in each way that preflight knows, one at a time and all together: the exact report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from composition import Composition, Given, Live, compose
from planning.ground import labels
from planning.ground.cluster_facts import (
    Bundles,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveRoute,
    Metrics,
    ParentRef,
    RouteMatch,
    Routes,
    Served,
    Unknown,
)
from planning.ground.inventory import (
    EVERY,
    SELECTED,
    Listener,
    LiveNamespace,
    LiveNode,
    Namespaces,
    Nodes,
    Origin,
    PriorityClasses,
    Quotas,
    Requested,
    Requirement,
    Secrets,
    StorageClasses,
)
from tests.support.cluster import loopback
from tests.support.cluster.loopback import discovery
from tests.support.stacks import NAME, lines, tree

REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
ANY = Listener("http", 80, "HTTP", None, EVERY)
POOL, HTTPROUTES = "inference.networking.k8s.io/v1/InferencePool", "httproutes.gateway.networking.k8s.io"
KEDA = "keda.sh/v1alpha1/ScaledObject"
PULLED = {"model": {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "1Gi", "secrets": ["registry"]}}
STORED = {"storage": {"type": "dedicated", "storageClassName": "fast"}}
PLACED = {"pod": {"priorityClassName": "high", "nodeSelector": {"zone": "a"}}}
NODE = LiveNode("gpu-0", {"zone": "a"}, ready=True, cordoned=False, taints=(), devices={"nvidia.com/gpu": 8})
SCALED = {"autoscaling": {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}}
OPEN = {"patch": {"spec": {"template": {"spec": {"hostNetwork": True}}}}}
STACK = tree(
    qwen={**PULLED, **STORED, **PLACED, "route": {"hostnames": ["llm.example.com"]}},
    bert={**SCALED, **OPEN, "namespace": "chat"},
)
"""A stack that needs something of every kind, in two namespaces that exist."""
PATCHED = "pods of Deployment chat/bert-decode are not admitted in namespace chat, whose level is restricted"
GATEWAY = "Gateway gateways/gateway"


def composed(stack, facts):
    found = compose(stack, Given(facts), NAME)
    assert isinstance(found, Composition), found
    return found


def whole(stack=STACK):
    """Return facts of a cluster that has all that a stack needs."""
    kinds = Served(frozenset(each.api for each in composed(stack, ClusterFacts(Unknown(""))).objects))
    plain = LiveNamespace({"kubernetes.io/metadata.name": "models"}, {})
    return ClusterFacts(
        kinds,
        Gateways((LiveGateway(REF, accepted=True, programmed=True, listeners=(ANY,)),)),
        Routes(()),
        metrics=Metrics(("pods/vllm_num_requests_waiting",)),
        bundles=Bundles({}),
        namespaces=Namespaces({"models": plain, "chat": plain}),
        secrets=Secrets((("models", "registry"),)),
        storage_classes=StorageClasses({"fast": False}),
        priority_classes=PriorityClasses({"high": False}),
        nodes=Nodes((NODE,)),
        quotas=Quotas(()),
    )


def listening(facts, *listeners):
    (gateway,) = facts.gateways.gateways
    return replace(facts, gateways=Gateways((replace(gateway, listeners=listeners),)))


def labelled(facts, name, **fields):
    found = {**facts.namespaces.namespaces, name: LiveNamespace(**{"labels": {}, "annotations": {}, **fields})}
    return replace(facts, namespaces=Namespaces(found))


def without(facts, name):
    found = {key: live for key, live in facts.namespaces.namespaces.items() if key != name}
    return replace(facts, namespaces=Namespaces(found))


def taken(facts):
    match = RouteMatch("PathPrefix", "/models/qwen")
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
        lambda facts: replace(facts, metrics=Metrics(())),
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


OURS = {"app.kubernetes.io/part-of": "inference-stacks", "app.kubernetes.io/managed-by": "pulumi"}
CREATED = tree() | {"namespaceOptions": {"create": True}}
SOMEBODYS = "namespaceOptions.create: namespace models belongs to somebody else; destroying this stack would delete it"


@pytest.mark.parametrize(
    ("stack", "live", "expected"),
    [
        (CREATED, None, []),
        (CREATED, LiveNamespace(OURS, {}), []),
        (CREATED, LiveNamespace({}, {labels.STACK: str(NAME)}), []),
        (CREATED, LiveNamespace({}, {labels.STACK: "a/b/c"}), [SOMEBODYS.replace("somebody else", "stack a/b/c")]),
        (CREATED, LiveNamespace({}, {}), [SOMEBODYS]),
        (CREATED, LiveNamespace(OURS, {}, terminating=True), ["namespace: this namespace is being deleted (models)"]),
        (tree(), LiveNamespace({}, {}), []),
        (tree(), LiveNamespace({}, {}, terminating=True), ["namespace: this namespace is being deleted (models)"]),
    ],
)
def test_a_namespace_that_is_somebody_elses_is_never_created(stack, live, expected):
    """See defects B3."""
    facts = replace(whole(stack), namespaces=Namespaces({} if live is None else {"models": live}))
    found = [line for severity, line in report(facts, stack) if severity == "error"]
    assert [line.partition(" and all its objects")[0].partition("; wait")[0] for line in found] == expected


def admitted(route, *listeners, labels=None, namespace="models"):
    """Return what preflight says of a route whose Gateway has some listeners."""
    stack = tree(qwen={"route": route} if route else {}) | {"namespace": namespace}
    live = LiveNamespace({"team": "search"} if labels is None else labels, {})
    facts = replace(listening(whole(stack), *listeners), namespaces=Namespaces({namespace: live}))
    return lines(composed(stack, facts).preflight, "error")


def gateway(**fields):
    return {"gateway": {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2", **fields}}


SEARCH = (Requirement("team", "In", ("search",)),)


@pytest.mark.parametrize(
    ("route", "listener", "message"),
    [
        ({}, {"namespaces": "Same"}, f"gateway: no selected listener of {GATEWAY} admits routes of namespace models"),
        ({}, {"namespaces": "None"}, f"gateway: no selected listener of {GATEWAY} admits routes of namespace models"),
        ({}, {"namespaces": SELECTED, "selector": SEARCH}, None),
        ({}, {"namespaces": SELECTED, "selector": (Requirement("team", "NotIn", ("search",)),)}, "gateway: no "),
        ({}, {"namespaces": SELECTED, "selector": (Requirement("team", "Exists"),)}, None),
        ({}, {"namespaces": SELECTED, "selector": (Requirement("team", "DoesNotExist"),)}, "gateway: no "),
        ({}, {"kinds": ("GRPCRoute",)}, f"gateway: no selected listener of {GATEWAY} admits HTTPRoutes; "),
        ({}, {"protocol": "TLS"}, f"gateway: no selected listener of {GATEWAY} admits HTTPRoutes; "),
        ({}, {"protocol": "TLS", "kinds": ("HTTPRoute",)}, None),
        (gateway(sectionName="http"), {}, None),
        (
            gateway(sectionName="https"),
            {},
            f"services.qwen.route.gateway.sectionName: is no listener of {GATEWAY} (https); write one of http",
        ),
        (gateway(port=80), {}, None),
        (
            gateway(port=443),
            {},
            f"services.qwen.route.gateway.port: no listener of {GATEWAY} has this port (443); write one of 80",
        ),
        ({"hostnames": ["a.example.com"]}, {"hostname": "*.EXAMPLE.com"}, None),
        ({"hostnames": ["*.example.com"]}, {"hostname": "a.example.com"}, None),
        ({"hostnames": ["example.com"]}, {"hostname": "*.example.com"}, "services.qwen.route.hostnames: no listener "),
    ],
)
def test_a_route_that_no_listener_takes_is_told(route, listener, message):
    found = admitted(route, replace(ANY, **listener))
    assert len(found) == (message is not None)
    assert all(line.startswith(message) for line in found)


def test_one_listener_of_several_is_enough():
    assert admitted({}, replace(ANY, namespaces="Same"), replace(ANY, name="other")) == []
    assert admitted({}, replace(ANY, namespaces="Same"), namespace="gateways") == []


def test_labels_that_could_not_be_read_are_named():
    facts = listening(whole(tree()), replace(ANY, namespaces=SELECTED, selector=SEARCH))
    found = lines(composed(tree(), replace(facts, namespaces=Unknown("no answer"))).preflight, "warning")
    assert found == [
        f"gateway: whether {GATEWAY} admits routes of namespace models went unchecked: no answer",
        "namespaces (models) went unchecked: no answer",
    ]


def test_a_claim_without_a_class_needs_a_default_one():
    stack = tree(qwen={**PULLED, "storage": {"type": "dedicated"}})
    facts = replace(whole(stack), storage_classes=StorageClasses({"slow": False, "tape": False}))
    assert lines(composed(stack, facts).preflight, "error") == [
        (
            "services.qwen.storage: takes the default StorageClass, but the cluster has none; set storageClassName to "
            "one of slow, tape"
        )
    ]
    facts = replace(facts, storage_classes=StorageClasses({"slow": True}))
    assert lines(composed(stack, facts).preflight, "error") == []


def test_what_services_inherit_is_told_once_where_it_is_written():
    stack = tree(qwen={}, bert={}) | {"defaults": PLACED, "storageClassName": "fast"}
    stack["services"] = {key: {**service, **STORED, **PULLED} for key, service in stack["services"].items()}
    for service in stack["services"].values():
        service["storage"] = {"type": "dedicated"}
    facts = replace(whole(stack), priority_classes=PriorityClasses({}), storage_classes=StorageClasses({}))
    found = lines(composed(stack, facts).preflight, "error")
    assert [line.partition(":")[0] for line in found] == ["storageClassName", "defaults.pod.priorityClassName"]


@pytest.mark.parametrize(
    ("origin", "messages"),
    [
        (Origin("prod", "v1.36.0", "2999-01-01T00:00:00Z"), []),
        (Origin(None, None, "2999-01-01T00:00:00Z"), []),
        (
            Origin("test", None, "2999-01-01T00:00:00Z"),
            ["cluster.facts: the file describes cluster test, but this run is for prod; write it again with "],
        ),
        (Origin("prod", None, "2026-01-01T00:00:00Z"), ["cluster.facts: the file is "]),
        (Origin("prod", None, "yesterday"), ["cluster.facts: the file has no time of the form "]),
    ],
)
def test_a_file_of_another_cluster_or_of_another_day_is_told(origin, messages):
    found = compose(tree(), Given(replace(whole(tree()), origin=origin), "prod"), NAME).preflight
    assert [str(problem).startswith(start) for problem, start in zip(found, messages, strict=True)] == [True] * len(
        messages
    )


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
