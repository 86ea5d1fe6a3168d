"""Plan of an endpoint picker: configuration, arguments, ports, permissions, probes and rollout."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.picker import Certificate, EndpointPicker, LatencyPredictor
from models.role import RollingUpdate
from models.service import Variant
from models.vocabulary import seconds
from planning.ground import environment, labels, lifecycle
from planning.ground.api_groups import POOL_GROUP
from planning.ground.awaiting import CURRENT, ROLLED_OUT, Wait
from planning.ground.environment import EnvValue, Variable
from planning.ground.lifecycle import Drain
from planning.ground.mounts import CERTIFICATES, CONFIG_MOUNT
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.hardware import placement
from planning.hardware.placement import Placement
from planning.picker import config, containers, proxy, several_pickers, sizing
from planning.picker.containers import Companion
from planning.picker.context import PickerContext
from planning.picker.proxy import ProxyPlan
from planning.releases import tracing
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
    proxy: ProxyPlan | None
    """The proxy beside the picker. None if only gateways ask the picker."""
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

    def checksum(self) -> str:
        """Return the SHA-256 of the configuration, for an annotation whose change restarts the pods.

        A picker reads its configuration only when it starts.
        """
        text = self.config
        if self.proxy is not None:
            text += self.proxy.config
        return hashlib.sha256(text.encode()).hexdigest()


def plan(context: PickerContext) -> Picker:
    """Return the plan of a picker. The rules must have accepted its variant."""
    variant = context.variant
    facts = context.facts
    picker = context.spec
    if context.built is None:
        raise ValueError("this release has no such preset")
    resources = sizing.resources(variant)
    return Picker(
        image=picker.image or variant.release.images.picker.ref,
        arguments=tuple(_arguments(variant, experimental=context.verdict.is_experimental)),
        env=_variables(context),
        config=config.text(context.built.tree, facts),
        asks_service=context.built.asks_service,
        predictor=context.predictor,
        port=picker.port,
        app_protocol=facts.service_app_protocol,
        pool_app_protocol=context.verdict.app_protocol,
        failure_mode=picker.failure_mode,
        fail_open_reason=_fail_open_reason(picker),
        rules=tuple(_rules(variant)),
        replicas=picker.replicas,
        rollout=several_pickers.rollout(picker),
        readiness=HealthProbe(facts.probes.readiness, interval=2),
        liveness=HealthProbe(facts.probes.liveness, interval=10, initial_delay=5),
        metrics_auth=picker.metrics_auth,
        certificate=_certificate(picker),
        origination=_origination(variant),
        requests=resources.requests,
        limits=resources.limits,
        companions=containers.plan(context.path / "containers", picker, context.predictor_servers),
        proxy=proxy.plan(picker, drain(variant.spec)),
        placement=placement.plan(picker.pod, None, labels.picker_selector(variant.names)),
        image_pull_secrets=tuple(secret.name for secret in picker.pod.image_pull_secrets),
        pod_labels=picker.pod.labels,
        pod_annotations=picker.pod.annotations,
        grace=drain(variant.spec).grace,
        start=lifecycle.PICKER_START,
        wait=_wait(variant),
        patch=picker.patch,
    )


def _variables(context: PickerContext) -> tuple[environment.Variable, ...]:
    """Return the picker's variables: those that are generated, then the user's."""
    users = environment.values(context.spec.env)
    return environment.container_variables(generated_environment(context), users, context.path / "env")


def _fail_open_reason(picker: EndpointPicker) -> str | None:
    if picker.failure_mode != "FailOpen":
        return None
    return picker.fail_open_reason


def _certificate(picker: EndpointPicker) -> str | None:
    if not isinstance(picker.tls, Certificate):
        return None
    return picker.tls.secret


def drain(spec: Variant) -> Drain:
    """Return the termination times of a picker's pod. During the grace period, streams of running requests can finish.

    A stream lasts as long as its request. A terminating picker waits for its streams until Kubernetes kills the pod
    (llm-d-router v0.10.0, rungroup.go and internal/runnable/grpc.go). Therefore the picker's grace period is at least
    as long as the grace period of the serving pods.
    """
    explicit = seconds(spec.endpoint_picker.flags.get(_DRAIN_FLAG, "0s")) + _DRAIN_MARGIN_SECONDS
    of_serving_pods = lifecycle.drain(spec.drain_timeout, engine_drains=True).grace
    return Drain(0, None, 0, max(_MIN_GRACE_SECONDS, explicit, of_serving_pods))


def _wait(variant: VariantContext) -> Wait:
    """Return the wait for the pickers. Pickers that elect a leader start together, others one after another."""
    picker = variant.spec.endpoint_picker
    if several_pickers.elects_leader(picker):
        return Wait(lifecycle.PICKER_START + lifecycle.WAIT_MARGIN, _leader_conditions(picker.replicas))
    conditions = ()
    if variant.stack.upgrades is not None:
        conditions = ROLLED_OUT
    return Wait(lifecycle.PICKER_START * picker.replicas + lifecycle.WAIT_MARGIN, conditions)


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
    if isinstance(tls, Certificate):
        return Origination(tls.ca_secret)
    return Origination(None)


def _rules(variant: VariantContext) -> Iterator[dict[str, Any]]:
    """Yield the rules of the picker's Role. The release facts limit some of them to the picker's pool or lease."""
    rbac = variant.release.picker.rbac
    names = variant.names
    rules = list(rbac.rules)
    if several_pickers.elects_leader(variant.spec.endpoint_picker):
        rules += rbac.leader_election
    for rule in rules:
        manifest: dict[str, Any] = {"apiGroups": rule.api_groups, "resources": rule.resources}
        if rule.pool_only:
            manifest["resourceNames"] = [names.pool]
        elif rule.lease_only:
            manifest["resourceNames"] = [rbac.lease.format(namespace=names.namespace, pool=names.pool)]
        yield manifest | {"verbs": rule.verbs}


def generated_environment(context: PickerContext) -> dict[str, EnvValue]:
    """Return the generated environment variables of the picker."""
    variant = context.variant
    identity: dict[str, EnvValue] = {
        "NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "POD_NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
    }
    spec = variant.stack.observability.tracing
    tracing_variables = tracing.environment(spec, f"{variant.names.base}-epp", context.facts.tracing_off_variables)
    return {**identity, **_predictor(context), **tracing_variables}


def _predictor(context: PickerContext) -> dict[str, EnvValue]:
    """Return the variables with the addresses of the latency predictor."""
    predictor = context.predictor
    variables = context.facts.latency_predictor
    if predictor is None or variables is None:
        return {}
    training = predictor.training_server or ""
    prediction = ",".join(predictor.prediction_servers)
    servers = context.predictor_servers
    if servers is not None:
        training = containers.address(servers.training)
        prediction = containers.address(servers.prediction)
    return {variables.training: training, variables.prediction: prediction}


def _arguments(variant: VariantContext, *, experimental: bool) -> Iterator[str]:
    """Yield each flag and its value as one token. The picker ignores the value of a boolean in a separate token."""
    picker = variant.spec.endpoint_picker
    flags = variant.release.picker.flags
    names = variant.names
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
    if several_pickers.elects_leader(picker):
        yield "--ha-enable-leader-election=true"
    if isinstance(picker.tls, Certificate):
        yield f"--cert-path={CERTIFICATES}"
        yield "--enable-cert-reload=true"
    elif picker.tls.type == "none":
        yield "--secure-serving=false"
    yield from (f"--{name}={value}" for name, value in sorted(picker.flags.items()))


def _boolean(value: bool) -> str:  # noqa: FBT001, the value that is formatted
    return str(value).lower()
