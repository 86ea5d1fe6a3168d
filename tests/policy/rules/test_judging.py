"""Unknown values are questions and never passes; hostile stacks and goldens give verdicts without an exception."""

import copy
from pathlib import Path

import pytest
import yaml
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from models.problems import ConfigError
from planning.ground.instances import TYPE
from policy import properties
from policy.rules import judging, settings
from policy.rules.records import DeployedObject, View
from policy.rules.table import RULES
from policy.rules.trees import UNKNOWN
from tests.support.policies import raw, verdicts, view
from tests.support.stacks import GATEWAY, SHIPPED, rendered, shipped, tree
from tests.support.stacks.hostile import hostile_stacks

GOLDENS = sorted(path for path in Path("tests/contracts/goldens").rglob("*.yaml") if path.parent.name != "rules")
PARAMETERS = {
    "all": "mandatory",
    "image-registries": {"registries": ["registry.example"]},
    "allowed-accelerators": {"accelerators": ["nvidia"], "scopes": [{"namespace": "models", "accelerators": ["cpu"]}]},
    "device-budget": {"devices": 1, "scopes": [{"label": "team=search", "devices": 0}]},
    "replicas-max": {"replicas": 1},
    "money": {"prices": {"nvidia": 4}, "perMonth": 1},
    "canary-share": {"percent": 1},
    "public-routes": {"gateways": [f"{GATEWAY['namespace']}/{GATEWAY['name']}"]},
    "required-labels": {"labels": {"team": ["search"]}},
    "namespace-owner": {"key": "owner"},
    "engine-versions": {"minimum": "0.33.0", "severity": "low"},
}
"""Every rule at its strictest, so that all of them read all that they can."""


def judged(stack):
    return [str(verdict) for verdict in judging.judge(view(stack), settings.rules_of(PARAMETERS))]


def test_every_rule_with_parameters_is_at_its_strictest():
    assert {rule.name for rule in RULES if rule.parameters} - {*PARAMETERS} <= {
        "restricted-pods",
        "network-policies",
        "disruption-budgets",
        "two-pickers",
        "metrics-auth",
        "release-allowed",
    }


def through_engine(judged_view):
    """Return a view as the engine sends it: values of protobuf, which has no whole numbers, by type token."""
    resources = []
    for item in judged_view.objects:
        manifest = item.manifest
        resources.append((f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}", manifest))
    resources += [(TYPE, dict(contract.outputs)) for contract in judged_view.contracts]
    sent = []
    for kind, tree_of_resource in resources:
        struct = Struct()
        struct.update(tree_of_resource)
        sent.append((kind, "", properties.plain(json_format.MessageToDict(struct))))
    return properties.view(sent)


@pytest.mark.exhaustive
def test_hostile_stacks_are_judged_without_an_exception():
    count = 0
    for hostile in hostile_stacks():
        try:
            judged_view = view(hostile.stack)
        except ConfigError:
            continue
        count += 1
        verdicts_of_stack = list(judging.judge(judged_view, settings.rules_of(PARAMETERS)))
        of_engine = judging.judge(through_engine(judged_view), settings.rules_of(PARAMETERS))
        assert [*map(str, of_engine)] == [*map(str, verdicts_of_stack)], hostile.name
        for verdict in verdicts_of_stack:
            line = str(verdict)
            assert "\n" not in line
            assert verdict.finding.is_known or "can't tell" in line
    assert count > 100


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_goldens_are_judged_without_an_exception(path):
    with path.open(encoding="utf-8") as file:
        manifests = [manifest for manifest in yaml.load_all(file, Loader=yaml.CSafeLoader) if manifest]
    lines = [str(verdict) for verdict in judging.judge(raw(*manifests), settings.rules_of(PARAMETERS))]
    has_pods = any(manifest["kind"] in {"Deployment", "LeaderWorkerSet"} for manifest in manifests)
    assert any("engine-versions" in line or "image-digests" in line for line in lines) is has_pods


def places(tree, at=()):
    """Yield the path of every leaf of a tree."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from places(value, (*at, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from places(value, (*at, index))
    else:
        yield at


def replaced(tree, at, value):
    changed = copy.deepcopy(tree)
    parent = changed
    for part in at[:-1]:
        parent = parent[part]
    parent[at[-1]] = value
    return changed


def test_an_unknown_value_never_lets_an_object_pass_that_is_refused_with_the_value_known():
    """A rule that refuses an object refuses it still, or asks, whichever value is unknown."""
    manifests = rendered(
        {**tree(qwen={"endpointPicker": {"metricsAuth": False}}), "namespaceOptions": {"create": True}}
    )
    rules = settings.rules_of(PARAMETERS)
    base = [DeployedObject(manifest) for manifest in manifests]
    expected = {verdict.rule for verdict in judging.judge(View(tuple(base)), rules)}
    assert len(expected) > 8
    for number, manifest in enumerate(manifests):
        for at in places(manifest):
            # Kind and name say which object it is; without them it is none that a rule could know.
            if at[0] in {"kind", "apiVersion"}:
                continue
            changed = [*base]
            changed[number] = DeployedObject(replaced(manifest, at, UNKNOWN))
            rest = {verdict.rule for verdict in judging.judge(View(tuple(changed)), rules)}
            assert expected <= rest, at


def test_an_unknown_image_is_a_question():
    manifest = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": UNKNOWN}]}}
    (verdict,) = verdicts(raw(manifest), "image-digests")
    assert (
        str(verdict) == "image-digests: can't tell: Pod p has a value that is unknown; the run that deploys it knows it"
    )
    assert not verdict.is_refusal


def test_no_name_of_an_object_reaches_a_terminal_with_colours_or_line_breaks():
    manifest = {"kind": "Role", "metadata": {"name": "a\x1b[31m\u202eb\nc"}, "rules": [{"verbs": ["*"]}]}
    (verdict,) = verdicts(raw(manifest), "no-wildcards")
    assert str(verdict).startswith("no-wildcards: Role a?[31m?b c rules[0] permits")


def test_rendered_objects_alone_leave_questions_about_the_contract():
    (verdict,) = verdicts(raw(*rendered(tree())), "release-allowed")
    assert not verdict.is_refusal
    assert "name the stack instead of its rendered objects" in str(verdict)
    assert verdicts(raw({"kind": "Pod", "metadata": {"name": "p"}}), "release-allowed") == []


def exceptions(path):
    """Return the levels that a comment of an example gives to rules that it does not keep."""
    text = path.read_text(encoding="utf-8")
    comments = [line.removeprefix("# policy: ") for line in text.splitlines() if line.startswith("# policy: ")]
    return dict.fromkeys(
        " ".join(comment.partition(" (")[0] for comment in comments).replace(",", " ").split(), "advisory"
    )


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_stack_passes_the_strictest_pack_but_for_the_rules_that_it_names(path):
    strict = yaml.safe_load(Path("policy/strict.json").read_text(encoding="utf-8"))
    document = strict | exceptions(path)
    verdicts_of_stack = list(judging.judge(view(shipped(path)), settings.rules_of(document)))
    refused = [str(verdict) for verdict in verdicts_of_stack if verdict.is_refusal]
    assert refused == [], f"{path} keeps these rules, or names them in a comment `# policy: RULE, RULE (why)`"
    reported = {verdict.rule for verdict in verdicts_of_stack if verdict.level == "advisory"}
    assert {*exceptions(path)} == reported, "names rules that it keeps"
