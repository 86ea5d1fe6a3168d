"""The inference server's container: arguments, environment and what it serves."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models import flags
from models.accelerators import ExtendedResource
from models.flags import Flag
from models.problems import Problem
from models.role import Role
from models.service import KvCache, Lora
from models.source import served_name
from models.vocabulary import amount
from planning.ground import environment, labels, lifecycle, resources
from planning.ground.environment import EnvValue, Variable
from planning.ground.lifecycle import Probes
from planning.ground.mounts import ADAPTERS_MOUNT, CERTIFICATES
from planning.hardware.devices import Layout
from planning.releases import tracing
from planning.variant import images
from planning.variant.context import RoleContext

_KV_EVENTS = "--kv-events-config"
_GROUP = {
    "LWS_GROUP_SIZE": "the number of pods",
    "LWS_LEADER_ADDRESS": "the leader's host name",
    "LWS_WORKER_INDEX": "the pod's number",
}
"""What the LeaderWorkerSet controller adds to the environment of every container."""
_FIELD_OF = {
    "--block-size": "set kvCache.blockSize",
    "--data-parallel-address": "it follows from parallelism",
    "--data-parallel-rank": "it follows from parallelism",
    "--data-parallel-size": "set parallelism.data",
    "--data-parallel-size-local": "set parallelism.dataLocal",
    "--data-parallel-start-rank": "it follows from parallelism",
    "--dp": "set parallelism.data",
    "--dpa": "it follows from parallelism",
    "--dpl": "set parallelism.dataLocal",
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
    "--shutdown-timeout": "set drainTimeout",
    "--ssl-certfile": "set sidecar.tls",
    "--ssl-keyfile": "set sidecar.tls",
    "--tensor-parallel-size": "set parallelism.tensor",
    "--tp": "set parallelism.tensor",
}
"""vLLM's flags that have a field, with what to do instead."""
_RESERVED = {
    "POD_IP": "it is the pod's own address",
    "VLLM_NIXL_SIDE_CHANNEL_HOST": "it follows from kvCache.connector",
}
"""Variables that have to agree with other objects."""


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """The engine's container."""

    name: str
    """Fixed, because patches use it."""
    image: str
    pull_policy: str | None
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    worker_arguments: tuple[str, ...]
    """Of the further pods where a replica spans several."""
    env: tuple[Variable, ...]
    port: int
    """The port it listens on itself."""
    probes: Probes
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    certificate: str | None
    """The Secret with the certificate that it serves with; absent: it serves plain HTTP."""
    events_port: int | None
    """The port that it publishes cache events on; absent: it publishes none."""


def plan(context: RoleContext) -> EnginePlan:
    """Decide the engine of one role."""
    spec, role, layout = context.of.spec, context.role, context.layout
    ref = images.engine(spec, role, context.accelerator.vendor, context.of.release)
    if ref is None:
        raise ValueError("this class has no engine image")
    requests, limits = resources.engine(role.resources, layout.devices_per_pod, spec.kv_cache.cpu_offload)
    allocation, count = context.accelerator.allocation, layout.devices_per_pod
    counted = {allocation.resource_name: str(count)} if isinstance(allocation, ExtendedResource) else {}
    own = () if context.is_custom else tuple(_arguments(context))
    return EnginePlan(
        name="engine" if context.is_custom else "vllm",
        image=ref,
        pull_policy=role.engine.image_pull_policy,
        command=() if context.is_custom else ("vllm", "serve"),
        arguments=_joined((*own, *_spanning(layout, leads=True)), role),
        worker_arguments=_joined((*own, *_spanning(layout, leads=False)), role),
        env=environment.container_variables(_environment(context), environment.values(role.engine.env)),
        port=context.listens,
        probes=lifecycle.probes(role.health, spec.model.size),
        requests={**requests, **counted},
        limits={**limits, **counted},
        certificate=_certificate(context),
        events_port=_events_port(context),
    )


def _events_port(context: RoleContext) -> int | None:
    """Return the port that cache events are published on, which the user's own arguments may move or switch on."""
    events = dict[str, object]() if context.is_custom else dict[str, object](context.of.kv_cache.events or {})
    for flag in flags.parse(context.role.engine.args):
        if flag.switch == _KV_EVENTS:
            events |= flags.json_object(flag) or {}
    port = str(events.get("endpoint", "")).rpartition(":")[2]
    return int(port) if port.isdigit() else None


def _certificate(context: RoleContext) -> str | None:
    """Return the Secret with the certificate that a role serves with: prefill alone, where it is asked over TLS."""
    sidecar = context.of.spec.sidecar
    if context.name != labels.PREFILL or sidecar is None or not sidecar.tls.prefill:
        return None
    return sidecar.tls.certificate


def _joined(generated: tuple[str, ...], role: Role) -> tuple[str, ...]:
    """Put the user's arguments over the generated ones: a JSON value that both have is merged."""
    return tuple(flags.merge(generated, role.engine.args)) if generated else role.engine.args


def _environment(context: RoleContext) -> dict[str, EnvValue]:
    """Return the environment that the engine gets without being asked."""
    if context.is_custom:
        return dict(context.environment)
    traces = context.of.stack.observability.tracing
    return {**context.environment, **tracing.environment(traces, f"{context.of.names.base}-{context.name}")}


def _arguments(context: RoleContext) -> Iterator[str]:
    """Yield vLLM's arguments: the model's folder, then one `--flag=value` token for each field."""
    spec, release = context.of.spec, context.of.release
    yield spec.storage.mount_path
    for flag, value in _valued(context).items():
        if value is not None:
            yield f"--{flag}={value}"
    yield "--enable-prompt-tokens-details"
    if context.layout.expert:
        yield "--enable-expert-parallel"
    if context.drain.engine is not None:
        yield f"{release.engine.shutdown_timeout}={context.drain.engine}"
    if spec.prefill is not None:
        yield from _peers(context)
    if context.of.kv_cache.events is not None:
        yield f"{_KV_EVENTS}={_json(context.of.kv_cache.events)}"
    if spec.model.lora is not None:
        yield from _lora(spec.model.lora)


def _valued(context: RoleContext) -> dict[str, object]:
    spec, role, layout = context.of.spec, context.role, context.layout
    devices, traces = layout.devices_per_pod > 0, context.of.stack.observability.tracing
    return {
        "port": context.listens,
        "served-model-name": served_name(spec.model.name, spec.model.source),
        "tensor-parallel-size": layout.tensor if layout.tensor > 1 else None,
        "pipeline-parallel-size": layout.pipeline if layout.pipeline > 1 else None,
        "data-parallel-size": layout.data if layout.data > 1 else None,
        "max-model-len": spec.model.max_model_len,
        "max-num-seqs": role.engine.max_num_seqs,
        "gpu-memory-utilization": f"{role.engine.gpu_memory_utilization:g}" if devices else None,
        "block-size": context.of.kv_cache.block_size,
        "kv-offloading-size": _offload(spec.kv_cache),
        "otlp-traces-endpoint": None if traces is None else traces.endpoint,
    }


def _offload(cache: KvCache) -> str | None:
    """Return the host memory for blocks in GiB, as vLLM counts it."""
    return None if cache.cpu_offload is None else f"{float(amount(cache.cpu_offload) / 2**30):g}"


def _peers(context: RoleContext) -> Iterator[str]:
    """Yield how the roles exchange their cache, and how prefill serves where it is asked over TLS."""
    if context.of.kv_cache.transfer is not None:
        yield f"--kv-transfer-config={_json(context.of.kv_cache.transfer)}"
    if _certificate(context) is not None:
        yield f"--ssl-certfile={CERTIFICATES}/tls.crt"
        yield f"--ssl-keyfile={CERTIFICATES}/tls.key"


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _lora(lora: Lora) -> Iterator[str]:
    yield "--enable-lora"
    yield f"--max-lora-rank={lora.max_rank}"
    yield f"--max-loras={lora.max_adapters or len(lora.adapters)}"
    if lora.max_cpu_adapters is not None:
        yield f"--max-cpu-loras={lora.max_cpu_adapters}"
    yield "--lora-modules"
    yield from (f"{name}={ADAPTERS_MOUNT}/{name}" for name in sorted(lora.adapters))


def _spanning(layout: Layout, *, leads: bool) -> Iterator[str]:
    """Yield what joins the pods of one replica. The leader binds its own address, which it need not look up."""
    if layout.pods_per_replica == 1:
        return
    yield f"--nnodes={layout.pods_per_replica}"
    yield "--node-rank=$(LWS_WORKER_INDEX)"
    yield f"--master-addr=$({'POD_IP' if leads else 'LWS_LEADER_ADDRESS'})"
    if not leads:
        yield "--headless"


def problems(context: RoleContext) -> list[Problem]:
    """Refuse arguments and variables that repeat a field or each other, or that name something that is not there.

    Values are not echoed: an argument may hold a credential.
    """
    role, at = context.role, context.path / "engine" / "args"
    found = list[Problem]()
    if not context.is_custom:
        found += flags.problems(at, role.engine.args, context.of.release.engine.json_flags)
        found += [
            Problem(at / flag.index, f"repeats a field ({_called(flag)})", _instead(_FIELD_OF[flag.switch]))
            for flag in flags.parse(role.engine.args)
            if flag.switch in _FIELD_OF
        ]
    generated = context.environment
    own = environment.values(role.engine.env)
    given = {**generated, **(_GROUP if context.layout.pods_per_replica > 1 else {})}
    reserved = {name: instead for name, instead in _RESERVED.items() if name in generated}
    found += environment.problems(context.path / "engine" / "env", given, own, reserved)
    found += environment.dangling_in(at, role.engine.args, given.keys() | own.keys())
    return found


def _called(flag: Flag) -> str:
    """Return a flag's name: a short one as it was written, any other as the engine has it."""
    written = flag.tokens[0].partition("=")[0]
    return flag.name if written.startswith("--") else written


def _instead(of_a_flag: str) -> str:
    return f"remove it and {of_a_flag}" if of_a_flag.startswith("set ") else f"remove it: {of_a_flag}"
