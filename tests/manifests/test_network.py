"""Network policies are written as Kubernetes reads them."""

from manifests import network
from planning.ground import parts
from planning.ground.flows import Addresses, Edge, Pods, policy, tcp
from tests.support.stacks import find, rendered, tree

PODS = Pods("models", {"app": "one"})


def test_pods_of_the_own_namespace_are_named_by_their_labels_and_others_by_their_namespace():
    edges = [
        Edge(PODS, Pods("models", {"app": "two"}), tcp(80)),
        Edge(PODS, Pods("others", {"app": "three"}), ()),
        Edge(PODS, Addresses(("0.0.0.0/0", "::/0"), excluded=("10.0.0.0/8",)), tcp(443)),
    ]
    spec = network.manifest(policy(parts.DECODE.network_policy, "qwen", PODS, edges), {"name": "qwen"})["spec"]
    assert spec["podSelector"] == {"matchLabels": {"app": "one"}}
    near, other, outside = spec["egress"]
    selected = {"podSelector": {"matchLabels": {"app": "two"}}}
    assert near == {"to": [selected], "ports": [{"protocol": "TCP", "port": 80}]}
    assert other["to"][0]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "others"}}
    assert outside["to"] == [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}},
        {"ipBlock": {"cidr": "::/0"}},
    ]


def test_the_policies_of_pods_and_picker_are_called_like_them():
    everything = rendered(tree() | {"networkPolicies": {}})
    for name in ("qwen-decode", "qwen-epp"):
        written = find(everything, "NetworkPolicy", name)
        labels = written["spec"]["podSelector"]["matchLabels"].items()
        template = find(everything, "Deployment", name)["spec"]["template"]
        assert labels <= template["metadata"]["labels"].items()
