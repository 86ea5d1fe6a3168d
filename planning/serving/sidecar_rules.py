"""Verdicts on the routing sidecar: where it has something to do, and its further flags and variables."""

from collections.abc import Iterator

from models.problems import Problem
from models.service import Sidecar
from planning.ground import environment
from planning.releases import SidecarFacts, departures
from planning.variant.context import VariantContext


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Reject flags that this program sets or that the release's sidecar lacks, and references to missing variables."""
    sidecar = variant.spec.sidecar
    facts = variant.release.sidecar
    if sidecar is None or facts is None:
        return
    at = variant.path / "sidecar"
    generated = _generated_flags(facts)
    for name in sidecar.flags:
        if name in generated:
            yield Problem(at / "flags" / name, f"repeats a field ({name})", "remove it: other keys decide it")
        yield from environment.dangling(at / "flags" / name, sidecar.flags[name], sidecar.env)
        yield from departures.problems(at / "flags" / name, "sidecar-flag", name, variant.release)
    explicit = environment.values(sidecar.env)
    yield from environment.problems(at / "env", {}, explicit, _reserved_variables(variant))


def judge_lone(variant: VariantContext, sidecar: Sidecar) -> Iterator[Problem]:
    """Check the sidecar of a variant without further roles: only some protocols let it work there."""
    path = variant.path
    facts = variant.release.sidecar
    lone = facts.lone_connectors if facts is not None else []
    if not variant.has_lone_sidecar:
        remedy = "add prefill or remove sidecar"
        if lone:
            remedy = f"add prefill, set kvCache.connector: {lone[0]}, or remove sidecar"
        yield Problem(path / "sidecar", "has nothing to route to (no prefill)", remedy, explicit_only=True)
    elif sidecar.engine_port == variant.spec.engine.port:
        what = f"is the service's own port ({sidecar.engine_port}), which the sidecar listens on"
        yield Problem(path / "sidecar" / "enginePort", what, "choose another, such as 8200")


def _generated_flags(facts: SidecarFacts) -> frozenset[str]:
    """Return the names of the flags that this program sets, without dashes."""
    lists = (facts.flags, facts.tls, facts.tracing, facts.log_level, facts.copies, facts.encode)
    return frozenset(flag.lstrip("-").partition("=")[0] for flags in lists for flag in flags)


def _reserved_variables(variant: VariantContext) -> dict[str, str]:
    """Return the variables that no user may set, each with the reason."""
    modes = variant.kind.disaggregation
    if modes is None or modes.port_variable is None:
        return {}
    return {modes.port_variable: "the engines of prefill listen on the sidecar's default port"}
