"""The port of an address that is written without one; an address without a scheme is asked as HTTP."""

import pytest

from models.load import load
from planning.ground.flows import Addresses, Pods, tcp, url_edges
from tests.support.stacks import find, rendered, tree
from tests.support.traffic.flows import policies

PODS = Pods("models", {"app": "fetching"})
OUTSIDE = Addresses(("0.0.0.0/0", "::/0"), excluded=("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32"))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("proxy.example.com", [(OUTSIDE, tcp(80))]),
        ("proxy", [(Pods("models"), tcp(80))]),
        ("proxy.egress.svc", [(Pods("egress"), tcp(80))]),
        ("10.0.0.7", [(Addresses(("10.0.0.7/32",)), tcp(80))]),
        ("user:hunter2@proxy.example.com", [(OUTSIDE, tcp(80))]),
        ("proxy.example.com:3128", [(OUTSIDE, tcp(3128))]),
        ("http://proxy.example.com", [(OUTSIDE, tcp(80))]),
        ("https://proxy.example.com", [(OUTSIDE, tcp(443))]),
    ],
    ids=["domain", "own-namespace", "service", "ip", "user", "port", "http", "https"],
)
def test_an_address_without_a_port_is_asked_on_the_port_of_its_scheme(address, expected):
    edges = url_edges(PODS, [address], load(tree()).stack)
    assert [(edge.target, edge.ports) for edge in edges] == expected


def test_a_job_behind_a_proxy_without_scheme_and_port_reaches_it_on_the_port_of_http():
    model = {"name": "org/m", "source": "s3://bucket/m", "size": "1Gi"}
    storage = {"type": "dedicated", "fill": {"env": {"https_proxy": "proxy"}}}
    stack = tree(qwen={"model": model, "storage": storage}) | {"networkPolicies": {}}
    job = find(policies(rendered(stack)), "NetworkPolicy", "qwen-weights")
    assert {"to": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": 80}]} in job["spec"]["egress"]
