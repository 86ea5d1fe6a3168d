"""Requests that a planned route claims on its gateway."""

from planning.routes import request_claims
from planning.routes.records import EVERY_HOST
from tests.support.stacks.route_records import route


def test_every_match_is_claimed_once_with_those_of_the_canary():
    claims = request_claims.of_routes([route("a", "/v1/", {"X-Team": "a"}, canary={"x-canary": "1"})])
    assert [(claim.match.path, claim.header_names) for claim in claims] == [
        ("/v1", ("x-team",)),
        ("/v1", ("x-canary", "x-team")),
    ]
    assert {str(claim.holder) for claim in claims} == {"services.a"}


def test_a_claim_without_hosts_is_for_every_host_of_its_listener():
    planned = route("a", section_name="https")
    (claim,) = request_claims.of_routes([planned])
    assert list(claim.parents_and_hosts()) == [(request_claims.reference(planned), EVERY_HOST)]
    (claim,) = request_claims.of_routes([route("a", hostnames=["a", "b"])])
    assert [host for _, host in claim.parents_and_hosts()] == ["a", "b"]
