"""Affinity and spread that Kubernetes refuses are refused before."""

import pytest

from models.paths import Path
from planning.refusals import scheduling
from tests.support.stacks import lines

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"maxSkew": 0}, "at[0].maxSkew: is below 1 (0)"),
        ({"topologyKey": ""}, "at[0].topologyKey: is empty"),
        ({"whenUnsatisfiable": "Never"}, "at[0].whenUnsatisfiable: is not known to Kubernetes (Never)"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "at[0].minDomains: is allowed only with "),
        ({"labelSelector": {"matchLabels": {"app": "a b"}}}, "at[0].labelSelector.matchLabels.app: "),
        ({"matchLabelKeys": ["app"], "labelSelector": None}, "at[0].matchLabelKeys: needs a labelSelector"),
    ],
)
def test_a_spread_has_ranges_and_known_words(change, message):
    messages = lines(scheduling.topology_spread(Path("at"), [SPREAD | change]), "error")
    assert [line[: len(message or "")] for line in messages] == ([] if message is None else [message])


def test_two_spreads_over_one_topology_are_one_too_many():
    (line,) = lines(scheduling.topology_spread(Path("at"), [SPREAD, SPREAD]), "error")
    assert line == "at[1]: has the topologyKey and whenUnsatisfiable of at[0] (zone, DoNotSchedule); keep one of them"


def test_a_preference_has_a_weight_up_to_100():
    preference = {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}
    field = "preferredDuringSchedulingIgnoredDuringExecution"
    (line,) = lines(scheduling.affinity(Path("at"), {"podAffinity": {field: [preference]}}), "error")
    assert line.startswith(f"at.podAffinity.{field}[0].weight: is not from 1 to 100 (101)")


def test_a_key_of_labels_that_is_no_text_is_no_mistake_of_the_program():
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": [["a"], {}]}
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    assert lines(scheduling.affinity(Path("at"), {"podAffinity": {field: [term]}}), "error") == []
