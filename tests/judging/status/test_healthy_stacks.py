"""Every shipped and every varied stack whose objects are all ready serves, and nobody is blamed."""

import dataclasses

import pytest

from judging.status import verdict
from judging.status.states import Level
from judging.status.verdict import ExitCode
from planning.ground.snapshot import KINDS, POD
from tests.support.cluster.status import marked
from tests.support.healthy import whole
from tests.support.stacks import SHIPPED, shipped
from tests.support.stacks.varied import VARIED

STACKS = {path.stem: path for path in SHIPPED} | VARIED


def snapshot(name):
    stack = STACKS[name]
    return whole(marked(stack if isinstance(stack, dict) else shipped(stack)))


@pytest.mark.parametrize("name", STACKS)
def test_nobody_is_blamed_in_a_stack_whose_objects_are_ready(name):
    status = verdict.of(snapshot(name), {})
    findings = [state for service in status.services for part in service.components for state in part.findings]
    assert [f"{state.object} {state.words}" for state in findings if state.level is not Level.NORMAL] == []
    assert status.services
    assert {service.serves for service in status.services} == {True}
    assert status.exit_code is ExitCode.SERVES


def test_a_stack_without_its_pods_does_not_serve():
    """The negative control."""
    healthy = snapshot("service")
    without = {kind: () if kind == POD else healthy.of(kind) for kind in KINDS}
    status = verdict.of(dataclasses.replace(healthy, objects=without), {})
    assert {service.serves for service in status.services} == {False}
    assert status.exit_code is not ExitCode.SERVES
