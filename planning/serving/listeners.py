"""Validation of the ports of a serving pod: no two listeners can use the same port, not even in two containers."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from models import flags
from models.paths import Path
from models.problems import Problem
from planning.ground import stages
from planning.releases import encoder_caches, tier_facts
from planning.serving import engine_arguments
from planning.serving.context import EngineContext
from planning.variant.context import RoleContext


@dataclass(frozen=True, slots=True)
class _Listener:
    """A listener of a pod, on one port or on one port for each rank of data parallelism."""

    noun: str
    at: Path
    """Path of the key that decides the port."""
    first: int
    last: int
    is_explicit: bool
    """Whether the user set the port in `engine.args` or `engine.env`. A conflict is then reported at that setting."""


def judge(engine: EngineContext) -> Iterator[Problem]:
    """Report each port of a pod that two listeners would share."""
    context = engine.role
    for listener, other in combinations(_listeners(engine), 2):
        port = max(listener.first, other.first)
        if port > min(listener.last, other.last):
            continue
        wrong, right = (other, listener) if other.is_explicit else (listener, other)
        place = right.at.below(context.variant.path) if right.at.is_within(context.variant.path) else right.at
        what = f"is taken by {right.noun} ({port}; {place})"
        yield Problem(wrong.at, what, "choose another port", (right.at,))


def _listeners(engine: EngineContext) -> Iterator[_Listener]:
    context = engine.role
    path = context.variant.path
    ports = context.target_ports
    at = path / "engine" / "port"
    yield _Listener("the requests of clients", at, ports[0], ports[-1], is_explicit=False)
    if context.is_proxied and context.engine_port != ports[0]:
        at = path / "sidecar" / "enginePort"
        ports = context.engine_ports
        yield _Listener("the engine behind the sidecar", at, ports[0], ports[-1], is_explicit=False)
    if context.supervisor_port is not None:
        port = context.supervisor_port
        yield _Listener("the health check of all copies of the model", at, port, port, is_explicit=False)
    yield from _events(engine)
    yield from _transfer(context)
    yield from _encoder_outputs(context)
    yield from _tiers(context)
    for name in sorted(context.role.pod.containers):
        for index, port in enumerate(context.role.pod.containers[name].ports):
            at = Path(*context.path, "pod", "containers", name, "ports", index)
            yield _Listener(f"container {name}", at, port, port, is_explicit=True)


def _events(engine: EngineContext) -> Iterator[_Listener]:
    """Yield the listener of KV cache events. Each rank adds its number to the port (vLLM, `offset_endpoint_port`)."""
    context = engine.role
    port = engine.events_port
    if port is None:
        return
    at = context.variant.path / "kvCache" / "events"
    is_explicit = False
    for flag in flags.parse(context.role.engine.args):
        if flag.switch == engine_arguments.KV_EVENTS and "endpoint" in (flags.json_object(flag) or {}):
            at = context.path / "engine" / "args" / flag.value_index
            is_explicit = True
    yield _Listener("the events of the KV cache", at, port, port + context.layout.data - 1, is_explicit)


def _encoder_outputs(context: RoleContext) -> Iterator[_Listener]:
    """Yield the listener at which other pods ask encode pods for outputs of encoders."""
    cache = context.encoder_cache
    if cache is None or context.stage is not stages.ENCODE:
        return
    channel = encoder_caches.connector(cache.connector).port
    text = context.role.engine.env.get(channel.variable, "")
    is_explicit = isinstance(text, str) and text.isdecimal()
    port = int(str(text)) if is_explicit else channel.number
    at = context.path / "encoderCache" / "connector"
    if is_explicit:
        at = context.path / "engine" / "env" / channel.variable
    yield _Listener("the transfer of outputs of encoders", at, port, port, is_explicit)


def _tiers(context: RoleContext) -> Iterator[_Listener]:
    """Yield the listeners at which other pods ask for blocks of a tier. Each rank adds its number to the port."""
    for index, tier in enumerate(context.variant.spec.kv_cache.tiers):
        port = tier_facts.of_type(tier.type).port
        if port is None or tier not in context.cache.tiers:
            continue
        at = Path(*context.variant.path, "kvCache", "tiers", index)
        yield _side_channel(context, port.variable, port.number, "the tier of other pods", at)


def _side_channel(context: RoleContext, variable: str, default: int, noun: str, at: Path) -> _Listener:
    """Return a listener of each rank whose port a variable sets. `at` is the path of the key that asks for it."""
    text = context.role.engine.env.get(variable, "")
    is_explicit = isinstance(text, str) and text.isdecimal()
    port = int(str(text)) if is_explicit else default
    if is_explicit:
        at = context.path / "engine" / "env" / variable
    return _Listener(noun, at, port, port + context.layout.data - 1, is_explicit)


def _transfer(context: RoleContext) -> Iterator[_Listener]:
    """Yield the listener for the handshake before a transfer of the KV cache. Each rank adds its number to the port."""
    spec = context.variant.spec
    modes = context.kind.disaggregation
    if spec.prefill is not None and modes is not None and context.stage is stages.PREFILL:
        at = context.path / "engine" / "type"
        port = modes.bootstrap_port
        yield _Listener("the transfer of the KV cache", at, port, port, is_explicit=False)
    handshake = context.variant.release.engine.handshake_ports.get(context.variant.kv_cache.connector or "")
    transfers = spec.prefill is not None and context.stage.exchanges_kv_cache
    if not transfers or handshake is None or not context.kind.vllm_tables:
        return
    at = context.variant.path / "kvCache" / "connector"
    yield _side_channel(context, handshake.variable, handshake.number, "the transfer of the KV cache", at)
