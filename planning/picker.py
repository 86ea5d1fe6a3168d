"""The endpoint picker: its configuration, its arguments and its ports."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.picker import Certificate, EndpointPicker, PickerTls
from models.problems import Problem
from models.service import Variant
from models.vocabulary import seconds
from planning import labels, picker_config, picker_graph, picker_lint, placement, shapes, tracing
from planning.context import VariantContext
from planning.environment import EnvValue, Variable, ordered
from planning.picker_graph import FLOW_CONTROL
from planning.picker_lint import Context
from planning.placement import Placement
from planning.releases import PickerFacts, Release, other_line
from planning.shapes import Reading

POOL_GROUP = "inference.networking.k8s.io"
HEALTH_PORT = 9003
METRICS_PORT = 9090
CONFIG_MOUNT = "/config"
CONFIG_KEY = "config.yaml"
CERTIFICATE_MOUNT = "/certificates"
_GRACE = 130
"""Longer than an ext-proc stream that the gateway still drains."""
_DRAIN, _MARGIN = "drain-timeout", 15
"""The flag for the time that running requests get when a pod ends, and what the pod gets beyond it."""
_OURS = {
    "allow-experimental-plugins": "it follows from the plugins",
    "cert-path": "it follows from how the gateway asks the picker",
    "config-file": "it is where the configuration is mounted",
    "enable-cert-reload": "it follows from how the gateway asks the picker",
    "enable-pprof": "it is off",
    "grpc-health-port": "the probes ask there",
    "grpc-port": "set endpointPicker.port",
    "ha-enable-leader-election": "it follows from the number of pickers",
    "metrics-endpoint-auth": "set endpointPicker.metricsAuth",
    "metrics-port": "the Service has it",
    "pool-group": "it follows from the pool",
    "pool-name": "it follows from the pool",
    "pool-namespace": "it follows from the pool",
    "secure-serving": "it follows from how the gateway asks the picker",
    "tracing": "set observability.tracing",
    "v": "set endpointPicker.logLevel",
    "zap-encoder": "logs are JSON",
    "zap-log-level": "set endpointPicker.logLevel",
}
"""Flags that are decided here, or that have a field, with what to do instead."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How the gateway asks the picker."""

    encrypted: bool
    certificate: str | None
    """The Secret with the picker's certificate; absent: it makes one itself."""
    authority: str | None
    """The Secret by which Istio's gateway verifies it; absent: it does not."""


@dataclass(frozen=True, slots=True)
class Picker:
    """What the picker's objects agree about."""

    image: str
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    config: str
    """The EndpointPickerConfig as YAML."""
    port: int
    app_protocol: str
    pool_app_protocol: str | None
    """appProtocol that the pool has to say; absent: its parsers take what a pool says by itself."""
    failure_mode: str
    fail_open_reason: str | None
    rules: tuple[Mapping[str, Any], ...]
    """Rules of its Role, as Kubernetes has them."""
    replicas: int
    readiness_service: str
    liveness_service: str
    metrics_auth: bool
    tls: Tls
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
    warnings: tuple[str, ...]
    """What works, and what whoever wrote it should know."""

    def checksum(self) -> str:
        """Return the SHA-256 of the configuration: the picker reads it once, so a change has to roll its pods."""
        return hashlib.sha256(self.config.encode()).hexdigest()

    @property
    def elects(self) -> bool:
        """Say whether several pickers elect a leader, which alone is ready."""
        return self.replicas > 1


def plan(of: VariantContext) -> Picker:
    """Decide the picker of one variant, which is without mistakes."""
    facts, spec = of.release.picker, of.spec.endpoint_picker
    config = picker_config.config(of.spec, of.names, of.release)
    return Picker(
        image=spec.image or of.release.images.picker.ref,
        arguments=tuple(_arguments(of, experimental=picker_graph.is_experimental(config, facts))),
        env=ordered(_environment(of), {}),
        config=picker_config.text(config, facts),
        port=spec.port,
        app_protocol=facts.service_app_protocol,
        pool_app_protocol=picker_graph.app_protocol(config, facts),
        failure_mode=spec.failure_mode,
        fail_open_reason=spec.fail_open_reason if spec.failure_mode == "FailOpen" else None,
        rules=tuple(_rules(of)),
        replicas=spec.replicas,
        readiness_service=facts.probes.readiness,
        liveness_service=facts.probes.liveness,
        metrics_auth=spec.metrics_auth,
        tls=_tls(spec.tls),
        requests=spec.resources.requests,
        limits=spec.resources.limits,
        placement=placement.plan(spec.pod, None, labels.picker_selector(of.names)),
        image_pull_secrets=tuple(secret.name for secret in spec.pod.image_pull_secrets),
        pod_labels=spec.pod.labels,
        pod_annotations=spec.pod.annotations,
        grace=max(_GRACE, seconds(spec.flags.get(_DRAIN, "0s")) + _MARGIN),
        start=facts.start_seconds,
        warnings=tuple(map(str, picker_lint.warnings("endpointPicker.config", spec.config or {}, facts))),
    )


def _tls(wanted: PickerTls) -> Tls:
    if isinstance(wanted, Certificate):
        return Tls(encrypted=True, certificate=wanted.secret, authority=wanted.ca_secret)
    return Tls(encrypted=wanted.type != "none", certificate=None, authority=None)


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
    traces = tracing.environment(of.stack.observability.tracing, of.names.picker, of.release.picker.untraced)
    return {**identity, **_predictor(of.spec, of.release.picker), **traces}


def _predictor(service: Variant, facts: PickerFacts) -> dict[str, EnvValue]:
    """Return where the latency predictor is."""
    spec = service.endpoint_picker.latency_predictor
    if spec is None or facts.latency_predictor is None:
        return {}
    variables = facts.latency_predictor
    return {variables.training: spec.training_server, variables.prediction: ",".join(spec.prediction_servers)}


def _arguments(of: VariantContext, *, experimental: bool) -> Iterator[str]:
    """Yield flags as one token each: as two, a boolean's value is silently dropped."""
    spec, flags, names = of.spec.endpoint_picker, of.release.picker.flags, of.names
    yield f"--pool-name={names.pool}"
    yield f"--pool-namespace={names.namespace}"
    yield f"--pool-group={POOL_GROUP}"
    yield f"--config-file={CONFIG_MOUNT}/{CONFIG_KEY}"
    yield f"--grpc-port={spec.port}"
    yield f"--grpc-health-port={HEALTH_PORT}"
    yield f"--metrics-port={METRICS_PORT}"
    yield f"--metrics-endpoint-auth={_boolean(spec.metrics_auth)}"
    yield f"--tracing={_boolean(of.stack.observability.tracing is not None)}"
    yield f"--v={spec.log_level}"
    yield from flags.always
    if experimental and flags.experimental is not None:
        yield f"{flags.experimental}=true"
    if spec.replicas > 1:
        yield "--ha-enable-leader-election=true"
    if isinstance(spec.tls, Certificate):
        yield f"--cert-path={CERTIFICATE_MOUNT}"
        yield "--enable-cert-reload=true"
    elif spec.tls.type == "none":
        yield "--secure-serving=false"
    yield from (f"--{name}={value}" for name, value in sorted(spec.flags.items()))


def _boolean(value: bool) -> str:  # noqa: FBT001, it is what is written
    return str(value).lower()


def problems(of: VariantContext) -> list[Problem]:
    """Return every mistake about the picker of a variant, as far as the release shows it."""
    path, service, release = of.path, of.spec, of.release
    spec, at = service.endpoint_picker, f"{path}.endpointPicker"
    context = picker_config.context(service, release)
    found = [*_images(path, service, release), *_flags(f"{at}.flags", spec.flags, release)]
    found += [*_preset(at, service, context), *_failing(at, spec), *_verified(at, of)]
    if spec.preset == "custom" and spec.config is not None:
        section = spec.flow_control
        named = [] if section is None else list(_flow_references(at, service, context.facts))
        found += picker_lint.problems(f"{at}.config", spec.config, context, named)
    return [*found, *_flow_control(at, service, context), *_latency(at, service, context)]


def _failing(at: str, spec: EndpointPicker) -> Iterator[Problem]:
    """Ask for a reason where requests go past the picker."""
    if spec.failure_mode == "FailOpen" and spec.fail_open_reason is None:
        what = "is missing, and FailOpen sends requests to any pod of the pool while no picker answers"
        remedy = "say why that is right here, or remove failureMode"
        yield Problem(f"{at}.failOpenReason", what, remedy, (f"{at}.failureMode",))
    if spec.failure_mode == "FailClose" and spec.fail_open_reason is not None:
        what = "has no effect while requests are refused (FailClose)"
        yield Problem(f"{at}.failOpenReason", what, "remove it, or set failureMode: FailOpen", said=True)


def _verified(at: str, of: VariantContext) -> Iterator[Problem]:
    """Refuse an authority that nobody would ask."""
    tls, gateway = of.spec.endpoint_picker.tls, of.stack.gateway
    if isinstance(tls, Certificate) and tls.ca_secret is not None and (gateway is None or gateway.provider != "istio"):
        asked = "without a gateway" if gateway is None else f"with gateway.provider {gateway.provider}"
        what = f"has no effect {asked} ({tls.ca_secret})"
        yield Problem(f"{at}.tls.caSecret", what, "remove it", ("gateway",), said=True)


def _images(path: str, service: Variant, release: Release) -> Iterator[Problem]:
    """Refuse images of another line: they cannot read this line's configuration and flags."""
    sidecar = service.sidecar.image if service.sidecar is not None else None
    for at, image in (("endpointPicker", service.endpoint_picker.image), ("sidecar", sidecar)):
        lines = None if image is None else other_line(release, image)
        if image is not None and lines is not None:
            short = f"…/{image.partition('@')[0].rpartition('/')[2]}"
            remedy = f"remove it or set release: {' or '.join(lines)}" if lines else "remove it"
            what = f"belongs to another release line ({short}, release {release.name})"
            yield Problem(f"{path}.{at}.image", what, remedy)


def _flags(path: str, given: dict[str, str], release: Release) -> Iterator[Problem]:
    """Check flags by name and, where the release tells, by the shape of the value, which is never echoed."""
    facts = release.picker.flags
    for name, value in given.items():
        if name in _OURS:
            instead = _OURS[name]
            remedy = f"remove it and {instead}" if instead.startswith("set ") else f"remove it: {instead}"
            yield Problem(f"{path}.{name}", f"is decided by this program ({name})", remedy)
        elif name in facts.rejected:
            yield Problem(f"{path}.{name}", f"cannot be set ({name})", f"remove it: {facts.rejected[name]}")
        elif name not in facts.known:
            remedy = shapes.suggestion(name, facts.known) or "remove it"
            yield Problem(f"{path}.{name}", f"is no flag of {release.name}'s picker ({name})", remedy)
        else:
            yield from shapes.problems(Reading(f"{path}.{name}"), _read(value, facts.known[name]), facts.known[name])


def _read(value: str, word: str) -> object:
    """Return what a flag's text means, where its shape is no text."""
    if shapes.kind(word) == "boolean":
        return {"true": True, "false": False}.get(value, value)
    return int(value) if shapes.kind(word) == "integer" and value.lstrip("-").isdecimal() else value


def _preset(at: str, service: Variant, context: Context) -> Iterator[Problem]:
    spec, release = service.endpoint_picker, context.release
    if spec.preset == "custom":
        if spec.config is None:
            yield Problem(f"{at}.config", "is missing (preset custom)", "add it, or choose another preset")
        if spec.scorer_weights:
            yield Problem(f"{at}.scorerWeights", "has no effect with preset custom", "write the weights in config")
        return
    if spec.config is not None:
        what = f"has no effect with preset {spec.preset}"
        yield Problem(f"{at}.config", what, "set preset: custom, or remove it")
    if spec.preset not in context.facts.presets:
        known = " or ".join(sorted(context.facts.presets))
        yield Problem(f"{at}.preset", f"is not in {release.name} ({spec.preset})", f"use {known}")
        return
    if "kv-events" in context.facts.presets[spec.preset].needs and not context.vllm:
        what = f"needs vllm in every role, which says what it holds ({spec.preset})"
        yield Problem(f"{at}.preset", what, "use another preset, or engine.type: vllm")
    yield from _weights(f"{at}.scorerWeights", spec.scorer_weights, release)


def _weights(path: str, given: dict[str, float], release: Release) -> Iterator[Problem]:
    table = release.picker.plugins.table
    scorers = {name: plugin for name, plugin in table.items() if "scorer" in plugin.groups}
    for name in given:
        if name not in table:
            yield picker_lint.unknown(f"{path}.{name}", name, release)
        elif name not in scorers:
            yield Problem(f"{path}.{name}", f"is no scorer ({name})", shapes.suggestion(name, scorers) or "remove it")
        else:
            yield from _needs_more(f"{path}.{name}", name, release.picker)


def _needs_more(at: str, name: str, facts: PickerFacts) -> Iterator[Problem]:
    """Refuse a plugin that needs more than its name, which only a configuration can say."""
    plugin = facts.plugins.table[name]
    required = list(shapes.problems(Reading(at), {}, plugin.parameters or {}))
    if required or plugin.requires or plugin.block_size:
        yield Problem(at, f"needs more than its name ({name})", "use preset: custom, and declare it in config")


def _flow_references(at: str, service: Variant, facts: PickerFacts) -> Iterator[shapes.Reference]:
    if service.endpoint_picker.flow_control is not None:
        yield from picker_config.flow_references(f"{at}.{FLOW_CONTROL}", service.endpoint_picker.flow_control, facts)


def _flow_control(at: str, service: Variant, context: Context) -> Iterator[Problem]:
    """Check the section: the release has to know its keys, and a preset has no plugins but those of the release."""
    spec, facts = service.endpoint_picker, context.facts
    if spec.flow_control is None:
        return
    if FLOW_CONTROL in (spec.config or {}) and spec.preset == "custom":
        yield Problem(f"{at}.{FLOW_CONTROL}", "is written in config, too", "keep one of them")
        return
    shape = facts.config.shape.get(FLOW_CONTROL, {})
    noun = f"key in {context.release.name}"
    section = picker_config.flow_control(spec.flow_control, facts)
    yield from shapes.problems(Reading(f"{at}.{FLOW_CONTROL}", noun), section, shape)
    for one in _flow_references(at, service, facts) if spec.preset != "custom" else ():
        plugin = facts.plugins.table.get(one.name)
        if plugin is None:
            yield picker_lint.unknown(one.path, one.name, context.release)
        elif not set(plugin.groups) & set(one.groups):
            yield picker_lint.misplaced(one, plugin, facts.plugins.table)
        else:
            yield from _needs_more(one.path, one.name, facts)


def _latency(at: str, service: Variant, context: Context) -> Iterator[Problem]:
    """Ask for the predicting servers, which are no objects of ours: without an address the picker asks its own pod."""
    spec, facts = service.endpoint_picker, context.facts
    if spec.preset == "custom":
        asked = picker_graph.predicts_latency(spec.config or {}, facts)
    else:
        found = facts.presets.get(spec.preset)
        asked = found is not None and "latency-predictor" in found.needs
    if asked and spec.latency_predictor is None:
        what = "is missing, and latency is predicted by servers that are not deployed here"
        remedy = "add trainingServer and predictionServers, or use another preset"
        yield Problem(f"{at}.latencyPredictor", what, remedy)
    if not asked and spec.latency_predictor is not None:
        yield Problem(f"{at}.latencyPredictor", "has no effect where nothing predicts latency", "remove it")
