"""Fields of a pod template that contradict each other are told as the API server would refuse them."""

import pytest
import yaml

from judging import pod_rules
from manifests import pod_templates
from planning.ground import patch
from tests.support.stacks import find, rendered, tree

REFUSED = """
- [spec.ephemeralContainers, {ephemeralContainers: [{name: x, image: x}]}]
- [spec.restartPolicy, {restartPolicy: Never}]
- [spec.activeDeadlineSeconds, {activeDeadlineSeconds: 5}]
- [spec.os.name, {os: {name: windows}}]
- [spec.hostPID, {hostUsers: false, hostPID: true}]
- [spec.hostNetwork, {hostUsers: false, hostNetwork: true}]
- [spec.shareProcessNamespace, {hostPID: true, shareProcessNamespace: true}]
- ['spec.volumes[5]', {volumes: [{name: a, emptyDir: {}, hostPath: {path: /}}]}]
- ['spec.securityContext.sysctls[0].name', {securityContext: {sysctls: [{name: A.b, value: a}]}}]
- ['spec.securityContext.sysctls[0].name', {hostIPC: true, securityContext: {sysctls: [{name: kernel.sem, value: a}]}}]
- [spec.securityContext.seccompProfile.localhostProfile, {securityContext: {seccompProfile: {type: Localhost}}}]
- [spec.securityContext.seccompProfile.localhostProfile, {securityContext: {seccompProfile: {localhostProfile: a}}}]
- - spec.securityContext.appArmorProfile.localhostProfile
  - {securityContext: {appArmorProfile: {type: Localhost, localhostProfile: 'a '}}}
- [spec.securityContext.windowsOptions, {os: {name: linux}, securityContext: {windowsOptions: {}}}]
- [spec.securityContext.windowsOptions.hostProcess, {securityContext: {windowsOptions: {hostProcess: true}}}]
"""
REFUSED_OF_CONTAINERS = """
- [securityContext.privileged, {securityContext: {privileged: true}}]
- [securityContext.capabilities.add, {securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}}}]
- [securityContext.procMount, {securityContext: {procMount: Unmasked}}]
- ['volumeMounts[3].subPath', {volumeMounts: [{name: home, mountPath: /a, subPath: a/../b}]}]
- ['volumeMounts[3].subPathExpr', {volumeMounts: [{name: home, mountPath: /a, subPathExpr: /a}]}]
- ['volumeMounts[3].subPathExpr', {volumeMounts: [{name: home, mountPath: /a, subPath: a, subPathExpr: a}]}]
- ['volumeMounts[3].mountPropagation', {volumeMounts: [{name: home, mountPath: /a, mountPropagation: Bidirectional}]}]
- ['volumeMounts[3].recursiveReadOnly', {volumeMounts: [{name: home, mountPath: /a, recursiveReadOnly: Enabled}]}]
- ['ports[1].name', {ports: [{name: a, containerPort: 8000}, {name: a, containerPort: 8001}, {containerPort: 8002}]}]
- [livenessProbe, {livenessProbe: {exec: {command: [a]}}}]
- [livenessProbe, {livenessProbe: {httpGet: null}}]
- [livenessProbe.successThreshold, {livenessProbe: {successThreshold: 2}}]
- [readinessProbe.terminationGracePeriodSeconds, {readinessProbe: {terminationGracePeriodSeconds: 5}}]
- [lifecycle.postStart, {lifecycle: {postStart: {}}}]
- [lifecycle.postStart.sleep.seconds, {lifecycle: {postStart: {sleep: {seconds: 76}}}}]
- ['env[6]', {env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]
- ['env[6]', {env: [{name: A, valueFrom: {}}]}]
"""
ADMITTED = """
- {os: {name: linux}}
- {hostUsers: false, containers: [{name: vllm, securityContext: {procMount: Unmasked}}]}
- containers:
  - name: vllm
    securityContext: {privileged: true, allowPrivilegeEscalation: true}
    volumeMounts: [{name: home, mountPath: /a, mountPropagation: Bidirectional}]
- containers:
  - name: vllm
    volumeMounts: [{name: home, mountPath: /a, readOnly: true, recursiveReadOnly: Enabled, subPath: a..b/c}]
- {containers: [{name: vllm, readinessProbe: {successThreshold: 2}, lifecycle: {postStart: {sleep: {seconds: 75}}}}]}
- {initContainers: [{name: model-unpack, restartPolicy: Always, lifecycle: {postStart: {sleep: {seconds: 1}}}}]}
- securityContext:
    seccompProfile: {type: Localhost, localhostProfile: a/b.json}
    sysctls: [{name: net/core, value: a}]
"""


def template(change):
    """Return the pod template of a Deployment with a change of its pods."""
    manifest = find(rendered(tree()), "Deployment", "qwen-decode")
    (found,) = pod_templates.templates(patch.apply(manifest, {"spec": {"template": change}}))
    return found


def paths(change):
    return [str(violation.at) for violation in pod_rules.violations(template(change))]


@pytest.mark.parametrize(("at", "pod"), yaml.load(REFUSED, yaml.CSafeLoader))
def test_settings_of_a_pod_that_contradict_each_other_are_told(at, pod):
    """See defects H10."""
    assert at in paths({"spec": pod})


@pytest.mark.parametrize(("at", "container"), yaml.load(REFUSED_OF_CONTAINERS, yaml.CSafeLoader))
def test_settings_of_a_container_that_contradict_each_other_are_told(at, container):
    """See defects H10."""
    assert paths({"spec": {"containers": [{"name": "vllm", **container}]}}) == [f"spec.containers[0].{at}"]


@pytest.mark.parametrize("field", ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"])
def test_a_container_that_ends_has_no_probes_and_no_hooks(field):
    """See defects H10."""
    hook = {"tcpSocket": {"port": 1}}
    early = {"name": "model-unpack", field: {"postStart": hook} if field == "lifecycle" else hook}
    assert paths({"spec": {"initContainers": [early]}}) == [f"spec.initContainers[0].{field}"]


@pytest.mark.parametrize("pod", [{}, *yaml.load(ADMITTED, yaml.CSafeLoader)])
def test_settings_that_fit_together_are_not_told(pod):
    assert paths({"spec": pod}) == []


ANNOTATIONS = {
    "container.apparmor.security.beta.kubernetes.io/vllm": {"": 0, "unconfined": 0, "localhost/a": 0, "a": 1},
    "container.apparmor.security.beta.kubernetes.io/other": {"runtime/default": 1},
    "seccomp.security.alpha.kubernetes.io/pod": {"runtime/default": 0, "docker/default": 0, "unconfined": 1, "a": 1},
    "container.seccomp.security.alpha.kubernetes.io/vllm": {"unconfined": 0, "localhost/a": 0, "localhost/../a": 1},
    "example.com/profile": {"unconfined": 0},
}


@pytest.mark.parametrize(("key", "values"), ANNOTATIONS.items())
def test_annotations_name_profiles_of_containers_and_do_not_contradict_fields(key, values):
    """See defects H10."""
    numbers = {value: len(paths({"metadata": {"annotations": {key: value}}})) for value in values}
    assert numbers == values


def test_the_pods_of_a_job_may_end():
    job = {"kind": "Job", "spec": {"template": {"spec": {"restartPolicy": "Never", "activeDeadlineSeconds": 5}}}}
    (found,) = pod_templates.templates(job)
    assert list(pod_rules.violations(found)) == []


WORKLOADS = [
    ("spec.minReadySeconds", {"minReadySeconds": 3600}),
    ("spec.minReadySeconds", {"progressDeadlineSeconds": None, "minReadySeconds": 600}),
    ("spec.strategy.rollingUpdate", {"strategy": {"type": "Recreate"}}),
    ("spec.strategy.rollingUpdate.maxSurge", {"strategy": {"rollingUpdate": {"maxSurge": "a"}}}),
    ("spec.strategy.rollingUpdate.maxSurge", {"strategy": {"rollingUpdate": {"maxSurge": -1}}}),
    ("spec.strategy.rollingUpdate.maxUnavailable", {"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}}),
    ("spec.strategy.rollingUpdate", {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}}),
    (None, {"strategy": {"type": "Recreate", "rollingUpdate": None}}),
    (None, {"strategy": {"rollingUpdate": {"maxSurge": "101%", "maxUnavailable": "100%"}}}),
    (None, {"minReadySeconds": 30}),
]


@pytest.mark.parametrize(("at", "spec"), WORKLOADS)
def test_numbers_of_a_deployment_that_contradict_each_other_are_told(at, spec):
    """See defects H10."""
    manifest = patch.apply(find(rendered(tree()), "Deployment", "qwen-decode"), {"spec": spec})
    assert [str(violation.at) for violation in pod_rules.deployment(manifest)] == ([] if at is None else [at])
