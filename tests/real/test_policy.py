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
from tests.support.cluster.deployments import ROOT, Deployed
from tests.support.policies import view
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


@pytest.fixture(scope="module")
def python():
    """Return the Python of the pack, whose environment stays in the cache."""
    return policy.install(ROOT, Report())


@pytest.fixture
def deployed(tools, plane, begun, tmp_path, python):
    """Return a deployment whose engine finds the pack."""
    made = Deployed(tmp_path, tools, plane)
    made.begin(begun)
    made.engine._extra |= policy.environment(ROOT, python, made.engine.path)
    yield made
    made.discard()


def pack(tmp_path, **document):
    config = tmp_path / "policies.json"
    config.write_text(json.dumps(document), encoding="utf-8")
    return policy.arguments(ROOT, str(config))


def said(done):
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
        assert said(done) == verdicts, done.stdout
        assert len(verdicts) > 8


def test_advisory_rules_let_a_run_pass_and_its_state_is_judged_alike(deployed, tmp_path):
    stack = {**STACKS["plain"], **PLACE}
    deployed.write(stack)
    levels = {"all": "advisory", **{rule: {**PARAMETERS[rule], LEVEL: "advisory"} for rule in [*PARAMETERS][1:]}}
    advised = pack(tmp_path, **levels)
    done = deployed.engine.run("up", "--yes", "--skip-preview", "--suppress-progress", *advised)
    advice = [(rule, "advisory", line) for rule, _, line in expected(stack, PARAMETERS)]
    assert said(done) == advice
    analysed = deployed.engine.run("policy", "analyze", *pack(tmp_path, **PARAMETERS), check=False)
    assert analysed.returncode == 1
    assert "panic" not in analysed.stdout + analysed.stderr
    assert said(analysed) == expected(stack, PARAMETERS)
    passed = deployed.engine.run("policy", "analyze", *pack(tmp_path, all="disabled"), check=False)
    assert (passed.returncode, said(passed)) == (0, [])


def test_objects_of_another_program_are_judged_and_unknown_values_are_questions(tools, plane, tmp_path, python):
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: others\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {}}))
    (project / "__main__.py").write_text(RAW)
    (project / ".venv").symlink_to(ROOT / ".venv")
    engine = PulumiEngine(tmp_path / "engine", tools, plane.kubeconfig, project, "dev", report=Report())
    engine._extra |= policy.environment(ROOT, python, engine.path)
    done = engine.run("preview", "--suppress-progress", *pack(tmp_path), check=False)
    assert done.returncode != 0
    verdicts = [verdict for verdict in said(done) if "network-policies" not in verdict]
    advice = "Pod default/app has pods that no NetworkPolicy selects; add a NetworkPolicy that selects its pods"
    assert ("network-policies", "advisory", advice) in said(done)
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
