"""Pods that somebody else runs, in a service and in its canary; other messages are in `contracts/errors`."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import SERVICE, lines, mistakes, plan, rendered
from tests.support.stacks.existing import existing, of_pool

OTHERS = {"weight": 10, "existingPods": {"matchLabels": {"track": "next"}}}
STABLE = {"matchLabels": {"app": "vllm", "track": "stable"}}
UNKNOWN = "is unknown to the picker of gie-1.3, which reads metrics by the names of vLLM (sglang)"


def test_a_canary_of_other_pods_gets_its_share():
    planned = plan(existing(existingPods=STABLE, canary=OTHERS))
    (service,) = planned.services
    assert [variant.pool_selector["track"] for variant in service.variants] == ["stable", "next"]


def test_a_canary_of_pods_of_its_own_is_refused():
    running = {**SERVICE, "weight": 10, "existingPods": None}
    what = "is removed, but the canary of such a service has one of its own"
    assert mistakes_of_rules(existing(canary=running)) == [
        f"services.qwen.canary.existingPods: {what}; write that of the canary"
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


def test_two_services_may_lead_to_one_pool():
    stack = of_pool()
    stack["services"]["search"] = stack["services"]["qwen"]
    assert mistakes_of_rules(stack) == []
    kinds = [manifest["kind"] for manifest in rendered(stack)]
    assert kinds == ["HTTPRoute", "HTTPRoute"]


def test_two_services_of_one_pool_and_one_name_make_the_same_route():
    """The negative control."""
    stack = of_pool(name="qwen")
    stack["services"]["search"] = stack["services"]["qwen"] | {"route": {"hostnames": ["a.example.com"]}}
    (line,) = mistakes_of_rules(stack)
    assert "would make the same object as services.qwen (HTTPRoute models/qwen)" in line
