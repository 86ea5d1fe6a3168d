"""The plan of an interceptor: what precedes what, and what somebody else deploys."""

import pytest

from manifests.assembly import objects, render
from planning.ground import parts
from tests.support.stacks import plan, rendered
from tests.support.stacks.varied_metering import metered, warnings

ROLE = "phoebe-interceptor-services-inference-stacks.dev"


@pytest.mark.parametrize("secret", [False, True])
def test_the_deployment_follows_rights_and_settings_and_routes_follow_it(secret):
    """See phoebe 8.4, 4.4."""
    deploy = {"settingsSecret": "phoebe"} if secret else {}
    by_id = {item.id: item for item in objects(render(plan(metered(deploy=deploy, more={"networkPolicies": {}}))))}
    (deployment,) = (item for item in by_id.values() if item.id.part is parts.INTERCEPTOR)
    before = {item.part for item in deployment.after}
    config = set() if secret else {parts.INTERCEPTOR_CONFIG}
    assert before == config | {
        parts.INTERCEPTOR_ROLE_BINDING,
        parts.INTERCEPTOR_SERVICE_ACCOUNT,
        parts.INTERCEPTOR_NETWORK_POLICY,
    }
    for route in (item for item in by_id.values() if item.id.part is parts.ROUTE):
        after = {item.part for item in route.after}
        assert {parts.INTERCEPTOR, parts.INTERCEPTOR_SERVICE, parts.INTERCEPTOR_ROUTE_GRANT} <= after


def test_without_deploy_nothing_of_the_interceptor_is_made():
    """See phoebe 1.9."""
    stack = metered()
    del stack["interceptor"]["deploy"]
    names = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in rendered(stack)}
    assert {place for place in names if "phoebe" in place[1]} == {("Role", ROLE), ("RoleBinding", ROLE)}
    (grant,) = (line for line in warnings(stack) if line.startswith("interceptor.namespace"))
    assert '"kind": "ReferenceGrant"' in grant
