"""Pods that somebody else runs, in a service and in its canary; other messages are in `contracts/errors`."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import SERVICE, lines, mistakes, plan
from tests.support.stacks.existing import existing

OTHERS = {"weight": 10, "existingPods": {"matchLabels": {"track": "next"}}}
STABLE = {"matchLabels": {"app": "vllm", "track": "stable"}}
UNKNOWN = "is unknown to the picker of gie-1.3, which reads metrics by the names of vLLM (sglang)"


def test_a_canary_of_other_pods_gets_its_share():
    planned = plan(existing(existingPods=STABLE, canary=OTHERS))
    (service,) = planned.services
    assert [variant.pool_selector["track"] for variant in service.variants] == ["stable", "next"]


def test_a_canary_of_pods_of_its_own_is_refused():
    running = {**SERVICE, "weight": 10, "existingPods": None}
    what = "is removed, but a canary of pods that somebody else runs has such pods, too"
    assert mistakes_of_rules(existing(canary=running)) == [
        f"services.qwen.canary.existingPods: {what}; write the labels of the canary's pods"
    ]


@pytest.mark.parametrize("namespace", ["models", "elsewhere"])
def test_pods_of_another_namespace_are_never_selected(namespace):
    stack = existing(existingPods={"matchLabels": {"tier": "gpu"}})
    stack["services"]["own"] = SERVICE | {"namespace": namespace, "pod": {"labels": {"tier": "gpu"}}}
    assert bool(mistakes_of_rules(stack)) is (namespace == "models")


@pytest.mark.parametrize(("release", "warned"), [("gie-1.3", True), ("gie-1.5", False), ("llm-d-0.10", False)])
def test_a_picker_that_cannot_be_told_the_engine_gets_a_warning(release, warned):
    stack = existing(engine={"type": "sglang"}) | {"release": release}
    assert any(UNKNOWN in line for line in lines(plan(stack).warnings, "warning")) is warned


def mistakes_of_rules(stack):
    """Return the errors about a stack that the rules find, after the loader has taken it."""
    assert mistakes(stack) == []
    try:
        plan(stack)
    except ConfigError as error:
        return str(error).splitlines()
    return []
