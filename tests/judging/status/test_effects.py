"""States follow from the culprit through the causes that the tables name, and only towards the client."""

from dataclasses import replace

import pytest

from judging.status import effects
from judging.status.records import Link
from tests.support.statuses import component, finding


def caused(name, *causes):
    """Return a finding whose state may have these causes."""
    entry = finding(name)
    return replace(entry, state=entry.state.model_copy(update={"caused_by": [*causes]}))


CULPRIT = finding("no-devices")
WORKLOAD = component(Link.WORKLOAD, CULPRIT, variant="primary")
POOL = component(Link.POOL, caused("no-endpoints", "workload"), variant="primary")


def test_a_pool_follows_from_the_workload_and_the_workload_not_from_itself():
    assert effects.follow([POOL, WORKLOAD], CULPRIT) == (True, False)


def test_a_state_that_names_the_culprits_id_follows_from_it():
    pool = component(Link.POOL, caused("no-endpoints", "no-devices"), variant="primary")
    assert effects.follow([pool, WORKLOAD], CULPRIT) == (True, False)


def test_effects_have_effects():
    route = component(Link.ROUTE, caused("route-unresolved", "pool"))
    assert effects.follow([route, POOL, WORKLOAD], CULPRIT) == (True, True, False)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(component(Link.POOL, caused("no-endpoints", "claim"), variant="primary"), id="another cause"),
        pytest.param(component(Link.POOL, caused("no-endpoints", "workload"), variant="canary"), id="another variant"),
        pytest.param(component(Link.CLAIM, caused("claim-pending", "workload")), id="deeper"),
        pytest.param(component(Link.POOL, variant="primary"), id="nothing wrong"),
    ],
)
def test_what_has_another_cause_does_not_follow(other):
    assert effects.follow([other, WORKLOAD], CULPRIT) == (False, False)


def test_without_a_culprit_nothing_follows():
    assert effects.follow([POOL, WORKLOAD], None) == (False, False)
