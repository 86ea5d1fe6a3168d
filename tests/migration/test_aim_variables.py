"""Variables in layers."""

import json

import pytest

from migration import aim_variables
from migration.accounts import Original
from migration.aim_layers import LayeredPlace
from migration.aim_variables import VariableLayer
from migration.fields import table
from models.paths import Path


def layer(**values: str) -> VariableLayer:
    """Return a layer with variables in a file."""
    env = [{"name": name, "value": value} for name, value in values.items()]
    document = Original("f", {"spec": {"env": env}}, table("aim"))
    return aim_variables.read(LayeredPlace(document, Path("spec", "env")))


def test_the_highest_layer_wins_and_the_lower_variable_is_dropped() -> None:
    """A variable that nobody overrides stays."""
    low = layer(A="1", B="1")
    assert aim_variables.merge([low, layer(A="2"), VariableLayer({"C": "3"})]) == {"A": "2", "B": "1", "C": "3"}
    document = low.places["A"].document
    assert [str(path) for path, fate in document.fates().items() if fate == "dropped"] == [
        "spec.env[0].name",
        "spec.env[0].value",
    ]


@pytest.mark.parametrize(
    ("low", "high", "merged"),
    [
        ('{"max-model-len": 4096}', '{"dtype": "auto"}', {"dtype": "auto", "max-model-len": 4096}),
        ('{"a": {"x": 1, "y": 1}}', '{"a": {"y": 2}}', {"a": {"x": 1, "y": 2}}),
        ('{"a": {"x": 1}}', '{"a": 3}', {"a": 3}),
        ("no json", '{"a": 1}', {"a": 1}),
        ('{"a": 1}', "", {"a": 1}),
    ],
)
def test_arguments_of_the_engine_merge_key_by_key(low: str, high: str, merged: object) -> None:
    """As aim-engine's own tests have it."""
    result = aim_variables.merge([layer(AIM_ENGINE_ARGS=low), layer(AIM_ENGINE_ARGS=high)])
    assert json.loads(result["AIM_ENGINE_ARGS"]) == merged


def test_arguments_that_merge_are_both_carried() -> None:
    """Only a value that has no effect is dropped."""
    low = layer(AIM_ENGINE_ARGS='{"a": 1}')
    aim_variables.merge([low, layer(AIM_ENGINE_ARGS='{"b": 1}')])
    assert set(low.places["AIM_ENGINE_ARGS"].document.fates().values()) == {"carried"}


def test_a_token_is_a_credential_whatever_it_looks_like() -> None:
    """A short placeholder may be real."""
    assert layer(HF_TOKEN="short", LEVEL="info").values == {"LEVEL": "info"}
    assert layer(HF_TOKEN="").values == {"HF_TOKEN": ""}


@pytest.mark.parametrize("name", [None, 3, ["A"], {"A": "B"}])
def test_a_name_that_is_no_text_is_noted(name: object) -> None:
    """It raises nothing."""
    document = Original("f", {"spec": {"env": [{"name": name, "value": "1"}]}}, table("aim"))
    assert aim_variables.read(LayeredPlace(document, Path("spec", "env"))).values == {}
    assert set(document.fates().values()) == {"cannot"}
