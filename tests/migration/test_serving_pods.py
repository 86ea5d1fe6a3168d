"""Specs of serving pods as configuration."""

from pathlib import Path as File
from typing import Any

import pytest

from tests.support.migration import llm_service, objects, only_service, places

SAMPLE = (File(__file__).with_name("samples") / "kserve-roles.yaml").read_text(encoding="utf-8")


def _pod(container: str, rest: str = "") -> str:
    return llm_service(
        f"  model: {{uri: 'hf://acme/chat'}}\n  template: {{{rest}containers: [{{name: main, {container}}}]}}\n"
    )


def test_placement_volumes_and_further_containers_are_carried() -> None:
    """Shared memory has a key of its own, and a name without a registry gets the one that Kubernetes adds."""
    service = only_service(objects(SAMPLE))
    pod = service["pod"]
    assert pod["nodeSelector"] == {"zone": "a"}
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert pod["priorityClassName"] == "high"
    assert pod["sharedMemory"] == "16Gi"
    assert pod["volumes"]["files"] == {
        "type": "config-map",
        "name": "files",
        "mountPath": "/etc/files",
        "readOnly": True,
    }
    assert "idle" not in pod["volumes"]
    assert pod["containers"]["beside"]["image"] == "docker.io/library/busybox:1.36"
    assert pod["initContainers"]["wait"]["args"] == ["--until", "ready"]
    assert pod["privileges"] == {"reason": "taken over from LLMInferenceService chat", "capabilities": ["IPC_LOCK"]}
    assert pod["labels"] == {"team": "search"}
    assert pod["annotations"] == {"note": "one", "k8s.v1.cni.cncf.io/networks": "fast"}
    assert service["drainTimeout"] == "90s"


def test_prefill_has_none_of_the_privileges_of_decode() -> None:
    """They go as a whole with their reason, which the configuration wants beside each privilege."""
    printed = objects(SAMPLE)
    assert only_service(printed)["prefill"]["pod"]["privileges"] is None
    assert not [path for path in places(printed, "cannot") if "privileges" in path]
    engine = "        - name: main\n"
    security = "          securityContext: {runAsUser: 0}\n"
    before, prefill = SAMPLE.split("  prefill:\n")
    printed = objects(f"{before}  prefill:\n{prefill.replace(engine, engine + security)}")
    assert only_service(printed)["prefill"]["pod"]["privileges"] == {
        "reason": "taken over from LLMInferenceService chat",
        "root": True,
        "capabilities": None,
    }


def test_probes_are_carried_with_their_own_times() -> None:
    """A probe is answered within its interval, and the startup probe decides how long a start may take."""
    health = only_service(objects(SAMPLE))["health"]
    assert health["liveness"] == {
        "path": "/health",
        "initialDelay": "30s",
        "interval": "10s",
        "timeout": "10s",
        "failureThreshold": 8,
    }
    assert health["startup"] == {"type": "tcp", "interval": "30s"}
    assert health["startupTimeout"] == "600s"


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ("emptyDir: {sizeLimit: 1Gi}", {"type": "empty-dir", "sizeLimit": "1Gi"}),
        ("secret: {secretName: s}", {"type": "secret", "name": "s"}),
        (
            "persistentVolumeClaim: {claimName: c, readOnly: true}",
            {"type": "claim", "claimName": "c", "readOnly": True},
        ),
        ("hostPath: {path: /data}", {"type": "host-path", "path": "/data"}),
        ("csi: {driver: d.example}", {"type": "csi", "source": {"driver": "d.example"}}),
        ('image: {reference: "r.example/a:v1"}', {"type": "image", "reference": "r.example/a:v1"}),
    ],
)
def test_a_volume_of_each_kind_is_carried(volume: str, expected: dict[str, Any]) -> None:
    """A volume has its place in the engine's container."""
    text = _pod("volumeMounts: [{name: data, mountPath: /data}]", f"volumes: [{{name: data, {volume}}}], ")
    assert only_service(objects(text))["pod"]["volumes"]["data"] == {**expected, "mountPath": "/data"}


def test_a_volume_without_a_type_here_is_lost_with_its_mount() -> None:
    """NFS has no key. A mount without a volume is a mistake of the file."""
    text = _pod(
        "volumeMounts: [{name: data, mountPath: /data}, {name: none, mountPath: /none}]",
        "volumes: [{name: data, nfs: {server: s, path: /}}], ",
    )
    assert places(objects(text), "cannot") == {
        "spec.template.volumes[0]",
        "spec.template.containers[0].volumeMounts[0]",
        "spec.template.containers[0].volumeMounts[1]",
    }


@pytest.mark.parametrize(
    ("container", "rest", "expected"),
    [
        ("securityContext: {runAsUser: 0}", "", {"root": True}),
        ("securityContext: {privileged: true}", "", {"privileged": True}),
        ("securityContext: {seccompProfile: {type: Unconfined}}", "", {"unconfined": True}),
        ("image: 'a/b:1'", "hostIPC: true, ", {"hostIPC": True}),
    ],
)
def test_privileges_are_carried_with_a_reason(container: str, rest: str, expected: dict[str, bool]) -> None:
    """The configuration wants a reason for each privilege."""
    pod = only_service(objects(_pod(container, rest)))["pod"]
    assert pod["privileges"] == {"reason": "taken over from LLMInferenceService chat", **expected}


def test_a_user_is_no_privilege() -> None:
    """A container that may run as root gets a user, and a note."""
    printed = objects(_pod("securityContext: {runAsUser: 2000}"))
    assert only_service(printed)["pod"] == {"runAsUser": 2000}
    printed = objects(_pod("securityContext: {runAsNonRoot: false}"))
    assert "spec.template.containers[0].securityContext.runAsNonRoot" in places(printed, "differs")


def test_the_user_of_the_container_counts_and_not_that_of_the_pod() -> None:
    """As in Kubernetes, in both directions."""
    pod = objects(_pod("securityContext: {runAsUser: 1000}", "securityContext: {runAsUser: 0}, "))
    assert only_service(pod)["pod"] == {"runAsUser": 1000}
    pod = objects(_pod("securityContext: {runAsUser: 0}", "securityContext: {runAsUser: 1000}, "))
    assert only_service(pod)["pod"]["privileges"]["root"] is True
    assert "runAsUser" not in only_service(pod)["pod"]


def test_a_container_that_is_left_out_says_why() -> None:
    """Its fields have keys, but the container itself is not there."""
    rest = "initContainers: [{name: wait, command: [sleep]}, {name: warm, image: busybox, command: [sleep]}], "
    printed = objects(_pod("env: []", rest))
    notes = {str(note.path): str(note) for note in printed.notes}
    assert "a container needs an image" in notes["spec.template.initContainers[0]"]
    assert "the container is left out" in notes["spec.template.initContainers[1].command"]
