"""A picker and what it is decided from are resolved once, even if its spec has mistakes."""

import pytest

from models.load import load
from planning.resolve import resolve
from tests.support.stacks import tree

DEPLOYED = {"preset": "predicted-latency", "latencyPredictor": {"deploy": {}}}


def context(**picker):
    resolved = resolve(load(tree(qwen={"endpointPicker": picker})).stack)
    return next(iter(resolved.pickers.values()), None)


@pytest.mark.parametrize(
    ("picker", "asks", "deploys"),
    [
        ({}, False, False),
        (DEPLOYED, True, True),
        ({**DEPLOYED, "preset": "precise-prefix-cache"}, False, False),
        ({"preset": "predicted-latency", "latencyPredictor": {"trainingServer": "http://t:1"}}, True, False),
    ],
)
def test_a_predictor_is_asked_by_its_preset_alone(picker, asks, deploys):
    resolved = context(**picker)
    assert (resolved.predictor is not None) is resolved.asks_predictor is asks
    assert (resolved.predictor_servers is not None) is deploys


def test_a_mistaken_picker_is_resolved_and_no_picker_has_no_context():
    assert context(preset="custom", config={"featureGates": 5, "flowControl": {}}).built.tree["featureGates"]
    assert context(enabled=False) is None
