"""Rules that the user of a run has, as the API server lists them."""

import pytest
import yaml

from facts import cluster
from facts.kubeconfig import KubeAccess
from planning.ground.cluster_facts import Permissions, Unknown
from tests.support.cluster import loopback

PATH = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


@pytest.fixture
def server():
    with loopback.serve({PATH: review([RULE])}) as server:
        server.statuses[PATH] = 201
        yield server


def review(rules, *, incomplete=False):
    return {"status": {"resourceRules": rules, "nonResourceRules": [], "incomplete": incomplete}}


def read(server, token="right"):
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": {"server": server.url}}],
        "users": [{"name": "me", "user": {"token": token}}],
    }
    return cluster.permissions(KubeAccess(yaml.safe_dump(config), None), ["models"])


def test_rules_are_listed_for_the_whole_cluster_and_each_namespace(server):
    assert read(server) == Permissions({"": (RULE,), "models": (RULE,)})


def test_a_list_of_some_rules_is_not_complete(server):
    server.answers[PATH] = review(None, incomplete=True)
    assert read(server) == Permissions({"": (), "models": ()}, is_complete=False)


def test_rules_that_nobody_lists_are_unknown(server):
    server.statuses[PATH] = 403
    assert read(server) == Unknown("the cluster could not be read (it answered 403)")
