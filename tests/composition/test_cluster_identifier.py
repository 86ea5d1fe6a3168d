"""The identity of the cluster, which decides whether the provider replaces everything."""

import pytest
import yaml

from tests.support.program import run
from tests.support.stacks import tree

KUBECONFIG = yaml.safe_dump(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "daily",
        "contexts": [
            {"name": "daily", "context": {"cluster": "edge-1", "user": "admin"}},
            {"name": "other", "context": {"cluster": "edge-2", "user": "admin"}},
        ],
        "clusters": [{"name": name, "cluster": {"server": "https://127.0.0.1:1"}} for name in ("edge-1", "edge-2")],
        "users": [{"name": "admin", "user": {}}],
    }
)


def identifier(kubeconfig, **cluster):
    stack = tree() | {"cluster": {"facts": {"type": "none"}, **cluster}}
    return run(stack, **{"inference-stacks:kubeconfig": kubeconfig})["cluster"].inputs["clusterIdentifier"]


@pytest.mark.parametrize(
    ("cluster", "expected"), [({}, "edge-1"), ({"context": "other"}, "edge-2")], ids=["current-context", "context"]
)
def test_without_a_name_the_cluster_is_identified_by_the_kubeconfigs_name_for_it(cluster, expected):
    assert identifier(KUBECONFIG, **cluster) == expected


def test_the_name_that_is_written_comes_before_the_kubeconfigs():
    assert identifier(KUBECONFIG, name="prod") == "prod"


def test_without_any_name_the_identifier_stays_the_same():
    assert identifier("kind: Config") == "default"
