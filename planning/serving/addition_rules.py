"""Checks of the volumes, containers and privileges that users add to serving pods."""

from collections import Counter
from collections.abc import Iterator, Mapping

from models.containers import ContainerPrivileges, PodContainer
from models.paths import Path
from models.problems import Problem, warning
from models.role import Pod
from models.volumes import ConfigMapVolume, Volume
from planning.ground import environment, loading
from planning.ground.mounts import ADAPTERS_MOUNT, CERTIFICATES, DRAFT_MOUNT, ENGINE_HOME
from planning.variant.context import RoleContext

_LARGEST = 2**20
"""Largest sum of the bytes of a ConfigMap's values (k8s.io/kubernetes v1.36.3, pkg/apis/core/types.go,
MaxSecretSize, which ValidateConfigMap uses)."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108, the engine's shared memory is there


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check what a user adds to the pods of a role.

    Names that generated volumes and containers have are found in the rendered pods (`judging.admission`).
    """
    pod = context.role.pod
    at = context.path / "pod"
    yield from _mounts(at / "volumes", pod.volumes, _generated_folders(context))
    yield from _unmounted_volumes(at, pod)
    yield from _files(at / "volumes", pod.volumes)
    for field, containers in (("initContainers", pod.init_containers), ("containers", pod.containers)):
        for name in sorted(containers):
            yield from _container(at / field / name, containers[name], pod.volumes)
    for name in sorted(pod.init_containers.keys() & pod.containers.keys()):
        what = f"has the name of one of initContainers ({name})"
        yield Problem(at / "containers" / name, what, "choose another name")
    yield from _capabilities(at / "privileges", pod.privileges)
    if pod.privileges is not None and pod.privileges.host_network:
        yield from _host_network(context, at / "privileges" / "hostNetwork")


def _generated_folders(context: RoleContext) -> dict[str, str]:
    """Return the folders of generated mounts in the engine container, each with its noun."""
    weights = dict[str, str]()
    if not loading.of(context.variant.spec).is_by_engine:
        weights[context.variant.spec.storage.mount_path] = "the weights"
    speculative = context.variant.spec.model.speculative
    if speculative is not None and speculative.draft is not None:
        weights[DRAFT_MOUNT] = "the draft model"
    return {
        **weights,
        ADAPTERS_MOUNT: "the adapters",
        CERTIFICATES: "the certificate",
        ENGINE_HOME: "the home of the engine",
        _SHARED_MEMORY: "the shared memory",
    }


def _mounts(at: Path, volumes: Mapping[str, Volume], taken: Mapping[str, str]) -> Iterator[Problem]:
    """Reject two mounts at one path, and mounts at or below a generated one."""
    owners = {f"{folder}/": noun for folder, noun in taken.items()}
    paths = dict[str, str]()
    for name in sorted(volumes):
        path = volumes[name].mount_path
        if path is None:
            continue
        place = at / name / "mountPath"
        owner = next((noun for folder, noun in owners.items() if f"{path}/".startswith(folder)), None)
        if owner is not None:
            yield Problem(place, f"is the folder of {owner}, or below it ({path})", "choose another path")
        elif path in paths:
            yield Problem(place, f"is the path of volume {paths[path]} as well ({path})", "choose another path")
        paths.setdefault(path, name)


def _unmounted_volumes(at: Path, pod: Pod) -> Iterator[Problem]:
    """Warn of volumes that no container mounts."""
    containers = (*pod.init_containers.values(), *pod.containers.values())
    used = {name for container in containers for name in container.mounts}
    for name in sorted(pod.volumes.keys() - used):
        if pod.volumes[name].mount_path is None:
            remedy = "write mountPath, or name it in mounts of a container"
            yield warning(at / "volumes" / name, "is mounted nowhere", remedy)


def _files(at: Path, volumes: Mapping[str, Volume]) -> Iterator[Problem]:
    """Reject more text than a ConfigMap holds. All files of a role are in one ConfigMap."""
    sizes = Counter[str]()
    for name, volume in volumes.items():
        if isinstance(volume, ConfigMapVolume):
            sizes[name] = sum(len(text.encode()) for text in volume.files.values())
    if sizes.total() > _LARGEST:
        largest, _ = sizes.most_common(1)[0]
        what = f"makes {sizes.total()} bytes of files for this role, and a ConfigMap holds {_LARGEST}"
        yield Problem(at / largest / "files", what, "use a claim or an image for large files")


def _container(at: Path, container: PodContainer, volumes: Mapping[str, Volume]) -> Iterator[Problem]:
    """Check a further container."""
    for name in sorted(container.mounts.keys() - volumes.keys()):
        known = ", ".join(sorted(volumes)) or "pod.volumes has none"
        yield Problem(
            at / "mounts" / name, f"is no volume of these pods ({name})", f"name one of pod.volumes ({known})"
        )
    paths = dict[str, str]()
    for name, path in sorted(container.mounts.items()):
        if path in paths:
            what = f"is the path of volume {paths[path]} as well ({path})"
            yield Problem(at / "mounts" / name, what, "choose another path")
        paths.setdefault(path, name)
    explicit = environment.values(container.env)
    yield from environment.problems(at / "env", {}, explicit, {})
    yield from environment.dangling_in(at / "command", container.command, explicit)
    yield from environment.dangling_in(at / "args", container.args, explicit)
    yield from _capabilities(at / "privileges", container.privileges)
    if container.privileges is not None and container.privileges.root and container.run_as_user is not None:
        what = f"is the user of a container that runs as root ({container.run_as_user})"
        yield Problem(at / "runAsUser", what, "remove it, or remove privileges.root")


def _host_network(context: RoleContext, at: Path) -> Iterator[Problem]:
    """Warn of network policies that match no pods of this role.

    Most network plugins see the traffic of pods in the node's network as that of the node, and ignore these pods for
    the selectors of a policy (Kubernetes, Network Policies, "NetworkPolicy and hostNetwork pods").
    """
    if context.variant.stack.network_policies is not None:
        what = "takes the pods out of networkPolicies, whose selectors do not match pods in the node's network"
        yield warning(at, what, "remove it, or remove networkPolicies")


def _capabilities(at: Path, privileges: ContainerPrivileges | None) -> Iterator[Problem]:
    """Warn of capabilities that the processes do not get.

    Linux gives a process of another user none of the added capabilities when it runs a program without capabilities of
    its own (capabilities(7), "Transformation of capabilities during execve()"), and Kubernetes sets no ambient ones.
    """
    if privileges is None or not privileges.capabilities or privileges.root:
        return
    names = ", ".join(privileges.capabilities)
    what = f"has no effect on processes of a user other than root ({names})"
    yield warning(at / "capabilities", what, "set root: true, or remove it")
