"""The status in the words of zerfoo's operator, whose status has rules that it never applied."""

import pytest

from judging.status.heritage import zerfoo
from judging.status.records import Link
from judging.status.states import Level
from tests.support.statuses import component, finding, service, workload

ROUTE = component(Link.ROUTE)


def test_zerfoo_7_7_a_service_is_ready_if_every_deployment_and_the_route_are():
    assert zerfoo.of(service(ROUTE, workload(2, 2), workload(1, 1, variant="canary"))) == {
        "ready": True,
        "replicas": 2,
        "canaryReplicas": 1,
        "message": "",
    }


def test_zerfoo_7_7_more_replicas_than_asked_for_are_enough():
    assert zerfoo.of(service(ROUTE, workload(3, 2)))["ready"]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        pytest.param([ROUTE, workload(1, 2)], "Deployment team/qwen-decode has 1 of 2 replicas ready", id="primary"),
        pytest.param(
            [ROUTE, workload(2, 2), workload(0, 1, variant="canary")],
            "Deployment team/qwen-canary-decode has 0 of 1 replicas ready",
            id="canary",
        ),
        pytest.param(
            [ROUTE, workload(0, 1, finding("image-missing"))],
            "Deployment team/qwen-decode has 0 of 1 replicas ready: Pod team/x is in the state image-missing",
            id="cause",
        ),
        pytest.param(
            [component(Link.ROUTE, finding("route-refused", kind="HTTPRoute")), workload(2, 2)],
            "HTTPRoute team/x is in the state route-refused",
            id="route",
        ),
        pytest.param(
            [component(Link.ROUTE, finding("route-refused", kind="HTTPRoute")), workload(1, 2)],
            "Deployment team/qwen-decode has 1 of 2 replicas ready",
            id="workloads come before routes",
        ),
        pytest.param([ROUTE], "there is no Deployment", id="no Deployment"),
        pytest.param(
            [component(Link.ROUTE, broken=True), workload(1, 1)], "HTTPRoute team/qwen does not work", id="bare"
        ),
        pytest.param(
            [component(Link.PICKER, broken=True), workload(1, 1)], "Deployment team/qwen does not work", id="picker"
        ),
    ],
)
def test_zerfoo_7_7_the_message_is_the_first_condition_that_fails(links, message):
    document = zerfoo.of(service(*links, serves=False))
    assert (document["ready"], document["message"]) == (False, message)


def test_zerfoo_7_7_what_waits_or_is_degraded_beside_the_requests_is_no_failure():
    scaling = component(Link.SCALING, finding("at-maximum", Level.DEGRADED))
    assert zerfoo.of(service(ROUTE, scaling, workload(2, 2)))["ready"]


def test_zerfoo_7_7_what_could_not_be_read_is_not_ready():
    unread = component(Link.ROUTE)
    assert zerfoo.of(service(unread, workload(2, 2), serves=None))["message"] == "the cluster could not be read"
