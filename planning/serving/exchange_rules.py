"""Verdicts on the exchange of the KV cache between roles: engines, the sidecar's protocol, and the cache's form."""

from collections.abc import Iterator

from models import flags
from models.problems import Problem
from planning.serving import engine_arguments
from planning.variant.context import RoleContext, VariantContext


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Check that the engines of all roles work together, by a protocol that sidecar and engine know."""
    kind = variant.kind
    at = variant.path / "kvCache" / "connector"
    for role in variant.roles:
        if not role.stage.is_destination and role.kind.name != kind.name:
            engines = f"{role.kind.name}, {kind.name}"
            what = f"is another engine than the service's ({engines}), and the roles exchange their cache"
            yield Problem(role.path / "engine" / "type", what, "write it in the service's engine.type alone")
            return
    connector = variant.kv_cache.connector
    if connector is None and kind.is_generated:
        what = f"is not possible with {kind.title}, whose cache no routing sidecar transfers"
        yield Problem(variant.path / "prefill", what, "remove it")
        return
    if connector is None:
        what = "is missing, and nothing is known of a custom engine's transfer of its cache"
        yield Problem(at, what, f"add the protocol that the engine has: {_words(_of_sidecar(variant))}")
        return
    yield from judge_connector(variant)
    known = _of_engine(variant)
    if known and connector not in known and connector in _of_sidecar(variant):
        what = f"is not known to the engine of {variant.release.name} ({connector})"
        if not kind.vllm_tables:
            what = f"is not the protocol of {kind.title} ({connector})"
        remedy = f"use one of {_words(known)}"
        if len(known) == 1:
            remedy = f"use {known[0]}"
        yield Problem(at, what, remedy)


def judge_connector(variant: VariantContext) -> Iterator[Problem]:
    """Reject a protocol that the release's sidecar lacks. A release without sidecar has none to compare with."""
    connector = variant.kv_cache.connector
    known = _of_sidecar(variant)
    if known and connector is not None and connector not in known:
        what = f"is not known to the sidecar of {variant.release.name} ({connector})"
        yield Problem(variant.path / "kvCache" / "connector", what, f"use one of {_words(known)}")


def _of_sidecar(variant: VariantContext) -> list[str]:
    sidecar = variant.release.sidecar
    if sidecar is None:
        return []
    return sidecar.connectors


def _of_engine(variant: VariantContext) -> list[str]:
    """Return the protocols for which engines get settings; empty if the user writes the settings."""
    kind = variant.kind
    if not kind.is_generated:
        return []
    if not kind.vllm_tables:
        return [kind.connector] if kind.connector is not None else []
    switches = {flag.switch for role in variant.roles for flag in flags.parse(role.spec.engine.args)}
    if engine_arguments.KV_TRANSFER in switches:
        return []
    return list(variant.release.engine.kv_transfer)


def _words(names: list[str]) -> str:
    return ", ".join(names)


def judge_roles(decode: RoleContext, prefill: RoleContext) -> Iterator[Problem]:
    """Reject roles that cannot read each other's KV cache; their engines would fail only at the first request."""
    if decode.place.set_name:
        yield from _differences(decode, prefill, prefill.name)
    else:
        yield from _differences(prefill, decode, "the service")


def _differences(context: RoleContext, other: RoleContext, noun: str) -> Iterator[Problem]:
    """Yield what prevents a role from an exchange with another role, which is called `noun`."""
    cache_flags = _cache_flags(context)
    other_flags = _cache_flags(other)
    for name in sorted(cache_flags.keys() | other_flags.keys()):
        if cache_flags.get(name) != other_flags.get(name):
            what = f"differs from {noun}'s in {name}, and the roles exchange their cache"
            yield Problem(context.path / "engine" / "args", what, "write it in the service's engine.args alone")
    vendor = other.accelerator.vendor
    if context.accelerator.vendor != vendor:
        names = f"{context.role.accelerator}, {other.role.accelerator}"
        what = f"is of another vendor than {noun}'s accelerator ({names}), and the roles exchange their cache"
        depends_on = (other.path / "accelerator",)
        yield Problem(context.path / "accelerator", what, f"use a class of {vendor}", depends_on)
    tensor = context.layout.tensor
    other_tensor = other.layout.tensor
    if max(tensor, other_tensor) % min(tensor, other_tensor):
        what = f"does not fit {noun}'s ({tensor}, {other_tensor}), and the roles exchange their cache"
        remedy = f"write a divisor or a multiple of {other_tensor}"
        yield Problem(context.path / "parallelism" / "tensor", what, remedy)


def _cache_flags(context: RoleContext) -> dict[str, str | None]:
    """Return the flags that decide the form of the KV cache, with their values, from a role's arguments."""
    names = context.variant.release.engine.cache_flags
    return {flag.switch: flag.value for flag in flags.parse(context.role.engine.args) if flag.switch in names}
