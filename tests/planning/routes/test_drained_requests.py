"""Requests that a route lets run longer than pods drain."""

import pytest

from tests.support.stacks import GATEWAY, lines, plan, tree

AT = "services.qwen.route.timeouts.request"
CUT = "are cut when pods are replaced"


def warnings(request, gateway=GATEWAY, **service):
    stack = tree(qwen={"route": {"timeouts": {"request": request}}, **service}) | {"gateway": gateway}
    return lines(plan(stack).warnings, "warning")


@pytest.mark.parametrize(
    ("request_timeout", "drain_timeout", "message"),
    [
        ("46s", "45s", f"is above drainTimeout (46s, 45s): requests longer than 45s {CUT}; set drainTimeout: 46s"),
        (
            "0s",
            "5m",
            (
                f"sets no limit, unlike drainTimeout (0s, 5m): requests longer than 5m {CUT}; "
                "set drainTimeout to the time of the longest request"
            ),
        ),
    ],
)
def test_a_request_that_outlasts_the_drain_is_told(request_timeout, drain_timeout, message):
    """The longest request is promised by one number and drained by another. See defects A20."""
    assert warnings(request_timeout, drainTimeout=drain_timeout) == [f"{AT}: {message}"]


@pytest.mark.parametrize(("request_timeout", "drain_timeout"), [("45s", "45s"), ("45000ms", "45s"), ("9m", "10m")])
def test_a_request_that_is_drained_is_not_told(request_timeout, drain_timeout):
    assert warnings(request_timeout, drainTimeout=drain_timeout) == []


def test_a_canary_that_drains_shorter_is_told():
    canary = {"weight": 10, "drainTimeout": "30s", "engine": {"maxNumSeqs": 64}}
    found = warnings("45s", canary=canary)
    message = f"is above canary.drainTimeout (45s, 30s): requests longer than 30s {CUT}; set canary.drainTimeout: 45s"
    assert found == [f"{AT}: {message}"]


def test_a_route_that_is_not_made_promises_nothing():
    assert warnings("10m", route={"enabled": False, "timeouts": {"request": "10m"}}) == []
