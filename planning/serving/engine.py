"""Container of the inference server: arguments, environment, ports and probes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models import flags
from models.accelerators import ExtendedResource
from models.flags import Flag
from models.problems import Problem
from models.service import Lora
from models.source import served_name
from models.vocabulary import amount
from planning.ground import environment, labels, lifecycle, resources
from planning.ground.environment import EnvValue, Variable
from planning.ground.lifecycle import Probes
from planning.ground.mounts import ADAPTERS_MOUNT, CERTIFICATES
from planning.releases import engine_versions, tracing
from planning.variant import api_server, images
from planning.variant.context import RoleContext

KV_EVENTS = "--kv-events-config"
_GROUP_VARIABLES = {
    "LWS_GROUP_SIZE": "the number of pods",
    "LWS_LEADER_ADDRESS": "the leader's host name",
    "LWS_WORKER_INDEX": "the pod's number",
}
"""Variables that the LeaderWorkerSet controller adds to every container, with their meaning."""
FIELD_OF = {
    "--block-size": "set kvCache.blockSize",
    "--data-parallel-address": "it follows from parallelism",
    "--data-parallel-multi-port-external-lb": "set parallelism.loadBalancing",
    "--data-parallel-rank": "it follows from parallelism",
    "--data-parallel-size": "set parallelism.data",
    "--data-parallel-size-local": "set parallelism.dataLocal",
    "--data-parallel-start-rank": "it follows from parallelism",
    "--data-parallel-supervisor-port": "set parallelism.loadBalancing",
    "--dp": "set parallelism.data",
    "--dpa": "it follows from parallelism",
    "--dpl": "set parallelism.dataLocal",
    "--dpm": "set parallelism.loadBalancing",
    "--dpn": "it follows from parallelism",
    "--dpr": "it follows from parallelism",
    "--enable-expert-parallel": "set parallelism.expert",
    "--enable-lora": "set model.lora",
    "--enable-prompt-tokens-details": "it is always on",
    "--ep": "set parallelism.expert",
    "--gpu-memory-utilization": "set engine.gpuMemoryUtilization",
    "--headless": "it follows from parallelism",
    "--host": "every address of the pod is served",
    "--kv-offloading-size": "set kvCache.cpuOffload",
    "--lora-modules": "set model.lora.adapters",
    "--master-addr": "it follows from parallelism",
    "--max-cpu-loras": "set model.lora.maxCpuAdapters",
    "--max-lora-rank": "set model.lora.maxRank",
    "--max-loras": "set model.lora.maxAdapters",
    "--max-model-len": "set model.maxModelLen",
    "--max-num-seqs": "set engine.maxNumSeqs",
    "--model": "set model.source",
    "--n": "it follows from parallelism",
    "--nnodes": "it follows from parallelism",
    "--node-rank": "it follows from parallelism",
    "--otlp-traces-endpoint": "set observability.tracing.endpoint",
    "--pipeline-parallel-size": "set parallelism.pipeline",
    "--port": "set engine.port",
    "--pp": "set parallelism.pipeline",
    "--r": "it follows from parallelism",
    "--served-model-name": "set model.name",
    api_server.SHUTDOWN_TIMEOUT: "set drainTimeout",
    "--ssl-certfile": "set sidecar.tls",
    "--ssl-keyfile": "set sidecar.tls",
    "--tensor-parallel-size": "set parallelism.tensor",
    "--tp": "set parallelism.tensor",
}
"""vLLM's flags that the configuration decides, each with the advice to a user who sets the flag in `engine.args`."""
_JOINING_TIMEOUT = "--distributed-timeout-seconds"
FORCED_USAGE = "--enable-force-include-usage"
"""Flag with which every part of a stream has the usage so far. The interceptor bills by the last one.

The interceptor asks for usage only if it reads a JSON boolean in `stream`. The engine also streams for 1 and for "true"
(vllm/entrypoints/openai of vLLM 0.9.2 and newer).
"""
_OPTIONAL = frozenset({_JOINING_TIMEOUT, FORCED_USAGE, "--enable-prompt-tokens-details"})
"""Flags that are left out if the engine's version does not know them. The engine can serve without them."""
_RESERVED = {
    "POD_IP": "it is the pod's own address",
    "VLLM_NIXL_SIDE_CHANNEL_HOST": "it follows from kvCache.connector",
}
"""Variables that must agree with other objects, each with the reason why a user may not set it."""


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """The engine's container."""

    name: str
    """Name of the container; it never changes, because patches refer to it."""
    image: str
    pull_policy: str | None
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    worker_arguments: tuple[str, ...]
    """Arguments of the worker pods of a replica that spans pods; empty if a replica is one pod."""
    env: tuple[Variable, ...]
    ports: tuple[int, ...]
    """Ports on which the engine gets requests: a single port, or a port for each copy of the model."""
    probe_port: int
    """Port to which probes are sent."""
    probes: Probes
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    certificate: str | None
    """Secret with the server certificate; None for plain HTTP."""
    events_ports: tuple[int, ...]
    """Ports on which the engine publishes KV cache events; empty if the engine publishes no events."""


def plan(context: RoleContext) -> EnginePlan:
    """Return the engine of a role."""
    spec, role, layout = context.variant.spec, context.role, context.layout
    image = images.engine(spec, role, context.accelerator.vendor, context.variant.release)
    if image is None:
        raise ValueError("this class has no engine image")
    events = events_port(context)
    requests, limits = resources.engine(role.resources, layout.devices_per_pod, spec.kv_cache.cpu_offload)
    allocation, count = context.accelerator.allocation, layout.chips_per_pod
    devices = {allocation.resource_name: str(count)} if isinstance(allocation, ExtendedResource) else {}
    return EnginePlan(
        name="engine" if context.is_custom else "vllm",
        image=image,
        pull_policy=role.engine.image_pull_policy,
        command=() if context.is_custom else ("vllm", "serve"),
        arguments=_merge_arguments(generated_arguments(context, is_leader=True), role.engine.args),
        worker_arguments=_worker_arguments(context) if layout.pods_per_replica > 1 else (),
        env=environment.container_variables(
            _environment(context), environment.values(role.engine.env), context.path / "engine" / "env"
        ),
        ports=context.engine_ports,
        probe_port=context.supervisor_port or context.engine_port,
        probes=lifecycle.probes(
            role.health, spec.model.size, api_server.ready_path(role, layout), spans_pods=layout.pods_per_replica > 1
        ),
        requests={**requests, **devices},
        limits={**limits, **devices},
        certificate=_certificate(context),
        events_ports=() if events is None else tuple(range(events, events + layout.ports)),
    )


def events_port(context: RoleContext) -> int | None:
    """Return the port on which the first copy of the model publishes KV cache events; None if it publishes no events.

    Every other copy publishes on this port plus its rank. Keys of `--kv-events-config` in the user's arguments win over
    the generated keys, so the user may turn events on or off, and may change the port.
    """
    events = dict[str, object]() if context.is_custom else dict[str, object](context.variant.kv_cache.events or {})
    for flag in flags.parse(context.role.engine.args):
        if flag.switch == KV_EVENTS:
            events |= flags.json_object(flag) or {}
    port = str(events.get("endpoint", "")).rpartition(":")[2]
    return int(port) if port.isdigit() else None


def _certificate(context: RoleContext) -> str | None:
    """Return the Secret with the server certificate of a role; None for decode, and for prefill without TLS."""
    sidecar = context.variant.spec.sidecar
    if context.name != labels.PREFILL or sidecar is None or not sidecar.tls.prefill:
        return None
    return sidecar.tls.certificate


def _merge_arguments(generated: tuple[str, ...], explicit: tuple[str, ...]) -> tuple[str, ...]:
    """Merge the user's arguments into the generated ones. The user's values win; JSON values of a flag are merged."""
    return tuple(flags.merge(generated, explicit)) if generated else explicit


def _worker_arguments(context: RoleContext) -> tuple[str, ...]:
    """Return the arguments of worker pods. The user's flags that only a leader accepts are left out."""
    leader_flags = engine_versions.groups().leader.flags
    parsed = (flag for flag in flags.parse(context.role.engine.args) if flag.switch not in leader_flags)
    explicit = tuple(token for flag in parsed for token in flag.tokens)
    return _merge_arguments(generated_arguments(context, is_leader=False), explicit)


def generated_arguments(context: RoleContext, *, is_leader: bool) -> tuple[str, ...]:
    """Return the generated arguments of a role, without optional flags that the engine's version does not know."""
    if context.is_custom:
        return ()
    version = context.engine_version
    arguments = (*_arguments(context), *_multi_pod_arguments(context, is_leader=is_leader))
    dropped = {flag for flag in _OPTIONAL if version is not None and not version.knows_flag(flag)}
    return tuple(each for each in arguments if each.partition("=")[0] not in dropped) if dropped else arguments


def _environment(context: RoleContext) -> dict[str, EnvValue]:
    """Return the generated environment of the engine, with the variables of tracing."""
    if context.is_custom:
        return dict(context.environment)
    traces = context.variant.stack.observability.tracing
    return {**context.environment, **tracing.environment(traces, f"{context.variant.names.base}-{context.name}")}


def _arguments(context: RoleContext) -> Iterator[str]:
    """Yield vLLM's generated arguments: the model's folder, then the flags."""
    spec = context.variant.spec
    yield spec.storage.mount_path
    for flag, value in _flag_values(context).items():
        if value is not None:
            yield f"--{flag}={value}"
    yield "--enable-prompt-tokens-details"
    if context.variant.metered_as is not None and context.name == labels.DECODE:
        yield FORCED_USAGE
    if context.layout.ports > 1:
        yield "--data-parallel-multi-port-external-lb"
    if context.layout.expert:
        yield "--enable-expert-parallel"
    if context.drain.engine is not None:
        yield f"{api_server.SHUTDOWN_TIMEOUT}={context.drain.engine}"
    if spec.prefill is not None:
        yield from _disaggregation_arguments(context)
    if context.variant.kv_cache.events is not None:
        yield f"{KV_EVENTS}={_json(context.variant.kv_cache.events)}"
    if spec.model.lora is not None:
        yield from _lora_arguments(spec.model.lora)


def _flag_values(context: RoleContext) -> dict[str, object]:
    """Return the values of flags of the form `--flag=value`, by flag; None for a flag that is left out."""
    spec, role, layout = context.variant.spec, context.role, context.layout
    has_devices, traces = layout.devices_per_pod > 0, context.variant.stack.observability.tracing
    name = served_name(spec.model.name, spec.model.source)
    return {
        "port": context.engine_port,
        "served-model-name": None if name is None else environment.literal(name),
        "tensor-parallel-size": layout.tensor if layout.tensor > 1 else None,
        "pipeline-parallel-size": layout.pipeline if layout.pipeline > 1 else None,
        "data-parallel-size": layout.data if layout.data > 1 else None,
        "data-parallel-size-local": layout.data_local if layout.ports > 1 else None,
        "data-parallel-supervisor-port": context.supervisor_port,
        "max-model-len": spec.model.max_model_len,
        "max-num-seqs": role.engine.max_num_seqs,
        "gpu-memory-utilization": f"{role.engine.gpu_memory_utilization:g}" if has_devices else None,
        "block-size": context.variant.kv_cache.block_size,
        "kv-offloading-size": _offload(context),
        "otlp-traces-endpoint": None if traces is None else traces.endpoint,
    }


def _offload(context: RoleContext) -> str | None:
    """Return the host memory of the KV cache in GiB, the unit of vLLM; None if nothing is offloaded.

    The flag is for one copy of the model. All copies in a pod therefore get equal shares of `kvCache.cpuOffload`
    (vllm 0.27.0, OffloadingConnector of each engine core).
    """
    offload = context.variant.spec.kv_cache.cpu_offload
    return None if offload is None else f"{float(amount(offload) / context.layout.data_local / 2**30):g}"


def _disaggregation_arguments(context: RoleContext) -> Iterator[str]:
    """Yield the arguments for the transfer of the KV cache between roles, and for TLS of prefill."""
    if context.variant.kv_cache.transfer is not None:
        yield f"--kv-transfer-config={_json(context.variant.kv_cache.transfer)}"
    if _certificate(context) is not None:
        yield f"--ssl-certfile={CERTIFICATES}/tls.crt"
        yield f"--ssl-keyfile={CERTIFICATES}/tls.key"


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _lora_arguments(lora: Lora) -> Iterator[str]:
    yield "--enable-lora"
    yield f"--max-lora-rank={lora.max_rank}"
    yield f"--max-loras={lora.max_adapters or len(lora.adapters)}"
    if lora.max_cpu_adapters is not None:
        yield f"--max-cpu-loras={lora.max_cpu_adapters}"
    yield "--lora-modules"
    yield from (f"{name}={ADAPTERS_MOUNT}/{name}" for name in sorted(lora.adapters))


def _multi_pod_arguments(context: RoleContext, *, is_leader: bool) -> Iterator[str]:
    """Yield the arguments that connect the pods of a replica.

    The leader gets its own IP as the leader's address, which needs no DNS lookup. The pods wait for each other as long
    as fetching and loading may take; by default, torch gives up after 600 s.
    """
    layout = context.layout
    if layout.pods_per_replica == 1:
        return
    yield f"--nnodes={layout.pods_per_replica}"
    yield "--node-rank=$(LWS_WORKER_INDEX)"
    yield f"--master-addr=$({'POD_IP' if is_leader else 'LWS_LEADER_ADDRESS'})"
    yield f"{_JOINING_TIMEOUT}={lifecycle.joining_seconds(context.role.health, context.variant.spec.model.size)}"
    if not is_leader:
        yield "--headless"


def problems(context: RoleContext) -> list[Problem]:
    """Reject arguments and variables that repeat a field or each other, and references to missing variables.

    Messages contain no values, because a value may be a credential.
    """
    role, found = context.role, list[Problem]()
    if not role.engine.args and not role.engine.env:
        return found
    at = context.path / "engine" / "args"
    if not context.is_custom:
        found += flags.problems(at, role.engine.args, context.variant.release.engine.json_flags)
        found += [
            Problem(at / flag.index, f"repeats a field ({_flag_name(flag)})", _remedy(FIELD_OF[flag.switch]))
            for flag in flags.parse(role.engine.args)
            if flag.switch in FIELD_OF
        ]
    generated = context.environment
    explicit = environment.values(role.engine.env)
    available = {**generated, **(_GROUP_VARIABLES if context.layout.pods_per_replica > 1 else {})}
    reserved = reserved_variables(context)
    found += environment.problems(context.path / "engine" / "env", available, explicit, reserved)
    found += environment.dangling_in(at, role.engine.args, available.keys() | explicit.keys())
    return found


def reserved_variables(context: RoleContext) -> dict[str, str]:
    """Return the variables of an engine that no user may set, each with the reason."""
    return {name: reason for name, reason in _RESERVED.items() if name in context.environment}


def _flag_name(flag: Flag) -> str:
    """Return the name of a flag for messages: a short flag as written, a long flag in the engine's spelling."""
    name = flag.tokens[0].partition("=")[0]
    return flag.name if name.startswith("--") else name


def _remedy(replacement: str) -> str:
    return f"remove it and {replacement}" if replacement.startswith("set ") else f"remove it: {replacement}"
