"""The API server refuses what our rules refuse of Kubernetes' own syntax, and takes the last value before it."""

import json

import pytest

from local.errors import LocalError
from planning.refusals.tables import rules
from tests.support.cluster import server
from tests.support.cluster.server import accepts
from tests.support.cluster.verdicts import edited, ours
from tests.support.stacks import find, rendered, tree

pytestmark = pytest.mark.real

POD = ["spec", "template", "spec"]
RESOURCES = [*POD, "containers", 0, "resources"]
REQUIRED, PREFERRED = (f"{necessity}DuringSchedulingIgnoredDuringExecution" for necessity in ("required", "preferred"))
SELECTOR = {"matchLabels": {"team": "a"}}
ZONES = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def amounts(requests, limits, **others):
    """Return resources of a container that has cpu, unless `others` says that it has none."""
    return {"requests": {**others.get("base", {"cpu": "1"}), **requests}, "limits": limits}


def nodes(expression, field="matchExpressions"):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{field: [expression]}]}}}


def preferred_nodes(weight, expression):
    return {"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": [expression]}}]}}


def pods(**term):
    return {"podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": SELECTOR, **term}]}}


def apart(weight, **term):
    return {"podAntiAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": {"topologyKey": "zone", **term}}]}}


def compared(operator, *values, key="zone"):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


TAKEN_RESOURCES = [
    amounts({}, {"example.com/foo": "1"}),
    amounts({"example.com/foo": "1"}, {"example.com/foo": "1000m"}),
    amounts({"example.com/foo": "1k"}, {"example.com/foo": "1000"}),
    amounts({"kubernetes.io/batch-cpu": "5"}, {}),
    amounts({"koordinator.kubernetes.io/batch-cpu": "5"}, {"koordinator.kubernetes.io/batch-cpu": "7"}),
    amounts({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"}),
    amounts({}, {"hugepages-1Gi": "2Gi"}),
    amounts({}, {"hugepages-2Mi": "0"}),
    amounts({"cpu": "1500m"}, {"cpu": "1.5"}),
    amounts({}, {"ephemeral-storage": "10Gi"}),
]
REFUSED_RESOURCES = [
    amounts({"example.com/foo": "1"}, {}),
    amounts({"example.com/foo": "1"}, {"example.com/foo": "2"}),
    amounts({}, {"example.com/foo": "0.5"}),
    amounts({"example.com/foo": "500m"}, {"example.com/foo": "500m"}),
    *(
        amounts({}, {name: "1"})
        for name in ("gpu", "foo", "pods", "storage", "requests.nvidia.com/gpu", "requests.cpu")
    ),
    amounts({"hugepages-2Mi": "4Mi"}, {}),
    amounts({"hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "4Mi"}),
    amounts({}, {"hugepages-2Mi": "3M"}),
    amounts({}, {"hugepages-large": "4Mi"}),
    amounts({}, {"hugepages-2Mi": "4Mi"}, base={}),
    amounts({"cpu": "2"}, {"cpu": "1500m"}),
]
TAKEN_AFFINITY = [
    *(nodes(compared(operator, "a")) for operator in ("In", "NotIn")),
    *(nodes(compared(operator)) for operator in ("Exists", "DoesNotExist")),
    *(nodes(compared(operator, "1")) for operator in ("Gt", "Lt")),
    nodes(compared("In", "a" * 63, "")),
    nodes(compared("In", "n", key="metadata.name"), "matchFields"),
    *(preferred_nodes(weight, compared("Exists")) for weight in (1, 100)),
    preferred_nodes(1, compared("In", "c d")),
    *(apart(weight) for weight in (1, 100)),
    pods(matchLabelKeys=["app"], mismatchLabelKeys=["team"]),
    pods(namespaceSelector={}, labelSelector={"matchExpressions": [compared("NotIn", "a")]}),
]
REFUSED_AFFINITY = [
    nodes(compared("Equals", "a")),
    *(nodes(compared(operator)) for operator in ("In", "NotIn", "Gt")),
    *(nodes(compared(operator, "a")) for operator in ("Exists", "DoesNotExist")),
    *(nodes(compared(operator, "1", "2")) for operator in ("Gt", "Lt")),
    nodes(compared("Exists", key="a b!")),
    nodes(compared("In", "a" * 64)),
    nodes(compared("In", "c d")),
    nodes(compared("Exists", key="metadata.name"), "matchFields"),
    nodes(compared("In", "n", "m", key="metadata.name"), "matchFields"),
    nodes(compared("In", "n", key="metadata.uid"), "matchFields"),
    *(preferred_nodes(weight, compared("Exists")) for weight in (0, 101, -1)),
    preferred_nodes(1, compared("Equals", "a")),
    *(apart(weight) for weight in (0, 500)),
    pods(topologyKey=""),
    pods(topologyKey="a b"),
    pods(labelSelector={"matchLabels": {"a b!": "x"}}),
    pods(labelSelector={"matchLabels": {"a": "x y"}}),
    pods(labelSelector={"matchExpressions": [compared("Gt", "1")]}),
    pods(labelSelector={"matchExpressions": [compared("In")]}),
    pods(matchLabelKeys=["app"], mismatchLabelKeys=["app"]),
    pods(matchLabelKeys=["a b"]),
    apart(1, mismatchLabelKeys=["app"]),
]
TAKEN_SPREAD = [
    [ZONES],
    [ZONES, ZONES | {"whenUnsatisfiable": "ScheduleAnyway"}, ZONES | {"topologyKey": "host"}],
    [ZONES | {"minDomains": 1, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}],
    [ZONES | {"labelSelector": SELECTOR, "matchLabelKeys": ["app"]}],
    [ZONES | {"topologyKey": "a b"}],
]
REFUSED_SPREAD = [
    [ZONES | {"maxSkew": 0}],
    [ZONES | {"whenUnsatisfiable": "Maybe"}],
    [ZONES | {"topologyKey": ""}],
    [ZONES, ZONES],
    [ZONES | {"minDomains": 0}],
    [ZONES | {"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}],
    [ZONES | {"nodeTaintsPolicy": "Respect"}],
    [ZONES | {"matchLabelKeys": ["app"]}],
    [ZONES | {"labelSelector": {"matchLabels": {"a b!": "x"}}}],
]


def policy(**keys):
    return {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60, **keys}]}}


TAKEN_BEHAVIOUR = [
    *({"scaleDown": {"stabilizationWindowSeconds": seconds}} for seconds in (0, 3600)),
    *(policy(periodSeconds=seconds) for seconds in (1, 1800)),
    policy(type="Percent"),
    {"scaleUp": {"selectPolicy": "Disabled", "tolerance": "0"}},
]
REFUSED_BEHAVIOUR = [
    *({"scaleDown": {"stabilizationWindowSeconds": seconds}} for seconds in (-1, 3601)),
    *(policy(periodSeconds=seconds) for seconds in (0, 1801)),
    policy(type="Foo"),
    policy(value=0),
    {"scaleUp": {"policies": []}},
    {"scaleUp": {"selectPolicy": "Average"}},
    {"scaleUp": {"tolerance": "-0.1"}},
]


def external(name="queue", **target):
    return {"type": "External", "external": {"metric": {"name": name}, "target": {"type": "Value", **target}}}


def resource(name="cpu", **target):
    return {"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", **target}}}


TAKEN_METRICS = [
    external(value="1m"),
    external(averageValue="1"),
    resource(averageUtilization=1),
    {"type": "Pods", "pods": {"metric": {"name": "a:b"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
]
REFUSED_METRICS = [
    {"type": "Resource"},
    {"type": "Queue"},
    external(),
    external(value="0"),
    external(value="1", averageValue="1"),
    external("a/b", value="1"),
    external("", value="1"),
    external(value="1", type="Sum"),
    resource(),
    resource("", averageUtilization=1),
    resource(averageUtilization=0),
    resource(averageUtilization=1, averageValue="1"),
    resource(averageUtilization=1) | {"pods": TAKEN_METRICS[3]["pods"]},
    {"type": "Pods", "pods": {"metric": {"name": "a"}, "target": {"type": "Value", "value": "1"}}},
]
LARGEST = rules().sizes.annotations
ANNOTATIONS = [{"a": "x" * (LARGEST - 1)}], [{"a": "x" * LARGEST}]
KINDS = {"Deployment": "qwen-decode", "HorizontalPodAutoscaler": "qwen-decode"}
TABLE = {
    "resources": ("Deployment", RESOURCES, TAKEN_RESOURCES, REFUSED_RESOURCES),
    "affinity": ("Deployment", [*POD, "affinity"], TAKEN_AFFINITY, REFUSED_AFFINITY),
    "spread": ("Deployment", [*POD, "topologySpreadConstraints"], TAKEN_SPREAD, REFUSED_SPREAD),
    "annotations": ("Deployment", ["metadata", "annotations"], *ANNOTATIONS),
    "annotations of pods": ("Deployment", [*POD[:2], "metadata", "annotations"], *ANNOTATIONS),
    "behaviour": ("HorizontalPodAutoscaler", ["spec", "behavior"], TAKEN_BEHAVIOUR, REFUSED_BEHAVIOUR),
    "metrics": (
        "HorizontalPodAutoscaler",
        ["spec", "metrics"],
        [[metric] for metric in TAKEN_METRICS],
        [[metric] for metric in REFUSED_METRICS],
    ),
}
"""Kind and path of a value, the values that the server takes there, and those that it refuses."""
MISREAD = {
    "cores": (RESOURCES, amounts({"cpu": "99999E"}, {})),
    "bytes": (RESOURCES, amounts({"memory": "9999999999Ei"}, {})),
    "comparison": ([*POD, "affinity"], nodes(compared("Gt", "many"))),
    "keys": ([*POD, "topologySpreadConstraints"], [ZONES | {"labelSelector": SELECTOR, "matchLabelKeys": ["team"]}]),
    "variable": ([*POD, "containers", 0, "env"], [{"name": "A", "value": "x\0y"}]),
}
"""Values that the server takes: as another number, for no node, for no pod, or for a process that cannot start."""


@pytest.fixture(scope="module")
def objects():
    """Return the rendered workload and autoscaler into which values are written past the checks of planning."""
    scaled = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
    everything = rendered(tree(qwen={"autoscaling": scaled}))
    return {kind: find(everything, kind, name) for kind, name in KINDS.items()}


@pytest.mark.parametrize("field", TABLE)
def test_the_server_and_our_rules_refuse_the_same_values(field, objects, plane):
    """See defects H11."""
    kind, path, taken, refused = TABLE[field]
    assert taken
    assert refused
    verdicts = [*((value, True) for value in taken), *((value, False) for value in refused)]
    wrong = list[str]()
    for value, is_taken in verdicts:
        manifest = edited(objects[kind], path, value)
        for judge, verdict in (("server", accepts(plane, manifest)), ("rules", ours(manifest))):
            if verdict != is_taken:
                wrong.append(f"{judge}: {'taken' if verdict else 'refused'} {json.dumps(value)[:200]}")
    assert wrong == []


@pytest.mark.parametrize(("path", "value"), MISREAD.values(), ids=MISREAD)
def test_values_that_the_server_takes_but_nothing_can_use_are_refused(path, value, objects, plane):
    """See defects H11."""
    manifest = edited(objects["Deployment"], path, value)
    assert (accepts(plane, manifest), ours(manifest)) == (True, False)


def test_the_server_refuses_the_pods_whose_keys_it_adds_to_their_selector(objects, plane):
    """See defects H11."""
    path, value = MISREAD["keys"]
    template = edited(objects["Deployment"], path, value)["spec"]["template"]
    labels = template["metadata"]["labels"] | {"team": "a"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default", "labels": labels}}
    assert not accepts(plane, pod | {"spec": template["spec"]})
    spread = [ZONES | {"labelSelector": SELECTOR, "matchLabelKeys": ["app"]}]
    assert accepts(plane, pod | {"spec": template["spec"] | {"topologySpreadConstraints": spread}})


@pytest.mark.parametrize(("number", "is_taken"), [(1, True), (65535, True), (0, False), (65536, False), (99999, False)])
def test_the_server_takes_the_ports_that_addresses_may_have(number, is_taken, plane):
    """See defects H11."""
    service = {"model": {"name": "a", "source": "hf://org/m", "endpoint": "http://hub.example:8080"}}
    policy = find(rendered(tree(qwen=service) | {"networkPolicies": {}}), "NetworkPolicy", "qwen-decode")
    outside = next(at for at, rule in enumerate(policy["spec"]["egress"]) if "except" in json.dumps(rule))
    manifest = edited(policy, ["spec", "egress", outside, "ports"], [{"protocol": "TCP", "port": number}])
    assert accepts(plane, manifest) == is_taken


def variables(manifest, size):
    return edited(
        manifest, [*POD, "containers", 0, "env"], [{"name": f"A{at}", "value": "x" * 1000} for at in range(size)]
    )


def test_an_object_of_the_largest_size_is_stored_and_one_of_twice_the_size_is_not(objects, plane):
    """See defects H11."""
    asleep = edited(objects["Deployment"], ["spec", "replicas"], 0)
    fitting = variables(asleep, 980)
    large = variables(asleep, 1960)
    assert (ours(fitting), ours(large)) == (True, False)
    try:
        server.apply(plane, [fitting])
        with pytest.raises(LocalError, match=r"too large|larger than"):
            server.apply(plane, [large])
    finally:
        plane.kubectl("delete", "deployment", "qwen-decode", "--ignore-not-found")
