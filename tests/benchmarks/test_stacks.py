"""Stacks of benchmarks are valid, and two of them never claim the same requests."""

import pytest

import planning
from benchmarks import stacks
from models.load import load


@pytest.mark.parametrize("services", [1, 10])
def test_a_stack_of_any_size_is_planned_without_a_warning(services):
    plan = planning.plan(load(stacks.tree(services)), stacks.NAME)
    assert len(plan.services) == services
    assert {len(service.route.paths) for service in plan.services} == {1}


def test_stacks_of_different_namespaces_share_no_path():
    def claims(namespace):
        return [str(service["route"]) for service in stacks.tree(10, namespace)["services"].values()]

    assert len({*claims("one"), *claims("two")}) == 20
