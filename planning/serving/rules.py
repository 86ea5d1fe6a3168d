"""Mistakes in one role of a variant, and between its roles."""

from collections.abc import Iterator

from models import flags
from models.paths import Path
from models.problems import Problem
from models.role import Recreate, Role
from models.service import Sidecar
from models.source import scheme
from planning import hardware
from planning.ground import labels
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.serving import autoscaling, engine, patch
from planning.variant import images
from planning.variant.context import Contexts, RoleContext, VariantContext


def problems(of: VariantContext, contexts: Contexts) -> Iterator[Problem]:
    """Check every role of a variant, and that its roles agree."""
    yield from _together(of)
    sound = contexts.roles_of(of)
    for name, path, role in of.roles:
        accelerator = of.classes.get(role.accelerator)
        yield from hardware.check_class(path, role.accelerator, of.classes)
        yield from autoscaling.problems(path, role, of)
        if accelerator is None:
            continue
        yield from contexts.unsound.get((of.key, of.variant, name), ())
        yield from _image(of, path, role, accelerator)
        if name in sound:
            yield from _role(sound[name])
    if len(sound) > 1:
        yield from _exchange(sound[labels.DECODE], sound[labels.PREFILL])


def _role(one: RoleContext) -> Iterator[Problem]:
    yield from engine.problems(one)
    counted, spec = accelerators.resource_names({one.role.accelerator: one.accelerator}), one.of.spec
    yield from patch.problems(one.path / "patch", one.role.patch, one.drain.grace, spec.drain_timeout, counted)
    if one.layout.pods_per_replica > 1:
        yield from _spanning(one)


def _spanning(one: RoleContext) -> Iterator[Problem]:
    """Check a role whose replica is several pods."""
    at = one.path / "parallelism"
    if one.is_custom:
        yield Problem(at, "spans several pods, which a custom engine cannot be told", "keep a replica in one pod")
    elif not one.of.release.engine.nodes:
        what = f"spans several pods, which the engine of {one.of.stack.release} cannot"
        yield Problem(at, what, "keep a replica in one pod")
    if isinstance(one.role.rollout, Recreate):
        remedy = "use type: RollingUpdate; groups are replaced whole in any case"
        yield Problem(one.path / "rollout" / "type", "is not for replicas of several pods (Recreate)", remedy)


def _image(of: VariantContext, path: Path, role: Role, accelerator: AcceleratorClass) -> Iterator[Problem]:
    held, at = scheme(of.spec.model.source) == "image", path / "engine" / "image"
    if held and role.engine.image is not None:
        what = "is a second image beside the one that holds the weights"
        yield Problem(at, what, "remove it, or take the weights from another source")
    elif images.is_custom(of.spec, role) and not held and role.engine.image is None:
        yield Problem(at, "is missing, and a custom engine has none of its own", "add the engine's image")
    elif images.engine(of.spec, role, accelerator.vendor, of.release) is None:
        yield Problem(
            at,
            f"is missing and {of.stack.release} has none for {accelerator.vendor}",
            "add the engine's image",
            depends_on=(path / "accelerator",),
        )
    if held and role.engine.type == "vllm":
        what = "cannot know where the image has its weights (vllm, source image://)"
        yield Problem(path / "engine" / "type", what, "remove it; the image's own entrypoint runs")


def _together(of: VariantContext) -> Iterator[Problem]:
    """Check prefill and decode against each other."""
    spec, path = of.spec, of.path
    if spec.prefill is None:
        if spec.sidecar is not None:
            yield Problem(path / "sidecar", "has nothing to route to (no prefill)", "add prefill or remove sidecar")
        return
    if of.release.sidecar is None or of.release.picker.disaggregated_config is None:
        what = f"is not known to {of.stack.release}"
        yield Problem(path / "prefill", what, "remove it, or choose a release that knows it, such as llm-d-0.10")
        return
    if any(images.is_custom(spec, role) for _, _, role in of.roles):
        held = scheme(spec.model.source) == "image"
        remedy = "remove it, or take the weights from another source" if held else "remove it, or engine.type: custom"
        yield Problem(path / "prefill", "needs vllm in both roles (a custom engine)", remedy)
    if spec.prefill.engine.port != spec.engine.port:
        ports = f"{spec.prefill.engine.port}, {spec.engine.port}"
        what = f"differs from the service's ({ports}), and the pool reaches all pods on one port"
        yield Problem(path / "prefill" / "engine" / "port", what, "remove it")
    yield from _connection(of, spec.sidecar or Sidecar())


def _exchange(decode: RoleContext, prefill: RoleContext) -> Iterator[Problem]:
    """Refuse roles that could not read each other's cache, which their engines only tell at the first request."""
    own, other = _cache_flags(decode), _cache_flags(prefill)
    for name in sorted(own.keys() | other.keys()):
        if own.get(name) != other.get(name):
            what = f"differs from the service's in {name}, and the roles exchange their cache"
            yield Problem(prefill.path / "engine" / "args", what, "write it in the service's engine.args alone")
    sizes = decode.layout.tensor, prefill.layout.tensor
    if max(sizes) % min(sizes):
        what = f"does not fit the service's ({sizes[1]}, {sizes[0]}), and the roles exchange their cache"
        yield Problem(prefill.path / "parallelism" / "tensor", what, "write one that divides the other")


def _cache_flags(one: RoleContext) -> dict[str, str | None]:
    """Return what the arguments of a role say of the form of its cache."""
    known = frozenset(one.of.release.engine.cache_flags)
    return {flag.switch: flag.value for flag in flags.parse(one.role.engine.args) if flag.switch in known}


def _connection(of: VariantContext, sidecar: Sidecar) -> Iterator[Problem]:
    spec, path = of.spec, of.path
    connector, release = spec.kv_cache.connector, of.release
    if connector not in release.engine.kv_transfer:
        known = ", ".join(release.engine.kv_transfer)
        what = f"is not known to the engine of {of.stack.release} ({connector})"
        yield Problem(path / "kvCache" / "connector", what, f"use one of {known}")
    if spec.kv_cache.cpu_offload is not None:
        what = "takes the connector that prefill needs (--kv-offloading-size)"
        yield Problem(path / "kvCache" / "cpuOffload", what, "remove it, or prefill")
    if sidecar.engine_port == spec.engine.port:
        what = f"is the service's own port ({sidecar.engine_port}), which the sidecar listens on"
        yield Problem(path / "sidecar" / "enginePort", what, "choose another, such as 8200")
    if sidecar.tls.prefill and sidecar.tls.certificate is None:
        what = "needs a certificate (true)"
        yield Problem(path / "sidecar" / "tls" / "prefill", what, "set sidecar.tls.certificate, or remove it")
    if sidecar.tls.certificate is not None and not sidecar.tls.prefill:
        what = f"has no effect while nothing is served over TLS ({sidecar.tls.certificate})"
        yield Problem(path / "sidecar" / "tls" / "certificate", what, "set sidecar.tls.prefill, or remove it")
