"""Verdicts on encode pods, which run the encoders of images, sound and video for the pods that process prompts."""

from collections.abc import Iterable, Iterator

from models.problems import Problem
from models.source import scheme
from models.vocabulary import amount
from planning.ground import resources
from planning.releases import Release, encoder_caches
from planning.variant.context import RoleContext, VariantContext


def judge_variant(variant: VariantContext) -> Iterator[Problem]:
    """Check that the release and the engines of a variant permit encode pods."""
    spec = variant.spec
    path = variant.path / "encode"
    release = variant.release
    if spec.encode is None:
        return
    if not _knows_encode(release):
        what = f"is not known to {release.name}"
        yield Problem(path, what, "remove it, or choose a release that knows it, such as llm-d-0.10")
        return
    other = next((role for role in variant.roles if not role.kind.vllm_tables), None)
    if other is not None:
        remedy = "remove it, or remove engine.type"
        if scheme(spec.model.source) == "image":
            remedy = "remove it, or take the weights from another source"
        yield Problem(path, f"needs vllm in every role, but {other.name} has {other.kind.title}", remedy)
    if spec.encode.engine.port != spec.engine.port:
        ports = f"{spec.encode.engine.port}, {spec.engine.port}"
        what = f"differs from the service's ({ports}), and the pool reaches all pods on one port"
        yield Problem(path / "engine" / "port", what, "remove it")


def _knows_encode(release: Release) -> bool:
    """Tell whether sidecar and picker of a release know encode pods."""
    return release.sidecar is not None and bool(release.sidecar.encode) and release.picker.encode is not None


def judge_roles(roles: Iterable[RoleContext]) -> Iterator[Problem]:
    """Check that the engines of all roles that exchange outputs of encoders have a connector, and memory for them."""
    older = set[str]()
    for role in roles:
        cache = role.encoder_cache
        version = role.engine_version
        if cache is None or version is None or not role.kind.vllm_tables or not _knows_encode(role.variant.release):
            continue
        at = role.variant.path / "encode" / "encoderCache"
        since = encoder_caches.connector(cache.connector).since
        if version.is_known and not version.is_at_least(since) and version.number not in older:
            older.add(version.number)
            what = f"is not known to vLLM {version.number} ({cache.connector})"
            remedy = f"use an image of vLLM {since} or newer"
            yield Problem(at / "connector", what, remedy, (role.path / "engine" / "image",))
        _, limits = resources.engine(role.role.resources, role.layout.devices_per_pod, role.cpu_offload)
        if amount(cache.bytes) >= amount(limits["memory"]):
            what = f"leaves the engine of {role.name} no memory ({cache.bytes}; resources.limits.memory is"
            remedy = "lower it, or raise resources.limits.memory"
            yield Problem(at / "bytes", f"{what} {limits['memory']})", remedy, (role.path / "resources",))
