"""Validation of the endpoint picker of a variant: images, flags, preset, TLS and flow control."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from models.credentials import REFERENCE
from models.paths import Path
from models.picker import Certificate, EndpointPicker, LatencyPredictor
from models.problems import Problem
from models.service import Variant
from planning.ground import environment, patch
from planning.ground.patch import Limits
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.hardware import accelerators, placement
from planning.picker import (
    absence,
    command_line,
    config,
    containers,
    demands,
    deployment,
    lint,
    loader,
    replication,
    shapes,
    sizing,
)
from planning.picker.containers import PICKER_CONTAINER
from planning.picker.demands import Scope
from planning.picker.graph import FLOW_CONTROL
from planning.picker.lint import VariantFacts
from planning.picker.shapes import Reading
from planning.refusals.resources import uncountable
from planning.releases import PickerFacts, Release, channel, other_line
from planning.variant import kv_cache
from planning.variant.context import VariantContext

_DECIDED_FLAGS = {
    "allow-experimental-plugins": "it follows from the plugins",
    "cert-path": "it follows from how the gateway asks the picker",
    "config-file": "it is where the configuration is mounted",
    "enable-cert-reload": "it follows from how the gateway asks the picker",
    "enable-pprof": "profiling stays off",
    "grpc-health-port": "the probes ask this port",
    "grpc-port": "set endpointPicker.port",
    "ha-enable-leader-election": "it follows from the number of pickers",
    "metrics-endpoint-auth": "set endpointPicker.metricsAuth",
    "metrics-port": "the picker's Service has this port",
    "pool-group": "it follows from the pool",
    "pool-name": "it follows from the pool",
    "pool-namespace": "it follows from the pool",
    "secure-serving": "it follows from how the gateway asks the picker",
    "tracing": "set observability.tracing",
    "v": "set endpointPicker.logLevel",
    "zap-encoder": "logs are JSON",
    "zap-log-level": "set endpointPicker.logLevel",
}
"""Flags that users may not set, each with the reason or with the field to set instead."""


def problems(variant: VariantContext) -> list[Problem]:
    """Return the problems of a variant's picker, or the problems of a variant without a picker."""
    found = list(absence.problems(variant)) if not variant.has_picker else _picker_problems(variant)
    return [*found, *absence.canary_problems(variant)]


def _picker_problems(variant: VariantContext) -> list[Problem]:
    path, spec, release = variant.path, variant.spec, variant.release
    picker, at = spec.endpoint_picker, path / "endpointPicker"
    variant_facts = config.variant_facts(spec, release, variant.kv_cache)
    found = [*_images(path, spec, release), *_flags(at, picker.flags, release)]
    found += [*_preset(at, spec, variant_facts), *_failure_mode(at, picker), *_authority(at, variant)]
    found += [*_port(at, picker), *placement.problems(at / "pod", picker.pod), *_traffic(at, variant)]
    found += [*_environment(at, variant), *_containers(at, variant), *_patch(at, variant)]
    found += replication.problems(at, variant)
    if picker.preset == "custom" and picker.config is not None:
        section = picker.flow_control
        references = [] if section is None else list(_flow_references(at, spec, variant_facts.picker))
        found += lint.problems(at / "config", picker.config, variant_facts, references)
    found += [*_copies(at, variant), *_flow_control(at, spec, variant_facts), *_latency(at, spec, variant_facts)]
    return [*found, *(() if found else _combination(at, variant, variant_facts))]


def _combination(at: Path, variant: VariantContext, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Yield the problems that `lint` finds in the configuration that this program makes of a preset and other keys."""
    spec, picker = variant.spec, variant.spec.endpoint_picker
    if config.preset(picker.preset, variant_facts.picker, disaggregated=spec.prefill is not None) is None:
        return
    made = config.build(spec, variant.names, variant.release, variant.kv_cache)
    roles, engine = 2 if variant_facts.disaggregated else 1, "vllm" if variant_facts.vllm else "custom"
    for problem in _problems_of(json.dumps(made), variant.release.name, roles, variant_facts.block_size, engine):
        is_flow_control = problem.path[:1] == (FLOW_CONTROL,)
        path = Path(*at, *problem.path) if is_flow_control else _key_of_plugin(at, made, problem.path, picker)
        yield Problem(path, problem.what, problem.remedy)


@cache
def _problems_of(made: str, release: str, roles: int, block_size: int | None, engine: str) -> tuple[Problem, ...]:
    """Return the problems of a configuration in JSON. Results are cached, because services share configurations."""
    facts = VariantFacts(channel(release), roles > 1, block_size, vllm=engine == "vllm")
    return tuple(lint.problems(Path(), json.loads(made), facts))


def _key_of_plugin(at: Path, made: Mapping[str, Any], below: Path, picker: EndpointPicker) -> Path:
    """Return the path of the key from which a value of a configuration comes: a scorer's weight, or the preset.

    `below` is the path of the value in the configuration `made`.
    """
    if below[:1] == ("plugins",) and len(below) > 1 and isinstance(below[1], int):
        kind = made["plugins"][below[1]]["type"]
        if kind in picker.scorer_weights:
            return at / "scorerWeights" / kind
    return at / "preset"


def _copies(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Reject a picker that reads cache events but cannot distinguish several copies of the model in a pod.

    Each copy publishes its cache events on a separate port (vllm 0.21.0, `offset_endpoint_port` in
    vllm/distributed/kv_events.py). For each target port of the pool, the picker reads cache events from one port of a
    pod (llm-d-router v0.10.0, extractor.go in
    pkg/epp/framework/plugins/requestcontrol/dataproducer/preciseprefixcache).
    """
    if not kv_cache.needs_events(variant.spec):
        return
    key = "config" if variant.spec.endpoint_picker.preset == "custom" else "preset"
    for role in variant.roles:
        copies, count = role.path / "parallelism" / "data", role.spec.parallelism.data
        if count == 1:
            continue
        if not variant.release.picker.ports.tells_events_apart:
            what = f"does not distinguish copies of the model in a pod ({copies}: {count}, {variant.release.name})"
            yield Problem(at / key, what, "use another preset, or replicas instead of copies", (copies,))
        elif role.spec.parallelism.load_balancing == "internal":
            what = f"reads only the cache of the first copy of the model in a pod ({copies}: {count})"
            remedy = f"set {role.path}.parallelism.loadBalancing: external, or use replicas instead of copies"
            yield Problem(at / key, what, remedy, (copies,))


def _environment(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Reject variables that follow from other keys, and references to variables that the picker does not have."""
    picker = variant.spec.endpoint_picker
    if not picker.env and not picker.flags:
        return
    generated, explicit = deployment.generated_environment(variant), environment.values(picker.env)
    yield from environment.problems(at / "env", generated, explicit, _reserved_variables(variant))
    for name, value in picker.flags.items():
        yield from environment.dangling(at / "flags" / name, value, generated.keys() | explicit.keys())


def _reserved_variables(variant: VariantContext) -> dict[str, str]:
    """Return the variables of the picker that no user may set, each with the reason."""
    facts = variant.release.picker.latency_predictor
    reserved = {"NAMESPACE": "it is the pod's own namespace", "POD_NAME": "it is the pod's own name"}
    if facts is not None:
        reserved |= dict.fromkeys((facts.training, facts.prediction), "endpointPicker.latencyPredictor sets it")
    return reserved


def _containers(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Check the containers that a user adds to the picker's pods."""
    picker, servers = variant.spec.endpoint_picker, config.predictor_servers(variant.spec, variant.release.picker)
    yield from containers.problems(at / "containers", picker, servers)


def _traffic(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Reject `resources` together with `traffic`, from which they follow, and traffic that no container can take."""
    picker = variant.spec.endpoint_picker
    if picker.traffic is None:
        return
    sized = sizing.resources(variant)
    size = uncountable({**sized.requests, **sized.limits})
    if size is not None:
        what = f"needs more than Kubernetes can count ({size})"
        yield Problem(at / "traffic", what, "write the traffic of a busy second")
    if "resources" in picker.model_fields_set:
        remedy = "keep one of them, or write resources: null beside traffic to drop inherited resources"
        yield Problem(at / "traffic", "decides resources, but resources are set, too", remedy, (at / "resources",))


def _patch(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Reject patches of the picker's Deployment that cannot be applied, or that change what this program decides.

    These are its identity, drain and devices, and the arguments of the picker.
    """
    change = variant.spec.endpoint_picker.patch
    if not change:
        return
    devices = accelerators.resource_names(variant.classes)
    drain, reserved = deployment.drain(variant.spec), _reserved_variables(variant)
    limits = Limits(drain, variant.spec.drain_timeout, devices, reserved)
    yield from patch.problems(at / "patch", change, limits, patch.PICKER)
    pod_path = Path("spec", "template", "spec", "containers")
    for index, container in enumerate(patch.items(change, pod_path)):
        if container.get("name") == PICKER_CONTAINER:
            for key in ("args", "command"):
                if key in container:
                    remedy = "remove it and set endpointPicker.flags"
                    yield Problem(Path(*at, "patch", *pod_path, index, key), "replaces generated arguments", remedy)


def _port(at: Path, picker: EndpointPicker) -> Iterator[Problem]:
    """Reject a port on which the picker listens for something else."""
    other = {HEALTH_PORT: "the picker's health service", METRICS_PORT: "the picker's metrics"}
    if picker.port in other:
        what = f"is the port of {other[picker.port]} as well ({picker.port})"
        yield Problem(at / "port", what, f"choose another port, such as {EndpointPicker.model_fields['port'].default}")


def _failure_mode(at: Path, picker: EndpointPicker) -> Iterator[Problem]:
    """Require a reason for `FailOpen`, because requests may then bypass the picker. Reject a reason for `FailClose`."""
    if picker.failure_mode == "FailOpen" and picker.fail_open_reason is None:
        what = "is missing, and FailOpen sends requests to any pod of the pool while no picker answers"
        remedy = "write why requests may bypass the picker, or remove failureMode"
        yield Problem(at / "failOpenReason", what, remedy, (at / "failureMode",))
    if picker.failure_mode == "FailClose" and picker.fail_open_reason is not None:
        what = "has no effect with failureMode: FailClose"
        yield Problem(at / "failOpenReason", what, "remove it, or set failureMode: FailOpen", explicit_only=True)


def _authority(at: Path, variant: VariantContext) -> Iterator[Problem]:
    """Reject a CA secret that no gateway would use: only Istio verifies the picker's certificate."""
    tls, gateway = variant.spec.endpoint_picker.tls, variant.gateway
    if isinstance(tls, Certificate) and tls.ca_secret is not None and (gateway is None or gateway.provider != "istio"):
        with_gateway = "without a gateway" if gateway is None else f"with gateway.provider {gateway.provider}"
        what = f"has no effect {with_gateway} ({tls.ca_secret})"
        yield Problem(at / "tls" / "caSecret", what, "remove it", (Path("gateway"),), explicit_only=True)


def _images(path: Path, spec: Variant, release: Release) -> Iterator[Problem]:
    """Reject images of another release line. Such images cannot read the configuration and the flags of this line."""
    sidecar = spec.sidecar.image if spec.sidecar is not None else None
    for at, image in (("endpointPicker", spec.endpoint_picker.image), ("sidecar", sidecar)):
        lines = None if image is None else other_line(release, image)
        if image is not None and lines is not None:
            short = f"…/{image.partition('@')[0].rpartition('/')[2]}"
            remedy = f"remove it or set release: {' or '.join(lines)}" if lines else "remove it"
            what = f"belongs to another release line ({short}, release {release.name})"
            yield Problem(path / at / "image", what, remedy)


def _flags(at: Path, flags: dict[str, str], release: Release) -> Iterator[Problem]:
    """Check the names and the values of flags. Problems never contain a value."""
    facts = release.picker.flags
    for name, value in flags.items():
        path = at / "flags"
        if name in _DECIDED_FLAGS:
            instead = _DECIDED_FLAGS[name]
            remedy = f"remove it and {instead}" if instead.startswith("set ") else f"remove it: {instead}"
            yield Problem(path / name, f"is decided by this program ({name})", remedy)
        elif name in facts.rejected:
            yield Problem(path / name, f"cannot be set ({name})", f"remove it: {facts.rejected[name]}")
        elif name not in facts.known:
            remedy = shapes.suggestion(name, facts.known) or "remove it"
            yield Problem(path / name, f"is no flag of {release.name}'s picker ({name})", remedy)
        elif not any(match[1] or match[0] == "$$" for match in REFERENCE.finditer(value)):
            # The type of a value that refers to a variable is not checked, because the value is known only in the pod.
            yield from shapes.problems(
                Reading(path / name), command_line.typed_value(value, facts.known[name]), facts.known[name]
            )


def _preset(at: Path, spec: Variant, variant_facts: VariantFacts) -> Iterator[Problem]:
    picker, release = spec.endpoint_picker, variant_facts.release
    if picker.preset == "custom":
        if picker.config is None:
            yield Problem(at / "config", "is missing (preset custom)", "add it, or choose another preset")
        if picker.scorer_weights:
            what, remedy = "has no effect with preset custom", "write the weights in config"
            yield Problem(at / "scorerWeights", what, remedy, explicit_only=True)
        return
    if picker.config is not None:
        what = f"has no effect with preset {picker.preset}"
        yield Problem(at / "config", what, "set preset: custom, or remove it", explicit_only=True)
    if picker.preset not in variant_facts.picker.presets:
        known = " or ".join(sorted(variant_facts.picker.presets))
        yield Problem(at / "preset", f"is not in {release.name} ({picker.preset})", f"use {known}")
        return
    if "kv-events" in variant_facts.picker.presets[picker.preset].needs and not variant_facts.vllm:
        what = f"needs vllm in every role, because only vllm reports its cached blocks ({picker.preset})"
        yield Problem(at / "preset", what, "use another preset, or engine.type: vllm")
    yield from _weights(at, picker.scorer_weights, release)


def _weights(at: Path, weights: dict[str, float], release: Release) -> Iterator[Problem]:
    table = release.picker.plugins.table
    for name in weights:
        path = at / "scorerWeights"
        if name not in table:
            yield loader.unknown(path / name, name, release)
        elif "scorer" not in table[name].groups:
            scorers = [scorer for scorer, plugin in table.items() if "scorer" in plugin.groups]
            yield Problem(path / name, f"is no scorer ({name})", shapes.suggestion(name, scorers) or "remove it")
        else:
            yield from _required_settings(path / name, name, release.picker)


def _required_settings(at: Path, name: str, facts: PickerFacts) -> Iterator[Problem]:
    """Reject a plugin that needs parameters or other plugins, which only a custom configuration can declare."""
    plugin = facts.plugins.table[name]
    required = list(shapes.problems(Reading(at), {}, plugin.parameters or {}))
    if required or plugin.requires or plugin.block_size:
        yield Problem(at, f"needs parameters or other plugins ({name})", "use preset: custom, and declare it in config")


def _flow_references(at: Path, spec: Variant, facts: PickerFacts) -> Iterator[shapes.Reference]:
    if spec.endpoint_picker.flow_control is not None:
        yield from config.flow_references(at / FLOW_CONTROL, spec.endpoint_picker.flow_control, facts)


def _flow_control(at: Path, spec: Variant, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check the section `flowControl`. With a preset, the plugins in the section must work without parameters."""
    picker, facts = spec.endpoint_picker, variant_facts.picker
    if picker.flow_control is None:
        return
    if FLOW_CONTROL in (picker.config or {}) and picker.preset == "custom":
        yield Problem(at / FLOW_CONTROL, "is written in config, too", "keep one of them", explicit_only=True)
        return
    shape = facts.config.shape.get(FLOW_CONTROL, {})
    noun = f"key in {variant_facts.release.name}"
    section = config.flow_control(picker.flow_control, facts)
    yield from shapes.problems(Reading(at / FLOW_CONTROL, noun), section, shape)
    yield from demands.problems(Scope(at, {FLOW_CONTROL: section}, {}), facts.config.gated_rules.get(FLOW_CONTROL, []))
    for reference in _flow_references(at, spec, facts) if picker.preset != "custom" else ():
        plugin = facts.plugins.table.get(reference.name)
        if plugin is None:
            yield loader.unknown(reference.path, reference.name, variant_facts.release)
        elif not set(plugin.groups) & set(reference.groups):
            yield loader.wrong_group(reference, plugin, facts.plugins.table)
        else:
            yield from _required_settings(reference.path, reference.name, facts)


def _latency(at: Path, spec: Variant, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Require `latencyPredictor` if the picker asks a latency predictor, and reject it otherwise.

    Without `latencyPredictor`, the picker would ask for predictions in its own pod, where no predictor runs.
    """
    picker, is_predicted = spec.endpoint_picker, config.asks_predictor(spec, variant_facts.picker)
    if is_predicted and picker.latency_predictor is None:
        what = "is missing, and the picker asks servers for predictions of latency"
        remedy = "add deploy: {}, or trainingServer and predictionServers, or use another preset"
        yield Problem(at / "latencyPredictor", what, remedy)
    if is_predicted and picker.latency_predictor is not None:
        yield from _predictor(at / "latencyPredictor", picker.latency_predictor, variant_facts)
    if not is_predicted and picker.latency_predictor is not None:
        what = "has no effect, because the picker asks for no predictions of latency"
        yield Problem(at / "latencyPredictor", what, "remove it", explicit_only=True)


def _predictor(at: Path, predictor: LatencyPredictor, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Require either the addresses of both kinds of servers or a predictor that the release can deploy."""
    if predictor.deploy is None:
        for key, address in (
            ("trainingServer", predictor.training_server),
            ("predictionServers", predictor.prediction_servers),
        ):
            if not address:
                yield Problem(at / key, "is missing (no deploy)", "add it, or write deploy: {} to deploy a predictor")
        return
    facts = variant_facts.picker.latency_predictor
    if predictor.addresses:
        remedy = "remove it, or remove trainingServer and predictionServers"
        yield Problem(at / "deploy", "is set together with addresses of another predictor", remedy)
    if facts is None or facts.servers is None:
        what = f"is not possible in {variant_facts.release.name}, which has no images for it"
        yield Problem(at / "deploy", what, "write trainingServer and predictionServers, or choose a newer release")
