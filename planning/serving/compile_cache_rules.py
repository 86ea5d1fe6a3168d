"""Verdicts on the volume for compiled code (`engine.compileCache`)."""

from collections.abc import Iterator

from models.problems import Problem, warning
from models.volumes import ClaimVolume, EmptyDirVolume
from planning.serving import mount_rules
from planning.variant import compile_cache
from planning.variant.context import RoleContext, max_replicas


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check the volume of a role, and warn of one that does not do what it is for."""
    cache = context.role.engine.compile_cache
    if cache is None or not context.kind.vllm_tables:
        return
    at = context.path / "engine" / "compileCache" / "volume"
    yield from mount_rules.judge(context, at, cache.volume, writes=True)
    if compile_cache.VARIABLE in context.role.engine.env:
        place = context.path / "engine" / "env" / compile_cache.VARIABLE
        yield Problem(place, "repeats a field (engine.compileCache)", "remove it, or remove engine.compileCache")
    volume = context.role.pod.volumes.get(cache.volume)
    pods = max_replicas(context.role) * context.layout.pods_per_replica
    if isinstance(volume, EmptyDirVolume):
        what = f"ends with the pod, so that no later pod finds compiled code ({cache.volume})"
        yield warning(at, what, "name a volume of type claim, or a host-path that the engine may write")
    if isinstance(volume, ClaimVolume) and pods > 1:
        what = f"is a claim for up to {pods} pods, which start only if its access mode is ReadWriteMany"
        remedy = f"check the access mode of {volume.claim_name}; with ReadWriteOnce all pods need one node"
        yield warning(at, what, remedy)
