"""Reader of the specs of serving pods: placement, identity, privileges, volumes, probes and further containers.

What the engine runs, its resources and its variables are read by the readers of the sources.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from migration import pods
from migration.accounts import Original
from migration.converted import Converted
from migration.inheritance import without_arguments
from models.paths import Path
from models.stack import Stack
from models.trees import at as value_at
from planning import releases
from planning.hardware import accelerators

_SHARED_MEMORY = "/dev/shm"  # noqa: S108, the engine's shared memory is there
_TEMPORARY = "/tmp"  # noqa: S108, a folder of the engine
_HOMES = ("/home", "/models")
"""Folders of the engine: its home, and the weights."""
_HIDDEN_FOLDERS = ("/.", "/root/.", "/home/.")
"""Beginnings of folders below a home, in which programs keep caches and settings."""
_PROBES = {"livenessProbe": "liveness", "readinessProbe": "readiness", "startupProbe": "startup"}
_TIMES = {"initialDelaySeconds": "initialDelay", "periodSeconds": "interval", "timeoutSeconds": "timeout"}
_DEFAULT_PERIOD = 10
_DEFAULT_FAILURES = 3
"""Values of a probe that states none (kubernetes, pkg/apis/core/v1/defaults.go)."""
_HOST = ("hostIPC", "hostNetwork", "hostPID")
_OF_ROLE = ("engine", "parallelism", "resources", "pod", "health", "rollout")
"""Keys of a service that prefill inherits."""
_OF_ALL_ROLES = frozenset({"model", "kvCache"})
_ONE_VALUE = "decode states another value or none, and all roles have the same"
_ENTRIES = frozenset({"claims", "containers", "env", "initContainers", "volumes"})
"""Mappings whose entries are removed as a whole."""
_PRIVILEGES = "privileges"
"""Mapping that goes as a whole, because it needs a reason."""
_PORT = "port"
"""Key that is equal in all roles."""
_ROOT = 0
_UNCONFINED = "Unconfined"
_UNMOUNTED = "no container mounts the volume"
_ONCE = "a volume has one place in the engine's container"
_BESIDE = "an init container that keeps running becomes a container beside the engine"


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a service whose pods are read."""

    original: Original
    converted: Converted
    keys: tuple[str, ...]
    """Keys of the role in the service: none for decode, or `prefill`."""
    reason: str
    """Reason for privileges, which the configuration states."""
    generated: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reasons by the names of volumes and init containers that this program makes in another way."""

    def set(self, value: object, *keys: str) -> None:
        """Set a key of the role. None, an empty text, an empty mapping and an empty list set nothing."""
        if value is not None and value not in ("", {}, []):
            self.converted.set(value, *self.keys, *keys)

    def get(self, *keys: str) -> object:
        """Return the value of a key of the role; None if it has none."""
        return value_at(self.converted.service, *self.keys, *keys)

    def unset(self, *keys: str) -> None:
        """Remove a key of the role."""
        holder: dict[str, Any] = self.converted.service
        for key in (*self.keys, *keys[:-1]):
            holder = holder.get(key, {})
        holder.pop(keys[-1], None)

    def key_of(self, *keys: str | int) -> Path:
        """Return the path of a key of the role."""
        return self.converted.key_of(*self.keys, *keys)


def set_arguments(role: Role, keys: Mapping[tuple[str, ...], object]) -> None:
    """Set the keys that arguments of the engine are. Keys about the model and the KV cache are those of all roles."""
    for key, value in keys.items():
        if not role.keys or key[0] not in _OF_ALL_ROLES:
            role.set(value, *key)
            continue
        stated = value_at(role.converted.service, *key)
        if stated is None:
            role.converted.set(value, *key)
        if stated != value:
            role.original.remark("cannot", f"{'.'.join(key)} of prefill: {_ONE_VALUE}", role.converted.key_of(*key))


def separate(service: dict[str, Any], shared: Sequence[str] = ()) -> None:
    """Let prefill not inherit what only decode has. `shared` are volumes that all roles have."""
    prefill = service["prefill"]
    _remove_inherited_arguments(service.get("engine", {}), prefill.get("engine", {}))
    for name in _OF_ROLE:
        _remove_inherited(service, prefill, name, shared)


def _remove_inherited_arguments(decode: Mapping[str, Any], prefill: dict[str, Any]) -> None:
    """Let the engine of prefill not inherit flags that only the engine of decode has.

    An engine without arguments of its own gets none at all, and needs no names of flags.
    """
    if not prefill.get("args"):
        return
    without = without_arguments(decode.get("args", ()), prefill["args"])
    if without:
        prefill["withoutArgs"] = without


def _remove_inherited(decode: Mapping[str, Any], prefill: dict[str, Any], name: str, shared: Sequence[str]) -> None:
    if name in shared or name == _PORT or name not in decode:
        return
    lacks_privileges = name == _PRIVILEGES and name not in prefill
    if lacks_privileges or not isinstance(decode[name], dict) or name == "affinity" or "type" in decode[name]:
        prefill.setdefault(name, None)
        return
    inner = prefill.setdefault(name, {})
    for key in decode[name]:
        if name in _ENTRIES and key not in shared:
            inner.setdefault(key, None)
        else:
            _remove_inherited(decode[name], inner, key, shared)


def keep_image(role: Role, place: Path) -> None:
    """Let an engine without a version keep its image if the release has none for the accelerator."""
    target = role.converted.service
    for key in role.keys:
        target = target[key]
    if value_at(target, "engine", "image") is not None:
        return
    shipped = accelerators.classes({}).get(str(target.get("accelerator")))
    images = releases.channel(Stack.model_fields["release"].default).images.engine
    if value_at(target, "engine", "type") == "custom" or shipped is None or shipped.vendor not in images:
        role.set(pods.unversioned_image(role.original, place), "engine", "image")


def engine_place(role: Role, pod: Path, name: str) -> Path | None:
    """Return the path of the engine's container: the one of a name, or else the first one; None if there is none."""
    containers = list(role.original.items(pod / "containers"))
    named = [place for place in containers if role.original.peek(place / "name") == name]
    return next(iter(named or containers), None)


def read(role: Role, pod: Path, engine: Path | None) -> None:
    """Read a pod's spec, but for image, program, variables and resources of the engine's container at `engine`."""
    read_settings(role, pod)
    _volumes(role, pod, engine)
    for place in role.original.items(pod / "containers"):
        if place != engine:
            _further(role, place, "containers")
    for place in role.original.items(pod / "initContainers"):
        reason = role.generated.get(str(role.original.peek(place / "name")))
        if reason is None:
            _further(role, place, "initContainers")
        else:
            role.original.drop(place, reason)
    if engine is not None:
        read_security(role, engine / "securityContext")
        read_probes(role, engine)


def read_settings(role: Role, pod: Path) -> None:
    """Read a pod's spec, but for its volumes and its containers."""
    read_placement(role, pod)
    read_identity(role, pod)
    read_claims(role, pod / "resourceClaims")
    seconds = role.original.number(pod / "terminationGracePeriodSeconds", role.converted.key_of("drainTimeout"))
    if seconds is not None and not role.keys:
        role.set(f"{seconds}s", "drainTimeout")


def read_placement(role: Role, pod: Path) -> None:
    """Read where pods run."""
    original = role.original
    role.set(original.entries(pod / "nodeSelector"), "pod", "nodeSelector")
    role.set(pods.tolerations(original, pod / "tolerations"), "pod", "tolerations")
    for name in ("affinity", "topologySpreadConstraints"):
        if original.peek(pod / name):
            role.set(original.take(pod / name), "pod", name)
    for name in ("priorityClassName", "schedulerName", "runtimeClassName"):
        role.set(original.text(pod / name), "pod", name)


def read_identity(role: Role, pod: Path) -> None:
    """Read accounts, users and namespaces of the node."""
    original = role.original
    old = original.text(pod / "serviceAccount")
    role.set(original.text(pod / "serviceAccountName") or old, "pod", "serviceAccountName")
    names = pods.secret_names(original, pod / "imagePullSecrets")
    role.set([{"name": name} for name in names], "pod", "imagePullSecrets")
    read_security(role, pod / "securityContext")
    for name in _HOST:
        if original.peek(pod / name) is True:
            original.take(pod / name)
            _privilege(role, True, name)
        else:
            original.drop(pod / name)


def read_security(role: Role, context: Path) -> None:
    """Read the security context of a pod, or of the engine's container."""
    original = role.original
    user = original.number(context / "runAsUser")
    if user == _ROOT:
        role.unset("pod", "runAsUser")
        _privilege(role, True, "root")
    elif user is not None:
        _revoke(role, "root")
        role.set(user, "pod", "runAsUser")
    elif original.peek(context / "runAsNonRoot") is False:
        original.note(context / "runAsNonRoot", "differs", key=role.key_of("pod"))
    role.set(original.number(context / "fsGroup"), "pod", "fsGroup")
    if original.has(context / "supplementalGroups"):
        role.set(original.take(context / "supplementalGroups"), "pod", "supplementalGroups")
    capabilities = original.texts(context / "capabilities" / "add")
    if capabilities:
        _privilege(role, capabilities, "capabilities")
    if original.switch(context / "privileged"):
        _privilege(role, True, "privileged")
    kind = original.peek(context / "seccompProfile" / "type")
    if kind == _UNCONFINED:
        original.note(context / "seccompProfile", "carried", "pod.privileges.unconfined")
        _privilege(role, True, "unconfined")
    elif kind not in (None, "RuntimeDefault"):
        original.note(context / "seccompProfile", "cannot")


def _privilege(role: Role, value: object, name: str) -> None:
    role.set(role.reason, "pod", "privileges", "reason")
    role.set(value, "pod", "privileges", name)


def _revoke(role: Role, name: str) -> None:
    """Take back a privilege, and the reason for privileges if there is no other."""
    role.unset("pod", "privileges", name)
    if role.get("pod", "privileges") == {"reason": role.reason}:
        role.unset("pod", "privileges")


def read_claims(role: Role, claims: Path) -> None:
    """Read claims beside those of the accelerator."""
    for item in role.original.items(claims):
        template = role.original.text(item / "resourceClaimTemplateName")
        name = role.original.text(item / "name")
        if name and template:
            role.set({"template": template}, "pod", "claims", name)


def read_probes(role: Role, container: Path) -> None:
    """Read the probes of the engine's container."""
    for probe, name in _PROBES.items():
        if role.original.has(container / probe):
            _probe(role, container / probe, name)


def _probe(role: Role, probe: Path, name: str) -> None:
    original = role.original
    for kind in ("exec", "grpc"):
        if original.has(probe / kind):
            original.note(probe, "cannot", "a probe is a request for a path or a connection")
            return
    if original.has(probe / "tcpSocket"):
        original.take(probe / "tcpSocket" / "port", role.key_of("health", name))
        role.set("tcp", "health", name, "type")
    role.set(original.text(probe / "httpGet" / "path"), "health", name, "path")
    if original.peek(probe / "httpGet" / "scheme") == "HTTPS":
        original.note(probe / "httpGet" / "scheme", "differs", key=role.key_of("health"))
    times = {key: original.number(probe / field) for field, key in _TIMES.items()}
    period = times["interval"] or _DEFAULT_PERIOD
    timeout = times["timeout"]
    if timeout is not None and timeout > period:
        original.note(probe / "timeoutSeconds", "differs", key=role.key_of("health", name))
        times["timeout"] = period
    for key, seconds in times.items():
        if seconds:
            role.set(f"{seconds}s", "health", name, key)
    _failures(role, probe, name, period, times)


def _failures(role: Role, probe: Path, name: str, period: int, times: Mapping[str, int | None]) -> None:
    """Read after how many failures a probe has failed, which for the startup probe is a time."""
    original = role.original
    failures = original.number(probe / "failureThreshold")
    if name != "startup":
        role.set(failures, "health", name, "failureThreshold")
    elif failures is not None or times["interval"] is not None:
        delay = times["initialDelay"] or 0
        role.set(f"{delay + period * (failures or _DEFAULT_FAILURES)}s", "health", "startupTimeout")
    successes = original.peek(probe / "successThreshold")
    if successes not in (None, 1):
        original.note(probe / "successThreshold", "cannot")


def _volumes(role: Role, pod: Path, engine: Path | None) -> None:
    """Read the volumes of a pod, with the place of each in the engine's container."""
    mounts = dict[str, Path]()
    if engine is not None:
        for place in role.original.items(engine / "volumeMounts"):
            _add_mount(role, place, mounts)
    volumes = [value_at(role.original.peek(place), "name") for place in role.original.items(pod / "volumes")]
    for name, place in mounts.items():
        if name not in volumes:
            role.original.note(place, "cannot", "no volume has this name")
    used = [
        value_at(role.original.peek(mount), "name")
        for kind in ("containers", "initContainers")
        for container in role.original.items(pod / kind)
        for mount in role.original.items(container / "volumeMounts")
    ]
    for place in role.original.items(pod / "volumes"):
        name = role.original.text(place / "name")
        reason = role.generated.get(name or "")
        if reason is not None:
            role.original.drop(place, reason)
            role.original.drop(mounts.get(name or "", place), reason)
        elif name not in used:
            role.original.drop(place, _UNMOUNTED)
        elif name:
            _volume(role, place, name, mounts.get(name))


def _add_mount(role: Role, place: Path, mounts: dict[str, Path]) -> None:
    name = role.original.text(place / "name")
    if name in mounts:
        role.original.note(place, "cannot", _ONCE)
    elif name:
        mounts[name] = place


def _volume(role: Role, place: Path, name: str, mount: Path | None) -> None:
    original = role.original
    path = None
    if mount is not None:
        path = original.peek(mount / "mountPath")
    if original.has(place / "emptyDir") and _is_folder_of_engine(path):
        _folder_of_engine(role, place, mount, str(path))
        return
    volume = _source(role, place)
    if volume is None:
        if mount is not None:
            original.note(mount, "cannot", "the volume is lost")
        return
    if mount is not None:
        volume["mountPath"] = original.text(mount / "mountPath")
        volume["subPath"] = original.text(mount / "subPath")
        volume["readOnly"] = original.switch(mount / "readOnly") or volume.get("readOnly")
    role.set({key: value for key, value in volume.items() if value not in (None, False)}, "pod", "volumes", name)


def _is_folder_of_engine(path: object) -> bool:
    """Tell whether the engine has a folder at a path anyway: shared memory, or a folder below its home."""
    if not isinstance(path, str):
        return False
    return path in {_SHARED_MEMORY, _TEMPORARY, *_HOMES} or path.startswith(_HIDDEN_FOLDERS)


def _folder_of_engine(role: Role, place: Path, mount: Path | None, path: str) -> None:
    """Read a volume in memory or on the node's disk at a place that every engine has."""
    original = role.original
    size = None
    if path == _SHARED_MEMORY:
        size = pods.quantity(original, place / "emptyDir" / "sizeLimit")
        role.set(size, "pod", "sharedMemory")
    original.drop(place, "the engine has this folder anyway")
    if size is not None:
        original.note(place / "emptyDir" / "sizeLimit", "carried", "pod.sharedMemory")
    if mount is not None:
        original.drop(mount, "the engine has this folder anyway")


def _source(role: Role, place: Path) -> dict[str, Any] | None:
    """Return a volume of pod.volumes without its mount; None if no type has its source."""
    for name, source in _SOURCES.items():
        if role.original.has(place / name):
            return source(role, place / name)
    role.original.note(place, "cannot", "pod.volumes has no such type")
    return None


def _empty_dir(role: Role, at: Path) -> dict[str, Any]:
    role.original.take_presence(at)
    size = pods.quantity(role.original, at / "sizeLimit")
    return {"type": "empty-dir", "medium": role.original.text(at / "medium") or None, "sizeLimit": size}


def _config_map(role: Role, at: Path) -> dict[str, Any]:
    return {"type": "config-map", "name": role.original.text(at / "name")}


def _secret(role: Role, at: Path) -> dict[str, Any]:
    return {"type": "secret", "name": role.original.text(at / "secretName")}


def _claim(role: Role, at: Path) -> dict[str, Any]:
    name = role.original.text(at / "claimName")
    return {"type": "claim", "claimName": name, "readOnly": role.original.switch(at / "readOnly")}


def _host_path(role: Role, at: Path) -> dict[str, Any]:
    kind = role.original.text(at / "type") or None
    return {"type": "host-path", "path": role.original.text(at / "path"), "kind": kind}


def _csi(role: Role, at: Path) -> dict[str, Any]:
    return {"type": "csi", "source": role.original.take(at)}


def _image(role: Role, at: Path) -> dict[str, Any] | None:
    policy = role.original.text(at / "pullPolicy") or None
    reference = pods.image(role.original, at / "reference", role.key_of("pod", "volumes"))
    return {"type": "image", "reference": reference, "pullPolicy": policy} if reference else None


_SOURCES: Mapping[str, Callable[[Role, Path], dict[str, Any] | None]] = {
    "emptyDir": _empty_dir,
    "configMap": _config_map,
    "secret": _secret,
    "persistentVolumeClaim": _claim,
    "hostPath": _host_path,
    "csi": _csi,
    "image": _image,
}
"""Readers of the sources of volumes."""


def _further(role: Role, place: Path, kind: str) -> None:
    """Read a container beside the engine or before it."""
    original = role.original
    name = original.text(place / "name")
    reference = pods.image(original, place / "image", role.key_of("pod", kind))
    if not name or not reference:
        _leave_out(original, place)
        return
    if original.peek(place / "restartPolicy") == "Always" and kind == "initContainers":
        kind = "containers"
        original.note(place / "restartPolicy", "differs", _BESIDE, role.key_of("pod", kind))
    container: dict[str, Any] = {"image": reference}
    container["command"], container["args"] = pods.program(original, place)
    container["env"] = pods.variables(original, place / "env")
    container["ports"] = pods.ports(original, place / "ports")
    container["resources"] = pods.resources(original, place / "resources", {})
    container["mounts"] = pods.mounts(original, place / "volumeMounts")
    container |= _security(role, place / "securityContext")
    pods.note_lost(original, place)
    role.set({key: value for key, value in container.items() if value not in (None, [], {})}, "pod", kind, name)


def _leave_out(original: Original, place: Path) -> None:
    """Note the fields of a container that is left out, but for its image, which has a note that says what to do."""
    if not original.has(place / "image"):
        original.note(place, "cannot", "a container needs an image")
        return
    for name in original.keys(place):
        if name != "image":
            original.note(place / name, "cannot", "the container is left out, because it has no name or no version")


def _security(role: Role, context: Path) -> dict[str, Any]:
    """Return the keys of a further container for its user and its privileges."""
    original = role.original
    user = original.number(context / "runAsUser")
    privileges: dict[str, Any] = {}
    capabilities = original.texts(context / "capabilities" / "add")
    if capabilities:
        privileges["capabilities"] = capabilities
    if original.switch(context / "privileged"):
        privileges["privileged"] = True
    if user == _ROOT:
        privileges["root"] = True
    keys: dict[str, Any] = {}
    if privileges:
        keys["privileges"] = {"reason": role.reason, **privileges}
    if user:
        keys["runAsUser"] = user
    return keys
