"""Rules of the API server about several fields of a pod template or a Deployment together, which no schema has.

Source: k8s.io/kubernetes v1.36.3, pkg/apis/core/validation/validation.go (`ValidatePodTemplateSpec`) and
pkg/apis/apps/validation/validation.go (`ValidateDeploymentSpec`, `ValidatePodTemplateSpecForReplicaSet`). Rules about
single fields are in `constraints.yaml`. Left out: rules about resources, about fields that a server drops by default,
such as `stopSignal`, and about what no patch of a pod for serving needs, such as settings of DNS.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from judging.pod_security import APP_ARMOR_ANNOTATION, PROBES
from manifests.objects import Manifest
from manifests.pod_templates import SECURITY, PodTemplate, Tree, containers, mappings, security
from models import trees
from models.paths import Path
from models.trees import mapping

_JOB = "Job"
_SPEC = Path("spec")
_REMOVE = "remove it"
_LARGEST_PERCENT = 100
_LONGEST_SYSCTL = 253
"""Most characters of the name of a kernel parameter."""
_PERCENT = re.compile(r"([0-9]+)%")
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"({_SYSCTL_SEGMENT}[./])*{_SYSCTL_SEGMENT}")
_HOST_SYSCTLS = {
    "hostNetwork": re.compile(r"net\..*"),
    "hostIPC": re.compile(
        r"kernel\.(sem|shm|shmall|shmmax|shmmni|shm_rmid_forced|msg|msgmax|msgmnb|msgmni)|fs\.mqueue\..*"
    ),
}
"""Kernel parameters of a namespace that a field shares with the host, by the field
(k8s.io/component-helpers v0.36.3, node/util/sysctl/namespace.go)."""
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_HOOKS = ("postStart", "preStop")
_DEFAULT_PROGRESS_DEADLINE = 600
"""Seconds of `progressDeadlineSeconds` if a Deployment states none (pkg/apis/apps/v1/defaults.go)."""
_DEFAULT_GRACE = 30
"""Seconds of `terminationGracePeriodSeconds` if a pod states none (pkg/apis/core/v1/defaults.go)."""
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_VALUES = frozenset({"runtime/default", "docker/default", "unconfined"})
_APP_ARMOR_VALUES = frozenset({"", "runtime/default", "unconfined"})
_LOCAL = "localhost/"


class Violation(NamedTuple):
    """A value that the API server refuses."""

    at: Path
    """Path in the object or in the pod template."""
    what: str
    remedy: str


def deployment(manifest: Manifest) -> Iterator[Violation]:
    """Yield the violations of a Deployment outside its pod template, with paths in the object."""
    if manifest["kind"] != "Deployment":
        return
    spec = mapping(manifest.get("spec"))
    at = _SPEC
    ready = spec.get("minReadySeconds", 0)
    deadline = spec.get("progressDeadlineSeconds", _DEFAULT_PROGRESS_DEADLINE)
    if isinstance(ready, int) and isinstance(deadline, int) and deadline <= ready:
        what = f"is not below progressDeadlineSeconds ({ready}, {deadline})"
        yield Violation(at / "minReadySeconds", what, "lower it, or raise progressDeadlineSeconds")
    yield from _strategy(at / "strategy", mapping(spec.get("strategy")))


def _strategy(at: Path, strategy: Tree) -> Iterator[Violation]:
    steps = mapping(strategy.get("rollingUpdate"))
    if strategy.get("type") == "Recreate" and steps:
        yield Violation(at / "rollingUpdate", "has no effect with type Recreate", "write rollingUpdate: null")
    numbers = {name: _number(steps[name]) for name in ("maxSurge", "maxUnavailable") if name in steps}
    for name, number in numbers.items():
        if number is None:
            what = f"is no number and no percentage ({steps[name]})"
            yield Violation(at / "rollingUpdate" / name, what, "write a number such as 1, or a text such as 25%")
    unavailable = steps.get("maxUnavailable")
    if isinstance(unavailable, str) and (numbers["maxUnavailable"] or 0) > _LARGEST_PERCENT:
        yield Violation(at / "rollingUpdate" / "maxUnavailable", f"is above 100% ({unavailable})", "lower it")
    if numbers.get("maxSurge") == 0 == numbers.get("maxUnavailable"):
        yield Violation(at / "rollingUpdate", "replaces no pod, as both numbers are 0", "raise one of them")


def _number(number: object) -> int | None:
    """Return a number or percentage as a number; None if it is neither, or below zero."""
    if isinstance(number, str):
        match = _PERCENT.fullmatch(number)
        if match is None:
            return None
        return int(match[1])
    if isinstance(number, int) and number >= 0:
        return number
    return None


def violations(template: PodTemplate) -> Iterator[Violation]:
    """Yield the violations of a pod template, with paths in the template."""
    pod = template.spec
    yield from _lifetime(template)
    yield from _system(pod)
    yield from _host(pod)
    yield from _volumes(pod)
    yield from _sysctls(pod)
    yield from _context(_SPEC / SECURITY, security(pod))
    for container_at, container in containers(pod):
        place = Path(*_SPEC, *container_at)
        yield from _context(place / SECURITY, security(container))
        yield from _container_context(place / SECURITY, security(container), pod)
        yield from _mounts(place / "volumeMounts", container)
        yield from _handlers(place, container, pod.get("terminationGracePeriodSeconds", _DEFAULT_GRACE))
        yield from _ports(place / "ports", container, pod)
        yield from _variables(place / "env", container)
    yield from _annotations(template)


def _lifetime(template: PodTemplate) -> Iterator[Violation]:
    """Yield what pods cannot have that a workload keeps running."""
    pod = template.spec
    if pod.get("ephemeralContainers"):
        what = "cannot be part of a pod template"
        yield Violation(_SPEC / "ephemeralContainers", what, "remove it; kubectl debug adds one to a running pod")
    if template.kind == _JOB:
        return
    policy = pod.get("restartPolicy", "Always")
    deadline = pod.get("activeDeadlineSeconds")
    if policy != "Always":
        what = f"is not Always, as pods of a {template.kind} need ({policy})"
        yield Violation(_SPEC / "restartPolicy", what, _REMOVE)
    if deadline is not None:
        what = f"ends pods that a {template.kind} keeps running ({deadline})"
        yield Violation(_SPEC / "activeDeadlineSeconds", what, _REMOVE)


def _system(pod: Tree) -> Iterator[Violation]:
    """Yield settings of another operating system than Linux.

    A pod that states its system cannot have settings of the other one. The containers of this program are Linux's.
    """
    system = trees.at(pod, "os", "name")
    contexts = {_SPEC / SECURITY: security(pod)}
    if system == "windows":
        yield Violation(_SPEC / "os" / "name", "is not linux, which containers of this pod need (windows)", _REMOVE)
    for at, container in containers(pod):
        contexts[Path(*_SPEC, *at, SECURITY)] = security(container)
    for at, context in contexts.items():
        options = mapping(context.get("windowsOptions"))
        if "windowsOptions" in context and system == "linux":
            yield Violation(at / "windowsOptions", "is for pods of Windows, and os.name is linux", _REMOVE)
        elif options.get("hostProcess") and not _is_host_process(pod):
            what = "needs hostNetwork: true, and the same in all containers (true)"
            yield Violation(at / "windowsOptions" / "hostProcess", what, _REMOVE)


def _is_host_process(pod: Tree) -> bool:
    """Tell whether every container is a process of its Windows host, in the host's network."""
    of_pod = trees.at(security(pod), "windowsOptions", "hostProcess")
    of_containers = [trees.at(security(container), "windowsOptions", "hostProcess") for _, container in containers(pod)]
    stated = [setting for setting in of_containers if setting is not None]
    agree = of_pod is None or all(setting == of_pod for setting in stated)
    every = bool(of_pod) or len(stated) == len(of_containers)
    return bool(pod.get("hostNetwork")) and agree and every and all(stated)


def _host(pod: Tree) -> Iterator[Violation]:
    """Yield namespaces of the host that contradict another setting of the pod."""
    if pod.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if pod.get(field):
                yield Violation(_SPEC / field, "contradicts hostUsers: false (true)", "remove one of them")
    if pod.get("hostPID") and pod.get("shareProcessNamespace"):
        what = "contradicts hostPID: true (true)"
        yield Violation(_SPEC / "shareProcessNamespace", what, "remove one of them")


def _volumes(pod: Tree) -> Iterator[Violation]:
    for index, volume in enumerate(mappings(pod.get("volumes"))):
        sources = sorted(volume.keys() - {"name"})
        if len(sources) > 1:
            yield Violation(
                _SPEC / "volumes" / index, f"has several sources ({', '.join(sources)})", "keep one of them"
            )


def _sysctls(pod: Tree) -> Iterator[Violation]:
    for index, sysctl in enumerate(mappings(security(pod).get("sysctls"))):
        at = _SPEC / SECURITY / "sysctls" / index
        name = str(sysctl.get("name"))
        if len(name) > _LONGEST_SYSCTL or _SYSCTL.fullmatch(name) is None:
            yield Violation(at / "name", f"is no kernel parameter ({name})", "write a name such as net.core.somaxconn")
        for field, pattern in _HOST_SYSCTLS.items():
            if pod.get(field) and pattern.fullmatch(name):
                yield Violation(at / "name", f"would change the host, because of {field}: true ({name})", _REMOVE)


def _context(at: Path, context: Tree) -> Iterator[Violation]:
    """Yield profiles without their file, and files that no profile reads."""
    for field, is_valid in _FILES.items():
        profile = mapping(context.get(field))
        file = profile.get("localhostProfile")
        place = at / field / "localhostProfile"
        if profile.get("type") != "Localhost":
            if file is not None:
                yield Violation(place, f"has an effect with type Localhost alone ({profile.get('type')})", _REMOVE)
        elif file is None:
            yield Violation(place, "is missing (type Localhost)", "add it, or write type: RuntimeDefault")
        elif not is_valid(str(file)):
            yield Violation(place, f"is no path on a node ({file})", "write a relative path without ..")


def _is_inside(path: str) -> bool:
    """Tell whether a path leads to a place below its start."""
    return not path.startswith("/") and ".." not in path.split("/")


def _is_trimmed(path: str) -> bool:
    return path == path.strip()


_FILES: dict[str, Callable[[str], bool]] = {"seccompProfile": _is_inside, "appArmorProfile": _is_trimmed}
"""Fields with profiles, each with a check of the name of the profile's file."""


def _container_context(at: Path, context: Tree, pod: Tree) -> Iterator[Violation]:
    """Yield fields of a container's security context that contradict each other or the pod."""
    capabilities = mapping(context.get("capabilities"))
    if context.get("allowPrivilegeEscalation") is False:
        remedy = "write allowPrivilegeEscalation: true beside it, or remove it"
        if context.get("privileged"):
            yield Violation(at / "privileged", "contradicts allowPrivilegeEscalation: false (true)", remedy)
        if "CAP_SYS_ADMIN" in capabilities.get("add", ()):
            what = "contradicts allowPrivilegeEscalation: false (CAP_SYS_ADMIN)"
            yield Violation(at / "capabilities" / "add", what, remedy)
    if context.get("procMount") == "Unmasked" and pod.get("hostUsers") is not False:
        yield Violation(at / "procMount", "needs hostUsers: false (Unmasked)", "add hostUsers: false, or remove it")


def _mounts(at: Path, container: Tree) -> Iterator[Violation]:
    is_privileged = bool(security(container).get("privileged"))
    for index, mount in enumerate(mappings(container.get("volumeMounts"))):
        place = at / index
        propagation = mount.get("mountPropagation", "None")
        for field in ("subPath", "subPathExpr"):
            if not _is_inside(str(mount.get(field, ""))):
                what = f"leads out of the volume ({mount[field]})"
                yield Violation(place / field, what, "write a path relative to the volume, without ..")
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield Violation(place / "subPathExpr", "is set beside subPath", "keep one of them")
        if propagation == "Bidirectional" and not is_privileged:
            what = "needs a privileged container (Bidirectional)"
            yield Violation(place / "mountPropagation", what, "write HostToContainer, or remove it")
        recursive = mount.get("recursiveReadOnly", "Disabled")
        is_plain = propagation == "None"
        if recursive != "Disabled" and not (mount.get("readOnly") and is_plain):
            what = f"needs readOnly: true, and no mountPropagation ({recursive})"
            yield Violation(place / "recursiveReadOnly", what, "remove it, or add readOnly: true")


def _handlers(at: Path, container: Tree, grace: object) -> Iterator[Violation]:
    """Yield probes and hooks without a handler or with several, and those of a container that ends before others run.

    `grace` are the seconds in which the pod has to end.
    """
    is_short = at[-2] == "initContainers" and container.get("restartPolicy") != "Always"
    for field in (*PROBES, "lifecycle"):
        if is_short and field in container:
            what = "is not possible in a container that ends before others start"
            yield Violation(at / field, what, "remove it, or write restartPolicy: Always")
    hooks = mapping(container.get("lifecycle"))
    places = {Path(field): container[field] for field in PROBES if field in container}
    places |= {Path("lifecycle", hook): hooks[hook] for hook in _HOOKS if hook in hooks}
    for handler_at, handler in () if is_short else places.items():
        place = Path(*at, *handler_at)
        names = sorted(set(_HANDLERS) & mapping(handler).keys())
        if len(names) > 1:
            what = f"has more than one handler ({', '.join(names)})"
            yield Violation(place, what, "keep one of them, and write null for the others")
        if not names:
            yield Violation(place, "has no handler", "add one, such as httpGet, or remove it")
        pause = trees.at(handler, "sleep", "seconds")
        if isinstance(pause, int) and isinstance(grace, int) and not 0 <= pause <= grace:
            what = f"is not within terminationGracePeriodSeconds ({pause}, {grace})"
            yield Violation(place / "sleep" / "seconds", what, "write a number from 0 to that")
    for field in PROBES:
        yield from _threshold(at / field, mapping(container.get(field)))


def _threshold(at: Path, probe: Tree) -> Iterator[Violation]:
    """Yield numbers that only other kinds of probes have."""
    successes = probe.get("successThreshold", 1)
    if at[-1] == "readinessProbe":
        if "terminationGracePeriodSeconds" in probe:
            what = "is not possible, because this probe ends no container"
            yield Violation(at / "terminationGracePeriodSeconds", what, _REMOVE)
    elif successes not in {0, 1}:
        yield Violation(at / "successThreshold", f"is not 1, as this probe needs ({successes})", _REMOVE)


def _ports(at: Path, container: Tree, pod: Tree) -> Iterator[Violation]:
    ports = mappings(container.get("ports"))
    names = [port.get("name") for port in ports]
    for index, port in enumerate(ports):
        number = port.get("containerPort")
        host_port = port.get("hostPort")
        if port.get("name") and port["name"] in names[:index]:
            yield Violation(at / index / "name", f"is the name of another port ({port['name']})", "choose another")
        if host_port and pod.get("hostNetwork") and host_port != number:
            what = f"differs from containerPort, although hostNetwork is true ({host_port}, {number})"
            yield Violation(at / index / "hostPort", what, _REMOVE)


def _variables(at: Path, container: Tree) -> Iterator[Violation]:
    """Yield variables with two values or with none of the possible sources."""
    for index, variable in enumerate(mappings(container.get("env"))):
        sources = sorted(mapping(variable.get("valueFrom")))
        if "valueFrom" in variable and (len(sources) != 1 or variable.get("value")):
            held = ", ".join([*(["value"] if variable.get("value") else []), *sources]) or "nothing"
            what = f"needs exactly one source ({variable.get('name')} has {held})"
            yield Violation(at / index, what, "keep a value, or one source in valueFrom")


def _annotations(template: PodTemplate) -> Iterator[Violation]:
    """Yield profiles in annotations that name no container, are none, or contradict the field of the container."""
    pod = template.spec
    contexts = {str(container.get("name")): security(container) for _, container in containers(pod)}
    for key, profile in template.annotations.items():
        at = Path("metadata", "annotations", key)
        text = str(profile)
        if key.startswith(APP_ARMOR_ANNOTATION):
            name = key.removeprefix(APP_ARMOR_ANNOTATION)
            field = "appArmorProfile"
            known = _APP_ARMOR_VALUES
            if name not in contexts:
                what = f"names no container of this pod ({name})"
                yield Violation(at, what, f"use the name of a container ({', '.join(contexts)})")
            context = contexts.get(name, {})
            applied = context
            if field not in context:
                applied = security(pod)
        elif key == _SECCOMP_POD or key.startswith(_SECCOMP_CONTAINER):
            field = "seccompProfile"
            known = _SECCOMP_VALUES
            name = key.removeprefix(_SECCOMP_CONTAINER)
            if key == _SECCOMP_POD:
                applied = security(pod)
            else:
                applied = contexts.get(name, {})
        else:
            continue
        file = None
        if text.startswith(_LOCAL):
            file = text.removeprefix(_LOCAL)
        if text not in known and (file is None or not _FILES[field](file)):
            yield Violation(at, f"is no profile ({text})", "write runtime/default, or remove it")
        elif field in applied and not _agree(text, mapping(applied[field])):
            yield Violation(at, f"contradicts {SECURITY}.{field} ({text})", "remove it")


def _agree(annotation: str, profile: Tree) -> bool:
    """Tell whether an annotation says of a profile what a field says."""
    match profile.get("type"):
        case "Unconfined":
            return annotation == "unconfined"
        case "RuntimeDefault":
            return annotation in {"runtime/default", "docker/default"}
        case _:
            return annotation == f"{_LOCAL}{profile.get('localhostProfile')}"
