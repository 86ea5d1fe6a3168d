"""The routing sidecar of decode pods: it takes the service's port and asks prefill before it asks the engine."""

from dataclasses import dataclass

from models.service import Service, Sidecar
from models.stack import Tracing
from planning import tracing
from planning.environment import Variable, ordered
from planning.names import Names
from planning.picker import POOL_GROUP
from planning.releases import Release

CERTIFICATES = "/certificates"
"""Folder of the certificate, in the engine that serves it."""


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


def plan(service: Service, names: Names, release: Release, traces: Tracing | None) -> SidecarPlan:
    """Decide the sidecar of a service. The release is known to have one (`planning.checks`)."""
    facts, image, spec = release.sidecar, release.images.sidecar, service.sidecar or Sidecar()
    if facts is None or image is None:
        raise ValueError("this release has no routing sidecar")
    values = {
        "port": service.engine.port,
        "engine_port": spec.engine_port,
        "connector": service.kv_cache.connector,
        "namespace": names.namespace,
        "pool": names.base,
        "pool_group": POOL_GROUP,
        "log_level": spec.log_level,
    }
    templates = [
        *facts.flags,
        *(facts.tls if spec.tls.prefill else ()),
        *(facts.tracing if traces is not None else ()),
        *(facts.log_level if spec.log_level is not None else ()),
    ]
    return SidecarPlan(
        image=spec.image or image.ref,
        arguments=tuple(template.format_map(values) for template in templates),
        env=ordered(tracing.environment(traces, f"{names.base}-sidecar"), {}),
        port=service.engine.port,
        engine_port=spec.engine_port,
        requests=spec.resources.requests,
        limits=spec.resources.limits,
    )
