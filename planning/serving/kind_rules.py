"""Verdicts on fields and flags of engines other than vLLM, by what their kind can do."""

import difflib
from collections.abc import Iterator

from models import flags
from models.base import Spec
from models.paths import Path
from models.problems import Problem, warning
from planning.picker import config
from planning.releases import engine_flags
from planning.releases.engine_flags import FlagTable
from planning.serving import engine_arguments
from planning.variant.context import RoleContext

_GROUP_REMEDY = "keep a replica in one pod, or set parallelism.pods"
_OWN_FLAG = "write the engine's own flag in engine.args"


def judge(context: RoleContext) -> Iterator[Problem]:
    """Reject fields that do not reach the engine, and flags that its version does not know."""
    yield from _fields_without_effect(context)
    yield from _layout(context)
    yield from _host_cache(context)
    yield from _metrics(context)
    yield from _traces(context)
    if context.kind.is_generated:
        yield from _flags(context)


def _fields_without_effect(context: RoleContext) -> Iterator[Problem]:
    """Reject settings that reach an engine only by generated flags, which the engine's kind lacks."""
    spec = context.variant.spec
    top = context.variant.path
    role = context.role
    path = context.path
    fields = [
        *_explicit_fields(path / "engine", role.engine, "max_num_seqs", "gpu_memory_utilization", "compile_cache")
    ]
    fields += _explicit_fields(path / "parallelism", role.parallelism, "expert")
    if context.stage.is_destination:
        fields += _explicit_fields(top / "model", spec.model, "max_model_len", "speculative")
        without_effect = set(type(spec.kv_cache).model_fields)
        if spec.prefill is not None or spec.sidecar is not None:
            without_effect.remove("connector")
        if context.variant.kv_cache.has_reader:
            without_effect.remove("block_size")
        fields += _explicit_fields(top / "kvCache", spec.kv_cache, *without_effect)
    for at in fields:
        if not _reaches(context, at):
            what = f"has no effect on {context.kind.title}"
            yield Problem(at, what, f"remove it, and {_OWN_FLAG}", explicit_only=True)


def _layout(context: RoleContext) -> Iterator[Problem]:
    """Reject layouts of a replica that the engine gets no flags for."""
    at = context.path / "parallelism"
    spec = context.role.parallelism
    for field in _explicit_fields(at, spec, "pipeline", "data", "data_local", "load_balancing"):
        if not _reaches(context, field):
            devices = "remove it, set parallelism.tensor to the number of devices of a pod"
            what = f"does not reach {context.kind.title}"
            yield Problem(field, what, f"{devices}, and {_OWN_FLAG}", explicit_only=True)
    group = context.kind.group
    layout = context.layout
    is_custom_group = group is not None and not context.kind.is_generated
    if layout.pods_per_replica > 1 and spec.pods == 1 and is_custom_group:
        yield Problem(at, f"spans several pods, but {context.kind.title} gets no flags for that", _GROUP_REMEDY)
    if is_custom_group:
        return
    if group is not None and not group.spreads_copies and layout.data > 1 and layout.pods_per_replica > 1:
        what = f"has several copies in a replica of several pods, which {context.kind.title} does not support"
        yield Problem(at / "data", what, "remove it, and use replicas instead of copies")


def _host_cache(context: RoleContext) -> Iterator[Problem]:
    """Reject host memory for cache blocks with which the engine would not start."""
    host = context.kind.host_cache
    size = context.cpu_offload
    if host is None or size is None:
        return
    at = context.variant.path / "kvCache" / "cpuOffload"
    title = context.kind.title
    if context.variant.spec.prefill is not None and not host.beside_prefill:
        yield Problem(at, f"does not work with prefill in {title} ({size})", "remove it, or remove prefill")
    if engine_arguments.host_units(context, host, size) == 0:
        what = f"leaves each worker of {title} less than a unit ({size}, {host.unit} bytes)"
        yield Problem(at, what, "raise it, or remove it", (context.path / "parallelism",))
    for flag in flags.parse(context.role.engine.args):
        if flag.switch == host.excluded:
            what = f"is refused by {title} beside kvCache.cpuOffload ({host.excluded})"
            yield Problem(context.path / "engine" / "args" / flag.index, what, "remove one of them", (at,))


def _reaches(context: RoleContext, at: Path) -> bool:
    """Tell whether the engine gets a flag for a field, whose path ends with the section and the key."""
    return ".".join(str(part) for part in at[-2:]) in context.kind.flags


def _explicit_fields(at: Path, spec: Spec, *names: str) -> Iterator[Path]:
    """Yield the paths of the fields among `names` that the configuration sets to another value than the default."""
    for name in sorted(spec.explicit_fields.intersection(names)):
        field = type(spec).model_fields[name]
        if getattr(spec, name) != field.default:
            yield at / (field.alias or name)


def _metrics(context: RoleContext) -> Iterator[Problem]:
    """Warn of an engine whose metrics are not where a generated configuration of the picker reads them."""
    picker = context.variant.spec.endpoint_picker
    if not picker.enabled or picker.preset == config.CUSTOM or not context.stage.is_destination:
        return
    path = context.kind.metrics_path
    reads = config.metrics_path(context.variant.spec, context.variant.release.picker)
    if path != reads:
        what = f"serves its metrics at {path}, and the picker of this release reads them at {reads}"
        yield warning(context.path / "engine" / "type", what, "use a newer release")


def _traces(context: RoleContext) -> Iterator[Problem]:
    """Warn of an engine that does not get the address for traces, unlike the other parts of the stack."""
    is_traced = context.variant.stack.observability.tracing is not None
    if is_traced and "observability.tracing.endpoint" not in context.kind.flags:
        what = f"does not get the address for traces ({context.kind.title})"
        yield warning(context.path / "engine" / "type", what, f"{_OWN_FLAG}, or expect no traces of it")


def _flags(context: RoleContext) -> Iterator[Problem]:
    """Reject the user's flags that the version of the engine does not know. Warn if the version is unknown."""
    table = engine_flags.of_kind(context.kind)
    args = context.role.engine.args
    if table is None or context.image is None or not args:
        return
    version = table.version_in(context.image)
    if version is None:
        what = f"has an unknown version of {context.kind.title}, and args are not checked"
        yield warning(context.path / "engine" / "image", what, _version_remedy(table))
        return
    known = table.flags_of(version)
    for flag in flags.parse(args):
        if flag.name and flag.switch not in context.kind.decided and not table.knows(version, flag.name):
            what = f"is no flag of {context.kind.title} {version} ({flag.name})"
            close = difflib.get_close_matches(flag.name, known, n=1)
            remedy = "remove it"
            if close:
                remedy = f"did you mean {close[0]}?"
            yield Problem(context.path / "engine" / "args" / flag.index, what, remedy)


def _version_remedy(table: FlagTable) -> str:
    if not table.versions:
        return "no table names the flags of its versions"
    return f"use a tag that names a version from {table.versions[0]} to {table.versions[-1]}"
