"""Needs of pods are found wherever a pod may refer to them, and the level that admits a pod is told."""

import pytest

from judging import needs, pod_security
from manifests import pod_templates
from manifests.assembly import objects, render
from models.paths import Path
from planning.ground.needs import PodPrivileges
from tests.support.stacks import plan, tree

QWEN = Path("services", "qwen")
SEALED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
PLAIN_USER = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}

HUB = {"name": "org/m", "source": "hf://org/m@v1", "size": "1Gi"}
KIT = {"name": "org/m", "source": "kit://registry.example/m:v1", "size": "1Gi"}


def patched(**container):
    """Return a patch of the engine's container."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "vllm", **container}]}}}}


def needed(**pod):
    """Return what a stack needs whose pods are patched."""
    stack = tree(qwen={"patch": {"spec": {"template": {"spec": pod}}}})
    planned = plan(stack)
    return needs.of(objects(render(planned)), planned)


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


def privileges(spec, annotations=()):
    """Return what the level `restricted` does not admit of a pod."""
    template = {"metadata": {"annotations": dict(annotations)}, "spec": spec}
    (found,) = pod_templates.templates({"kind": "Deployment", "spec": {"template": template}})
    excesses = tuple(finding.excess for finding in pod_security.findings(found))
    return PodPrivileges(excesses, "models", QWEN, "Deployment models/qwen-decode")


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
        (pod(appArmorProfile={"type": "Unconfined"}), "privileged"),
        (pod(appArmorProfile={"type": "Localhost", "localhostProfile": "one"}), "restricted"),
        (pod(seLinuxOptions={"type": "spc_t"}), "privileged"),
        (pod(seLinuxOptions={"user": "system_u"}), "privileged"),
        (pod(seLinuxOptions={"type": "container_t", "level": "s0:c1"}), "restricted"),
        (pod(windowsOptions={"hostProcess": True}), "privileged"),
        (pod() | {"securityContext": {**PLAIN_USER, "seccompProfile": {"type": "Unconfined"}}}, "privileged"),
        (pod(runAsNonRoot=True) | {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, "restricted"),
        (pod() | {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}, "baseline"),
        (pod(seccompProfile={"type": "Localhost"}) | {"securityContext": {"runAsNonRoot": True}}, "restricted"),
        (pod() | {"securityContext": {"runAsNonRoot": True}}, "baseline"),
    ],
)
def test_a_pod_has_the_strictest_level_that_admits_it(spec, level):
    """See defects H10."""
    found = privileges(spec)
    assert found.level(None) == level
    assert bool(found.refusals("restricted", None)) is (level != "restricted")


SYSCTL = [{"name": "net.ipv4.tcp_rmem", "value": "1 2 3"}]
HOST = {"livenessProbe": {"tcpSocket": {"port": 1, "host": "files.example"}}}
APART = {"hostUsers": False, "securityContext": {**PLAIN_USER, "runAsUser": 0}}
VERSIONS = {
    "a kernel parameter": (pod() | {"securityContext": {**PLAIN_USER, "sysctls": SYSCTL}}, "privileged", 32),
    "a type of SELinux": (pod(seLinuxOptions={"type": "container_engine_t"}), "privileged", 31),
    "root in a user namespace": (pod() | APART, "baseline", 35),
}


@pytest.mark.parametrize(("spec", "level", "since"), VERSIONS.values(), ids=VERSIONS)
def test_newer_versions_of_kubernetes_admit_more(spec, level, since):
    """See defects H10."""
    found = privileges(spec)
    assert [found.level(minor) for minor in (since - 1, since, None)] == [level, "restricted", "restricted"]


def test_newer_versions_of_kubernetes_admit_no_probes_of_other_hosts():
    """See defects H10."""
    spec = pod()
    found = privileges(spec | {"containers": [spec["containers"][0] | HOST]})
    assert [found.level(minor) for minor in (33, 34, None)] == ["restricted", "privileged", "privileged"]


def test_newer_versions_of_kubernetes_admit_an_unmasked_proc_to_baseline_in_a_user_namespace():
    """See defects H10."""
    found = privileges(pod(procMount="Unmasked") | {"hostUsers": False})
    assert [found.level(minor) for minor in (34, 35, None)] == ["privileged", "baseline", "baseline"]
    assert privileges(pod(procMount="Unmasked")).level(None) == "privileged"


def test_an_annotation_can_switch_app_armor_off():
    """See defects H10."""
    key = "container.apparmor.security.beta.kubernetes.io/a"
    levels = {value: privileges(pod(), {key: value}).level(None) for value in ("unconfined", "runtime/default", "")}
    assert levels == {"unconfined": "privileged", "runtime/default": "restricted", "": "restricted"}


HF = {"secretKeyRef": {"name": "hf", "key": "token"}}
NAMES_OF_ONE_KEY = {
    "a variable": (
        {"labels": {"secret": "hf"}, "engine": {"env": {"MY_TOKEN": HF}}},
        "services.qwen.engine.env.MY_TOKEN.secretKeyRef.name",
    ),
    "a variable of prefill": (
        {"engine": {"env": {"A": "hf"}}, "prefill": {"engine": {"env": {"B": HF}}}},
        "services.qwen.prefill.engine.env.B.secretKeyRef.name",
    ),
    "a variable of the picker": (
        {"endpointPicker": {"env": {"A": HF}}},
        "services.qwen.endpointPicker.env.A.secretKeyRef.name",
    ),
    "the Secret of the model": ({"model": {**HUB, "secrets": ["hf"]}}, "services.qwen.model.secrets[0]"),
    "the registry of the model": ({"model": {**KIT, "secrets": ["hf"]}}, "services.qwen.model.secrets[0]"),
    "the key of a signature": (
        {"model": {**KIT, "verify": {"type": "key", "secret": "hf"}}},
        "services.qwen.model.verify.secret",
    ),
    "the Secret of an adapter": (
        {"model": {**HUB, "lora": {"adapters": {"chat": {"source": "hf://org/chat@v1", "secrets": ["hf"]}}}}},
        "services.qwen.model.lora.adapters.chat.secrets[0]",
    ),
    "the Secret of a claim": (
        {"model": HUB, "storage": {"type": "dedicated", "size": "1Gi", "fill": {"secrets": ["hf"]}}},
        "services.qwen.storage.fill.secrets[0]",
    ),
    "a pull secret": (
        {"pod": {"imagePullSecrets": [{"name": "hf"}]}},
        "services.qwen.pod.imagePullSecrets[0].name",
    ),
    "a certificate of the picker": (
        {"endpointPicker": {"tls": {"type": "certificate", "secret": "hf", "caSecret": "ca"}}},
        "services.qwen.endpointPicker.tls.secret",
    ),
    "a patch of a variable": (
        {"engine": {"env": {"A": HF}}, "patch": patched(env=[{"name": "A", "valueFrom": HF}])},
        "services.qwen.patch.spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef.name",
    ),
    "a variable beside a patch": (
        {"engine": {"env": {"A": HF}}, "patch": patched(env=[{"name": "B", "value": "1"}])},
        "services.qwen.engine.env.A.secretKeyRef.name",
    ),
    "a variable that the canary inherits": (
        {"canary": {"weight": 0}, "engine": {"env": {"A": HF}}},
        "services.qwen.engine.env.A.secretKeyRef.name",
    ),
}


@pytest.mark.parametrize("case", NAMES_OF_ONE_KEY)
def test_a_secret_has_the_path_at_which_its_name_was_written(case):
    """See defects R1."""
    service, expected = NAMES_OF_ONE_KEY[case]
    planned = plan(tree(qwen=service))
    origins = [str(secret.origin) for secret in needs.of(objects(render(planned)), planned).secrets]
    assert expected in origins


def test_classes_have_the_path_of_their_name_or_of_the_storage_that_takes_the_default():
    def of(storage, **keys):
        service = {"model": HUB, "storage": storage, "pod": {"priorityClassName": "high"}}
        planned = plan(tree(qwen=service) | keys)
        found = needs.of(objects(render(planned)), planned)
        return [str(each.origin) for each in (*found.storage_classes, *found.priority_classes)]

    dedicated, high = {"type": "dedicated", "size": "1Gi"}, "services.qwen.pod.priorityClassName"
    assert of({**dedicated, "storageClassName": "fast"}) == ["services.qwen.storage.storageClassName", high]
    assert of(dedicated, storageClassName="fast") == ["storageClassName", high]
    assert of(dedicated) == ["services.qwen.storage", high]
