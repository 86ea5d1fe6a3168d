"""Every rule refuses a stack or an object, and takes it once it is repaired by the printed remedy alone."""

import pytest

from policy.rules import judging, settings
from policy.rules.records import LEVELS
from policy.rules.table import BY_NAME, RULES
from tests.support.policies import HEX, REFUSED, WITHOUT_STACK, lines, repaired_fully, verdicts, view
from tests.support.stacks import PIN, SERVICE, tree

IMAGE = f"registry.example/vllm-openai:v0.30.0@sha256:{HEX}"
KIT = f"registry.example/kit:v1@sha256:{HEX}"


def test_every_rule_has_a_stack_that_it_refuses():
    assert {*REFUSED} | WITHOUT_STACK == {*BY_NAME}


@pytest.mark.parametrize(
    ("rule", "stack", "parameters"),
    [(rule, stack, parameters) for rule, cases in REFUSED.items() for stack, parameters in cases],
)
def test_a_refused_stack_passes_once_its_printed_remedies_are_applied(rule, stack, parameters):
    refusals = verdicts(view(stack), rule, **parameters)
    assert refusals
    assert all(verdict.is_refusal for verdict in refusals)
    assert not verdicts(view(repaired_fully(stack, rule, parameters)), rule, **parameters)


@pytest.mark.parametrize("rule", [rule for rule in BY_NAME if rule not in {"image-digests", "two-pickers"}])
def test_a_careful_stack_passes_every_rule_without_parameters(rule):
    service = {
        **SERVICE,
        "engine": {"image": IMAGE},
        "model": {"name": "m", "source": f"kit://registry.example/m@{PIN}"},
    }
    stack = {**tree(qwen=service), "networkPolicies": {}, "images": {"kit": KIT}}
    assert lines(view(stack), rule) == []


def test_every_line_of_a_verdict_is_one_line_that_names_rule_object_and_remedy():
    for rule, cases in REFUSED.items():
        for stack, parameters in cases:
            for line in lines(view(stack), rule, **parameters):
                assert "\n" not in line
                assert line.startswith(f"{rule}: ")
                assert "; " in line


def test_rules_have_levels_and_defaults_for_all_parameters():
    for rule in RULES:
        assert rule.level in LEVELS
        assert rule.of_object or rule.of_view
        assert set(rule.defaults) == {parameter.name for parameter in rule.parameters}


def test_a_disabled_rule_says_nothing():
    document = {"all": "disabled"}
    assert list(judging.judge(view(tree()), settings.rules_of(document))) == []
