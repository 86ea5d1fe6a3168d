"""Pod Security: which settings of pods the newest rules of the level `restricted` do not admit.

The checks are those of k8s.io/pod-security-admission v0.36.1 (policy/check_*.go); what they admit is in
`tables/pod_security.yaml`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policy.rules import pods, tables, trees
from policy.rules.pods import TemplateOfPods
from policy.rules.trees import Tree

_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = frozenset({"RuntimeDefault", "Localhost"})
_RESTRICTED_CAPABILITY = "NET_BIND_SERVICE"
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_SEALED = "write securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}"
_REMOVE = "remove it"
_PROFILE = "write {type: RuntimeDefault}"
_SECURITY = "securityContext"


@dataclass(frozen=True, slots=True)
class Inadmissible:
    """A setting of a pod template that the level `restricted` does not admit."""

    at: str
    """Path in the pod template."""
    what: str
    remedy: str


def violations(template: TemplateOfPods) -> Iterator[Inadmissible]:
    """Yield the settings of a pod template that the newest rules of the level `restricted` do not admit."""
    pod = template.spec
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if trees.at(pod, field):
            yield Inadmissible(f"spec.{field}", f"{field}: true", _REMOVE)
    yield from _volumes(pod)
    for sysctl in trees.mappings(pod, _SECURITY, "sysctls"):
        name = trees.text(sysctl, "name")
        if name not in tables.read("pod_security")["sysctls"]:
            yield Inadmissible(f"spec.{_SECURITY}.sysctls", name, _REMOVE)
    yield from _annotations(template.tree)
    yield from _defaults(template)
    yield from _context(f"spec.{_SECURITY}", trees.mapping(pod, _SECURITY), pod)
    for container in pods.of_template(template):
        at = f"spec.{container.field}[{container.name}]"
        context = trees.mapping(container.tree, _SECURITY)
        yield from _context(f"{at}.{_SECURITY}", context, pod)
        yield from _container(f"{at}.{_SECURITY}", context, pod)
        yield from _ports_and_hosts(at, container.tree)


def _volumes(pod: Tree) -> Iterator[Inadmissible]:
    for volume in trees.mappings(pod, "volumes"):
        kinds = {kind for kind, source in volume.items() if kind != "name" and trees.value_of(source) is not None}
        if kinds and not kinds & set(tables.read("pod_security")["volumes"]):
            at = f"spec.volumes[{trees.text(volume, 'name')}]"
            yield Inadmissible(at, ", ".join(sorted(kinds)), "use a claim, a ConfigMap, a Secret or an emptyDir")


def _annotations(template: Tree) -> Iterator[Inadmissible]:
    """Yield profiles of AppArmor in annotations, as pods had them before Kubernetes 1.30."""
    for key, profile in trees.labels(template, "metadata", "annotations").items():
        is_admitted = profile in {"", "runtime/default"} or profile.startswith("localhost/")
        if key.startswith(_ANNOTATION) and not is_admitted:
            yield Inadmissible(f"metadata.annotations.{key}", profile, "remove it, or write runtime/default")


def _is_windows(pod: Tree) -> bool:
    return trees.at(pod, "os", "name") == "windows"


def _is_relaxed(pod: Tree) -> bool:
    """Tell whether a pod has a user namespace of its own, for which newer rules are weaker."""
    return trees.at(pod, "hostUsers") is False


def _defaults(template: TemplateOfPods) -> Iterator[Inadmissible]:
    """Yield settings that are missing in the pod and in some container."""
    pod = template.spec
    context = trees.mapping(pod, _SECURITY)
    contexts = [trees.mapping(container.tree, _SECURITY) for container in pods.of_template(template)]
    is_missing = any(trees.at(setting, "runAsNonRoot") is None for setting in contexts)
    if trees.at(context, "runAsNonRoot") is None and is_missing and not _is_relaxed(pod):
        yield Inadmissible(f"spec.{_SECURITY}.runAsNonRoot", "runAsNonRoot is not true", "write true")
    lacks_profile = any(trees.at(setting, "seccompProfile") is None for setting in contexts)
    if trees.at(context, "seccompProfile") is None and lacks_profile and not _is_windows(pod):
        yield Inadmissible(f"spec.{_SECURITY}.seccompProfile", "no profile for seccomp", _PROFILE)


def _context(at: str, context: Tree, pod: Tree) -> Iterator[Inadmissible]:
    """Yield the violations in fields that the security contexts of pods and containers share."""
    if trees.at(context, "runAsUser") == 0 and not _is_relaxed(pod):
        yield Inadmissible(f"{at}.runAsUser", "runAsUser: 0", "write a user id above 0")
    if trees.at(context, "runAsNonRoot") is False and not _is_relaxed(pod):
        yield Inadmissible(f"{at}.runAsNonRoot", "runAsNonRoot is not true", "write true")
    for field in ("seccompProfile", "appArmorProfile"):
        profile = trees.at(context, field, "type")
        if trees.at(context, field) is not None and profile not in _PROFILES:
            yield Inadmissible(f"{at}.{field}", f"{field}: {profile}", _PROFILE)
    if trees.at(context, "windowsOptions", "hostProcess"):
        yield Inadmissible(f"{at}.windowsOptions.hostProcess", "hostProcess: true", _REMOVE)
    options = trees.mapping(context, "seLinuxOptions")
    for field in ("user", "role"):
        if trees.text(options, field):
            yield Inadmissible(f"{at}.seLinuxOptions.{field}", f"{field}: {trees.text(options, field)}", _REMOVE)
    kind = trees.text(options, "type")
    if kind and kind not in tables.read("pod_security")["seLinuxTypes"]:
        yield Inadmissible(f"{at}.seLinuxOptions.type", f"type: {kind}", "remove it, or write container_t")


def _container(at: str, context: Tree, pod: Tree) -> Iterator[Inadmissible]:
    """Yield the violations in fields that only the security contexts of containers have."""
    if trees.at(context, "privileged"):
        yield Inadmissible(f"{at}.privileged", "privileged: true", _REMOVE)
    if trees.at(context, "allowPrivilegeEscalation") is not False and not _is_windows(pod):
        what = "allowPrivilegeEscalation is not false"
        yield Inadmissible(f"{at}.allowPrivilegeEscalation", what, _SEALED)
    if "ALL" not in trees.texts(context, "capabilities", "drop") and not _is_windows(pod):
        yield Inadmissible(f"{at}.capabilities", "capabilities are not dropped", _SEALED)
    added = sorted({*trees.texts(context, "capabilities", "add")} - {_RESTRICTED_CAPABILITY})
    if added and not (_is_windows(pod) and set(tables.read("pod_security")["capabilities"]).issuperset(added)):
        yield Inadmissible(f"{at}.capabilities.add", ", ".join(added), _REMOVE)
    mount = trees.text(context, "procMount") or "Default"
    if mount != "Default":
        yield Inadmissible(f"{at}.procMount", f"procMount: {mount}", _REMOVE)


def _ports_and_hosts(at: str, container: Tree) -> Iterator[Inadmissible]:
    """Yield ports of the node, and hosts to which the kubelet would send probes and hooks instead of the pod."""
    for port in trees.mappings(container, "ports"):
        if trees.at(port, "hostPort"):
            yield Inadmissible(f"{at}.ports", f"hostPort: {trees.at(port, 'hostPort')}", _REMOVE)
    handlers = {field: trees.mapping(container, field) for field in _PROBES}
    handlers |= {f"lifecycle.{hook}": trees.mapping(container, "lifecycle", hook) for hook in ("postStart", "preStop")}
    for name, handler in handlers.items():
        for request in ("httpGet", "tcpSocket"):
            host = trees.text(handler, request, "host")
            if host:
                yield Inadmissible(f"{at}.{name}.{request}.host", f"host: {host}", _REMOVE)
