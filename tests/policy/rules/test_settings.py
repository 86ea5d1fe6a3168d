"""Configurations of the pack: levels, parameters, and mistakes with their places."""

import json

import pytest

from policy.rules import settings
from policy.rules.settings import SettingsError
from policy.rules.table import RULES


def levels(document):
    return {configured.rule.name: configured.level for configured in settings.rules_of(document)}


def test_without_a_configuration_every_rule_has_its_own_level():
    assert levels({}) == {rule.name: rule.level for rule in RULES}


def test_a_level_is_a_word_or_part_of_an_object_and_all_is_for_the_others():
    named = {"money": "advisory", "no-wildcards": {"enforcementLevel": "disabled"}, "all": "mandatory"}
    expected = dict.fromkeys([rule.name for rule in RULES], "mandatory") | {
        "money": "advisory",
        "no-wildcards": "disabled",
    }
    assert levels(named) == expected


def test_parameters_that_are_not_named_keep_their_defaults():
    (money,) = [rule for rule in settings.rules_of({"money": {"perMonth": 7}}) if rule.rule.name == "money"]
    assert money.settings == {"prices": {}, "perMonth": 7, "scopes": []}


def test_the_shipped_configuration_has_no_mistake():
    with open("policy/strict.json", encoding="utf-8") as file:  # noqa: PTH123
        assert {rule.level for rule in settings.read(file.read())} == {"mandatory"}


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"image-digest": "advisory"}, "image-digest: is no rule; did you mean image-digests?"),
        ({"money": "strict"}, "money: is no level; write mandatory, advisory, disabled"),
        ({"all": {"enforcementLevel": "advisory"}}, "all: is no level; write mandatory, advisory, disabled"),
        (
            {"money": {"enforcementLevel": 3}},
            "money.enforcementLevel: is no level; write mandatory, advisory, disabled",
        ),
        ({"money": {"permonth": 3}}, "money.permonth: is no parameter of the rule; did you mean perMonth?"),
        ({"money": {"perMonth": "3"}}, "money.perMonth: is no number"),
        ({"money": {"perMonth": True}}, "money.perMonth: is no number"),
        ({"money": {"perMonth": -1}}, "money.perMonth: is below 0"),
        ({"canary-share": {"percent": 101}}, "canary-share.percent: is above 100"),
        ({"device-budget": {"devices": 1.5}}, "device-budget.devices: is no integer"),
        ({"engine-versions": {"severity": "bad"}}, "engine-versions.severity: is none of low, medium, high, critical"),
        ({"engine-versions": {"minimum": "v1"}}, r"engine-versions.minimum: does not match ^\d+(\.\d+)*$"),
        ({"image-registries": {"registries": [1]}}, "image-registries.registries[0]: is no string"),
        ({"device-budget": {"scopes": [{}]}}, "device-budget.scopes[0]: lacks devices"),
        (
            {"device-budget": {"scopes": [{"devices": 1, "name": "x"}]}},
            "device-budget.scopes[0].name: is unknown; did you mean namespace?",
        ),
        ({"required-labels": {"labels": {"team": "x"}}}, "required-labels.labels.team: is no array"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(document, line):
    with pytest.raises(SettingsError) as error:
        settings.read(json.dumps(document))
    assert str(error.value) == line


@pytest.mark.parametrize("text", ["", "[", "[]", "3", '"x"'])
def test_a_configuration_is_an_object(text):
    with pytest.raises(SettingsError, match="the configuration is no"):
        settings.read(text)


def test_bounds_are_allowed_values():
    levels({"canary-share": {"percent": 0}})
    levels({"canary-share": {"percent": 100}, "device-budget": {"devices": 0}, "replicas-max": {"replicas": 2.0}})
