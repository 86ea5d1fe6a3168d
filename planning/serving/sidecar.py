"""The routing sidecar of decode pods: it takes the service's port and asks prefill before it asks the engine."""

from dataclasses import dataclass

from models.service import Sidecar
from planning.ground.api_groups import POOL_GROUP
from planning.ground.environment import Variable, ordered
from planning.releases import tracing
from planning.variant.context import VariantContext


@dataclass(frozen=True, slots=True)
class SidecarPlan:
    """The sidecar's container."""

    image: str
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    port: int
    """The service's port."""
    engine_port: int
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
        env=ordered(tracing.environment(traces, f"{context.names.base}-sidecar", facts.untraced), {}),
        port=spec.engine.port,
        engine_port=own.engine_port,
        requests=own.resources.requests,
        limits=own.resources.limits,
    )
