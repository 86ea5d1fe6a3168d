"""Container of the inference server: image, arguments, environment, ports and probes."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from models import flags
from models.accelerators import ExtendedResource
from models.flags import Flag
from models.problems import Problem
from planning.ground import environment, lifecycle, loading, resources
from planning.ground.environment import EnvValue, Variable
from planning.ground.lifecycle import Probes
from planning.ground.loading import Loading
from planning.releases import engine_versions, tracing
from planning.serving import engine_arguments, loaders
from planning.serving.context import EngineContext
from planning.variant import api_server
from planning.variant.context import RoleContext
from planning.weights import engine_access, sources
from planning.weights.engine_access import EngineAccess

_DISK = "ephemeral-storage"
_HEADROOM = 10
"""Additional space for weights on the disk of a node, in percent, because files take whole blocks."""
_GROUP_VARIABLES = {
    "LWS_GROUP_SIZE": "the number of pods",
    "LWS_LEADER_ADDRESS": "the leader's host name",
    "LWS_WORKER_INDEX": "the pod's number",
}
"""Variables that the LeaderWorkerSet controller adds to every container, with their meaning."""
_RESERVED = {
    "POD_IP": "it is the pod's own address",
    "VLLM_EC_SIDE_CHANNEL_HOST": "it follows from encode.encoderCache",
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
    worker_command: tuple[str, ...]
    worker_arguments: tuple[str, ...]
    """Arguments of the worker pods of a replica; empty if a replica has no pods with arguments of their own."""
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
    metrics_path: str
    """Path of the engine's metrics."""
    source_urls: tuple[str, ...] = ()
    """URLs of the servers from which the engine gets its weights itself; empty if it loads from a folder."""
    asks_peers: bool = False
    """Whether engines of the role take cache blocks from each other."""


def plan(engine: EngineContext) -> EnginePlan:
    """Return the engine of a role."""
    context = engine.role
    spec = context.variant.spec
    role = context.role
    layout = context.layout
    if context.image is None:
        raise ValueError("this class has no engine image")
    requests, limits = resources.engine(role.resources, layout.devices_per_pod, context.cpu_offload)
    access = _access(context)
    explicit = environment.values(role.engine.env)
    devices = _devices(context)
    command = _command(context)
    return EnginePlan(
        name=context.kind.container,
        image=context.image,
        pull_policy=role.engine.image_pull_policy,
        command=command,
        arguments=_merge_arguments(engine.arguments, role.engine.args),
        worker_command=role.engine.worker_command or command,
        worker_arguments=_worker_arguments(engine),
        env=environment.container_variables(
            {**_environment(context), **access.env},
            explicit,
            context.path / "engine" / "env",
            access.secret_at,
        ),
        ports=context.engine_ports,
        probe_port=context.supervisor_port or context.engine_port,
        probes=lifecycle.probes(
            role.health,
            spec.model.size,
            api_server.ready_path(role, layout),
            spans_pods=layout.pods_per_replica > 1,
            loading=loading.of(spec),
        ),
        requests={**requests, **_disk(context, {**requests, **limits}), **devices},
        limits={**limits, **devices},
        certificate=engine_arguments.certificate(context),
        events_ports=_events_ports(engine),
        metrics_path=_metrics_path(context),
        source_urls=_source_urls(context, {**access.env, **explicit}),
        asks_peers=context.cache.asks_peers,
    )


def _devices(context: RoleContext) -> dict[str, str]:
    """Return the extended resource of the devices with its amount; empty if the devices are claimed otherwise."""
    allocation = context.accelerator.allocation
    if not isinstance(allocation, ExtendedResource):
        return {}
    return {allocation.resource_name: str(context.layout.chips_per_pod)}


def _access(context: RoleContext) -> EngineAccess:
    """Return the variables with which the engine opens the source of its model; none if it loads from a folder."""
    spec = context.variant.spec
    if not loading.of(spec).is_by_engine:
        return engine_access.NONE
    identity = context.role.pod.service_account_name is not None
    return engine_access.of_model(spec.model, context.variant.path / "model", identity=identity)


def _source_urls(context: RoleContext, env: Mapping[str, EnvValue]) -> tuple[str, ...]:
    """Return the URLs of the servers from which the engine gets its weights, by its variables."""
    spec = context.variant.spec
    if not loading.of(spec).is_by_engine:
        return ()
    return tuple(sources.urls(spec.model.source, spec.model, env))


def _disk(context: RoleContext, explicit: Mapping[str, str]) -> dict[str, str]:
    """Return the request for the disk space of the weights that an engine fetches into its home.

    Empty if their size is unknown, or if the requests or limits in `explicit` have that space.
    """
    spec = context.variant.spec
    size = spec.model.size
    if loading.of(spec) is not Loading.FETCHED or size is None or _DISK in explicit:
        return {}
    space = resources.volume({"model": size}, _HEADROOM)
    return {} if space is None else {_DISK: space}


def _command(context: RoleContext) -> tuple[str, ...]:
    """Return the program of the engine with its first arguments; empty for the entrypoint of the image.

    A shell takes the first argument after its script as `$0` (POSIX, sh), which `$@` does not contain.
    """
    explicit = context.role.engine.command
    program = tuple(context.kind.program)
    if not explicit:
        return program
    if program and explicit[-1].rstrip().endswith(_script_end(program)):
        return (*explicit, program[0])
    return explicit


def _script_end(program: Sequence[str]) -> str:
    """Return the end of a script that gets the engine's arguments."""
    return f'exec {" ".join(program)} "$@"'


def _metrics_path(context: RoleContext) -> str:
    """Return the path of the engine's metrics: the user's, else that of the kind of engine."""
    metrics = context.variant.spec.metrics
    if "path" in metrics.explicit_fields:
        return metrics.path
    return context.kind.metrics_path


def _events_ports(engine: EngineContext) -> tuple[int, ...]:
    first = engine.events_port
    if first is None:
        return ()
    return tuple(range(first, first + engine.role.layout.ports))


def _merge_arguments(generated: tuple[str, ...], explicit: tuple[str, ...]) -> tuple[str, ...]:
    """Merge the user's arguments into the generated ones. The user's values win; JSON values of a flag are merged."""
    if not generated:
        return explicit
    return tuple(flags.merge(generated, explicit))


def _worker_arguments(engine: EngineContext) -> tuple[str, ...]:
    """Return the arguments of worker pods. The user's flags that only a leader accepts are left out."""
    spec = engine.role.role.engine
    if not engine.role.kind.is_generated and engine.role.layout.pods_per_replica > 1:
        return spec.worker_args or spec.args
    if not engine.worker_arguments:
        return ()
    leader_flags = engine_versions.groups().leader.flags
    parsed = (flag for flag in flags.parse(spec.args) if flag.switch not in leader_flags)
    explicit = tuple(token for flag in parsed for token in flag.tokens)
    return _merge_arguments(engine.worker_arguments, explicit)


def _environment(context: RoleContext) -> dict[str, EnvValue]:
    """Return the generated environment of the engine, with the variables of tracing."""
    if not context.kind.vllm_tables:
        return dict(context.environment)
    traces = context.variant.stack.observability.tracing
    return {**context.environment, **tracing.environment(traces, f"{context.variant.names.base}-{context.name}")}


def judge(context: RoleContext) -> Iterator[Problem]:
    """Reject arguments and variables that repeat a field or each other, and references to missing variables.

    Messages contain no values, because a value may be a credential.
    """
    yield from loaders.judge(context)
    engine = context.role.engine
    for index, flag in enumerate(engine.without_args):
        name = re.split(r"[=\s]", flag.strip(), maxsplit=1)[0]
        what = f"is no flag in the inherited arguments ({name})"
        yield Problem(context.path / "engine" / "withoutArgs" / index, what, "remove it")
    if not (engine.args or engine.env or engine.command or engine.worker_args or engine.worker_command):
        return
    yield from _check_command(context)
    yield from _check_worker(context)
    at = context.path / "engine" / "args"
    decided = context.kind.decided
    if context.kind.is_generated:
        yield from flags.problems(at, engine.args, _json_flags(context))
        for flag in flags.parse(engine.args):
            if flag.switch in decided:
                what = f"repeats a field ({_flag_name(context, flag)})"
                yield Problem(at / flag.index, what, _remedy(decided[flag.switch]))
    available = {**context.environment, **_access(context).env}
    if context.layout.pods_per_replica > 1:
        available |= _GROUP_VARIABLES
    explicit = environment.values(engine.env)
    reserved = reserved_variables(context)
    yield from environment.problems(context.path / "engine" / "env", available, explicit, reserved)
    names = available.keys() | explicit.keys()
    yield from environment.dangling_in(context.path / "engine" / "command", engine.command, names)
    yield from environment.dangling_in(at, engine.args, names)
    yield from environment.dangling_in(context.path / "engine" / "workerCommand", engine.worker_command, names)
    yield from environment.dangling_in(context.path / "engine" / "workerArgs", engine.worker_args, names)


def _json_flags(context: RoleContext) -> Collection[str]:
    """Return the flags whose value is JSON."""
    if context.kind.vllm_tables:
        return context.variant.release.engine.json_flags
    return {context.kind.flags[field] for field in ("kvCache.events",) if field in context.kind.flags}


def _check_command(context: RoleContext) -> Iterator[Problem]:
    """Reject a program that does not pass the generated arguments to the engine."""
    command = context.role.engine.command
    program = tuple(context.kind.program)
    if not command or not program:
        return
    end = _script_end(program)
    if command[-len(program) :] != program and not command[-1].rstrip().endswith(end):
        what = f"does not run {context.kind.title} with the arguments that follow it"
        words = ", ".join(program)
        remedy = f"end it with {words}, or with a script that ends with {end}; or set engine.type: custom"
        yield Problem(context.path / "engine" / "command", what, remedy, (context.path / "engine" / "type",))


def _check_worker(context: RoleContext) -> Iterator[Problem]:
    """Reject a program or arguments of further pods where there are no such pods, or where they are generated."""
    engine = context.role.engine
    if not context.kind.is_generated and context.layout.pods_per_replica > 1:
        return
    remedy = "remove it"
    what = f"has no effect on {context.kind.title}, whose pods get generated arguments"
    if not context.kind.is_generated:
        what = "has no effect on a replica of one pod"
        remedy = "remove it, or set parallelism.pods"
    for key, value in (("workerCommand", engine.worker_command), ("workerArgs", engine.worker_args)):
        if value:
            yield Problem(context.path / "engine" / key, what, remedy, (context.path / "parallelism",))


def reserved_variables(context: RoleContext) -> dict[str, str]:
    """Return the variables of an engine that no user may set, each with the reason."""
    return {name: reason for name, reason in _RESERVED.items() if name in context.environment}


def _flag_name(context: RoleContext, flag: Flag) -> str:
    """Return the name of a flag for messages: as written, but a long flag of vLLM in its own spelling."""
    name = flag.tokens[0].partition("=")[0]
    if name.startswith("--") and context.kind.vllm_tables:
        return flag.name
    return name


def _remedy(replacement: str) -> str:
    if replacement.startswith("set "):
        return f"remove it and {replacement}"
    return f"remove it: {replacement}"
