"""The rule `restricted-pods` says what the program says, whose verdicts are compared with a real API server."""

import copy

import pytest

from judging import pod_security as proven
from manifests import pod_templates
from policy.rules import pod_security, pods
from policy.rules.records import DeployedObject
from tests.support.policies import lines, raw
from tests.support.stacks import find, patched_pods, rendered, tree

COUNT = 300


def ours(manifest):
    """Return the settings that the pack refuses."""
    templates = pods.templates(DeployedObject(manifest))
    return sorted({unmet.what for template in templates for unmet in pod_security.violations(template)})


def expected(manifest):
    """Return the settings that the program refuses by the newest rules."""
    findings = (finding for template in pod_templates.templates(manifest) for finding in proven.findings(template))
    return sorted({finding.excess.text for finding in findings if finding.excess.is_refused(None)})


def is_refused_before(manifest):
    spec = manifest["spec"]["template"]["spec"]
    return "ephemeralContainers" in spec or spec.get("os", {}).get("name") == "windows"


def test_the_pack_refuses_the_settings_of_pods_that_the_program_refuses_and_no_other():
    # The program refuses Windows and containers for debugging before it judges the level.
    manifests = [manifest for manifest in patched_pods.of_pods(COUNT) if not is_refused_before(manifest)]
    assert len(manifests) > COUNT * 0.9
    verdicts = {manifest["metadata"]["name"]: ours(manifest) for manifest in manifests}
    assert verdicts == {manifest["metadata"]["name"]: expected(manifest) for manifest in manifests}
    assert 50 < sum(map(bool, verdicts.values())) < COUNT


def test_a_pod_itself_is_judged_like_the_pod_of_a_deployment():
    for manifest in patched_pods.of_pods(60):
        assert ours(patched_pods.pod(manifest)) == ours(manifest)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("StatefulSet", "spec.template"),
        ("DaemonSet", "spec.template"),
        ("ReplicaSet", "spec.template"),
        ("Job", "spec.template"),
        ("CronJob", "spec.jobTemplate.spec.template"),
        ("PodTemplate", "template"),
        ("LeaderWorkerSet", "spec.leaderWorkerTemplate.workerTemplate"),
        ("LeaderWorkerSet", "spec.leaderWorkerTemplate.leaderTemplate"),
    ],
)
def test_pods_of_every_kind_are_judged(kind, path):
    template = {"spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}}
    manifest = {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "m", "namespace": "n"}}
    at = manifest
    *way, last = path.split(".")
    for part in way:
        at = at.setdefault(part, {})
    at[last] = template
    printed = lines(raw(manifest), "restricted-pods")
    assert f"restricted-pods: {kind} n/m {path}.spec.hostNetwork is not admitted" in printed[0]
    assert len(printed) == 5


def test_a_debugging_container_is_judged():
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": safe_spec()}
    assert ours(manifest) == []
    debugger = {"name": "debug", "image": "i", "securityContext": {"privileged": True}}
    manifest["spec"]["ephemeralContainers"] = [debugger]
    assert "privileged: true" in ours(manifest)


def safe_spec():
    return copy.deepcopy(find(rendered(tree()), "Deployment", "qwen-decode")["spec"]["template"]["spec"])


@pytest.mark.parametrize(("system", "count"), [("windows", 0), ("linux", 3)])
def test_windows_has_no_profiles_and_no_capabilities(system, count):
    container = {"name": "c", "image": "i", "securityContext": {"runAsNonRoot": True}}
    spec = {"os": {"name": system}, "containers": [container]}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert len(ours(manifest)) == count


def test_namespaces_may_be_left_out():
    spec = {"hostPID": True, "containers": []}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "agents"}, "spec": spec}
    assert len(lines(raw(manifest), "restricted-pods", exempt=["other"])) == 1
    assert lines(raw(manifest), "restricted-pods", exempt=["agents"]) == []
