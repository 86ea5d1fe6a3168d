"""Checks of pods for mistakes that no schema detects.

Pods with these mistakes are rejected by the API server, or by the Pod Security level of their namespace.

The rules of the level `restricted` are from Kubernetes 1.36 (k8s.io/pod-security-admission, policy/check_*.go). Rules
about AppArmor, SELinux, Windows and hosts of probes are left out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from manifests.objects import Manifest
from models.paths import Path
from models.problems import Problem
from planning.ground import labels
from planning.ground.needs import BASELINE, PRIVILEGED, RESTRICTED

_Tree = Mapping[str, Any]

_POD_SPECS = (
    Path("spec", "template", "spec"),
    Path("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
    Path("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
)
"""Pod specs of Deployments, Jobs and LeaderWorkerSets."""
_HOLDERS = frozenset(at[1] for at in _POD_SPECS)
"""Keys of `spec` with pod templates below them. Most kinds of objects have none of these keys."""
_CONTAINERS = ("initContainers", "containers")
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_VOLUMES = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
        "secret",
    }
)
"""Kinds of volumes that `restricted` admits."""
_SECCOMP = frozenset({"RuntimeDefault", "Localhost"})
_ADDED_CAPABILITIES = frozenset({"NET_BIND_SERVICE"})
_BASELINE_CAPABILITIES = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
"""Capabilities that a container may add at the level `baseline`."""
_BEYOND_BASELINE = frozenset({"privileged", "procMount", "hostPort", "sysctls"})
"""Fields that `baseline` and `restricted` check alike."""
_SYSCTLS = frozenset(
    {
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"),
        *("net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout"),
        *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time"),
        *("net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem"),
    }
)
"""Kernel parameters that the levels `baseline` and `restricted` admit."""
_SECURITY = "securityContext"
_SEALED = "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}"


def restricted_namespaces(manifests: Iterable[Manifest]) -> frozenset[str]:
    """Return the names of the Namespaces in `manifests` that enforce the level `restricted`."""
    return frozenset(
        manifest["metadata"]["name"]
        for manifest in manifests
        if manifest["kind"] == "Namespace"
        and labels.POD_SECURITY.items() <= manifest["metadata"].get("labels", {}).items()
    )


def problems(manifest: Manifest, restricted: Collection[str]) -> Iterator[Problem]:
    """Yield the problems of an object's pods, with paths in the object.

    `restricted` are the namespaces that enforce the level `restricted`.
    """
    for at, pod in _pods(manifest):
        yield from _unknown_names(at, pod)
        namespace = manifest["metadata"].get("namespace", "")
        if namespace in restricted:
            for problem_at, text, remedy in _privileges(pod):
                what = f"is not admitted in namespace {namespace}, which is restricted ({text})"
                yield Problem(Path(*at, *problem_at), what, remedy)


def pod_specs(manifest: Manifest) -> Iterator[_Tree]:
    """Yield the pod specs of an object."""
    yield from (pod for _, pod in _pods(manifest))


def _pods(manifest: Manifest) -> Iterator[tuple[Path, _Tree]]:
    """Yield the pod specs of an object, each after its path."""
    spec = _map(manifest.get("spec"))
    if not spec or _HOLDERS.isdisjoint(spec):
        return
    for at in _POD_SPECS:
        if at[1] in spec and (pod := _map(_at(manifest, at))) is not None:
            yield at, pod


def level(pod: _Tree) -> tuple[str, tuple[str, ...]]:
    """Return the strictest level that admits a pod, and the reasons why the next stricter level rejects the pod."""
    findings = list(_privileges(pod))
    beyond_baseline = tuple(text for at, text, _ in findings if _is_beyond_baseline(at, text))
    if beyond_baseline:
        return PRIVILEGED, beyond_baseline
    return (BASELINE, tuple(text for _, text, _ in findings)) if findings else (RESTRICTED, ())


def _is_beyond_baseline(at: Path, text: str) -> bool:
    """Tell whether a finding of the level `restricted` is also a finding of the level `baseline`."""
    if at[0] == "volumes":
        return "hostPath" in text.split(", ")
    if at[-1] == "add":
        return not {*text.split(", ")} <= _BASELINE_CAPABILITIES
    return at[0] in _HOST_NAMESPACES or bool({*at} & _BEYOND_BASELINE) or text == "seccompProfile: Unconfined"


def _at(tree: object, at: Iterable[str | int]) -> object:
    """Return the value at a path; None if there is none."""
    for key in at:
        tree = (_map(tree) or {}).get(str(key))
    return tree


def _map(value: object) -> _Tree | None:
    # Nearly every value is a dict; an `isinstance` check of an abstract class takes several times as long.
    return cast("_Tree", value) if isinstance(value, dict) or isinstance(value, Mapping) else None  # noqa: SIM101


def _containers(pod: _Tree) -> Iterator[tuple[Path, _Tree]]:
    for field in _CONTAINERS:
        for index, container in enumerate(_list(pod.get(field))):
            yield Path(field, index), container


def _items(value: object) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def _list(value: object) -> list[_Tree]:
    """Return the mappings in a list. The schema refuses all other items."""
    return [item for item in map(_map, _items(value)) if item is not None]


def _unknown_names(at: Path, pod: _Tree) -> Iterator[Problem]:
    """Yield a problem for each container without an image, mount of a missing volume, or hook with several handlers."""
    volumes = [str(volume.get("name")) for volume in _list(pod.get("volumes"))]
    containers = tuple(_containers(pod))
    for container_at, container in containers:
        if not container.get("image"):
            images = ", ".join(str(other.get("name")) for _, other in containers if other.get("image"))
            what = f"is no container of this pod, and a new container needs an image ({container.get('name')})"
            remedy = f"use the name of a container ({images}), or add an image"
            yield Problem(Path(*at, *container_at), what, remedy)
        for index, mount in enumerate(_list(container.get("volumeMounts"))):
            if mount.get("name") not in volumes:
                what = f"mounts a volume that the pod does not have ({mount.get('name')})"
                remedy = f"add it to volumes, or mount one of {', '.join(volumes)}"
                yield Problem(Path(*at, *container_at, "volumeMounts", index), what, remedy)
        for hook, value in (_map(container.get("lifecycle")) or {}).items():
            handlers = _map(value) or {}
            if len(handlers) > 1:
                what = f"has more than one handler ({', '.join(sorted(handlers))})"
                remedy = "keep one of them, and write null for the others"
                yield Problem(Path(*at, *container_at, "lifecycle", hook), what, remedy)


_Finding = tuple[Path, str, str]
"""Path in the pod spec, the value that is not admitted, and a remedy."""


def _privileges(pod: _Tree) -> Iterator[_Finding]:
    """Yield a finding for each setting of a pod that the level `restricted` does not admit."""
    yield from _pod_privileges(pod)
    for index, volume in enumerate(_list(pod.get("volumes"))):
        kinds = sorted(volume.keys() - {"name"} - _VOLUMES)
        if kinds:
            yield Path("volumes", index), ", ".join(kinds), "use a claim, a ConfigMap, a Secret or an emptyDir"
    for at, container in _containers(pod):
        yield from _overrides(at / _SECURITY, _security(container))
        yield from _container_privileges(at, container)


def _pod_privileges(pod: _Tree) -> Iterator[_Finding]:
    security = _security(pod)
    for field in _HOST_NAMESPACES:
        if pod.get(field):
            yield Path(field), f"{field}: true", "remove it"
    if security.get("runAsNonRoot") is not True:
        yield Path(_SECURITY, "runAsNonRoot"), "runAsNonRoot is not true", "write true"
    if _at(security, ("seccompProfile", "type")) not in _SECCOMP:
        yield Path(_SECURITY, "seccompProfile"), "no profile for seccomp", "write {type: RuntimeDefault}"
    if security.get("runAsUser") == 0:
        yield Path(_SECURITY, "runAsUser"), "runAsUser: 0", "write a user id above 0"
    for index, sysctl in enumerate(_list(security.get("sysctls"))):
        if sysctl.get("name") not in _SYSCTLS:
            yield Path(_SECURITY, "sysctls", index), f"{sysctl.get('name')}", "remove it"


def _security(tree: _Tree) -> _Tree:
    return _map(tree.get(_SECURITY)) or {}


def _overrides(at: Path, security: _Tree) -> Iterator[_Finding]:
    """Yield a finding for each setting of a container that weakens a setting of its pod."""
    if security.get("runAsUser") == 0:
        yield at / "runAsUser", "runAsUser: 0", "write a user id above 0"
    if security.get("runAsNonRoot") is False:
        yield at / "runAsNonRoot", "runAsNonRoot is not true", "remove it"
    profile = _at(security, ("seccompProfile", "type"))
    if profile is not None and profile not in _SECCOMP:
        yield at / "seccompProfile", f"seccompProfile: {profile}", "remove it"


def _container_privileges(at: Path, container: _Tree) -> Iterator[_Finding]:
    security, path = _security(container), at / _SECURITY
    if security.get("privileged"):
        yield path / "privileged", "privileged: true", "remove it"
    if security.get("allowPrivilegeEscalation") is not False:
        yield path / "allowPrivilegeEscalation", "allowPrivilegeEscalation is not false", f"write {_SEALED}"
    capabilities = _map(security.get("capabilities")) or {}
    if "ALL" not in _items(capabilities.get("drop")):
        yield path / "capabilities", "capabilities are not dropped", f"write {_SEALED}"
    added = sorted({*map(str, _items(capabilities.get("add")))} - _ADDED_CAPABILITIES)
    if added:
        yield path / "capabilities" / "add", ", ".join(added), "remove it"
    if security.get("procMount", "Default") != "Default":
        yield path / "procMount", f"procMount: {security['procMount']}", "remove it"
    for index, port in enumerate(_list(container.get("ports"))):
        if port.get("hostPort"):
            yield at / "ports" / index / "hostPort", f"hostPort: {port['hostPort']}", "remove it"
