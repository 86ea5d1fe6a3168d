"""Checks of the volumes that settings of an engine name."""

from collections.abc import Iterator

from models.paths import Path
from models.problems import Problem
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
        yield Problem(at, what, "name a volume of type claim, empty-dir or host-path without readOnly", (pod,))
