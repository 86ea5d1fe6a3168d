"""Views of stacks as the policy pack judges them, and repairs of stacks by what a remedy says."""

import copy
import re
from collections.abc import Mapping
from typing import Any

import yaml

from manifests.assembly import objects, render
from planning import outputs
from policy.rules import contracts, judging, settings
from policy.rules.records import DeployedObject, View
from tests.support.stacks import GATEWAY, plan, tree

HEX = "7e" * 32
KEY = r"(?P<key>[\w.-]+)(?: of service (?P<service>[\w-]+))?"

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
"""Rules whose violations the program refuses itself, or never renders: objects of other programs violate them."""
_MOST_REPAIRS = 8


def view(stack: Mapping[str, Any]) -> View:
    """Return the rendered objects of a stack with its contract."""
    planned = plan(stack)
    manifests = (DeployedObject(item.manifest) for item in objects(render(planned)))
    return View(tuple(manifests), (contracts.read(outputs.of_stack(planned, None)),))


def raw(*manifests: Mapping[str, Any]) -> View:
    """Return objects of another program, without a contract."""
    return View(tuple(DeployedObject(manifest) for manifest in manifests))


def verdicts(judged: View, rule: str, **parameters: Any) -> list[judging.PolicyVerdict]:
    """Return the verdicts of one mandatory rule with parameters."""
    document = {"all": "disabled", rule: {"enforcementLevel": "mandatory", **parameters}}
    return list(judging.judge(judged, settings.rules_of(document)))


def lines(judged: View, rule: str, **parameters: Any) -> list[str]:
    """Return the lines of one mandatory rule with parameters."""
    return [str(verdict) for verdict in verdicts(judged, rule, **parameters)]


def repaired(stack: Mapping[str, Any], remedy: str) -> dict[str, Any]:
    """Return a stack after a change that a remedy of the pack names."""
    for pattern, repair in REPAIRS:
        match = re.fullmatch(pattern, remedy)
        if match:
            changed = copy.deepcopy(dict(stack))
            repair(changed, match)
            return changed
    raise AssertionError(f"no repair is known for: {remedy}")


def repaired_fully(stack: Mapping[str, Any], rule: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stack after all changes that the remedies of a rule name."""
    for _ in range(_MOST_REPAIRS):
        refusals = verdicts(view(stack), rule, **parameters)
        if not refusals:
            return stack
        stack = repaired(stack, refusals[0].finding.remedy)
    raise AssertionError(refusals)


def put(stack: dict[str, Any], match: re.Match[str], value: Any) -> None:
    """Set the key that a remedy names: below its service, or below the stack."""
    *way, last = match["key"].split(".")
    at: Any = stack
    if match["service"]:
        at = stack["services"][match["service"]]
    for part in way:
        at = at.setdefault(part, {})
    at[last] = value


def _write(stack: dict[str, Any], match: re.Match[str]) -> None:
    put(stack, match, match["value"].replace("…", HEX))


def _copy(stack: dict[str, Any], match: re.Match[str]) -> None:
    put(stack, match, f"{match['value']}/copy:v0.30.0")


def _set(stack: dict[str, Any], match: re.Match[str]) -> None:
    first = match["value"].partition(" or ")[0]
    engine = re.match(r"an image of vLLM (\S+)", first)
    put(stack, match, f"registry.example/vllm-openai:v{engine[1]}" if engine else yaml.safe_load(first))


def _lower(stack: dict[str, Any], match: re.Match[str]) -> None:
    put(stack, match, int(match["value"]))


def _merge(stack: dict[str, Any], match: re.Match[str]) -> None:
    at = stack
    if match["service"]:
        at = stack["services"][match["service"]]
    at[match["key"]] = at.get(match["key"], {}) | yaml.safe_load(match["value"].replace("…", "acme"))


def _remove_flag(stack: dict[str, Any], match: re.Match[str]) -> None:
    arguments = stack["services"][match["service"]]["engine"]["args"]
    put(stack, match, [argument for argument in arguments if argument != match["value"]])


def _pin(stack: dict[str, Any], match: re.Match[str]) -> None:
    at: Any = stack
    if match["service"]:
        at = stack["services"][match["service"]]
    for part in match["key"].split("."):
        at = at[part]
    put(stack, match, f"{at}@{'c0' * 20}")


def _drop_privileges(stack: dict[str, Any], match: re.Match[str]) -> None:
    del stack["services"][match["service"]]["pod"]["privileges"]


def _attach_elsewhere(stack: dict[str, Any], match: re.Match[str]) -> None:
    put(stack, match, {**stack["gateway"], "name": "internal"})


INTO = r"into (?:the stack|service (?P<service>\S+))(?: \(.*)?"
REPAIRS = (
    (rf"write (?P<value>\S+@sha256:…) as {KEY}, or run python -m cli lock --images STACK", _write),
    (rf"write a copy of it in (?P<value>\S+).* as {KEY}", _copy),
    (rf"set {KEY} to (?P<value>.+)", _set),
    (rf"lower {KEY} to (?P<value>\d+)", _lower),
    (rf"lower {KEY} until at most (?P<value>\d+) devices remain", _lower),
    (r"lower (?P<key>services\S+)(?P<service>), or choose another \S+", lambda stack, match: put(stack, match, 1)),
    (
        rf"write (?P<key>labels|networkPolicies): (?P<value>\{{.*\}}) {INTO}",
        _merge,
    ),
    (r"remove (?P<key>services\S+)(?P<service>)", lambda stack, match: put(stack, match, {})),
    (rf"remove (?P<value>--\S+) from {KEY}", _remove_flag),
    (rf"run python -m cli lock STACK, or pin {KEY} to a digest or a commit", _pin),
    (r"write (?P<key>release)(?P<service>): (?P<value>\S+).*", _write),
    (rf".+: {KEY} or its patch sets it", _drop_privileges),
    (rf".*or attach it elsewhere by {KEY}", _attach_elsewhere),
)
"""Patterns of remedies, each with the change of a stack that it asks for."""
