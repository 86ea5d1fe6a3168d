"""Replicas before, during and after a change, and what a live object has beside its manifest."""

from dataclasses import replace

import pytest

from judging.report import growth, running
from judging.report.growth import Range
from manifests.assembly import objects, render
from models.load import load
from models.upgrades import Upgrades
from planning.ground import turns
from planning.hardware import accelerators
from tests.support.stacks import SERVICE, plan, tree

HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}


def test_a_new_workload_needs_all_of_its_replicas():
    (fixed,) = growth.changes(plan(tree(qwen={"replicas": 3})), {}, {})
    (scaled,) = growth.changes(plan(tree(qwen={"autoscaling": HPA})), {}, {})
    assert (fixed.before.high, fixed.after, fixed.additional) == (0, Range(3, 3), Range(3, 3))
    assert (scaled.after, str(scaled.after)) == (Range(1, 4), "1 to 4")


@pytest.mark.parametrize(
    ("rendered", "live", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": {"b": 1}}, {"a": None}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([1], [1, 2], False),
    ],
)
def test_a_live_value_may_have_more_keys_and_no_more_items(rendered, live, expected):
    assert growth.is_contained(rendered, live) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"f:a": {}}, False),
        ({"f:c": {}}, True),
        ({"f:items": {'k:{"name":"x"}': {"f:port": {}}}}, False),
        ({"f:items": {'k:{"name":"y"}': {}}}, True),
        ({"f:items": {'k:{"name":"x"}': {"f:other": {}}}}, True),
        ({"f:names": {'v:"n"': {}}}, False),
        ({"f:names": {'v:"m"': {}}}, True),
    ],
)
def test_a_field_of_the_live_object_that_is_not_rendered_is_lost(fields, expected):
    rendered = {"a": 1, "items": [{"name": "x", "port": 1}], "names": ["n"]}
    assert growth.lacks(rendered, fields) is expected


def restarts(number, surges, **more):
    """Return the changes of services that all restart, with the number of additional replicas of each."""
    services = {
        key: {"replicas": 2, "rollout": {"type": "RollingUpdate", "maxSurge": surge}, **more.get(key, {})}
        for key, surge in surges.items()
    }
    planned = plan(tree(**services))
    made = {item.place: item.manifest for item in objects(render(planned))}
    places = [change.place for change in growth.changes(planned, {}, {})]
    old = {place: running.of_object(place[1], made[place], accelerators.classes({})) for place in places}
    run = turns.of(surges, Upgrades.default(at_once=number))
    return growth.changes(planned, old, dict.fromkeys(old, True), run)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, {"c": 4}),
        (2, {"b": 3, "c": 4}),
        (3, {"a": 2, "b": 3, "c": 4}),
        (9, {"a": 2, "b": 3, "c": 4, "d": 1, "e": 3}),
    ],
)
def test_as_many_services_surge_together_as_may_restart_at_once_and_follow_each_other(number, expected):
    changes = restarts(number, {"a": 2, "b": 3, "c": 4, "d": 1, "e": 3})
    worst = growth.at_worst(changes, lambda _: "gpu", lambda change: change.devices_per_replica)
    assert {change.service: change.additional.high for change in worst if change.additional.high} == expected


def test_each_unit_has_a_worst_moment_of_its_own():
    changes = restarts(1, {"a": 2, "b": 3, "c": 4}, a={"accelerator": "nvidia-l40s"})
    worst = growth.at_worst(changes, lambda change: change.accelerator, lambda _: 1)
    assert {change.service: change.additional.high for change in worst} == {"a": 2, "b": 0, "c": 4}


def test_the_surges_of_all_roles_of_a_service_count_together():
    prefill = {"prefill": {"rollout": {"type": "RollingUpdate", "maxSurge": 3}}}
    changes = restarts(1, {"a": 2, "b": 3}, a=prefill)
    worst = growth.at_worst(changes, lambda _: "gpu", lambda _: 1)
    assert {change.workload.name: change.waits for change in worst if change.service == "b"} == {"b-decode": True}
    assert {change.waits for change in worst if change.service == "a"} == {False}


def test_replicas_that_stay_are_needed_by_services_that_wait():
    """Only a surge passes: a larger number of replicas stays after the restart."""
    changes = restarts(1, {"a": 1, "b": 1})
    (grown,) = (change for change in changes if change.service == "a")
    old = grown.running
    assert (grown.additional, grown.passing) == (Range(1, 1), 1)
    more = plan(tree(a={"replicas": 5, "rollout": {"type": "RollingUpdate", "maxSurge": 1}}))
    (larger,) = growth.changes(more, {grown.place: old}, {grown.place: True})
    assert (larger.additional, larger.passing) == (Range(4, 4), 1)


@pytest.mark.parametrize("key", ["canary", "qwen"])
def test_a_canary_has_weights_of_its_own_whatever_the_key_of_its_service(key):
    stack = tree(
        **{
            key: {
                "model": {**SERVICE["model"], "size": "2Gi"},
                "canary": {"weight": 10, "model": {"size": "9Gi"}},
            }
        }
    )
    checked = load(stack).stack
    found = growth.changes(plan(stack), {}, {})
    sizes = {change.variant.owner: growth.weights_size(change, checked) for change in found}
    assert sizes == {key: "2Gi", f"{key}.canary": "9Gi"}


def test_services_without_turns_surge_all_at_once():
    changes = [replace(change, turn=None) for change in restarts(1, {"a": 1, "b": 1})]
    assert growth.at_worst(changes, lambda _: "gpu", lambda _: 1) == changes
