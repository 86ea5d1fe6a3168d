"""Objects of a cluster and the owners of their fields, read over real HTTP."""

import json

import pytest
import yaml

from facts import cluster, reading
from facts.cluster import KubeAccess
from facts.live_objects import path
from models.stack import Cluster, FileFacts, NoFacts
from planning.ground import labels
from planning.ground.cluster_facts import FieldOwner, LiveObject, LiveObjects, Unknown
from planning.ground.marks import Mark
from tests.support.cluster import loopback

SELECTED = "limit=500&labelSelector=app.kubernetes.io%2Fpart-of%3Dinference-stacks"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/models/deployments?{SELECTED}"
REPLICAS = {"f:spec": {"f:replicas": {}}}


def entry(manager, fields, **more):
    return {"manager": manager, "operation": "Update", "time": "then", "fieldsV1": fields, **more}


QWEN = {
    "metadata": {
        "namespace": "models",
        "name": "qwen-decode",
        "managedFields": [
            entry("pulumi-kubernetes-1a2b3c4d", {"f:spec": {"f:template": {}}}),
            entry("pulumi-kubernetes", {"f:metadata": {}}),
            entry("kubectl", REPLICAS, subresource="scale"),
            entry("kube-controller-manager", {"f:status": {}}, subresource="status"),
            entry("kubectl-edit", {"f:metadata": {"f:labels": {"f:team": {}}}}),
        ],
    },
    "spec": {"replicas": 3},
}
OLD = {"metadata": {"namespace": "models", "name": "old"}, "spec": {}}
PLACE = {"namespace": "models"}
SERVICE = {"metadata": {**PLACE, "name": "qwen", "annotations": {labels.STACK: "acme/chat/prod"}}}
BINDING = {"metadata": {"name": "inference-stacks:models:qwen-epp"}}
ANSWERS = {
    DEPLOYMENTS: {"items": [QWEN], "metadata": {"continue": "more"}},
    f"{DEPLOYMENTS}&continue=more": {"items": [OLD], "metadata": {}},
    f"/api/v1/namespaces/models/services?{SELECTED}": {"items": []},
    f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?{SELECTED}": {"items": [BINDING]},
    "/api/v1/namespaces/models/configmaps?limit=500": {"items": None},
    "/api/v1/namespaces/kube-system": {"metadata": {"name": "kube-system", "uid": "4f3a"}},
    "/api/v1/namespaces/models/services?limit=500": {"items": [SERVICE, {"metadata": {**PLACE, "name": "other"}}]},
}
KINDS = [
    ("apps/v1/Deployment", "models"),
    ("v1/Service", "models"),
    ("rbac.authorization.k8s.io/v1/ClusterRoleBinding", ""),
]


LISTED = frozenset(
    {
        ("apps", "Deployment", "models"),
        ("", "Service", "models"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding", ""),
    }
)


@pytest.fixture
def server():
    with loopback.serve(ANSWERS) as server:
        yield server


def read(server, kinds, token="right", spec=None, names=None):
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": {"server": server.url}}],
        "users": [{"name": "me", "user": {"token": token}}],
    }
    return cluster.objects(spec or Cluster(), KubeAccess(yaml.safe_dump(config), None), kinds, names or {})


def test_objects_are_read_page_by_page_with_those_that_own_fields_beside_pulumi(server):
    """See defects A17."""
    found = read(server, [*KINDS, *KINDS])
    owners = (
        FieldOwner("kubectl", "then", REPLICAS),
        FieldOwner("kubectl-edit", "then", {"f:metadata": {"f:labels": {"f:team": {}}}}),
    )
    ours = ({"f:spec": {"f:template": {}}}, {"f:metadata": {}})
    assert found == LiveObjects(
        {
            ("apps", "Deployment", "models", "qwen-decode"): LiveObject(QWEN, owners, ours),
            ("apps", "Deployment", "models", "old"): LiveObject(OLD),
            ("rbac.authorization.k8s.io", "ClusterRoleBinding", "", BINDING["metadata"]["name"]): LiveObject(BINDING),
        },
        listed=LISTED,
        cluster="4f3a",
    )


NAMES = {
    ("apps/v1/Deployment", "models"): ["qwen-decode"],
    ("v1/Service", "models"): ["qwen", "qwen-epp"],
    ("v1/ConfigMap", "models"): ["qwen-epp"],
    ("example.com/v1/Absent", "models"): ["qwen"],
}


def test_marks_are_read_by_name_whoever_made_the_object_and_lists_only_where_a_name_is_missing(server):
    found = read(server, KINDS, names=NAMES)
    assert found.marks == {
        ("apps", "Deployment", "models", "qwen-decode"): Mark(),
        ("", "Service", "models", "qwen"): Mark(stack="acme/chat/prod"),
    }
    assert found.unchecked == ()
    pages, lists_without_selector, identity = 4, 3, 1
    assert len(server.seen) == pages + lists_without_selector + identity


def test_kinds_whose_marks_are_refused_are_named(server):
    found = read(server, [], "wrong", names=NAMES)
    assert (found.marks, found.unchecked) == (
        {},
        ("apps/v1/Deployment", "example.com/v1/Absent", "v1/ConfigMap", "v1/Service"),
    )


def test_the_last_manager_of_a_field_is_known():
    found = LiveObject(QWEN, (FieldOwner("a", "", {"f:metadata": {}}), FieldOwner("kubectl", "", REPLICAS)))
    assert found.writer("spec", "replicas") == "kubectl"
    assert found.writer("spec") == "kubectl"
    assert found.writer("spec", "replicas", "below") is None
    assert found.writer("spec", "selector") is None


def test_a_kind_that_is_not_served_has_no_objects_and_one_that_is_refused_is_named(server):
    absent = LiveObjects({}, listed=frozenset({("example.com", "Absent", "models")}), cluster="4f3a")
    assert read(server, [("example.com/v1/Absent", "models")]) == absent
    found = read(server, [*KINDS, ("apps/v1/Deployment", "chat")], "wrong")
    assert found == LiveObjects({}, tuple(sorted({kind for kind, _ in KINDS})))


@pytest.mark.parametrize("facts", [NoFacts(type="none"), FileFacts(type="file", path="facts.json")])
def test_a_cluster_that_is_not_to_be_read_is_not(server, facts):
    assert read(server, KINDS, spec=Cluster(facts=facts)) == Unknown(f"cluster.facts is {facts.type}")
    assert server.seen == []


def test_a_cluster_that_breaks_off_is_unknown(server, monkeypatch):
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    server.answers = {DEPLOYMENTS: json.loads('{"metadata": {}}')}
    assert read(server, KINDS[:1]) == Unknown("the cluster could not be read (KeyError)")


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        ("networking.k8s.io/v1/NetworkPolicy", "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies"),
        ("gateway.networking.k8s.io/v1/HTTPRoute", "/apis/gateway.networking.k8s.io/v1/namespaces/a/httproutes"),
        ("v1/Service", "/api/v1/namespaces/a/services"),
    ],
)
def test_kinds_have_their_places(api, expected):
    assert path(api, "a") == expected
