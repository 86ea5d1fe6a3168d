"""Routing sidecar of decode pods: requests go to the sidecar, then to pods of other roles, then to the engine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.service import Sidecar
from planning.ground import environment
from planning.ground.api_groups import POOL_GROUP
from planning.ground.environment import Variable, container_variables
from planning.releases import SidecarFacts, tracing
from planning.variant.context import RoleContext, VariantContext

SIDECAR_CONTAINER = "routing-proxy"
"""Name of the sidecar's container."""
_READ = ["list", "watch"]


@dataclass(frozen=True, slots=True)
class SidecarProbe:
    """A probe of the sidecar."""

    interval: int
    """Time between two probes, in seconds."""
    failures: int
    """Number of failures in a row after which the probe has failed."""


@dataclass(frozen=True, slots=True)
class SidecarPlan:
    """The sidecar's container."""

    image: str
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    ports: tuple[int, ...]
    """Ports on which the sidecar gets requests: one for each port of the engine."""
    startup: SidecarProbe
    liveness: SidecarProbe
    rules: tuple[Mapping[str, Any], ...]
    """Rules of the sidecar's Role. The sidecar reads the pods of the pool, and uses no other pods for prefill."""
    requests: dict[str, str]
    limits: dict[str, str]


def plan(role: RoleContext) -> SidecarPlan:
    """Return the sidecar of a role. `planning/serving/rules.py` has rejected further roles if the release has none."""
    context = role.variant
    ports = role.target_ports
    release = context.release
    traces = context.stack.observability.tracing
    options = context.spec.sidecar or Sidecar()
    facts = release.sidecar
    image = release.images.sidecar
    if facts is None or image is None:
        raise ValueError("this release has no routing sidecar")
    return SidecarPlan(
        image=options.image or image.ref,
        arguments=tuple(_arguments(context, facts, options, len(ports))),
        env=container_variables(
            tracing.environment(traces, f"{context.names.base}-sidecar", facts.tracing_off_variables),
            environment.values(options.env),
            context.path / "sidecar" / "env",
        ),
        ports=ports,
        startup=SidecarProbe(interval=1, failures=60),
        # The sidecar answers the probe without the engine, so the probe fails only if the sidecar itself hangs.
        liveness=SidecarProbe(interval=10, failures=3),
        rules=_rules(context.names.pool),
        requests=options.resources.requests,
        limits=options.resources.limits,
    )


def _arguments(context: VariantContext, facts: SidecarFacts, options: Sidecar, copies: int) -> Iterator[str]:
    """Yield the arguments of the sidecar of a pod with so many copies of the model."""
    spec = context.spec
    values = {
        "port": spec.engine.port,
        "engine_port": options.engine_port,
        "copies": copies,
        "connector": context.kv_cache.connector,
        "namespace": context.names.namespace,
        "pool": context.names.pool,
        "pool_group": POOL_GROUP,
        "log_level": options.log_level,
        "ec_connector": None if spec.encode is None else spec.encode.encoder_cache.connector,
    }
    templates = [
        *facts.flags,
        *(facts.copies if copies > 1 else ()),
        *(facts.encode if spec.encode is not None else ()),
        *(facts.tls if options.tls.prefill else ()),
        *(facts.tracing if context.stack.observability.tracing is not None else ()),
        *(facts.log_level if options.log_level is not None else ()),
    ]
    for template in templates:
        yield template.format_map(values)
    for name, value in sorted(options.flags.items()):
        yield f"--{name}={value}"


def _rules(pool: str) -> tuple[dict[str, Any], ...]:
    """Return the rules by which the sidecar reads its pool and the pods of the namespace."""
    pool_rule = {"apiGroups": [POOL_GROUP], "resources": ["inferencepools"], "resourceNames": [pool], "verbs": _READ}
    return {"apiGroups": [""], "resources": ["pods"], "verbs": _READ}, pool_rule
