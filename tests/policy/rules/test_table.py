"""Every rule refuses a stack or an object, and takes it once it is repaired by the printed remedy alone."""

from typing import Any

import pytest

from policy.rules import judging, settings
from policy.rules.records import LEVELS
from policy.rules.table import BY_NAME, RULES
from tests.support.policies import HEX, lines, repaired, verdicts, view
from tests.support.stacks import GATEWAY, PIN, SERVICE, tree

IMAGE = f"registry.example/vllm-openai:v0.30.0@sha256:{HEX}"
KIT = f"registry.example/kit:v1@sha256:{HEX}"
HUB = {"model": {"source": "hf://org/model", "size": "2Gi"}}
PRICED = {"prices": {"nvidia": 4.0}}
REFUSED: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "image-digests": [(tree(), {}), (tree(qwen={"prefill": {}, "engine": {"image": "registry.example/vllm:v1"}}), {})],
    "image-registries": [(tree(), {"registries": ["registry.example"]})],
    "locked-sources": [(tree(qwen=HUB), {})],
    "allowed-accelerators": [
        (tree(), {"accelerators": ["amd"]}),
        (tree(qwen={}, other={}), {"scopes": [{"namespace": "models", "accelerators": ["cpu"]}]}),
    ],
    "device-budget": [(tree(qwen={"replicas": 3}), {"devices": 2})],
    "replicas-max": [
        (tree(qwen={"replicas": 3}), {"replicas": 2}),
        (tree(qwen={"prefill": {"replicas": 5}}), {"replicas": 4}),
        (tree(qwen={"endpointPicker": {"replicas": 3}}), {"replicas": 2}),
    ],
    "money": [(tree(qwen={"replicas": 3}), {**PRICED, "perMonth": 6000})],
    "canary-share": [(tree(qwen={"canary": {"weight": 21}}), {"percent": 20})],
    "public-routes": [(tree(), {"gateways": [f"{GATEWAY['namespace']}/{GATEWAY['name']}"]})],
    "restricted-pods": [(tree(qwen={"pod": {"privileges": {"reason": "a test", "root": True}}}), {})],
    "no-patch": [
        (tree(qwen={"patch": {"spec": {"minReadySeconds": 5}}}), {}),
        (tree(qwen={"prefill": {"patch": {"spec": {"minReadySeconds": 5}}}}), {}),
        (tree(qwen={"endpointPicker": {"patch": {"spec": {"minReadySeconds": 5}}}}), {}),
    ],
    "no-trust-remote-code": [(tree(qwen={"engine": {"args": ["--trust-remote-code"]}}), {})],
    "network-policies": [(tree(), {})],
    "disruption-budgets": [(tree(qwen={"replicas": 2, "disruptionBudget": {"enabled": False}}), {})],
    "two-pickers": [(tree(), {})],
    "metrics-auth": [(tree(qwen={"endpointPicker": {"metricsAuth": False}}), {})],
    "required-labels": [
        (tree(), {"labels": {"team": ["search"]}}),
        (tree(qwen={"labels": {"team": "other"}}), {"labels": {"team": ["search"]}}),
    ],
    "namespace-owner": [({**tree(), "namespaceOptions": {"create": True}}, {"key": "owner"})],
    "release-allowed": [({**tree(), "release": "llm-d-0.9"}, {"releases": ["llm-d-0.10"]})],
    "engine-versions": [
        (tree(qwen={"engine": {"image": "registry.example/vllm-openai:v0.20.0"}}), {"minimum": "0.30.0"}),
        (tree(qwen={"engine": {"image": "registry.example/vllm-openai:v0.20.0"}}), {"severity": "high"}),
    ],
}
"""Stacks that a rule refuses, with the parameters of the rule."""
WITHOUT_STACK = {"no-credentials-in-args", "no-wildcards", "fail-open-reason"}
"""Rules whose violations the program refuses itself, or never renders. Tests of their modules edit objects."""
MOST_REPAIRS = 8


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
    for _ in range(MOST_REPAIRS):
        refusals = verdicts(view(stack), rule, **parameters)
        if not refusals:
            return
        stack = repaired(stack, refusals[0].finding.remedy)
    raise AssertionError(refusals)


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
