"""Turns of services, for all numbers and orders, whichever service becomes ready first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.upgrades import Upgrades
from planning.ground import turns
from planning.ground.turns import SIDE_BY_SIDE, Turn

KEYS = st.sets(st.sampled_from([f"m{number}" for number in range(12)]), min_size=1)
NUMBERS = st.integers(1, 13)


def waited_for(run, key):
    """Return all services for which a service waits, directly or not."""
    direct = set(run.predecessors[key])
    return direct.union(*(waited_for(run, earlier) for earlier in direct))


def play(run, data, broken=()):
    """Restart services as soon as they need not wait, and let any of them become ready first.

    Return the services in the order of their beginnings, and how many restarted at most at the same time.
    """
    begun, ready, peak = [], set(), 0
    while True:
        begun += [key for key in run.services if key not in begun and ready.issuperset(run.predecessors[key])]
        restarting = [key for key in begun if key not in ready]
        peak = max(peak, len(restarting))
        mendable = [key for key in restarting if key not in broken]
        if not mendable:
            return begun, peak
        ready.add(data.draw(st.sampled_from(mendable)))


@given(KEYS, NUMBERS, st.data())
def test_all_services_restart_and_never_more_than_may_at_once(keys, number, data):
    run = turns.of(keys, Upgrades.default(at_once=number))
    begun, peak = play(run, data)
    assert set(begun) == keys
    assert peak == min(number, len(keys))


@given(KEYS, NUMBERS, st.data())
def test_services_restart_in_their_order(keys, number, data):
    named = data.draw(st.permutations(sorted(keys)))[: data.draw(st.integers(0, len(keys)))]
    run = turns.of(keys, Upgrades.default(at_once=number, order=tuple(named)))
    assert run.services == (*named, *sorted(keys - {*named}))
    begun, _ = play(run, data)
    assert begun == [*run.services]


@given(KEYS, NUMBERS, st.data())
def test_a_broken_service_stops_all_that_are_as_many_places_behind_it_as_may_restart_at_once(keys, number, data):
    run = turns.of(keys, Upgrades.default(at_once=number))
    broken = data.draw(st.sampled_from(run.services))
    begun, _ = play(run, data, broken={broken})
    assert begun == [*run.services[: run.services.index(broken) + number]]


@given(KEYS, NUMBERS)
def test_a_service_waits_for_all_that_are_as_many_places_before_it(keys, number):
    run = turns.of(keys, Upgrades.default(at_once=number))
    for position, key in enumerate(run.services):
        assert waited_for(run, key) == set(run.services[: max(0, position - number + 1)])
        assert len(run.predecessors[key]) <= number
        assert run.by_service[key] == Turn(position, number)


def test_a_name_in_the_order_that_does_not_restart_takes_no_place():
    run = turns.of({"b", "a"}, Upgrades.default(order=("c", "b")))
    assert run.services == ("b", "a")


@pytest.mark.parametrize("keys", [(), ("a", "b")])
def test_without_a_limit_nothing_waits(keys):
    run = turns.of(keys, None)
    assert run is SIDE_BY_SIDE
    assert (run.predecessors, run.by_service) == ({}, {})
