"""Settings that a picker accepts, although they can only be mistakes, are refused."""

import pytest

from tests.support.stacks.picker_configs import custom, single


@pytest.mark.parametrize("weight", [0, -1])
def test_a_weight_is_above_zero(weight):
    written = single()
    written["schedulingProfiles"][0]["plugins"][0]["weight"] = weight
    (line,) = custom(written)
    assert line.startswith(f"config.schedulingProfiles[0].plugins[0].weight: is not above 0 ({weight})")


@pytest.mark.parametrize("weight", ["2", True, [2]])
def test_a_weight_is_a_number(weight):
    written = single()
    written["schedulingProfiles"][0]["plugins"][0]["weight"] = weight
    assert custom(written) == [
        "config.schedulingProfiles[0].plugins[0].weight: is not a number; write a number, such as 2"
    ]


def test_a_weight_stands_at_scorers_only():
    written = single()
    written["schedulingProfiles"][0]["plugins"][1]["weight"] = 2
    (line,) = custom(written)
    assert "has an effect on scorers only (max-score-picker is a picker)" in line


def test_filters_of_another_role_are_refused():
    profiles = [
        {"name": "prefill", "plugins": [{"pluginRef": "decode-filter"}]},
        {"name": "decode", "plugins": [{"pluginRef": "prefill-filter"}]},
    ]
    plugins = [
        *({"type": kind} for kind in ("prefill-filter", "decode-filter", "always-disagg-pd-decider")),
        {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
    ]
    assert custom({"plugins": plugins, "schedulingProfiles": profiles}, prefill={}) == [
        (
            "config.schedulingProfiles[1].plugins[0]: selects prefill pods in the profile of decode pods "
            "(prefill-filter); use decode-filter"
        ),
        (
            "config.schedulingProfiles[0].plugins[0]: selects decode pods in the profile of prefill pods "
            "(decode-filter); use prefill-filter"
        ),
    ]
