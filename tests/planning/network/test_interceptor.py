"""Requests of metered services pass the interceptor alone."""

from tests.support.stacks import exactly, rendered
from tests.support.stacks.varied_metering import metered


def test_policies_let_requests_through_the_interceptor_alone():
    """See phoebe 8.10.

    Every flow is compared in tests/contracts/invariants/network.py.
    """
    stack = metered(deploy={"emit": {"valkeyAddr": "valkey.streams.svc:6379"}}, more={"networkPolicies": {}})
    policy = exactly(rendered(stack), "NetworkPolicy", "phoebe-interceptor")["spec"]
    asked = {manifest["ports"][0]["port"] for manifest in policy["egress"]}
    assert asked == {53, 443, 6379, 8000}
    assert [manifest["ports"] for manifest in policy["ingress"]] == [[{"protocol": "TCP", "port": 8080}]]
    model = exactly(rendered(stack), "NetworkPolicy", "qwen-decode")["spec"]
    spaces = [str(manifest["from"]) for manifest in model["ingress"]]
    assert len(spaces) == 1
    assert "inference-stacks.io/interceptor" in spaces[0]
