"""Pod Security: which settings of pods the levels `baseline` and `restricted` do not admit, by version of Kubernetes.

The checks are those of k8s.io/pod-security-admission v0.36.1 (policy/check_*.go), from Kubernetes 1.25 on; what they
admit is in `pod_security.yaml`. Two checks are left out: exemptions of pods that run Windows, and containers for
debugging, because `judging.pod_rules` refuses both in a pod template.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

from manifests.pod_templates import SECURITY, PodTemplate, Tree, containers, mappings, security
from models import trees
from models.paths import Path
from models.trees import mapping, sequence
from planning.ground import yaml_text
from planning.ground.needs import BASELINE, PRIVILEGED, Excess

APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
"""Start of the annotations with profiles of AppArmor; the name of a container follows."""
_APP_ARMOR_DEFAULT = "runtime/default"
_APP_ARMOR_LOCAL = "localhost/"
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_PROFILES = frozenset({"RuntimeDefault", "Localhost"})
"""Types of profiles of seccomp and AppArmor that both levels admit."""
_RESTRICTED_CAPABILITY = "NET_BIND_SERVICE"
"""The only capability that a container may add at the level `restricted`."""
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_REQUESTS = ("httpGet", "tcpSocket")
"""Handlers of probes and hooks that can name a host."""
_SEALED = "write securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}"
_REMOVE = "remove it"


@dataclass(frozen=True, slots=True)
class UnmetRule:
    """A setting of a pod template that the level `restricted` does not admit."""

    at: Path
    """Path in the pod template."""
    remedy: str
    excess: Excess


@dataclass(frozen=True, slots=True)
class _Admitted:
    """Values that the levels admit. A number is the first minor version of Kubernetes that admits the value."""

    volumes: frozenset[str]
    capabilities: frozenset[str]
    sysctls: Mapping[str, int]
    selinux_types: Mapping[str, int]
    probe_hosts: int
    """First minor version that refuses hosts in probes and hooks."""
    user_namespaces: int
    """First minor version that admits more in pods with a user namespace of their own."""


@cache
def _table() -> _Admitted:
    text = files("judging").joinpath("pod_security.yaml").read_text(encoding="utf-8")
    table = cast("dict[str, Any]", yaml_text.load(text))
    return _Admitted(
        volumes=frozenset(table["volumes"]),
        capabilities=frozenset(table["capabilities"]),
        sysctls=table["sysctls"],
        selinux_types=table["seLinuxTypes"],
        probe_hosts=table["probeHosts"],
        user_namespaces=table["userNamespaces"],
    )


def findings(template: PodTemplate) -> Iterator[UnmetRule]:
    """Yield an unmet rule for each setting of a pod that some version's level `restricted` does not admit."""
    pod = template.spec
    at = Path("spec")
    for field in _HOST_NAMESPACES:
        if pod.get(field):
            yield _severe(at / field, f"{field}: true", _REMOVE)
    yield from _volumes(at / "volumes", pod)
    yield from _sysctls(at / SECURITY / "sysctls", security(pod))
    yield from _annotations(template.annotations)
    yield from _defaults(at / SECURITY, pod)
    yield from _context(at / SECURITY, security(pod), pod)
    for container_at, container in containers(pod):
        place = Path(*at, *container_at)
        yield from _context(place / SECURITY, security(container), pod)
        yield from _container(place, security(container), pod)
        yield from _ports(place / "ports", container)
        yield from _hosts(place, container)


def _severe(at: Path, text: str, remedy: str, since: int = 0, until: int | None = None) -> UnmetRule:
    """Return an unmet rule that no level but `privileged` admits."""
    return UnmetRule(at, remedy, Excess(text, PRIVILEGED, since, until))


def _mild(at: Path, text: str, remedy: str, since: int = 0, until: int | None = None) -> UnmetRule:
    """Return an unmet rule that the level `baseline` admits."""
    return UnmetRule(at, remedy, Excess(text, BASELINE, since, until))


def _volumes(at: Path, pod: Tree) -> Iterator[UnmetRule]:
    for index, volume in enumerate(mappings(pod.get("volumes"))):
        kinds = volume.keys() - {"name"}
        if not kinds or kinds & _table().volumes:
            continue
        find = _mild
        if "hostPath" in kinds:
            find = _severe
        yield find(at / index, ", ".join(sorted(kinds)), "use a claim, a ConfigMap, a Secret or an emptyDir")


def _sysctls(at: Path, context: Tree) -> Iterator[UnmetRule]:
    for index, sysctl in enumerate(mappings(context.get("sysctls"))):
        until = _table().sysctls.get(str(sysctl.get("name")))
        if until != 0:
            yield _severe(at / index, f"{sysctl.get('name')}", _REMOVE, until=until)


def _annotations(annotations: Tree) -> Iterator[UnmetRule]:
    """Yield profiles of AppArmor in annotations, as pods had them before Kubernetes 1.30."""
    for key, profile in annotations.items():
        is_admitted = profile in {"", _APP_ARMOR_DEFAULT} or str(profile).startswith(_APP_ARMOR_LOCAL)
        if key.startswith(APP_ARMOR_ANNOTATION) and not is_admitted:
            remedy = f"remove it, or write {_APP_ARMOR_DEFAULT}"
            yield _severe(Path("metadata", "annotations", key), f"{profile}", remedy)


def _defaults(at: Path, pod: Tree) -> Iterator[UnmetRule]:
    """Yield settings that are missing in the pod and in some container."""
    context = security(pod)
    of_containers = [security(container) for _, container in containers(pod)]
    non_root = context.get("runAsNonRoot")
    if non_root is None and any(setting.get("runAsNonRoot") is None for setting in of_containers):
        yield _mild(at / "runAsNonRoot", "runAsNonRoot is not true", "write true", until=_relaxation(pod))
    if "seccompProfile" not in context and any("seccompProfile" not in setting for setting in of_containers):
        yield _mild(at / "seccompProfile", "no profile for seccomp", "write {type: RuntimeDefault}")


def _relaxation(pod: Tree) -> int | None:
    """Return the first minor version that relaxes rules for a pod; None if no version relaxes them."""
    if pod.get("hostUsers") is False:
        return _table().user_namespaces
    return None


def _context(at: Path, context: Tree, pod: Tree) -> Iterator[UnmetRule]:
    """Yield findings of the fields that the security contexts of pods and containers share."""
    if not context:
        return
    if context.get("runAsUser") == 0:
        yield _mild(at / "runAsUser", "runAsUser: 0", "write a user id above 0", until=_relaxation(pod))
    if context.get("runAsNonRoot") is False:
        remedy = _REMOVE
        if at.parent == Path("spec"):
            remedy = "write true"
        yield _mild(at / "runAsNonRoot", "runAsNonRoot is not true", remedy, until=_relaxation(pod))
    for field in ("seccompProfile", "appArmorProfile"):
        profile = trees.at(context, field, "type")
        if field in context and profile not in _PROFILES:
            yield _severe(at / field, f"{field}: {profile}", "write {type: RuntimeDefault}")
    if trees.at(context, "windowsOptions", "hostProcess"):
        yield _severe(at / "windowsOptions" / "hostProcess", "hostProcess: true", _REMOVE)
    yield from _selinux(at / "seLinuxOptions", mapping(context.get("seLinuxOptions")))


def _selinux(at: Path, options: Tree) -> Iterator[UnmetRule]:
    for field in ("user", "role"):
        if options.get(field):
            yield _severe(at / field, f"{field}: {options[field]}", _REMOVE)
    selinux_type = options.get("type")
    until = _table().selinux_types.get(str(selinux_type))
    if selinux_type and until != 0:
        yield _severe(at / "type", f"type: {selinux_type}", "remove it, or write container_t", until=until)


def _container(at: Path, context: Tree, pod: Tree) -> Iterator[UnmetRule]:
    """Yield findings of the fields that only the security contexts of containers have."""
    path = at / SECURITY
    if context.get("privileged"):
        yield _severe(path / "privileged", "privileged: true", _REMOVE)
    if context.get("allowPrivilegeEscalation") is not False:
        yield _mild(path / "allowPrivilegeEscalation", "allowPrivilegeEscalation is not false", _SEALED)
    capabilities = mapping(context.get("capabilities"))
    if "ALL" not in sequence(capabilities.get("drop")):
        yield _mild(path / "capabilities", "capabilities are not dropped", _SEALED)
    added = sorted({*map(str, sequence(capabilities.get("add")))} - {_RESTRICTED_CAPABILITY})
    if added:
        find = _severe
        if _table().capabilities.issuperset(added):
            find = _mild
        yield find(path / "capabilities" / "add", ", ".join(added), _REMOVE)
    proc_mount = context.get("procMount", "Default")
    relaxed = _relaxation(pod)
    if proc_mount != "Default":
        yield _severe(path / "procMount", f"procMount: {proc_mount}", _REMOVE, until=relaxed)
        if relaxed is not None:
            yield _mild(path / "procMount", f"procMount: {proc_mount}", _REMOVE, since=relaxed)


def _ports(at: Path, container: Tree) -> Iterator[UnmetRule]:
    for index, port in enumerate(mappings(container.get("ports"))):
        if port.get("hostPort"):
            yield _severe(at / index / "hostPort", f"hostPort: {port['hostPort']}", _REMOVE)


def _hosts(at: Path, container: Tree) -> Iterator[UnmetRule]:
    """Yield hosts to which the kubelet would send the requests of probes and hooks, instead of the pod."""
    handlers = {Path(field): mapping(container.get(field)) for field in PROBES if field in container}
    for hook, handler in mapping(container.get("lifecycle")).items():
        handlers[Path("lifecycle", hook)] = mapping(handler)
    for handler_at, handler in handlers.items():
        for request in _REQUESTS:
            host = trees.at(handler, request, "host")
            if host:
                place = Path(*at, *handler_at, request, "host")
                yield _severe(place, f"host: {host}", _REMOVE, since=_table().probe_hosts)
