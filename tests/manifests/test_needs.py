"""Needs of pods are found wherever a pod may refer to them, and the level that admits a pod is told."""

import pytest

from manifests import admission, needs
from manifests.assembly import objects, render
from tests.support.stacks import plan, tree

SEALED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
PLAIN_USER = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def needed(**pod):
    """Return what a stack needs whose pods are patched."""
    stack = tree(qwen={"patch": {"spec": {"template": {"spec": pod}}}})
    return needs.of(objects(render(plan(stack))), ())


def named(references):
    return [(reference.namespace, reference.name) for reference in references]


def test_secrets_of_whole_environments_are_needed_unless_they_are_optional():
    sources = [
        {"secretRef": {"name": "a"}},
        {"secretRef": {"name": "b", "optional": True}},
        {"configMapRef": {"name": "c"}},
    ]
    found = named(needed(containers=[{"name": "vllm", "envFrom": sources}]).secrets)
    assert ("models", "a") in found
    assert not {("models", "b"), ("models", "c")} & {*found}


def test_classes_of_claims_that_pods_make_are_needed_and_the_default_class_has_no_name():
    claims = {"scratch": {"storageClassName": "fast"}, "spare": {}}
    volumes = [
        {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], **spec}}}}
        for name, spec in claims.items()
    ]
    assert named(needed(volumes=volumes).storage_classes) == [("models", "fast"), ("models", "")]


def pod(*, volumes=(), **security):
    containers = [{"name": "a", "securityContext": {**SEALED, **security}}]
    return {"securityContext": PLAIN_USER, "containers": containers, "volumes": [*volumes]}


@pytest.mark.parametrize(
    ("spec", "level"),
    [
        (pod(), "restricted"),
        (pod(volumes=[{"name": "a", "emptyDir": {}}]), "restricted"),
        (pod(volumes=[{"name": "a", "nfs": {"server": "s", "path": "/"}}]), "baseline"),
        (pod(volumes=[{"name": "a", "hostPath": {"path": "/"}}]), "privileged"),
        (pod(capabilities={"drop": ["ALL"], "add": ["CHOWN"]}), "baseline"),
        (pod(capabilities={"drop": ["ALL"], "add": ["CHOWN", "SYS_ADMIN"]}), "privileged"),
        (pod(privileged=True), "privileged"),
        (pod(seccompProfile={"type": "Unconfined"}), "privileged"),
        (pod() | {"hostNetwork": True}, "privileged"),
        (pod(runAsNonRoot=False), "baseline"),
    ],
)
def test_a_pod_has_the_strictest_level_that_admits_it(spec, level):
    found, reasons = admission.level(spec)
    assert found == level
    assert bool(reasons) is (level != "restricted")
