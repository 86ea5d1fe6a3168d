"""Routes lead metered requests to the interceptor, and set the headers of its contract."""

import pytest

from tests.support.stacks import exactly, rendered
from tests.support.stacks.varied_metering import metered


@pytest.mark.parametrize("mode", ["label", "header"])
def test_a_route_leads_to_the_interceptor_and_changes_what_the_contract_says(mode):
    """See phoebe 7.4, 1.3."""
    (rule,) = exactly(rendered(metered(mode)), "HTTPRoute", "qwen")["spec"]["rules"]
    (backend,) = rule["backendRefs"]
    assert (backend["kind"], backend["namespace"], backend["name"], backend["port"]) == (
        *("Service", "metering"),
        *("phoebe-interceptor", 8080),
    )
    kinds = [manifest["type"] for manifest in rule["filters"]]
    assert kinds == ["URLRewrite", "RequestHeaderModifier"]
    change = rule["filters"][1]["requestHeaderModifier"]
    set_headers = {manifest["name"]: manifest["value"] for manifest in change["set"]}
    upstream = {"X-Saturn-Upstream": "qwen.models.svc.cluster.local:8000"} if mode == "header" else {}
    assert set_headers == {"X-Saturn-Resource-Id": "qwen", **upstream}
    assert ("X-Saturn-Upstream" in change["remove"]) is (mode == "label")
    assert "X-Saturn-Auth-Id" not in [*change["remove"], *set_headers]
    assert "timeouts" not in rule


def test_a_canary_of_mode_header_is_asked_by_its_headers_and_billed_as_its_service():
    """See phoebe 3.10."""
    canary = {"canary": {"weight": 0, "headers": {"x-canary": "always"}}}
    canary_rule, rest = exactly(rendered(metered("header", qwen=canary)), "HTTPRoute", "qwen")["spec"]["rules"]
    result = [
        {manifest["name"]: manifest["value"] for manifest in rule["filters"][1]["requestHeaderModifier"]["set"]}
        for rule in (canary_rule, rest)
    ]
    assert [manifest["X-Saturn-Resource-Id"] for manifest in result] == ["qwen", "qwen"]
    assert [manifest["X-Saturn-Upstream"].partition(".")[0] for manifest in result] == ["qwen-canary", "qwen"]
