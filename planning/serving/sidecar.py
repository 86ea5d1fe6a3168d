"""The routing sidecar of decode pods: it takes the service's port and asks prefill before it asks the engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.service import Sidecar
from planning.ground.api_groups import POOL_GROUP
from planning.ground.environment import Variable, container_variables
from planning.releases import tracing
from planning.variant.context import VariantContext

_READ = ["list", "watch"]


@dataclass(frozen=True, slots=True)
class SidecarProbe:
    """How often the sidecar is asked for its health, in seconds, and how often it may fail."""

    interval: int
    failures: int


@dataclass(frozen=True, slots=True)
class SidecarPlan:
    """The sidecar's container."""

    image: str
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    port: int
    """The service's port."""
    engine_port: int
    startup: SidecarProbe
    liveness: SidecarProbe
    rules: tuple[Mapping[str, Any], ...]
    """Rules of its Role, by which it sees which pods are the pool's, so that no client's header sends it elsewhere."""
    requests: dict[str, str]
    limits: dict[str, str]


def plan(context: VariantContext) -> SidecarPlan:
    """Decide the sidecar of a variant. The release is known to have one (`planning.rules`)."""
    spec, release = context.spec, context.release
    traces, own = context.stack.observability.tracing, spec.sidecar or Sidecar()
    facts, image = release.sidecar, release.images.sidecar
    if facts is None or image is None:
        raise ValueError("this release has no routing sidecar")
    values = {
        "port": spec.engine.port,
        "engine_port": own.engine_port,
        "connector": spec.kv_cache.connector,
        "namespace": context.names.namespace,
        "pool": context.names.pool,
        "pool_group": POOL_GROUP,
        "log_level": own.log_level,
    }
    templates = [
        *facts.flags,
        *(facts.tls if own.tls.prefill else ()),
        *(facts.tracing if traces is not None else ()),
        *(facts.log_level if own.log_level is not None else ()),
    ]
    return SidecarPlan(
        image=own.image or image.ref,
        arguments=tuple(template.format_map(values) for template in templates),
        env=container_variables(tracing.environment(traces, f"{context.names.base}-sidecar", facts.untraced), {}),
        port=spec.engine.port,
        engine_port=own.engine_port,
        startup=SidecarProbe(interval=1, failures=60),
        # It answers for itself alone, so this finds a proxy that hangs; the engine has probes of its own.
        liveness=SidecarProbe(interval=10, failures=3),
        rules=_rules(context.names.pool),
        requests=own.resources.requests,
        limits=own.resources.limits,
    )


def _rules(pool: str) -> tuple[dict[str, Any], ...]:
    """Return what lets the sidecar see which pods are the pool's, and nothing else."""
    named = {"apiGroups": [POOL_GROUP], "resources": ["inferencepools"], "resourceNames": [pool], "verbs": _READ}
    return {"apiGroups": [""], "resources": ["pods"], "verbs": _READ}, named
