"""Defects of what a stack does to a gateway that it shares, and to the requests of other teams there."""

import pytest

from tests.support.stacks import plan, tree
from tests.support.stacks.routed import told as refused

AT = "services.qwen.route.setHeaders.x-a"
ISTIO, GKE, AGENTGATEWAY, UNKNOWN = "istio", "gke", "agentgateway", "none"


def setting(value, provider):
    """Return a stack whose route sets a header, on a gateway of a provider."""
    gateway = {"name": "gateway", "namespace": "gateways", "provider": provider}
    return tree(qwen={"route": {"setHeaders": {"x-a": value}}}) | {"gateway": gateway}


@pytest.mark.parametrize("provider", [ISTIO, UNKNOWN])
@pytest.mark.parametrize("value", ["100%", "50% off", "%NOPE%", "%REQ(authorization)%", "%ENVIRONMENT(PATH)%", "100%%"])
def test_no_header_has_a_command_of_envoy(value, provider):
    """See defects H3."""
    (line,) = refused(setting(value, provider))
    assert line.startswith(f"{AT}: has '%', with which a command for ")
    assert value not in line.replace("'%'", "")


def test_no_header_has_a_variable_of_googles_load_balancer():
    """See defects H3."""
    (line,) = refused(setting("{client_region}", GKE))
    assert line == f"{AT}: has '{{', with which a command for Google's load balancer begins; write the value without it"


@pytest.mark.parametrize(
    ("value", "provider"),
    [("{a}", ISTIO), ("{a}", UNKNOWN), ("100%", GKE), ("100%", AGENTGATEWAY), ("{a}", AGENTGATEWAY)],
)
def test_what_is_no_command_of_a_gateway_is_a_value(value, provider):
    """See defects H3."""
    (service,) = plan(setting(value, provider)).services
    assert service.route.set_headers == {"x-a": value}


def test_a_header_that_is_matched_is_no_command():
    """See defects H3."""
    stack = tree(qwen={"route": {"matches": [{"path": "/a", "headers": {"x-a": "100%"}}]}})
    (route,) = plan(stack).routes
    assert route.matches[0].headers == {"x-a": "100%"}


A = "services.a.route.matches[0].path"
