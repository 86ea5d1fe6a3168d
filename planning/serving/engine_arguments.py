"""Arguments of engines that this program generates. The kinds of engines have the flags of the fields."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from models import flags
from models.service import EncoderCache, Lora, Variant
from models.source import served_name
from models.speculation import Speculative
from models.vocabulary import amount
from planning.ground import environment, lifecycle, loading, stages
from planning.ground.mounts import ADAPTERS_MOUNT, CERTIFICATES, DRAFT_MOUNT
from planning.hardware.devices import Layout
from planning.releases import encoder_caches, speculation
from planning.releases.engine_kinds import HostCache
from planning.serving import loaders
from planning.variant import api_server
from planning.variant.context import RoleContext
from planning.weights import engine_access

KV_EVENTS = "--kv-events-config"
KV_TRANSFER = "--kv-transfer-config"
SPECULATION = "--speculative-config"
_LEADER_ADDRESS, _OWN_ADDRESS = "LWS_LEADER_ADDRESS", "POD_IP"
"""Variables with the host name of a replica's first pod, and with the address of the pod itself."""
_NODE_RANK = "--node-rank=$(LWS_WORKER_INDEX)"
_JOINING_TIMEOUT = "--distributed-timeout-seconds"
_EXPERT = "parallelism.expert"
_SHARE = "gpu_memory_utilization"
FORCED_USAGE = "--enable-force-include-usage"
"""Flag with which every part of a stream has the usage so far. The interceptor bills by the last one.

The interceptor asks for usage only if it reads a JSON boolean in `stream`. The engine also streams for 1 and for "true"
(vllm/entrypoints/openai of vLLM 0.9.2 and newer).
"""
_SCALE_OUT = "--enable-scale-out"
"""Flag with which an engine answers `/v1/completions/render` and the like, where a picker asks for the tokens of a
prompt. Engines that know the flag answer 404 without it (vllm 0.30.0, vllm/entrypoints/scale_out/factories.py)."""
_OPTIONAL = frozenset({_JOINING_TIMEOUT, FORCED_USAGE, _SCALE_OUT, "--enable-prompt-tokens-details"})
"""Flags that are left out if the engine's version does not know them. The engine can serve without them."""


def shared_arguments(context: RoleContext, *, tokenizes: bool) -> tuple[str, ...]:
    """Return the generated arguments of all pods of a replica.

    `tokenizes` says whether the picker asks engines of the role `decode` for the tokens of prompts.
    """
    return _known_to(context, _arguments(context, tokenizes=tokenizes))


def leader_arguments(context: RoleContext) -> tuple[str, ...]:
    """Return the generated arguments that a replica's first pod has besides the shared ones; empty for a single pod.

    If every pod of the replica gets requests, every pod has these arguments.
    """
    if context.layout.pods_per_replica == 1:
        return ()
    if context.layout.every_pod_serves:
        return _known_to(context, _serving_group_arguments(context))
    leader = _LEADER_ADDRESS
    if context.kind.group is not None and context.kind.group.leader_finds_itself:
        leader = _OWN_ADDRESS
    return _known_to(context, _multi_pod_arguments(context, leader))


def worker_arguments(context: RoleContext) -> tuple[str, ...]:
    """Return the generated arguments that only a replica's other pods have.

    Empty if the other pods have the arguments of the first pod, or if a replica is one pod.
    """
    group = context.kind.group
    if context.layout.pods_per_replica == 1 or context.layout.every_pod_serves or group is None:
        return ()
    return _known_to(context, chain(_multi_pod_arguments(context, _LEADER_ADDRESS), group.worker))


def _known_to(context: RoleContext, arguments: Iterable[str]) -> tuple[str, ...]:
    """Return arguments without optional flags that the engine's version does not know; none if none are generated."""
    if not context.kind.is_generated:
        return ()
    version = context.engine_version
    unknown = {flag for flag in _OPTIONAL if version is not None and not version.knows_flag(flag)}
    return tuple(argument for argument in arguments if argument.partition("=")[0] not in unknown)


def events_port(context: RoleContext) -> int | None:
    """Return the port on which the first copy of the model publishes KV cache events; None if it publishes no events.

    Every other copy publishes on this port plus its rank. Keys of `--kv-events-config` in the user's arguments win over
    the generated keys, so the user may turn events on or off, and may change the port.
    """
    events = dict[str, object]()
    if "kvCache.events" in context.kind.flags and context.stage.exchanges_kv_cache:
        events |= context.variant.kv_cache.events or {}
    for flag in flags.parse(context.role.engine.args):
        if flag.switch == KV_EVENTS:
            events |= flags.json_object(flag) or {}
    port = str(events.get("endpoint", "")).rpartition(":")[2]
    if not port.isdigit():
        return None
    return int(port)


def certificate(context: RoleContext) -> str | None:
    """Return the Secret with the server certificate of a role; None for decode, and for prefill without TLS."""
    sidecar = context.variant.spec.sidecar
    if context.stage is not stages.PREFILL or sidecar is None or not sidecar.tls.prefill:
        return None
    return sidecar.tls.certificate


def model_name(spec: Variant) -> str:
    """Return the model as the engine's command names it: the folder of its weights, or its source."""
    if loading.of(spec).is_by_engine:
        return engine_access.name(spec.model)
    return spec.storage.mount_path


def _arguments(context: RoleContext, *, tokenizes: bool) -> Iterator[str]:
    """Yield the generated arguments: the model's folder, then the flags."""
    spec = context.variant.spec
    kind = context.kind
    if kind.model is None:
        yield model_name(spec)
    else:
        yield f"{kind.model}={model_name(spec)}"
    for field, value in _field_values(context):
        if value is not None and field in kind.flags:
            yield f"{kind.flags[field]}={value}"
    yield from kind.fixed
    if kind.vllm_tables:
        yield from _answer_arguments(context, tokenizes=tokenizes)
        yield from _copies_arguments(context)
    yield from _cache_arguments(context)
    if spec.model.speculative is not None and context.stage.exchanges_kv_cache and kind.vllm_tables:
        yield f"{SPECULATION}={_json(_speculation(spec.model.speculative))}"
    if spec.model.lora is not None and kind.vllm_tables:
        yield from _lora_arguments(spec.model.lora)


def _cache_arguments(context: RoleContext) -> Iterator[str]:
    """Yield the arguments for caches that go from one engine to another, and for events about their content."""
    kind = context.kind
    exchanges = context.stage.exchanges_kv_cache
    if context.variant.spec.prefill is not None and exchanges:
        yield from _disaggregation_arguments(context)
    if context.cache.transfer is not None:
        yield f"{KV_TRANSFER}={_json(context.cache.transfer)}"
    if context.cpu_offload is not None and kind.host_cache is not None:
        yield from kind.host_cache.flags
    if certificate(context) is not None:
        yield f"--ssl-certfile={CERTIFICATES}/tls.crt"
        yield f"--ssl-keyfile={CERTIFICATES}/tls.key"
    if context.encoder_cache is not None:
        yield from _encoder_arguments(context, context.encoder_cache)
    if context.variant.kv_cache.events is not None and "kvCache.events" in kind.flags and exchanges:
        yield f"{kind.flags['kvCache.events']}={_json(context.variant.kv_cache.events)}"


def _copies_arguments(context: RoleContext) -> Iterator[str]:
    """Yield vLLM's arguments about copies of the model, experts and the end of the engine."""
    if context.layout.ports > 1:
        yield "--data-parallel-multi-port-external-lb"
    if context.layout.expert:
        yield context.kind.flags[_EXPERT]
    if context.drain.engine is not None:
        yield f"{api_server.SHUTDOWN_TIMEOUT}={context.drain.engine}"


def _answer_arguments(context: RoleContext, *, tokenizes: bool) -> Iterator[str]:
    """Yield the arguments that decide what an engine answers, and to which requests."""
    yield "--enable-prompt-tokens-details"
    if not context.stage.is_destination:
        return
    if context.variant.metered_as is not None:
        yield FORCED_USAGE
    if tokenizes and not any(flag.name == _SCALE_OUT for flag in flags.parse(context.role.engine.args)):
        yield _SCALE_OUT


def _field_values(context: RoleContext) -> Iterator[tuple[str, object]]:
    """Yield the fields whose flags have the form `--flag=value`, each with its value; None for one that is left out."""
    spec = context.variant.spec
    role = context.role
    layout = context.layout
    yield "engine.port", context.engine_port
    name = served_name(spec.model.name, spec.model.source)
    if name is not None:
        yield "model.name", environment.literal(name)
    for field, size in (
        ("parallelism.tensor", layout.tensor),
        ("parallelism.pipeline", layout.pipeline),
        ("parallelism.data", layout.data),
    ):
        if size > 1:
            yield field, size
    if layout.ports > 1:
        yield "parallelism.dataLocal", layout.data_local
    yield "parallelism.loadBalancing", context.supervisor_port
    if loading.of(spec).is_by_engine:
        yield "model.revision", engine_access.revision(spec.model)
    yield "engine.load", loaders.load_format(context)
    yield "model.maxModelLen", spec.model.max_model_len
    yield "engine.maxNumSeqs", role.engine.max_num_seqs
    yield "engine.gpuMemoryUtilization", _memory_share(context)
    yield "kvCache.blockSize", context.variant.kv_cache.block_size
    yield "kvCache.cpuOffload", _offload(context)
    traces = context.variant.stack.observability.tracing
    if traces is not None:
        yield "observability.tracing.endpoint", traces.endpoint
    if layout.expert and not context.kind.vllm_tables:
        yield _EXPERT, layout.tensor


def _memory_share(context: RoleContext) -> str | None:
    """Return the share of a device's memory. Other engines than vLLM compute theirs if the user writes none."""
    engine = context.role.engine
    is_written = context.kind.vllm_tables or _SHARE in engine.explicit_fields
    if not context.layout.devices_per_pod or not is_written:
        return None
    return f"{engine.gpu_memory_utilization:g}"


def _offload(context: RoleContext) -> str | None:
    """Return the host memory of the KV cache in the unit of the engine, which is GiB for vLLM.

    None if nothing is offloaded by this flag. The flag of vLLM is for one copy of the model. All copies in a pod
    therefore get equal shares of `kvCache.cpuOffload` (vllm 0.27.0, OffloadingConnector of each engine core).
    """
    offload = context.cpu_offload
    if offload is None or context.cache.transfer is not None:
        return None
    if context.kind.host_cache is not None:
        return str(host_units(context, context.kind.host_cache, offload))
    return f"{float(amount(offload) / context.layout.data_local / 2**30):g}"


def host_units(context: RoleContext, host: HostCache, size: str) -> int:
    """Return the share of a worker process in the host memory of a pod, in whole units of the engine."""
    layout = context.layout
    return int(amount(size) / (layout.tensor * layout.stages_per_pod * layout.data_local) / host.unit)


def _disaggregation_arguments(context: RoleContext) -> Iterator[str]:
    """Yield the arguments that tell an engine the stage that it processes."""
    modes = context.kind.disaggregation
    if modes is not None:
        flags_of_role = {stages.DECODE: modes.decode, stages.PREFILL: modes.prefill}.get(context.stage, [])
        yield from (flag.format_map({"bootstrap": modes.bootstrap_port}) for flag in flags_of_role)


def _encoder_arguments(context: RoleContext, cache: EncoderCache) -> Iterator[str]:
    """Yield the arguments with which encode pods send the outputs of encoders, and other pods get them."""
    facts = encoder_caches.connector(cache.connector)
    extra = {**facts.config.get("ec_connector_extra_config", {}), facts.bytes_key: int(amount(cache.bytes))}
    role = "ec_consumer"
    if context.stage is stages.ENCODE:
        role = "ec_producer"
        yield "--mm-encoder-only"
    yield f"--ec-transfer-config={_json({**facts.config, 'ec_role': role, 'ec_connector_extra_config': extra})}"


def _speculation(speculative: Speculative) -> dict[str, object]:
    """Return the value of `--speculative-config`."""
    settings = dict[str, object]({"method": speculation.method(speculative.method).name})
    if speculative.draft is not None:
        settings["model"] = DRAFT_MOUNT
    return {**settings, "num_speculative_tokens": speculative.tokens}


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _lora_arguments(lora: Lora) -> Iterator[str]:
    yield "--enable-lora"
    yield f"--max-lora-rank={lora.max_rank}"
    yield f"--max-loras={lora.batch}"
    if lora.max_cpu_adapters is not None:
        yield f"--max-cpu-loras={lora.max_cpu_adapters}"
    if lora.adapters:
        yield "--lora-modules"
    yield from (f"{name}={ADAPTERS_MOUNT}/{name}" for name in sorted(lora.adapters))


def _multi_pod_arguments(context: RoleContext, leader: str) -> Iterator[str]:
    """Yield the arguments that connect the pods of a replica. `leader` is the variable with the leader's address.

    The leader of vLLM gets its own IP as the leader's address, which needs no DNS lookup. The pods wait for each other
    as long as fetching and loading may take; by default, torch gives up after 600 s.
    """
    layout = context.layout
    group = context.kind.group
    if group is None:
        return
    values = {
        "pods": layout.pods_per_replica,
        "leader": f"$({leader})",
        "port": group.port,
        "seconds": _joining_seconds(context),
    }
    yield from (flag.format_map(values) for flag in group.flags)


def _joining_seconds(context: RoleContext) -> int:
    spec = context.variant.spec
    return lifecycle.joining_seconds(context.role.health, spec.model.size, loading.of(spec))


def _serving_group_arguments(context: RoleContext) -> Iterator[str]:
    """Yield the arguments that connect the pods of a replica whose pods all get requests.

    All pods have the same arguments. vLLM computes the number of a pod's first copy from the number of the pod, so no
    shell has to. With a port for each copy, the supervisor of the copies does so (vllm 0.22.0 to 0.33.0,
    `infer_multi_port_external_lb_start_rank` in dp_supervisor.py). Its engines must not know the number of pods: with
    `--nnodes`, each of them would take the number of the pod's first copy (vllm 0.22.0 to 0.30.0,
    `create_engine_config` in vllm/engine/arg_utils.py). With one port for each pod, the engine itself computes the
    number, and needs `--nnodes` (vllm 0.21.0 to 0.33.0, the same function).

    The leader has its own host name as the leader's address, as in llm-d's guide of wide expert parallelism: the name
    is known to the cluster's DNS long before an engine has loaded its program and listens.
    """
    layout = context.layout
    if layout.ports == 1:
        yield from _multi_pod_arguments(context, _LEADER_ADDRESS)
        yield from _one_port_arguments(layout)
        return
    yield _NODE_RANK
    yield f"--data-parallel-address=$({_LEADER_ADDRESS})"
    yield f"{_JOINING_TIMEOUT}={_joining_seconds(context)}"


def _one_port_arguments(layout: Layout) -> Iterator[str]:
    """Yield the arguments with which each pod of a replica serves all its copies on one port.

    The flag for a single copy refuses another number of local copies than 1, and the flag for several needs the number.
    """
    if layout.data_local == 1:
        yield "--data-parallel-external-lb"
        return
    yield f"--data-parallel-size-local={layout.data_local}"
    yield "--data-parallel-hybrid-lb"
