"""Gates for which nobody counts requests."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import lines, plan
from tests.support.stacks.varied_canaries import CANARIES

GATED = CANARIES["gated"]
QWEN = GATED["services"]["qwen"]


def changed(**words):
    return GATED | {"services": {"qwen": QWEN | words}}


def test_gates_with_objectives_and_metrics_have_no_mistake():
    assert plan(GATED).services


def test_headers_are_a_warning_because_gates_then_decide_nothing():
    canary = QWEN["canary"] | {"headers": {"x-canary": "always"}}
    line = (
        "services.qwen.canary.headers: brings the canary requests that are not drawn by lot, so gates decide nothing; "
        "remove it before you ask for a verdict"
    )
    assert line in lines(plan(changed(canary=canary)).warnings, "warning")
    assert line not in lines(plan(GATED).warnings, "warning")


def test_objectives_of_defaults_are_enough():
    without = {key: value for key, value in QWEN.items() if key != "slo"}
    stack = GATED | {"defaults": {"slo": QWEN["slo"]}, "services": {"qwen": without}}
    assert plan(stack).services


def test_a_pool_of_others_has_no_series():
    gates = {"weight": 10, "existingPool": {"name": "next"}, "gates": {}}
    service = {"existingPool": {"name": "vllm"}, "model": {"name": "org/m"}}
    stack = GATED | {"services": {"qwen": service | {"canary": gates}}}
    with pytest.raises(ConfigError) as error:
        plan(stack)
    assert str(error.value) == (
        "services.qwen.canary.gates: needs series of a pool that somebody else made, and the stack scrapes none "
        "(existingPool); remove it"
    )
