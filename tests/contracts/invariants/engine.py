"""The engine's container: what it is told, by arguments and by environment."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.contracts.invariants.facts import (
    CONNECTORS,
    ENGINE_IMAGES,
    GATED,
    GATED_SINCE,
    GI,
    IDLE,
    IDLE_OF_SIDECAR,
    WAITING,
    amount,
)
from tests.contracts.invariants.metering import billed
from tests.contracts.invariants.variants import Role
from tests.contracts.invariants.world import Pods, World, field, named, same, texts, traces, variables

OF_A_GROUP = {"LWS_WORKER_INDEX", "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE"}
"""Variables that the LeaderWorkerSet controller puts in front of all others."""


def the_engine_is_told_what_was_asked_for(world: World) -> Iterator[str]:
    for pods in world.pods:
        args, user_args = pods.engine.get("args", []), pods.role.say("engine", "args", default=[])
        generated = args[: len(args) - len(user_args)]
        yield from same(f"{pods.name} user's arguments", args[len(generated) :], user_args)
        if pods.role.custom:
            yield from same(f"{pods.name} arguments", generated, [])
            yield from same(f"{pods.name} command", pods.engine.get("command"), None)
            continue
        yield from same(f"{pods.name} command", pods.engine["command"], ["vllm", "serve"])
        yield from same(
            f"{pods.name} model", generated[:1], [world.variant.say("storage", "mountPath", default="/models")]
        )
        yield from same(f"{pods.name} arguments", sorted(generated[1:]), sorted(_arguments(world, pods)))
        names = sorted(world.variant.say("model", "lora", "adapters", default={}))
        adapters = [f"{name}=/adapters/{name}" for name in names]
        if adapters:
            # The flag takes every item that follows it.
            at = generated.index("--lora-modules")
            yield from same(f"{pods.name} adapters", generated[at + 1 : at + 1 + len(adapters)], adapters)


def _arguments(world: World, pods: Pods) -> Iterator[str]:
    variant, role = world.variant, pods.role
    valued = {
        "port": role.listens,
        "served-model-name": variant.served,
        "tensor-parallel-size": role.tensor if role.tensor > 1 else None,
        "pipeline-parallel-size": role.pipeline if role.pipeline > 1 else None,
        "data-parallel-size": role.data if role.data > 1 else None,
        "data-parallel-size-local": role.local if len(role.ranks) > 1 else None,
        "data-parallel-supervisor-port": role.probed if len(role.ranks) > 1 else None,
        "max-model-len": variant.model.get("maxModelLen"),
        "max-num-seqs": role.say("engine", "maxNumSeqs"),
        "gpu-memory-utilization": role.say("engine", "gpuMemoryUtilization", default=0.9) if role.devices else None,
        "shutdown-timeout": role.drain if role.drains_itself else None,
        "otlp-traces-endpoint": variant.tracing["endpoint"] if variant.tracing else None,
        "kv-offloading-size": _offload(role),
        "ssl-certfile": "/certificates/tls.crt" if role.certificate else None,
        "ssl-keyfile": "/certificates/tls.key" if role.certificate else None,
    }
    yield from (f"--{flag}={value}" for flag, value in {**valued, **_agreed(world, role)}.items() if value is not None)
    yield "--enable-prompt-tokens-details"
    yield from ["--enable-force-include-usage"] if billed(world.variant) and role.stage == "decode" else []
    yield from ["--enable-scale-out"] if _tokenizes(world, role) else []
    yield from ["--data-parallel-multi-port-external-lb"] if len(role.ranks) > 1 else []
    yield from ["--enable-expert-parallel"] if role.say("parallelism", "expert") else []
    yield from _lora(world)
    yield from ["--mm-encoder-only"] if role.stage == "encode" else []
    yield from _outputs_of_encoders(role)
    if role.pods > 1:
        yield from (f"--nnodes={role.pods}", "--node-rank=$(LWS_WORKER_INDEX)")
        yield f"--master-addr=$({'POD_IP' if pods.serves else 'LWS_LEADER_ADDRESS'})"
        if variant.release in WAITING:
            yield f"--distributed-timeout-seconds={role.arrival + role.startup}"
        yield from [] if pods.serves else ["--headless"]


def _tokenizes(world: World, role: Role) -> bool:
    """Say whether the picker asks a role for tokens at a path that the role's image serves only with a flag."""
    version = re.search(r":v(\d+)\.(\d+)", role.say("engine", "image", default=""))
    is_older = version is not None and (int(version[1]), int(version[2])) < GATED_SINCE
    gated = world.variant.release in GATED and not is_older
    return gated and world.variant.precise and role.stage == "decode"


def _agreed(world: World, role: Role) -> dict[str, Any]:
    """Return what the roles that exchange their cache have to be told alike; encode pods have none to exchange."""
    cache = world.variant.say("kvCache", default={})
    size = cache.get("blockSize", 64 if world.variant.disaggregated or world.variant.precise else None)
    transfer = {"kv_connector": CONNECTORS[cache.get("connector", "nixlv2")], "kv_role": "kv_both"}
    written = (
        json.dumps(transfer, separators=(",", ":")) if world.variant.disaggregated and role.stage != "encode" else None
    )
    return {"block-size": size, "kv-transfer-config": written, "kv-events-config": _events(world)}


def _outputs_of_encoders(role: Role) -> Iterator[str]:
    """Yield how a role sends or gets what encoders put out."""
    if role.stage != "encode" and not role.gets_outputs_of_encoders:
        return
    settings = {
        "ec_connector": "ECCPUConnector",
        "ec_connector_extra_config": {"ec_enable_nixl": True, "ec_cpu_bytes": amount(role.variant.outputs_of_encoders)},
        "ec_role": "ec_producer" if role.stage == "encode" else "ec_consumer",
    }
    yield f"--ec-transfer-config={json.dumps(settings, separators=(',', ':'))}"


def _publishes(world: World) -> bool:
    return world.variant.precise or world.variant.say("kvCache", "events", default=False)


def _events(world: World) -> str | None:
    """Return how an engine publishes what it holds: the topic names the pod by the address that the pool has for it."""
    if not _publishes(world):
        return None
    topic = f"kv@$(POD_IP):{world.variant.port}@{world.variant.served}"
    events = {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": "tcp://*:5556", "topic": topic}
    return json.dumps(events, separators=(",", ":"))


def _offload(role: Role) -> str | None:
    size = role.variant.say("kvCache", "cpuOffload")
    return None if size is None else f"{amount(size) / 2**30:g}"


def _lora(world: World) -> Iterator[str]:
    lora = world.variant.model.get("lora")
    if lora is None:
        return
    yield from ("--enable-lora", f"--max-lora-rank={lora.get('maxRank', 16)}", "--lora-modules")
    yield f"--max-loras={lora.get('maxAdapters', len(lora['adapters']))}"
    if "maxCpuAdapters" in lora:
        yield f"--max-cpu-loras={lora['maxCpuAdapters']}"
    yield from (f"{name}=/adapters/{name}" for name in lora["adapters"])


def the_roles_agree_about_their_cache(world: World) -> Iterator[str]:
    """Compare the roles themselves, whatever the variant asks for."""
    settings = [
        {
            flag: value
            for flag, _, value in (argument.partition("=") for argument in pods.engine["args"])
            if flag in AGREED
        }
        for pods in world.pods
        if world.variant.disaggregated and pods.role.stage != "encode"
    ]
    yield from same("the roles' caches", settings, settings[:1] * len(settings))
    flags = AGREED if _publishes(world) else AGREED - {"--kv-events-config"}
    yield from same("the roles' flags", [sorted(setting) for setting in settings], [sorted(flags)] * len(settings))


AGREED = {"--block-size", "--kv-transfer-config", "--kv-events-config"}


def the_engine_is_the_image_of_its_vendor(world: World) -> Iterator[str]:
    for pods in world.pods:
        role, held = pods.role, world.variant.scheme == "image"
        image_of_vendor = ENGINE_IMAGES.get((world.variant.release, role.vendor))
        image = world.variant.place if held else role.say("engine", "image", default=image_of_vendor)
        yield from same(f"{pods.name} image", pods.engine["image"], image)
        policy = role.say("engine", "imagePullPolicy")
        yield from same(f"{pods.name} pull policy", pods.engine.get("imagePullPolicy"), policy)
        yield from same(f"{pods.name} name", pods.engine["name"], "engine" if role.custom else "vllm")
        numbers = zip(role.names("engine" if role.proxied else "http"), role.engine_ports, strict=True)
        ports = [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in numbers]
        yield from same(f"{pods.name} ports", pods.engine.get("ports"), ports if pods.serves else None)


def the_engine_has_the_environment_that_it_needs(world: World) -> Iterator[str]:
    for pods in world.pods:
        role, expected = pods.role, texts(HOME="/home/engine")
        if not role.custom:
            expected |= texts(USER="engine", VLLM_NO_USAGE_STATS="1", DO_NOT_TRACK="1")
            expected |= texts(VLLM_ENGINE_READY_TIMEOUT_S=str(role.joined)) | traces(
                world, f"{role.variant.base}-{role.name}"
            )
        transfers = world.variant.disaggregated and role.stage != "encode"
        if transfers or role.stage == "encode" or role.pods > 1 or _publishes(world):
            expected["POD_IP"] = field("status.podIP")
        if role.stage == "encode":
            expected |= texts(VLLM_EC_SIDE_CHANNEL_HOST="$(POD_IP)")
        if transfers and world.variant.say("kvCache", "connector", default="nixlv2") == "nixlv2":
            # Bound and told to the other role; vLLM's own default is localhost.
            expected |= texts(VLLM_NIXL_SIDE_CHANNEL_HOST="$(POD_IP)")
        if not role.custom:
            expected |= texts(VLLM_HTTP_TIMEOUT_KEEP_ALIVE=str(_idle(world) + 30))
            expected |= texts(VLLM_CPU_KVCACHE_SPACE=_cache_on_cpu(role)) if role.vendor == "cpu" else {}
        expected |= variables(role.say("engine", "env", default={}))
        yield from named(f"{pods.name} environment", pods.engine["env"], expected)


def _idle(world: World) -> int:
    """Return the seconds for which what is in front of an engine keeps a connection; of strangers, the longest."""
    if world.variant.asks:
        return IDLE_OF_SIDECAR
    return IDLE.get(world.variant.provider or "", max(IDLE.values())) if world.variant.is_routed else max(IDLE.values())


def _cache_on_cpu(role: Role) -> str:
    """Return whole Gi for each worker: half of what weights, offloaded cache and shared memory leave of the limit."""
    offload = amount(role.variant.say("kvCache", "cpuOffload", default="0"))
    limit = amount(role.say("resources", "limits", "memory", default="48Gi"))
    if role.say("resources", "limits", "memory") is None:
        limit = max(limit + -(-offload // GI) * GI, amount(role.say("resources", "requests", "memory", default="0")))
    weights = amount(role.variant.model.get("size", "0")) * role.local
    left = limit - offload - weights - amount(role.say("pod", "sharedMemory", default="1Gi"))
    return str(max(1, left // (2 * role.tensor * role.stages * role.local * GI)))


def references_are_to_variables_that_are_there_before(world: World) -> Iterator[str]:
    for pods in world.pods:
        given = OF_A_GROUP if pods.role.pods > 1 else set()
        for container in [*pods.before, *pods.sidecars, pods.engine]:
            known = set(given)
            for variable in container.get("env", []):
                yield from _dangling(pods, f"{container['name']} {variable['name']}", variable.get("value", ""), known)
                known.add(variable["name"])
            for argument in container.get("args", []):
                yield from _dangling(pods, f"{container['name']} arguments", argument, known)


def _dangling(pods: Pods, what: str, text: str, known: set[str]) -> Iterator[str]:
    for name in re.findall(r"(?<!\$)\$\((\w+)\)", text):
        if name not in known:
            yield f"{pods.name} {what}: $({name}) is not there yet"
