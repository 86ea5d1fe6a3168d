"""Loaders with which vLLM brings weights to the devices (`--load-format`), and the combinations that cannot work."""

from collections.abc import Iterator, Mapping

from models import flags
from models.base import Spec
from models.problems import Problem
from models.source import scheme
from planning.ground import loading, tables
from planning.ground.loading import Loading
from planning.ground.tables import Sourced
from planning.hardware import accelerators
from planning.variant.context import RoleContext

_FLAG = "--load-format"
_REVISION = "--revision"
_STREAMER = "runai-streamer"


class _LoadFormat(Sourced):
    format: str
    schemes: list[str]
    vendors: list[str]


class _Table(Spec):
    loaders: dict[str, _LoadFormat]


def _loaders() -> Mapping[str, _LoadFormat]:
    return tables.read(_Table, "releases/engines/loaders.yaml").loaders


def load_format(context: RoleContext) -> str | None:
    """Return the value of `--load-format` for a role; None for the engine's default.

    An engine that opens object storage needs a loader that streams. vLLM chooses one itself only since some version.
    """
    kind = context.role.engine.load.type
    if kind == "default" and loading.of(context.variant.spec) is Loading.STREAMED:
        kind = _STREAMER
    if kind == "default":
        return None
    return _loaders()[kind].format


def judge(context: RoleContext) -> Iterator[Problem]:
    """Reject loaders that cannot work, and flags that repeat what the configuration says elsewhere."""
    kind = context.role.engine.load.type
    at = context.path / "engine"
    if not context.kind.vllm_tables:
        if kind != "default":
            what = f"does not reach {context.kind.title} ({kind})"
            yield Problem(at / "load", what, "remove it, and write the engine's own flag in engine.args")
        return
    yield from _repeated_flags(context)
    if kind == "default":
        return
    loader = _loaders()[kind]
    source = context.variant.spec.model.source
    top = context.variant.path
    if loading.of(context.variant.spec).is_by_engine and scheme(source) not in loader.schemes:
        what = f"does not open this source ({kind}, {scheme(source)}://)"
        remedy = f"use {_STREAMER}, or another storage.type"
        yield Problem(at / "load", what, remedy, (top / "model" / "source", top / "storage"))
    vendor = context.accelerator.vendor
    if loader.vendors and accelerators.is_known(vendor) and vendor not in loader.vendors:
        what = f"needs devices of {' or '.join(loader.vendors)} ({kind}, {vendor})"
        yield Problem(at / "load", what, "remove it, or use another accelerator", (context.path / "accelerator",))


def _repeated_flags(context: RoleContext) -> Iterator[Problem]:
    is_by_engine = loading.of(context.variant.spec).is_by_engine
    for flag in flags.parse(context.role.engine.args):
        place = context.path / "engine" / "args" / flag.index
        if flag.switch == _FLAG and context.role.engine.load.type != "default":
            yield Problem(place, f"repeats a field ({_FLAG})", "remove it, or remove engine.load")
        if flag.switch == _REVISION and is_by_engine:
            yield Problem(place, f"repeats a field ({_REVISION})", "remove it, and write the revision in model.source")
