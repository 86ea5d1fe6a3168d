"""Validation of `parallelism.loadBalancing`: which pods and copies of the model are endpoints of the pool."""

from collections.abc import Iterator, Mapping, Sequence

from models import flags
from models.paths import Path
from models.problems import Problem, warning
from planning.fit import served
from planning.ground import gateways, stages
from planning.ground.cluster_facts import Unknown
from planning.ground.ports import MAX_TARGET_PORTS
from planning.hardware.devices import Layout
from planning.releases import engine_versions
from planning.variant.context import RoleContext, VariantContext

_HEALTH_PATHS = ("/health", "/ready", "/readyz")
"""Paths at which vLLM's supervisor process reports the health of all copies of the model in a pod (vllm 0.22.0,
vllm/entrypoints/openai/dp_supervisor.py)."""
_SHARED_BOOTSTRAP = "mooncake"
"""Value of `kvCache.connector`: a connector with one bootstrap port for all copies of the model in a pod. With this
connector, the sidecar chooses a copy itself, and ignores the copy that the picker chose (llm-d-router v0.10.0,
pkg/sidecar/proxy/connector_mooncake.go)."""


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check a role with `loadBalancing: external` or `hybrid`. Others, and engines other than vLLM, have none."""
    load_balancing = context.role.parallelism.load_balancing
    if load_balancing == "internal" or not context.kind.vllm_tables:
        return
    layout = context.layout
    parallelism = context.path / "parallelism"
    at = parallelism / "loadBalancing"
    if layout.pods_per_replica > 1 and not layout.every_pod_serves:
        what = f"works only with whole copies of the model in a pod, and a copy spans {layout.pods_per_replica} pods"
        yield Problem(at, what, "remove it, or set pipeline: 1", (parallelism,))
    elif load_balancing == "hybrid":
        yield from _hybrid(layout, parallelism)
    elif layout.data_local == 1 and not layout.every_pod_serves:
        what = "has no effect with one copy in a pod (external)"
        yield Problem(at, what, "set data: 2 or more, or remove it", (parallelism,), explicit_only=True)
    if layout.ports > 1:
        yield from _external(context, parallelism)


def _hybrid(layout: Layout, parallelism: Path) -> Iterator[Problem]:
    """Reject `hybrid` where it is another word for `internal` or `external`."""
    at = parallelism / "loadBalancing"
    if not layout.every_pod_serves:
        what = "has no effect with all copies of a replica in one pod (hybrid)"
        yield Problem(at, what, "set dataLocal, or remove it", (parallelism,), explicit_only=True)
    elif layout.data_local == 1:
        what = "has no effect with one copy in a pod (hybrid)"
        yield Problem(at, what, "set dataLocal: 2 or more, or use external", (parallelism,), explicit_only=True)


def _external(context: RoleContext, parallelism: Path) -> Iterator[Problem]:
    """Check a role whose pods have a port for each copy of the model."""
    layout = context.layout
    at = parallelism / "loadBalancing"
    if layout.ports > MAX_TARGET_PORTS:
        what = f"gives a pod {layout.ports} ports, and a pool takes at most {MAX_TARGET_PORTS}"
        remedy = f"use data: {MAX_TARGET_PORTS} and more replicas, or remove it"
        if layout.every_pod_serves:
            remedy = f"use dataLocal: {MAX_TARGET_PORTS} or less, or hybrid"
        yield Problem(at, what, remedy, (parallelism,))
    if not layout.devices_per_pod:
        what = f"gives each copy devices of its own, and {context.role.accelerator} has none"
        yield Problem(at, what, "remove it", (context.path / "accelerator",))
    yield from _flags(context)
    yield from _health(context)
    yield from _tls(context)


def _flags(context: RoleContext) -> Iterator[Problem]:
    """Reject flags that vLLM refuses when each copy of the model has its own port."""
    for flag in flags.parse(context.role.engine.args):
        if flag.name in engine_versions.groups().multi_port.flags:
            what = f"does not work with one port for each copy ({flag.name})"
            remedy = "remove it, or remove parallelism.loadBalancing"
            yield Problem(context.path / "engine" / "args" / flag.index, what, remedy)


def _health(context: RoleContext) -> Iterator[Problem]:
    """Reject paths of probes at which vLLM's supervisor process does not answer."""
    for at, path in context.role.health.written_paths.items():
        if path not in _HEALTH_PATHS:
            what = f"does not report the health of all copies of the model ({path})"
            yield Problem(Path(*context.path, "health", *at), what, f"remove it, or write {_HEALTH_PATHS[0]}")


def _tls(context: RoleContext) -> Iterator[Problem]:
    """Reject `sidecar.tls.prefill` if the role's version of vLLM has no TLS while each copy has its own port."""
    sidecar = context.variant.spec.sidecar
    version = context.engine_version
    if context.stage is not stages.PREFILL or sidecar is None or not sidecar.tls.prefill or version is None:
        return
    since = engine_versions.groups().multi_port.tls_since
    if not version.is_at_least(since):
        what = f"is not served by vLLM {version.number} with one port for each copy"
        remedy = f"use an image of vLLM {since} or newer, or remove it"
        at = context.variant.path / "sidecar" / "tls" / "prefill"
        yield Problem(at, what, remedy, (context.path / "parallelism",))


def judge_variant(variant: VariantContext, roles: Mapping[str, RoleContext]) -> Iterator[Problem]:
    """Check that everybody who sends requests to a variant reaches every copy of the model in a pod."""
    external = [role for role in roles.values() if _is_external(role)]
    if external:
        yield from _without_experts(variant, external, external[0].path / "parallelism" / "loadBalancing")
    several = [role for role in roles.values() if role.layout.ports > 1]
    if not several:
        return
    at = several[0].path / "parallelism" / "loadBalancing"
    yield from _warnings(variant, at)
    if not variant.has_picker:
        what = "uses only the first copy of the model in a pod: without an endpoint picker, all requests go to one port"
        depends_on = (variant.path / "endpointPicker",)
        yield Problem(at, what, "remove it, or set endpointPicker.enabled: true", depends_on)
        return
    yield from _gateway(variant, at)
    if variant.metered_as is not None:
        what = "uses only the first copy of the model in a pod: the interceptor uses the Service, which has one port"
        remedy = f"remove it, or set {variant.path}.interceptor.enabled: false"
        yield Problem(at, what, remedy, (Path("interceptor"), variant.path / "interceptor"))
    if variant.spec.prefill is not None and variant.kv_cache.connector == _SHARED_BOOTSTRAP:
        what = f"ignores the copy of the model that the picker chooses ({_SHARED_BOOTSTRAP})"
        yield Problem(variant.path / "kvCache" / "connector", what, "use nixlv2", (at,))
    if len({role.layout.ports for role in roles.values()}) > 1:
        yield from _different_ports(variant, at)


def _is_external(role: RoleContext) -> bool:
    """Tell whether each copy of the model is an endpoint of its own, so that vLLM balances no load."""
    layout = role.layout
    if layout.ports > 1:
        return True
    return layout.every_pod_serves and layout.data_local == 1


def _gateway(variant: VariantContext, at: Path) -> Iterator[Problem]:
    """Reject a gateway that does not reach every port of a pool."""
    gateway = variant.gateway
    if gateway is None or not variant.service.route.enabled:
        return
    facts = gateways.facts(gateway)
    if facts is None:
        return
    since = facts.target_ports
    depends_on = (Path("gateway"), variant.path / "route" / "gateway")
    if since is None:
        what = f"is not possible behind {facts.title}, which may reach only one port of a pod"
        yield Problem(at, what, "remove it, or use another gateway", depends_on)
    elif gateway.version is not None and not gateways.is_at_least_one(gateway.version, [since.version]):
        what = f"is not possible behind {facts.title} {gateway.version}, which reaches the first port of a pod"
        yield Problem(at, what, f"upgrade it to {since.version} or newer, or remove it", depends_on)


def _different_ports(variant: VariantContext, at: Path) -> Iterator[Problem]:
    """Reject roles with different ports if picker or gateway would send requests to a port that a pod lacks."""
    prefill = variant.path / "prefill" / "parallelism"
    if variant.release.picker.ports.annotation is None:
        what = f"gives the roles different ports, but the picker of {variant.release.name} asks every pod on all ports"
        yield Problem(at, what, "use the same number of copies and the same load balancing in both roles", (prefill,))
    elif variant.spec.endpoint_picker.failure_mode == "FailOpen":
        what = "sends requests to ports that the pods of one role lack (FailOpen)"
        remedy = "remove it, or use the same number of copies and the same load balancing in both roles"
        yield Problem(variant.path / "endpointPicker" / "failureMode", what, remedy, (at, prefill))


def _without_experts(variant: VariantContext, external: Sequence[RoleContext], at: Path) -> Iterator[Problem]:
    """Reject a model without experts, and warn of a model that may have none.

    `external` are the roles whose copies are endpoints of their own. Source: vllm 0.22.0 to 0.32.0,
    vllm/engine/arg_utils.py, which says "Non-MoE models do not support external data parallel mode".
    """
    source = served.source_of(variant.spec.model)
    if isinstance(source, Unknown):
        if not all(role.layout.expert for role in external):
            what = "works only for models that are a mixture of experts"
            remedy = "set parallelism.expert for such a model; for any other, use replicas instead of copies"
            yield warning(at, what, remedy)
    elif not source.architecture.experts:
        what = "is refused by vLLM for this model, which has no experts"
        yield Problem(at, what, "remove it, or use replicas instead of copies", (variant.path / "model",))


def _warnings(variant: VariantContext, at: Path) -> Iterator[Problem]:
    """Warn of a missing route: requests then reach only the first copy of the model in each pod."""
    is_routed = variant.gateway is not None and variant.service.route.enabled
    if not is_routed and variant.spec.endpoint_picker.proxy is None:
        what = "only a gateway with the pool's picker reaches every copy, and the service has no route"
        yield warning(at, what, "the Service reaches the first copy of each pod")
