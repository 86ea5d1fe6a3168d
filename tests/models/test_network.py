"""Ranges of addresses in network policies, and the namespaces that are usual in clusters."""

import pytest

from models.network import NetworkPolicies
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("cidr", "message"),
    [
        ("10.0.0.1", "is not a range of addresses (10.0.0.1); write address/length, such as 10.96.0.1/32"),
        (
            "10.0.0.0/255.0.0.0",
            "is not a range of addresses (10.0.0.0/255.0.0.0); write address/length, such as 10.96.0.1/32",
        ),
        ("10.0.0.0/33", "is not a range of addresses (10.0.0.0/33); write address/length, such as 10.96.0.1/32"),
        ("10.0.0.0/08", "is not a range of addresses (10.0.0.0/08); write address/length, such as 10.96.0.1/32"),
        ("10.1.2.3/16", "does not begin with the first address of its range (10.1.2.3/16); write 10.1.0.0/16"),
        ("fd00::1/64", "does not begin with the first address of its range (fd00::1/64); write fd00::/64"),
    ],
)
def test_a_text_that_is_no_range_is_refused(cidr, message):
    stack = tree() | {"networkPolicies": {"egressCIDRs": [cidr]}}
    assert mistakes(stack) == [f"networkPolicies.egressCIDRs[0]: {message}"]


@pytest.mark.parametrize("cidr", ["0.0.0.0/0", "10.96.0.1/32", "::/0", "fd00:ec2::/32", "::ffff:10.0.0.0/104"])
def test_a_range_of_either_family_is_taken(cidr):
    assert NetworkPolicies.model_validate({"proxyCIDRs": [cidr]}).proxy_cidrs == (cidr,)


def test_dns_and_prometheus_are_where_clusters_usually_have_them():
    policies = NetworkPolicies.model_validate({})
    assert (policies.dns_namespace, policies.dns_port, policies.prometheus_namespace) == (
        "kube-system",
        53,
        "monitoring",
    )
    assert policies.dns_cidrs == ("169.254.20.10/32", "169.254.169.254/32")
    assert (policies.api_server_cidrs, policies.egress_cidrs, policies.proxy_cidrs) == ((), (), ())
