"""Names that leave the router are found wherever a configuration has them, and nowhere else."""

import pytest

from models.paths import Path
from planning.picker import departing
from planning.picker.graph import parse
from planning.releases import channel

RELEASE = channel("llm-d-0.9")


def paths(check, config):
    """Return the paths of the problems of a configuration."""
    graph = parse(Path("config"), config, RELEASE.picker)
    return [str(problem.path) for problem in check(graph, RELEASE)]


def declared(kind, **parameters):
    return {"plugins": [{"type": kind, "parameters": parameters}]}


def test_a_plugin_leaves_by_its_type_and_not_by_its_name():
    assert paths(departing.problems, declared("tokenizer")) == ["config.plugins[0].type"]
    assert paths(departing.problems, {"plugins": [{"type": "queue-scorer", "name": "tokenizer"}]}) == []


@pytest.mark.parametrize("key", ["decodeProfile", "decodeprofile", "DECODEPROFILE"])
def test_a_parameter_is_found_in_any_case_where_the_user_wrote_it(key):
    expected = [f"config.plugins[0].parameters.{key}"]
    assert paths(departing.problems, declared("disagg-profile-handler", **{key: "decode"})) == expected
    assert paths(departing.problems, declared("queue-scorer", **{key: "decode"})) == []


def test_parameters_that_are_no_mapping_have_no_names():
    assert (
        paths(departing.problems, {"plugins": [{"type": "disagg-profile-handler", "parameters": "decodeProfile"}]})
        == []
    )


def test_a_key_of_the_configuration_is_found_at_its_path():
    assert paths(departing.problems, {"parser": {"pluginRef": "openai-parser"}}) == ["config.parser"]
    assert paths(departing.problems, {"parser": None}) == []


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"matchLabels": {"llm-d.ai/role": "both"}}, ["matchLabels.llm-d.ai/role"]),
        ({"label": "llm-d.ai/role", "validValues": ["decode", "both"]}, ["validValues[1]"]),
        ({"matchLabels": {"tier": "both"}}, []),
        ({"matchLabels": {"llm-d.ai/role": "prefill-decode"}}, []),
    ],
)
def test_a_value_of_the_role_label_is_found_where_the_label_is_named(parameters, expected):
    found = paths(departing.roles, declared("label-selector-filter", **parameters))
    assert found == [f"config.plugins[0].parameters.{path}" for path in expected]
