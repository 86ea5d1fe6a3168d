"""The endpoint picker: its configuration, its arguments and its ports."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.picker import Certificate
from models.problems import Problem, warning
from models.role import RollingUpdate
from models.service import Variant
from models.vocabulary import seconds
from planning.ground import labels
from planning.ground.api_groups import POOL_GROUP
from planning.ground.awaiting import CURRENT, Wait
from planning.ground.environment import EnvValue, Variable, container_variables
from planning.ground.lifecycle import WAIT_MARGIN
from planning.ground.mounts import CERTIFICATES, CONFIG_MOUNT
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.hardware import placement
from planning.hardware.placement import Placement
from planning.picker import config as picker_config
from planning.picker import graph as picker_graph
from planning.picker import lint as picker_lint
from planning.releases import PickerFacts, tracing
from planning.variant.context import VariantContext

CONFIG_KEY = "config.yaml"
_GRACE = 130
"""Longer than an ext-proc stream that the gateway still drains."""
_DRAIN, _MARGIN = "drain-timeout", 15
"""The flag for the time that running requests get when a pod ends, and what the pod gets beyond it."""


@dataclass(frozen=True, slots=True)
class Origination:
    """What Istio's gateway is told, which has to be told to speak TLS to the picker."""

    authority: str | None
    """The Secret by which it verifies the picker; absent: it does not, because the picker makes its own certificate."""


@dataclass(frozen=True, slots=True)
class HealthProbe:
    """A probe of the picker's gRPC health service; times in seconds."""

    service: str
    """The name that is asked for."""
    interval: int
    initial_delay: int | None = None


@dataclass(frozen=True, slots=True)
class Picker:
    """What the picker's objects agree about."""

    image: str
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    config: str
    """The EndpointPickerConfig as YAML."""
    asks_service: bool
    """Whether it asks the variant's Service what the tokens of a prompt are."""
    port: int
    app_protocol: str
    pool_app_protocol: str | None
    """appProtocol that the pool has to say; absent: its parsers take what a pool says by itself."""
    failure_mode: str
    fail_open_reason: str | None
    rules: tuple[Mapping[str, Any], ...]
    """Rules of its Role, as Kubernetes has them."""
    replicas: int
    rollout: RollingUpdate | None
    """How pods are replaced; absent: as Kubernetes does by itself."""
    readiness: HealthProbe
    liveness: HealthProbe
    metrics_auth: bool
    certificate: str | None
    """The Secret with its certificate; absent: it makes one itself, or serves in plain text."""
    origination: Origination | None
    """Absent: the gateway needs no telling, or nothing is encrypted."""
    requests: dict[str, str]
    limits: dict[str, str]
    placement: Placement
    image_pull_secrets: tuple[str, ...]
    pod_labels: Mapping[str, str]
    pod_annotations: Mapping[str, str]
    grace: int
    """Seconds from the deletion of a pod to its end."""
    start: int
    """Seconds until a pod is ready at most."""
    wait: Wait
    warnings: tuple[Problem, ...]
    """What works, and what whoever wrote it should know."""

    def checksum(self) -> str:
        """Return the SHA-256 of the configuration: the picker reads it once, so a change has to roll its pods."""
        return hashlib.sha256(self.config.encode()).hexdigest()


def plan(of: VariantContext) -> Picker:
    """Decide the picker of one variant, which is without mistakes."""
    facts, wanted = of.release.picker, of.spec.endpoint_picker
    config = picker_config.config(of.spec, of.names, of.release, of.kv_cache)
    return Picker(
        image=wanted.image or of.release.images.picker.ref,
        arguments=tuple(_arguments(of, experimental=picker_graph.is_experimental(config, facts))),
        env=container_variables(_environment(of), {}),
        config=picker_config.text(config, facts),
        asks_service=picker_config.asks_service(config, of.names),
        port=wanted.port,
        app_protocol=facts.service_app_protocol,
        pool_app_protocol=picker_graph.app_protocol(config, facts),
        failure_mode=wanted.failure_mode,
        fail_open_reason=wanted.fail_open_reason if wanted.failure_mode == "FailOpen" else None,
        rules=tuple(_rules(of)),
        replicas=wanted.replicas,
        rollout=_rollout(wanted.replicas) if wanted.replicas > 1 else None,
        readiness=HealthProbe(facts.probes.readiness, interval=2),
        liveness=HealthProbe(facts.probes.liveness, interval=10, initial_delay=5),
        metrics_auth=wanted.metrics_auth,
        certificate=wanted.tls.secret if isinstance(wanted.tls, Certificate) else None,
        origination=_origination(of),
        requests=wanted.resources.requests,
        limits=wanted.resources.limits,
        placement=placement.plan(wanted.pod, None, labels.picker_selector(of.names)),
        image_pull_secrets=tuple(secret.name for secret in wanted.pod.image_pull_secrets),
        pod_labels=wanted.pod.labels,
        pod_annotations=wanted.pod.annotations,
        grace=max(_GRACE, seconds(wanted.flags.get(_DRAIN, "0s")) + _MARGIN),
        start=facts.start_seconds,
        wait=Wait(facts.start_seconds + WAIT_MARGIN, _elected(wanted.replicas) if wanted.replicas > 1 else ()),
        warnings=tuple(_warnings(of)),
    )


def _warnings(of: VariantContext) -> Iterator[Problem]:
    """Yield what works, and what whoever wrote it should know."""
    wanted, at = of.spec.endpoint_picker, of.path / "endpointPicker"
    yield from picker_lint.warnings(at / "config", wanted.config or {}, of.release.picker)
    if wanted.replicas > 1:
        # The provider's reads ask for all pods to be ready, whatever is waited for (pulumi-kubernetes issue 3129).
        what = "a refresh reports an update of the pickers, because those that wait for the lease are never ready"
        yield warning(at / "replicas", f"{what} ({wanted.replicas}); it restarts nothing")


def _elected(replicas: int) -> tuple[str, ...]:
    """Return when several pickers are up: all are as they are written now, no other is left, and one of them leads."""
    numbers = {"updatedReplicas": replicas, "replicas": replicas, "readyReplicas": 1}
    # The numbers in a status say nothing until they were counted for this generation.
    counted = f"jsonpath={{$[?({CURRENT})].observedGeneration}}"
    return counted, *(f"jsonpath={{.status.{field}}}={number}" for field, number in numbers.items())


def _rollout(replicas: int) -> RollingUpdate:
    """Return how several pickers are replaced: those that wait for the lease are never ready, so all go at once."""
    return RollingUpdate.model_validate({"type": "RollingUpdate", "maxSurge": 0, "maxUnavailable": replicas})


def _origination(of: VariantContext) -> Origination | None:
    tls = of.spec.endpoint_picker.tls
    if of.gateway is None or of.gateway.provider != "istio" or tls.type == "none":
        return None
    return Origination(tls.ca_secret if isinstance(tls, Certificate) else None)


def _rules(of: VariantContext) -> Iterator[dict[str, Any]]:
    """Yield what the picker may do, narrowed to its own pool and lease by name where the verb allows."""
    rbac, names = of.release.picker.rbac, of.names
    lease = rbac.lease.format(namespace=names.namespace, pool=names.pool)
    for rule in (*rbac.rules, *(rbac.leader_election if of.spec.endpoint_picker.replicas > 1 else ())):
        only = names.pool if rule.pool_only else lease if rule.lease_only else None
        own = {} if only is None else {"resourceNames": [only]}
        yield {"apiGroups": rule.api_groups, "resources": rule.resources, **own, "verbs": rule.verbs}


def _environment(of: VariantContext) -> dict[str, EnvValue]:
    identity: dict[str, EnvValue] = {
        "NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
    }
    wanted, untraced = of.stack.observability.tracing, of.release.picker.untraced
    traces = tracing.environment(wanted, f"{of.names.base}-epp", untraced)
    return {**identity, **_predictor(of.spec, of.release.picker), **traces}


def _predictor(spec: Variant, facts: PickerFacts) -> dict[str, EnvValue]:
    """Return where the latency predictor is."""
    wanted = spec.endpoint_picker.latency_predictor
    if wanted is None or facts.latency_predictor is None:
        return {}
    variables = facts.latency_predictor
    return {variables.training: wanted.training_server, variables.prediction: ",".join(wanted.prediction_servers)}


def _arguments(of: VariantContext, *, experimental: bool) -> Iterator[str]:
    """Yield flags as one token each: as two, a boolean's value is silently dropped."""
    wanted, flags, names = of.spec.endpoint_picker, of.release.picker.flags, of.names
    yield f"--pool-name={names.pool}"
    yield f"--pool-namespace={names.namespace}"
    yield f"--pool-group={POOL_GROUP}"
    yield f"--config-file={CONFIG_MOUNT}/{CONFIG_KEY}"
    yield f"--grpc-port={wanted.port}"
    yield f"--grpc-health-port={HEALTH_PORT}"
    yield f"--metrics-port={METRICS_PORT}"
    yield f"--metrics-endpoint-auth={_boolean(wanted.metrics_auth)}"
    yield f"--tracing={_boolean(of.stack.observability.tracing is not None)}"
    yield f"--v={wanted.log_level}"
    yield from flags.always
    if experimental and flags.experimental is not None:
        yield f"{flags.experimental}=true"
    if wanted.replicas > 1:
        yield "--ha-enable-leader-election=true"
    if isinstance(wanted.tls, Certificate):
        yield f"--cert-path={CERTIFICATES}"
        yield "--enable-cert-reload=true"
    elif wanted.tls.type == "none":
        yield "--secure-serving=false"
    yield from (f"--{name}={value}" for name, value in sorted(wanted.flags.items()))


def _boolean(value: bool) -> str:  # noqa: FBT001, it is what is written
    return str(value).lower()
