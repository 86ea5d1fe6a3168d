"""Writers of the number of replicas of a workload."""

import pytest

from judging.status import verdict
from judging.status.verdict import ExitCode
from planning.ground.snapshot import AUTOSCALER, SCALED_OBJECT
from tests.support.healthy import service, states, with_replicas


@pytest.mark.parametrize(("manager", "state"), [("pulumi-kubernetes", "asleep"), ("kubectl", "scaled-by-hand")])
def test_who_set_a_number_of_nothing_decides_whether_that_is_wrong(manager, state):
    found = states(service(with_replicas(0, manager)))
    assert {"asleep", "scaled-by-hand"} & {*found} == {state}


def test_a_number_of_nothing_that_nobody_owns_was_set_at_the_scale():
    found = states(service(with_replicas(0, "")))
    assert found["scaled-by-hand"].words == "has 0 replicas, as somebody has set it"


@pytest.mark.parametrize("kind", [AUTOSCALER, SCALED_OBJECT])
def test_a_number_of_nothing_is_nobodys_fault_while_autoscalers_are_unread(kind):
    status = verdict.of(service(with_replicas(0, ""), unread=[kind]), {})
    assert "scaled-by-hand" not in states(service(with_replicas(0, ""), unread=[kind]))
    assert status.exit_code in {ExitCode.UNKNOWN, ExitCode.DEGRADED}
