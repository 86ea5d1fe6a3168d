"""Pods that the API server or the admission of their namespace would reject are told before anything is sent."""

import pytest

from judging import admission, validation
from manifests.assembly import objects, render
from models.problems import ConfigError
from tests.support.stacks import find, plan, rendered, tree
from tests.support.stacks.shapes import every_stack

SEALED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def refused(patch, *, create=True, **service):
    """Return the message about a patch of the pods, without the path of the pod."""
    stack = tree(qwen={"patch": {"spec": {"template": {"spec": patch}}}, **service})
    try:
        validation.check(objects(render(plan(stack | {"namespaceOptions": {"create": create}}))))
    except ConfigError as error:
        return [str(problem).replace("services.qwen.patch.spec.template.spec.", "") for problem in error.problems]
    return []


def engine(**fields):
    return {"containers": [{"name": "vllm", **fields}]}


def secured(**fields):
    return engine(securityContext=fields)


PRIVILEGES = {
    "hostNetwork": {"hostNetwork": True},
    "hostPID": {"hostPID": True},
    "hostIPC": {"hostIPC": True},
    "securityContext.runAsUser": {"securityContext": {"runAsUser": 0}},
    "securityContext.runAsNonRoot": {"securityContext": {"runAsNonRoot": None}},
    "securityContext.seccompProfile": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    "securityContext.sysctls[0]": {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
    "volumes[0]": {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
    "containers[0].securityContext.privileged": secured(privileged=True),
    "containers[0].securityContext.runAsUser": secured(runAsUser=0),
    "containers[0].securityContext.runAsNonRoot": secured(runAsNonRoot=False),
    "containers[0].securityContext.seccompProfile": secured(seccompProfile={"type": "Unconfined"}),
    "containers[0].securityContext.allowPrivilegeEscalation": secured(allowPrivilegeEscalation=None),
    "containers[0].securityContext.capabilities.add": secured(capabilities={"add": ["SYS_ADMIN"]}),
    "containers[0].securityContext.capabilities": secured(capabilities=None),
    "containers[0].securityContext.appArmorProfile": secured(appArmorProfile={"type": "Unconfined"}),
    "containers[0].securityContext.seLinuxOptions.type": secured(seLinuxOptions={"type": "spc_t"}),
    "containers[0].securityContext.windowsOptions.hostProcess": secured(windowsOptions={"hostProcess": True}),
    "containers[0].securityContext.procMount": secured(procMount="Unmasked"),
    "containers[0].livenessProbe.httpGet.host": engine(livenessProbe={"httpGet": {"host": "files.example"}}),
    "containers[0].ports[0].hostPort": engine(ports=[{"name": "http", "containerPort": 8000, "hostPort": 80}]),
}


INCOMPLETE = {
    "containers[0].securityContext.privileged": "contradicts allowPrivilegeEscalation: false (true)",
    "containers[0].securityContext.procMount": "needs hostUsers: false (Unmasked)",
    "containers[0].securityContext.windowsOptions.hostProcess": "needs hostNetwork: true, and the same",
}
"""Parts of these patches that the API server refuses in any namespace."""


@pytest.mark.parametrize(("at", "patch"), PRIVILEGES.items())
def test_privileges_beside_a_restricted_namespace_are_refused(at, patch):
    """See defects B4, H10."""
    (message,) = refused(patch)
    assert message.startswith(f"{at}: is not admitted in namespace models, which is restricted (")
    starts = [f"{at}: {INCOMPLETE[at]}"] if at in INCOMPLETE else []
    elsewhere = refused(patch, create=False)
    assert [other[: len(start)] for other, start in zip(elsewhere, starts, strict=True)] == starts


def test_a_further_container_needs_what_the_namespace_asks_for():
    """See defects B4."""
    log = {"name": "log", "image": "registry.example/log:v1"}
    assert [message.partition(": ")[0] for message in refused({"containers": [log]})] == [
        "containers[0].securityContext.allowPrivilegeEscalation",
        "containers[0].securityContext.capabilities",
    ]
    assert refused({"containers": [{**log, "securityContext": SEALED}]}) == []


@pytest.mark.parametrize(
    "patch",
    [
        {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}},
        {"volumes": [{"name": "more", "configMap": {"name": "more"}}]},
        secured(capabilities={"add": ["NET_BIND_SERVICE"]}),
        secured(runAsUser=7, seccompProfile={"type": "Localhost", "localhostProfile": "one.json"}),
    ],
)
def test_what_a_restricted_namespace_admits_is_not_refused(patch):
    assert refused(patch) == []


def test_a_container_that_is_not_there_is_told_with_those_that_are():
    """See defects B4."""
    (message,) = refused({"containers": [{"name": "vlm", "tty": True}]}, create=False)
    assert message == (
        "containers[0]: is no container of this pod, and a new container needs an image (vlm); use the name of a "
        "container (model-unpack, vllm), or add an image"
    )


def test_a_mount_of_a_volume_that_is_not_there_is_told_with_those_that_are():
    """See defects B4."""
    mount = {"name": "cache", "mountPath": "/cache"}
    (message,) = refused(engine(volumeMounts=[mount]), create=False)
    assert message == (
        "containers[0].volumeMounts[0]: mounts a volume that the pod does not have (cache); add it to volumes, or "
        "mount one of model, home, shared-memory, fetch-home, kit-settings"
    )
    volume = {"name": "cache", "emptyDir": {}}
    assert refused({**engine(volumeMounts=[mount]), "volumes": [volume]}, create=False) == []


def test_a_second_handler_of_a_hook_is_told():
    """See defects B4."""
    hook = {"exec": {"command": ["sleep", "60"]}}
    what, remedy = "has more than one handler (exec, sleep)", "keep one of them, and write null for the others"
    assert refused(engine(lifecycle={"preStop": hook}), create=False) == [
        f"containers[0].lifecycle.preStop: {what}; {remedy}"
    ]
    assert refused(engine(lifecycle={"preStop": {**hook, "sleep": None}}), create=False) == []


@every_stack
def test_our_own_pods_are_admitted_everywhere(stack):
    """See defects B4."""
    for manifest in rendered(stack):
        assert list(admission.problems(manifest, {manifest["metadata"].get("namespace")})) == []


def test_a_pod_of_nobody_would_be_found():
    """A negative control of the test above."""
    stack = tree(qwen={"patch": {"spec": {"template": {"spec": {"hostNetwork": True}}}}})
    manifest = find(rendered(stack), "Deployment", "qwen-decode")
    assert list(admission.problems(manifest, {"models"}))
