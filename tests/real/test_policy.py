"""The policy pack in the real engine: previews, states, objects of other programs, unknown values, and its end.

What the engine prints is compared with what the rules say without it.
"""

import json
import os
import re
import signal
import time

import pytest
import yaml

from local import policy, processes
from local.engine import PulumiEngine
from local.report import Report
from policy.rules import judging, settings
from policy.rules.settings import LEVEL
from tests.support.cluster.deployments import ROOT, Deployed, told
from tests.support.policies import REFUSED, WITHOUT_STACK, repaired_fully, view
from tests.support.stacks import PIN, tree

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

VERDICT = re.compile(r"^ +- \[(?P<level>\w+)\] +(?P<rule>[\w-]+) .*\n +(?P<line>.+)$", re.MULTILINE)
NAMESPACE = "policies"
PLACE = {"namespace": NAMESPACE, "namespaceOptions": {"create": True}}
STACKS = {
    "plain": tree(),
    "canary": tree(qwen={"replicas": 2, "canary": {"weight": 30}}, other={"endpointPicker": {"metricsAuth": False}}),
    "roles": {**tree(qwen={"prefill": {"replicas": 2}, "disruptionBudget": {"enabled": False}}), "networkPolicies": {}},
}
PARAMETERS = {
    "all": "mandatory",
    "image-registries": {"registries": ["registry.example"]},
    "allowed-accelerators": {"accelerators": ["amd"]},
    "device-budget": {"devices": 1, "scopes": [{"namespace": NAMESPACE, "devices": 0}]},
    "replicas-max": {"replicas": 1},
    "money": {"prices": {"nvidia": 4.5}, "perMonth": 1},
    "canary-share": {"percent": 20},
    "public-routes": {"gateways": ["gateways/gateway"]},
    "required-labels": {"labels": {"team": []}},
    "namespace-owner": {"key": "owner"},
    "engine-versions": {"minimum": "0.33.0"},
}
RAW = f'''\
"""A program of others."""

import pulumi_kubernetes as k8s

rule = {{"api_groups": ["*"], "resources": ["pods"], "verbs": ["get"]}}
role = k8s.rbac.v1.Role("reader", metadata={{"namespace": "default", "name": "reader"}}, rules=[rule])
ports = {{"ports": [{{"port": 1}}]}}
service = k8s.core.v1.Service("db", metadata={{"namespace": "default", "name": "db"}}, spec=ports)
safe = {{"allow_privilege_escalation": False, "capabilities": {{"drop": ["ALL"]}}}}
container = {{
    "name": "app", "image": "registry.example/app@{PIN}", "security_context": safe,
    "args": [service.id],
}}
profile = {{"run_as_non_root": True, "seccomp_profile": {{"type": "RuntimeDefault"}}}}
pod = {{"containers": [container], "security_context": profile}}
k8s.core.v1.Pod("app", metadata={{"namespace": "default", "name": "app"}}, spec=pod)
'''


OBJECT = """\
import pulumi_kubernetes as k8s

place = {{"namespace": "default", "name": "theirs"}}
{}
"""
POD = """k8s.core.v1.Pod("app", metadata=place, spec={{
    "containers": [{{"name": "app", "image": "app:v1", "args": [{!r}]}}],
}})"""
ROLE = """k8s.rbac.v1.Role("reader", metadata=place, rules=[
    {{"api_groups": [{!r}], "resources": ["pods"], "verbs": ["get"]}},
])"""
POOL = """k8s.apiextensions.CustomResource("pool", api_version="inference.networking.k8s.io/v1", kind="InferencePool",
    metadata=place, spec={{
        "selector": {{"matchLabels": {{"app": "theirs"}}}}, "targetPorts": [{{"number": 8000}}],
        "endpointPickerRef": {{"name": "picker", "port": {{"number": 9002}}, "failureMode": {!r}}},
    }})"""
OBJECTS = {
    "fail-open-reason": (POOL.format("FailOpen"), POOL.format("FailClose")),
    "no-credentials-in-args": (POD.format("--api-key=k3Jx9QmTz71LwPbR"), POD.format("--port=8000")),
    "no-wildcards": (ROLE.format("*"), ROLE.format("")),
}
"""Objects of other programs that a rule refuses, and the same without the mistake."""


@pytest.fixture(scope="module")
def python():
    """Return the Python of the pack, whose environment stays in the cache."""
    return policy.install(ROOT, Report())


@pytest.fixture
def deployed(tools, plane, begun, tmp_path, python):
    """Return a deployment whose engine finds the pack."""
    deployment = Deployed(tmp_path, tools, plane)
    deployment.begin(begun)
    deployment.engine._extra |= policy.environment(ROOT, python, deployment.engine.path)
    yield deployment
    deployment.discard()


def pack(tmp_path, **document):
    config = tmp_path / "policies.json"
    config.write_text(json.dumps(document), encoding="utf-8")
    return policy.arguments(ROOT, str(config))


def printed_verdicts(done):
    """Return rule, level and line of each verdict that the engine printed."""
    return sorted(match.group("rule", "level", "line") for match in VERDICT.finditer(done.stdout))


def expected(stack, document):
    """Return the verdicts of the rules without an engine."""
    verdicts = judging.judge(view(stack), settings.rules_of(document))
    levels = {True: "mandatory", False: "advisory"}
    return sorted((verdict.rule, levels[verdict.is_refusal], str(verdict.finding)) for verdict in verdicts)


def test_a_preview_and_the_state_get_the_verdicts_of_the_rules(deployed, tmp_path):
    for stack in STACKS.values():
        named = {**stack, **PLACE}
        deployed.write(named)
        verdicts = expected(named, PARAMETERS)
        done = deployed.preview("--suppress-progress", *pack(tmp_path, **PARAMETERS))
        assert done.returncode != 0
        assert printed_verdicts(done) == verdicts, done.stdout
        assert len(verdicts) > 8


@pytest.mark.prove
@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses_or_advises_in_a_preview_until_its_remedies_are_applied(rule, deployed, tmp_path):
    stack, parameters = REFUSED[rule][0]
    # The cluster lacks what these stacks leave to others, such as their namespace.
    stack = {**stack, "checks": {"preflight": "skip"}}
    deployed.write(stack)
    for level, is_refused in (("mandatory", True), ("advisory", False)):
        document = {"all": "disabled", rule: {LEVEL: level, **parameters}}
        done = deployed.preview("--suppress-progress", *pack(tmp_path, **document))
        assert (done.returncode != 0) is is_refused, told(done)
        assert printed_verdicts(done) == expected(stack, document)
        assert {name for name, *_ in printed_verdicts(done)} == {rule}
    deployed.write(repaired_fully(stack, rule, parameters))
    refusing = pack(tmp_path, **{"all": "disabled", rule: {LEVEL: "mandatory", **parameters}})
    done = deployed.preview("--suppress-progress", *refusing)
    assert (done.returncode, printed_verdicts(done)) == (0, []), told(done)


@pytest.mark.prove
@pytest.mark.parametrize("rule", sorted(WITHOUT_STACK))
def test_a_rule_judges_objects_of_another_program_until_they_are_right(rule, others, tmp_path):
    wrong, right = OBJECTS[rule]
    for text, level in ((wrong, "mandatory"), (wrong, "advisory"), (right, "mandatory")):
        engine = others(OBJECT.format(text))
        document = {"all": "disabled", rule: {LEVEL: level}}
        done = engine.run("preview", "--suppress-progress", *pack(tmp_path, **document), check=False)
        assert (done.returncode != 0) is (text == wrong and level == "mandatory"), told(done)
        assert [verdict[:2] for verdict in printed_verdicts(done)] == ([(rule, level)] if text == wrong else [])


def test_advisory_rules_let_a_run_pass_and_its_state_is_judged_alike(deployed, tmp_path):
    stack = {**STACKS["plain"], **PLACE}
    deployed.write(stack)
    levels = {"all": "advisory", **{rule: {**PARAMETERS[rule], LEVEL: "advisory"} for rule in [*PARAMETERS][1:]}}
    advised = pack(tmp_path, **levels)
    done = deployed.engine.run("up", "--yes", "--skip-preview", "--suppress-progress", *advised)
    advice = [(rule, "advisory", line) for rule, _, line in expected(stack, PARAMETERS)]
    assert printed_verdicts(done) == advice
    analysed = deployed.engine.run("policy", "analyze", *pack(tmp_path, **PARAMETERS), check=False)
    assert analysed.returncode == 1
    assert "panic" not in analysed.stdout + analysed.stderr
    assert printed_verdicts(analysed) == expected(stack, PARAMETERS)
    passed = deployed.engine.run("policy", "analyze", *pack(tmp_path, all="disabled"), check=False)
    assert (passed.returncode, printed_verdicts(passed)) == (0, [])


@pytest.fixture
def others(tools, plane, tmp_path, python):
    """Return a function that writes a program of somebody else, and returns its engine."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: others\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {}}))
    (project / ".venv").symlink_to(ROOT / ".venv")
    engine = PulumiEngine(tmp_path / "engine", tools, plane.kubeconfig, project, "dev", report=Report())
    engine._extra |= policy.environment(ROOT, python, engine.path)

    def write(program):
        (project / "__main__.py").write_text(program)
        return engine

    return write


def test_objects_of_another_program_are_judged_and_unknown_values_are_questions(others, tmp_path):
    engine = others(RAW)
    done = engine.run("preview", "--suppress-progress", *pack(tmp_path), check=False)
    assert done.returncode != 0
    verdicts = [verdict for verdict in printed_verdicts(done) if "network-policies" not in verdict]
    advice = "Pod default/app has pods that no NetworkPolicy selects; add a NetworkPolicy that selects its pods"
    assert ("network-policies", "advisory", advice) in printed_verdicts(done)
    question = "can't tell: Pod default/app has a value that is unknown; the run that deploys it knows it"
    refusal = "Role default/reader rules[0] permits everything (apiGroups: '*'); list what the account needs"
    assert ("no-wildcards", "mandatory", refusal) in verdicts
    assert {verdict for verdict in verdicts if "Pod" in verdict[2]} == {
        ("no-credentials-in-args", "advisory", question),
        ("no-trust-remote-code", "advisory", question),
        ("metrics-auth", "advisory", question),
    }


def packs():
    """Return the processes of packs."""
    marked = processes.find_marked(policy.PYTHON_VARIABLE)
    lines = {process: (processes.PROC / str(process.pid) / "cmdline").read_bytes() for process in marked}
    return [process for process, line in lines.items() if b"-m\0policy" in line]


def test_the_pack_ends_with_an_engine_that_is_killed(deployed, tmp_path):
    deployed.write({**STACKS["plain"], **PLACE})
    run = deployed.engine.popen("preview", *pack(tmp_path))
    wait_for(lambda: len(packs()) == 1)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait_for(lambda: not packs())


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
