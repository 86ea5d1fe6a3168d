"""Plan of an endpoint picker: configuration, arguments, ports, permissions, probes and rollout."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.picker import Certificate, EndpointPicker, LatencyPredictor
from models.problems import Problem, warning
from models.role import RollingUpdate
from models.service import Variant
from models.vocabulary import seconds
from planning.ground import environment, labels, lifecycle
from planning.ground.api_groups import POOL_GROUP
from planning.ground.awaiting import CURRENT, Wait
from planning.ground.environment import EnvValue, Variable
from planning.ground.lifecycle import Drain
from planning.ground.mounts import CERTIFICATES, CONFIG_MOUNT
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.hardware import placement
from planning.hardware.placement import Placement
from planning.picker import config, containers, graph, lint, replication, sizing
from planning.picker.containers import Companion
from planning.releases import PickerFacts, tracing
from planning.variant.context import VariantContext

CONFIG_KEY = "config.yaml"
"""Key of the configuration in its ConfigMap, and name of the mounted file."""
_MIN_GRACE_SECONDS = 130
"""Minimum termination grace period in seconds. Gateways close their ext-proc streams sooner, so the picker outlives the
streams."""
_DRAIN_FLAG = "drain-timeout"
"""Flag with the time for which a terminating picker still answers new requests."""
_DRAIN_MARGIN_SECONDS = 15
"""Seconds that the grace period of a pod adds to the value of `drain-timeout`."""


@dataclass(frozen=True, slots=True)
class Origination:
    """TLS from Istio's gateway to the picker, by a DestinationRule."""

    authority: str | None
    """Secret with the CA that verifies the picker. None if the gateway does not verify the picker."""


@dataclass(frozen=True, slots=True)
class HealthProbe:
    """A probe of the picker's gRPC health service; times in seconds."""

    service: str
    """Name of the health service."""
    interval: int
    initial_delay: int | None = None


@dataclass(frozen=True, slots=True)
class Picker:
    """Plan of a picker, from which all of its objects are made."""

    image: str
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    config: str
    """The EndpointPickerConfig as YAML."""
    asks_service: bool
    """Whether the picker sends prompts to the variant's Service for tokenization."""
    predictor: LatencyPredictor | None
    """The latency predictor that the picker asks. None if it asks none."""
    port: int
    app_protocol: str
    pool_app_protocol: str | None
    """appProtocol of the pool. None if the picker's parsers support the default protocol, which then applies."""
    failure_mode: str
    fail_open_reason: str | None
    rules: tuple[Mapping[str, Any], ...]
    """Rules of the picker's Role, as in the manifest."""
    replicas: int
    rollout: RollingUpdate | None
    """Rollout of the pods. None for the default of Kubernetes."""
    readiness: HealthProbe
    liveness: HealthProbe
    metrics_auth: bool
    certificate: str | None
    """Secret with the picker's certificate. None if the picker generates its certificate or serves in plain text."""
    origination: Origination | None
    """TLS from the gateway. None if the gateway is not Istio, or if the picker serves in plain text."""
    requests: dict[str, str]
    limits: dict[str, str]
    companions: tuple[Companion, ...]
    """Further containers of the pods."""
    placement: Placement
    image_pull_secrets: tuple[str, ...]
    pod_labels: Mapping[str, str]
    pod_annotations: Mapping[str, str]
    grace: int
    """Termination grace period in seconds."""
    start: int
    """Seconds within which a pod becomes ready."""
    wait: Wait
    patch: Mapping[str, Any]
    warnings: tuple[Problem, ...]

    def checksum(self) -> str:
        """Return the SHA-256 of the configuration, for an annotation whose change restarts the pods.

        A picker reads its configuration only when it starts.
        """
        return hashlib.sha256(self.config.encode()).hexdigest()


def plan(variant: VariantContext) -> Picker:
    """Return the plan of a variant's picker. The rules must have accepted the variant."""
    facts, picker = variant.release.picker, variant.spec.endpoint_picker
    configuration = config.build(variant.spec, variant.names, variant.release, variant.kv_cache)
    text, resources = config.text(configuration, facts), sizing.resources(variant)
    return Picker(
        image=picker.image or variant.release.images.picker.ref,
        arguments=tuple(_arguments(variant, experimental=graph.is_experimental(configuration, facts))),
        env=environment.container_variables(generated_environment(variant), environment.values(picker.env)),
        config=text,
        asks_service=config.asks_service(text, variant.names),
        predictor=config.predictor(variant.spec, facts),
        port=picker.port,
        app_protocol=facts.service_app_protocol,
        pool_app_protocol=graph.app_protocol(configuration, facts),
        failure_mode=picker.failure_mode,
        fail_open_reason=picker.fail_open_reason if picker.failure_mode == "FailOpen" else None,
        rules=tuple(_rules(variant)),
        replicas=picker.replicas,
        rollout=replication.rollout(picker) if picker.replicas > 1 else None,
        readiness=HealthProbe(facts.probes.readiness, interval=2),
        liveness=HealthProbe(facts.probes.liveness, interval=10, initial_delay=5),
        metrics_auth=picker.metrics_auth,
        certificate=picker.tls.secret if isinstance(picker.tls, Certificate) else None,
        origination=_origination(variant),
        requests=resources.requests,
        limits=resources.limits,
        companions=containers.plan(picker, config.predictor_servers(variant.spec, facts)),
        placement=placement.plan(picker.pod, None, labels.picker_selector(variant.names)),
        image_pull_secrets=tuple(secret.name for secret in picker.pod.image_pull_secrets),
        pod_labels=picker.pod.labels,
        pod_annotations=picker.pod.annotations,
        grace=drain(variant.spec).grace,
        start=lifecycle.PICKER_START,
        wait=_wait(picker),
        patch=picker.patch,
        warnings=tuple(_warnings(variant)),
    )


def _warnings(variant: VariantContext) -> Iterator[Problem]:
    """Yield the warnings about the configuration and about several replicas."""
    picker, at = variant.spec.endpoint_picker, variant.path / "endpointPicker"
    if picker.preset == "custom":
        yield from lint.warnings(at / "config", picker.config or {}, variant.release.picker)
    yield from _tls_metrics_warnings(variant)
    yield from replication.warnings(at, variant)


def _tls_metrics_warnings(variant: VariantContext) -> Iterator[Problem]:
    """Yield a warning if prefill pods serve metrics over TLS and the picker cannot read these metrics.

    A picker treats pods without metrics as full.
    """
    spec, facts = variant.spec, variant.release.picker
    if not config.serves_tls(spec):
        return
    at, picker = variant.path / "sidecar" / "tls" / "prefill", spec.endpoint_picker
    loss = "the picker cannot read the load of prefill pods, and treats them as full"
    if picker.preset == "custom":
        if not graph.reads_tls_metrics(picker.config or {}, facts):
            what = f"{loss}: no data source of endpointPicker.config asks by HTTPS"
            yield warning(at, what, "declare a second metrics-data-source with another name and scheme: https")
    elif facts.tls_metrics is None:
        what = f"{loss}: the picker of {variant.release.name} asks every pod by HTTP"
        yield warning(at, what, "choose a newer release")


def drain(spec: Variant) -> Drain:
    """Return the termination times of a picker's pod. During the grace period, streams of running requests can finish.

    A stream lasts as long as its request. A terminating picker waits for its streams until Kubernetes kills the pod
    (llm-d-router v0.10.0, rungroup.go and internal/runnable/grpc.go). Therefore the picker's grace period is at least
    as long as the grace period of the serving pods.
    """
    explicit = seconds(spec.endpoint_picker.flags.get(_DRAIN_FLAG, "0s")) + _DRAIN_MARGIN_SECONDS
    of_serving_pods = lifecycle.drain(spec.drain_timeout, engine_drains=True).grace
    return Drain(0, None, 0, max(_MIN_GRACE_SECONDS, explicit, of_serving_pods))


def _wait(picker: EndpointPicker) -> Wait:
    """Return the wait for the pickers. Pickers that elect a leader start together, others one after another."""
    elects = replication.elects_leader(picker)
    steps = 1 if elects else picker.replicas
    conditions = _leader_conditions(picker.replicas) if elects else ()
    return Wait(lifecycle.PICKER_START * steps + lifecycle.WAIT_MARGIN, conditions)


def _leader_conditions(replicas: int) -> tuple[str, ...]:
    """Return the conditions of a finished rollout of several pickers: all pods are updated, and one pod leads."""
    numbers = {"updatedReplicas": replicas, "replicas": replicas, "readyReplicas": 1}
    # The numbers of a status belong to an older spec until `observedGeneration` equals `metadata.generation`.
    current = f"jsonpath={{$[?({CURRENT})].observedGeneration}}"
    return current, *(f"jsonpath={{.status.{field}}}={number}" for field, number in numbers.items())


def _origination(variant: VariantContext) -> Origination | None:
    tls = variant.spec.endpoint_picker.tls
    if variant.gateway is None or variant.gateway.provider != "istio" or tls.type == "none":
        return None
    return Origination(tls.ca_secret if isinstance(tls, Certificate) else None)


def _rules(variant: VariantContext) -> Iterator[dict[str, Any]]:
    """Yield the rules of the picker's Role. The release facts limit some of them to the picker's pool or lease."""
    rbac, names = variant.release.picker.rbac, variant.names
    lease = rbac.lease.format(namespace=names.namespace, pool=names.pool)
    elects = replication.elects_leader(variant.spec.endpoint_picker)
    for rule in (*rbac.rules, *(rbac.leader_election if elects else ())):
        resource_name = names.pool if rule.pool_only else lease if rule.lease_only else None
        resource_names = {} if resource_name is None else {"resourceNames": [resource_name]}
        yield {"apiGroups": rule.api_groups, "resources": rule.resources, **resource_names, "verbs": rule.verbs}


def generated_environment(variant: VariantContext) -> dict[str, EnvValue]:
    """Return the generated environment variables of the picker."""
    identity: dict[str, EnvValue] = {
        "NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
    }
    spec, tracing_off_variables = variant.stack.observability.tracing, variant.release.picker.tracing_off_variables
    tracing_variables = tracing.environment(spec, f"{variant.names.base}-epp", tracing_off_variables)
    return {**identity, **_predictor(variant.spec, variant.release.picker), **tracing_variables}


def _predictor(spec: Variant, facts: PickerFacts) -> dict[str, EnvValue]:
    """Return the variables with the addresses of the latency predictor."""
    predictor, variables = config.predictor(spec, facts), facts.latency_predictor
    if predictor is None or variables is None:
        return {}
    servers = config.predictor_servers(spec, facts)
    if servers is None:
        training, prediction = predictor.training_server or "", predictor.prediction_servers
    else:
        training, prediction = containers.address(servers.training), (containers.address(servers.prediction),)
    return {variables.training: training, variables.prediction: ",".join(prediction)}


def _arguments(variant: VariantContext, *, experimental: bool) -> Iterator[str]:
    """Yield each flag and its value as one token. The picker ignores the value of a boolean in a separate token."""
    picker, flags, names = variant.spec.endpoint_picker, variant.release.picker.flags, variant.names
    yield f"--pool-name={names.pool}"
    yield f"--pool-namespace={names.namespace}"
    yield f"--pool-group={POOL_GROUP}"
    yield f"--config-file={CONFIG_MOUNT}/{CONFIG_KEY}"
    yield f"--grpc-port={picker.port}"
    yield f"--grpc-health-port={HEALTH_PORT}"
    yield f"--metrics-port={METRICS_PORT}"
    yield f"--metrics-endpoint-auth={_boolean(picker.metrics_auth)}"
    yield f"--tracing={_boolean(variant.stack.observability.tracing is not None)}"
    yield f"--v={picker.log_level}"
    yield from flags.always
    if experimental and flags.experimental is not None:
        yield f"{flags.experimental}=true"
    if replication.elects_leader(picker):
        yield "--ha-enable-leader-election=true"
    if isinstance(picker.tls, Certificate):
        yield f"--cert-path={CERTIFICATES}"
        yield "--enable-cert-reload=true"
    elif picker.tls.type == "none":
        yield "--secure-serving=false"
    yield from (f"--{name}={value}" for name, value in sorted(picker.flags.items()))


def _boolean(value: bool) -> str:  # noqa: FBT001, the value that is formatted
    return str(value).lower()
