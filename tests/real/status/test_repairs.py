"""Stacks with faults behind a real proxy and real pickers: whoever repairs what `status` blames repairs the stack."""

import os
import random

import pytest

from judging.status.states import Level
from judging.status.verdict import ExitCode
from tests.support.traffic.faults import FAULTS
from tests.support.traffic.living import TIMES, living
from tests.support.waits import eventually

pytestmark = pytest.mark.real

SEEDS = int(os.environ.get("STATUS_SEEDS", "8"))
MOST = 3
"""Faults at once."""
SECONDS = 60
"""Time in which a proxy, pickers and controllers notice a fault on a busy machine."""


@pytest.fixture(scope="module")
def stack(deploy_for_all, loopback_plane, tools, tmp_path_factory):
    with living(deploy_for_all, loopback_plane, tools, tmp_path_factory.mktemp("living")) as running:
        yield running


def drawn(seed):
    """Return one to three faults that do not touch the same."""
    lot = random.Random(seed)
    maximum = lot.randint(1, MOST)
    faults = []
    for fault in lot.sample(FAULTS, len(FAULTS)):
        if len(faults) < maximum and not any(fault.about & other.about for other in faults):
            faults.append(fault)
    return faults


def serving(status):
    return {service.view.name: service.serves for service in status.services}


def told(status):
    return {
        service.view.name: (service.serves, service.culprit and f"{service.culprit.object} {service.culprit.state.id}")
        for service in status.services
    }


def settle(stack, faults):
    """Wait until the faults have their effect, and no other, and `status` says which services answer."""
    stopped = frozenset().union(*(fault.stops for fault in faults))
    answering = {service: service not in stopped for service in TIMES}
    seen = {}

    def has_settled():
        stack.follow_pods()
        seen["failing"] = stack.failing()
        status = stack.status()
        seen["status"] = told(status)
        return seen["failing"] == stopped and serving(status) == answering and not stack.is_ending()

    try:
        eventually(has_settled, SECONDS)
    except AssertionError:
        pytest.fail(f"with {[fault.name for fault in faults]}, failing are {seen['failing']}, status: {seen['status']}")


def blamed(stack, faults, lot):
    """Return the fault that `status` blames; of several services it is one by lot."""
    culprits = [service.culprit for service in stack.status().services if service.culprit is not None]
    wrong = [culprit for culprit in culprits if culprit.level is not Level.NORMAL]
    assert wrong, f"nobody is blamed with {[fault.name for fault in faults]}"
    culprit = lot.choice(wrong)
    guilty = [fault for fault in faults if fault.is_blamed(culprit)]
    assert guilty, f"{culprit.object} [{culprit.state.id}] is blamed with {[fault.name for fault in faults]}"
    return guilty[0]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whoever_repairs_what_is_blamed_repairs_the_stack(stack, seed):
    lot = random.Random(-seed)
    faults = drawn(seed)
    repairs = {fault.name: fault.make(stack) for fault in faults}
    try:
        settle(stack, faults)
        while faults:
            fault = blamed(stack, faults, lot)
            repairs.pop(fault.name)()
            faults.remove(fault)
            settle(stack, faults)
        eventually(lambda: stack.status().exit_code is ExitCode.SERVES, SECONDS)
    finally:
        for repair in repairs.values():
            repair()
        settle(stack, [])
