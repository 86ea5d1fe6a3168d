"""Checks of the volumes that settings of an engine name."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem
from models.role import Pod
from models.volumes import HostPathVolume
from planning.serving import additions
from planning.variant.context import RoleContext


def judge(context: RoleContext, at: Path, name: str, *, writes: bool) -> Iterator[Problem]:
    """Reject a volume that the engine does not mount, or cannot write to. `at` is the path of the volume's name."""
    volumes = context.role.pod.volumes
    pod = context.path / "pod" / "volumes"
    volume = volumes.get(name)
    if volume is None:
        known = ", ".join(sorted(volumes)) or f"{context.name} has none"
        yield Problem(at, f"is no volume of the pods ({name})", f"name one of pod.volumes ({known})", (pod,))
    elif volume.mount_path is None:
        remedy = f"set {(pod / name / 'mountPath').below(context.variant.path)}"
        yield Problem(at, f"is a volume that the engine does not mount ({name})", remedy, (pod,))
    elif writes and additions.is_read_only(volume):
        what = f"is a volume that the engine cannot write to ({name})"
        remedy = "name a volume of type claim or empty-dir without readOnly, or a host-path that the engine may write"
        yield Problem(at, what, remedy, (pod,))
    elif writes and isinstance(volume, HostPathVolume):
        yield from _new_folder(context.role.pod, volume, at, name, pod)


def _new_folder(pod: Pod, volume: HostPathVolume, at: Path, name: str, volumes_at: Path) -> Iterator[Problem]:
    """Reject a folder that the kubelet makes, if the engine does not run as root.

    The folder has the mode 0755 and the owner of the kubelet, which is root; the group of the pod does not apply
    (Kubernetes, Volumes, hostPath: "files or directories created on the underlying hosts are only writable by root").
    """
    is_root = pod.privileges is not None and pod.privileges.root
    if volume.kind == "DirectoryOrCreate" and not is_root:
        what = f"is a folder that belongs to root if Kubernetes makes it ({name}, kind DirectoryOrCreate)"
        remedy = f"make the folder on the nodes for user {pod.run_as_user} and write kind: Directory, or set root: true"
        yield Problem(at, what, f"{remedy} in pod.privileges", (volumes_at,))
