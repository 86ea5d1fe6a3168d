"""Verdicts on the roles of a variant: each role alone, and prefill together with decode."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from models import trees
from models.paths import Path
from models.problems import Problem, warning
from models.role import Recreate
from models.service import Sidecar
from models.source import scheme
from models.storage import Ephemeral
from models.vocabulary import amount, seconds
from planning import hardware
from planning.ground import lifecycle, loading, patch, resources
from planning.ground.loading import Loading
from planning.ground.patch import Limits
from planning.hardware import accelerators, placement
from planning.hardware.accelerators import AcceleratorClass
from planning.refusals.resources import uncountable
from planning.releases import departures
from planning.serving import (
    addition_rules,
    autoscaling,
    compile_cache_rules,
    encode_rules,
    engine,
    exchange_rules,
    kind_rules,
    listeners,
    load_balancing,
    lora_rules,
    memory_rules,
    pod_claims,
    series_rules,
    set_rules,
    shared_memory,
    sidecar_rules,
    speculation_rules,
    tier_rules,
    version_rules,
)
from planning.serving.context import EngineContext
from planning.serving.sidecar import SIDECAR_CONTAINER
from planning.variant import kv_cache, roles
from planning.variant.context import Contexts, RoleContext, RoleId, RoleSpecAt, VariantContext
from planning.weights import claims

_LIMIT = "resources.limits.memory"
_KERNEL_BLOCK = 16
"""Tokens in a block of the KV cache: most attention kernels take only multiples of this number."""


def judge(variant: VariantContext, contexts: Contexts, engines: Mapping[RoleId, EngineContext]) -> Iterator[Problem]:
    """Check each role of a variant, and that the roles agree."""
    yield from _check_roles(variant)
    yield from set_rules.judge(variant)
    yield from _check_block_size(variant)
    yield from speculation_rules.judge_variant(variant)
    yield from autoscaling.judge(variant)
    for role in variant.roles:
        accelerator = variant.classes.get(role.spec.accelerator)
        yield from hardware.check_class(role.path, role.spec.accelerator, variant.classes)
        yield from autoscaling.judge_role(role, variant)
        if accelerator is None:
            continue
        identity = RoleId(variant.id, role.name)
        yield from contexts.unsound.get(identity, ())
        yield from _check_image(variant, role, accelerator)
        if identity in engines:
            yield from _check_role(engines[identity])
    valid_roles = contexts.roles_of(variant)
    yield from load_balancing.judge_variant(variant, valid_roles)
    yield from encode_rules.judge_roles(valid_roles.values())
    for role, other in combinations(valid_roles.values(), 2):
        exchanges = other.stage.exchanges_kv_cache and not other.stage.is_destination
        if role.stage.is_destination and exchanges:
            yield from exchange_rules.judge_roles(role, other)
    yield from _check_repeated_fetches(variant, valid_roles.values())
    yield from _check_device_groups(valid_roles.values())


def _check_role(serving: EngineContext) -> Iterator[Problem]:
    context = serving.role
    role = context.role
    yield from engine.judge(context)
    yield from version_rules.judge(serving)
    yield from series_rules.judge(serving)
    if not context.kind.vllm_tables:
        yield from kind_rules.judge(context)
    if context.kind.is_generated and role.parallelism.pods > 1:
        what = f"has no effect on {context.kind.title} ({role.parallelism.pods})"
        remedy = "remove it; the number of pods follows from pipeline, data and dataLocal"
        yield Problem(context.path / "parallelism" / "pods", what, remedy)
    yield from load_balancing.judge(context)
    yield from listeners.judge(serving)
    yield from placement.problems(context.path / "pod", role.pod)
    yield from addition_rules.judge(context)
    yield from pod_claims.judge(context)
    yield from lora_rules.judge(context)
    yield from tier_rules.judge(context)
    yield from compile_cache_rules.judge(context)
    yield from speculation_rules.judge(context)
    yield from _check_startup(context)
    yield from _check_memory(context)
    yield from shared_memory.judge(context)
    yield from memory_rules.judge(serving)
    yield from _check_shared_memory(context)
    yield from _check_engine_label(context)
    if role.patch:
        devices = accelerators.resource_names({role.accelerator: context.accelerator})
        limits = Limits(context.drain, context.variant.spec.drain_timeout, devices, engine.reserved_variables(context))
        target = patch.SERVING
        if context.layout.every_pod_serves:
            target = patch.SERVING_GROUP
        yield from patch.problems(context.path / "patch", role.patch, limits, target)
        yield from _check_sidecar_arguments(context)
    if context.layout.pods_per_replica > 1:
        yield from _check_multi_pod(context)


def _check_sidecar_arguments(context: RoleContext) -> Iterator[Problem]:
    """Yield a problem for each flag in a patched sidecar that its router lacks, or that a later router lacks."""
    for template in patch.TEMPLATES:
        containers = Path(*template, "spec", "initContainers")
        for index, container in enumerate(patch.items(context.role.patch, containers)):
            if container.get("name") != SIDECAR_CONTAINER:
                continue
            at = Path(*context.path, "patch", *containers, index, "args")
            for place, argument in enumerate(trees.sequence(container.get("args"))):
                flag = str(argument).lstrip("-").partition("=")[0]
                yield from departures.problems(at / place, "sidecar-flag", flag, context.variant.release)


def _check_startup(context: RoleContext) -> Iterator[Problem]:
    """Reject a first startup probe that comes when the model must be loaded already."""
    health = context.role.health
    delay = health.startup.initial_delay
    if delay is None:
        return
    spec = context.variant.spec
    spans_pods = context.layout.pods_per_replica > 1
    startup = lifecycle.loading_seconds(health, spec.model.size, spans_pods=spans_pods, loading=loading.of(spec))
    if seconds(delay) >= startup:
        at = context.path / "health"
        what = f"leaves no time for a probe, because the model must be loaded within {startup}s ({delay})"
        remedy = "lower it, or raise health.startupTimeout"
        yield Problem(at / "startup" / "initialDelay", what, remedy, (at / "startupTimeout",))


def _check_memory(context: RoleContext) -> Iterator[Problem]:
    """Reject an offloaded cache that does not fit the container's memory limit, which includes it.

    The default limit follows from the number of devices, which may be larger than any that exists.
    """
    offload = context.cpu_offload
    written = context.role.resources
    requests, limits = resources.engine(written, context.layout.devices_per_pod, offload)
    defaults = {
        name: size for name, size in (requests | limits).items() if name not in written.requests | written.limits
    }
    if (size := uncountable(defaults)) is not None:
        what = f"gives a pod more than Kubernetes can count ({context.layout.devices_per_pod} devices, {size})"
        yield Problem(context.path / "parallelism", what, "write the numbers of devices that nodes have")
    if offload is None:
        return
    limit = _memory_limit(context)
    if amount(offload) >= amount(limit):
        what = f"leaves the engine no memory ({offload}; {_LIMIT} is {limit})"
        at = tier_rules.place(context.variant)
        yield Problem(at, what, f"lower it, or raise {_LIMIT}", (context.path / "resources",))


def _check_shared_memory(context: RoleContext) -> Iterator[Problem]:
    """Warn of shared memory above the container's memory limit.

    Kubernetes takes it. The kernel ends the container once the files in /dev/shm and the memory of its processes reach
    the limit together (Kubernetes documentation, Volumes, emptyDir). The path is that of the role, because the size may
    be inherited from the service, and the limit may be a default.
    """
    shared = context.role.pod.shared_memory
    limit = _memory_limit(context)
    if shared is not None and amount(shared) > amount(limit):
        what = f"has more shared memory than its memory limit, which includes it ({shared}; {_LIMIT} is {limit})"
        yield warning(context.path, what, f"lower pod.sharedMemory, or raise {_LIMIT}")


def _check_engine_label(context: RoleContext) -> Iterator[Problem]:
    """Warn of pods whose metrics a picker reads by the names of vLLM, although their engine is another one."""
    label = context.variant.release.picker.engine_label
    has_picker = context.variant.spec.endpoint_picker.enabled
    if label is None or not has_picker or context.kind.is_generated or label in context.role.pod.labels:
        return
    what = "serves metrics that the picker reads by the names of vLLM, because its pods do not say their engine"
    remedy = f"add {label} to pod.labels, such as sglang or trtllm-serve; or vllm if the engine has vLLM's names"
    yield warning(context.path / "engine" / "type", what, remedy)


def _memory_limit(context: RoleContext) -> str:
    """Return the memory limit of the engine's container."""
    offload = context.cpu_offload
    _, limits = resources.engine(context.role.resources, context.layout.devices_per_pod, offload)
    return limits["memory"]


def _check_block_size(variant: VariantContext) -> Iterator[Problem]:
    """Reject block sizes for which no attention backend of vLLM has a kernel.

    Most kernels take multiples of 16, and the kernel of AITER for latent attention takes 1 (vLLM 0.21,
    `get_supported_kernel_block_sizes` of the backends in v1/attention/backends).
    """
    cache = variant.spec.kv_cache
    at = variant.path / "kvCache" / "blockSize"
    if cache.block_size == "engine" and variant.kv_cache.events is not None:
        what = "is left to the engine, but those who read the events of its cache need the number (engine)"
        yield Problem(at, what, f"write the number, such as {kv_cache.BLOCK_SIZE}, or turn the events off")
    size = cache.tokens_per_block
    if size is None or size == 1 or size % _KERNEL_BLOCK == 0 or not variant.kind.vllm_tables:
        return
    next_size = -(-size // _KERNEL_BLOCK) * _KERNEL_BLOCK
    what = f"is a block size that no kernel of the engine supports ({size})"
    yield Problem(at, what, f"write a multiple of {_KERNEL_BLOCK}, such as {next_size}")


def _check_multi_pod(context: RoleContext) -> Iterator[Problem]:
    """Check a role whose replicas span pods."""
    at = context.path / "parallelism"
    if context.kind.group is None:
        what = f"spans several pods, but {context.kind.title} gets no flags for that"
        yield Problem(at, what, "keep a replica in one pod")
    if isinstance(context.role.rollout, Recreate):
        what = "does not work for replicas of several pods (Recreate)"
        remedy = "use type: RollingUpdate; the pods of a replica are always replaced together"
        yield Problem(context.path / "rollout" / "type", what, remedy)


def _check_image(variant: VariantContext, role: RoleSpecAt, accelerator: AcceleratorClass) -> Iterator[Problem]:
    engine_spec = role.spec.engine
    at = role.path / "engine" / "image"
    is_in_image = scheme(variant.spec.model.source) == "image"
    if is_in_image and engine_spec.image is not None:
        what = "is a second image: the image that holds the weights runs the engine, too"
        yield Problem(at, what, "remove it, or take the weights from another source", explicit_only=True)
    elif not role.kind.vllm_tables and not is_in_image and engine_spec.image is None:
        yield Problem(at, f"is missing, and {role.kind.title} has no default image", "add the engine's image")
    elif variant.images[role.name] is None:
        what = f"is missing, and {variant.release.name} has no image for {accelerator.vendor}"
        yield Problem(at, what, "add the engine's image", depends_on=(role.path / "accelerator",))
    if is_in_image and role.kind.is_generated:
        what = f"{role.kind.name} cannot know the place of the weights in an image (source image://)"
        yield Problem(role.path / "engine" / "type", what, "remove it; the image's own entrypoint runs")


def _check_roles(variant: VariantContext) -> Iterator[Problem]:
    """Check that the release, the engines and the ports of a variant permit disaggregated prefill."""
    spec = variant.spec
    path = variant.path
    yield from sidecar_rules.judge(variant)
    if not roles.further(spec) and spec.sidecar is not None:
        yield from sidecar_rules.judge_lone(variant, spec.sidecar)
    yield from encode_rules.judge_variant(variant)
    if spec.encode is not None and spec.prefill is None:
        yield from _check_sidecar(variant, spec.sidecar or Sidecar())
    if spec.prefill is None:
        yield from exchange_rules.judge_connector(variant)
        return
    if variant.release.sidecar is None or variant.release.picker.disaggregated_config is None:
        what = f"is not known to {variant.release.name}"
        yield Problem(path / "prefill", what, "remove it, or choose a release that knows it, such as llm-d-0.10")
        return
    yield from exchange_rules.judge(variant)
    if spec.prefill.engine.port != spec.engine.port:
        ports = f"{spec.prefill.engine.port}, {spec.engine.port}"
        what = f"differs from the service's ({ports}), and the pool reaches all pods on one port"
        yield Problem(path / "prefill" / "engine" / "port", what, "remove it")
    yield from _check_sidecar(variant, spec.sidecar or Sidecar())


def _check_sidecar(variant: VariantContext, sidecar: Sidecar) -> Iterator[Problem]:
    """Check the port and the certificate of the sidecar."""
    spec = variant.spec
    path = variant.path
    if sidecar.engine_port == spec.engine.port:
        what = f"is the service's own port ({sidecar.engine_port}), which the sidecar listens on"
        yield Problem(path / "sidecar" / "enginePort", what, "choose another, such as 8200")
    if sidecar.tls.prefill and sidecar.tls.certificate is None:
        what = "needs a certificate (true)"
        yield Problem(path / "sidecar" / "tls" / "prefill", what, "set sidecar.tls.certificate, or remove it")
    if sidecar.tls.certificate is not None and not sidecar.tls.prefill:
        what = f"has no effect while nothing is served over TLS ({sidecar.tls.certificate})"
        at = path / "sidecar" / "tls" / "certificate"
        yield Problem(at, what, "set sidecar.tls.prefill, or remove it", explicit_only=True)


def _check_repeated_fetches(variant: VariantContext, roles: Iterable[RoleContext]) -> Iterator[Problem]:
    """Warn of a replica whose pods all fetch the same weights."""
    spec = variant.spec
    is_fetched = isinstance(spec.storage, Ephemeral) and not claims.is_used_in_place(spec.model.source)
    if not is_fetched and loading.of(spec) is not Loading.FETCHED:
        return
    counts = [role.layout.pods_per_replica for role in roles if role.layout.pods_per_replica > 1]
    if counts:
        what = (
            f"all {counts[0]} pods of a replica fetch the weights, and fetch them again when any of the pods restarts"
        )
        yield warning(variant.path / "storage", what, "use type: shared or type: dedicated")


def _check_device_groups(roles: Iterable[RoleContext]) -> Iterator[Problem]:
    """Warn of the first role whose containers may have no group that can open the devices."""
    for role in roles:
        files = role.accelerator.device_files
        groups = role.role.pod.supplemental_groups
        if files and role.layout.devices_per_pod and groups is None:
            what = f"is not set, and on Debian and Ubuntu only the group render may open {' and '.join(files)}"
            remedy = "write the group's number on the nodes (getent group render), or [] if all users may open them"
            yield warning(role.path / "pod" / "supplementalGroups", what, remedy)
            return
