"""Validation of the endpoint picker of a variant: images, flags, preset, TLS and flow control."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.credentials import REFERENCE
from models.paths import Path
from models.picker import Certificate, EndpointPicker, LatencyPredictor
from models.problems import Problem, errors, warning, warnings
from models.service import Variant
from planning.ground import environment, patch
from planning.ground.patch import Limits
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.hardware import accelerators, placement
from planning.picker import (
    command_line,
    config,
    containers,
    deployment,
    graph,
    lint,
    proxy,
    several_pickers,
    sizing,
    start_mistakes,
    value_combinations,
    value_shapes,
    without_picker,
)
from planning.picker.config import CUSTOM
from planning.picker.containers import PICKER_CONTAINER
from planning.picker.context import PickerContext
from planning.picker.graph import FLOW_CONTROL
from planning.picker.lint import VariantFacts
from planning.picker.value_combinations import DemandScope
from planning.picker.value_shapes import Reading
from planning.refusals.resources import uncountable
from planning.releases import Release, departures
from planning.releases.lines import other_line
from planning.releases.picker_facts import PickerFacts
from planning.variant.context import VariantContext

_DECIDED_FLAGS = {
    "allow-experimental-plugins": ": it follows from the plugins",
    "cert-path": ": it follows from how the gateway asks the picker",
    "config-file": ": it is where the configuration is mounted",
    "enable-cert-reload": ": it follows from how the gateway asks the picker",
    "enable-pprof": ": profiling stays off",
    "grpc-health-port": ": the probes ask this port",
    "grpc-port": " and set endpointPicker.port",
    "ha-enable-leader-election": ": it follows from the number of pickers",
    "metrics-endpoint-auth": " and set endpointPicker.metricsAuth",
    "metrics-port": ": the picker's Service has this port",
    "pool-group": ": it follows from the pool",
    "pool-name": ": it follows from the pool",
    "pool-namespace": ": it follows from the pool",
    "secure-serving": ": it follows from how the gateway asks the picker",
    "tracing": " and set observability.tracing",
    "v": " and set endpointPicker.logLevel",
    "zap-encoder": ": logs are JSON",
    "zap-log-level": " and set endpointPicker.logLevel",
}
"""Flags that users may not set, each with the end of the remedy: the reason, or the field to set instead."""


def judge(variant: VariantContext, context: PickerContext | None) -> Iterator[Problem]:
    """Yield errors and warnings about a variant's picker. `context` is None if the variant has no picker."""
    if context is None:
        yield from without_picker.judge(variant)
        yield from without_picker.judge_canary(variant)
        return
    problems = list(_judge(context))
    yield from errors(problems)
    if not errors(problems):
        yield from _combination(context)
    yield from without_picker.judge_canary(variant)
    yield from warnings(problems)
    yield from _tls_metrics(context)
    yield from several_pickers.judge_updates(context.path, context.variant)


def _judge(context: PickerContext) -> Iterator[Problem]:
    """Yield the problems of what users wrote."""
    variant = context.variant
    at = context.path
    picker = context.spec
    yield from _images(variant.path, variant.spec, variant.release)
    yield from _flags(at, picker.flags, variant.release)
    yield from _preset(context)
    yield from _failure_mode(at, picker)
    yield from _authority(at, variant)
    yield from _port(at, picker)
    yield from placement.problems(at / "pod", picker.pod)
    yield from _traffic(at, variant)
    yield from _environment(context)
    yield from containers.judge(at / "containers", picker, context.predictor_servers)
    yield from _patch(at, variant)
    yield from proxy.judge(variant)
    yield from several_pickers.judge(at, variant)
    if picker.preset == CUSTOM and picker.config is not None:
        yield from lint.judge(at / "config", picker.config, context.variant_facts, list(_flow_references(context)))
    yield from _copies(at, variant)
    yield from _flow_control(context)
    yield from _latency(context)


def _combination(context: PickerContext) -> Iterator[Problem]:
    """Yield the problems that `lint` finds in the configuration that this program makes of a preset and other keys."""
    if context.built is None:
        return
    for problem in context.verdict.combination_problems:
        path = _key_of_plugin(context.path, context.built.tree, problem.path, context.spec)
        if problem.path[:1] == (FLOW_CONTROL,):
            path = Path(*context.path, *problem.path)
        yield Problem(path, problem.what, problem.remedy)


def _tls_metrics(context: PickerContext) -> Iterator[Problem]:
    """Yield a warning if prefill pods serve metrics over TLS and the picker cannot read these metrics.

    A picker treats pods without metrics as full.
    """
    variant = context.variant
    if not config.serves_tls(variant.spec):
        return
    at = variant.path / "sidecar" / "tls" / "prefill"
    loss = "the picker cannot read the load of prefill pods, and treats them as full"
    if context.spec.preset == CUSTOM:
        if not graph.reads_tls_metrics(config.custom(variant.spec), context.facts):
            what = f"{loss}: no data source of endpointPicker.config asks by HTTPS"
            yield warning(at, what, "declare a second metrics-data-source with another name and scheme: https")
    elif context.facts.tls_metrics is None:
        what = f"{loss}: the picker of {variant.release.name} asks every pod by HTTP"
        yield warning(at, what, "choose a newer release")


def _key_of_plugin(at: Path, tree: Mapping[str, Any], below: Path, picker: EndpointPicker) -> Path:
    """Return the path of the key from which a value of a configuration comes: a scorer's weight, or the preset.

    `below` is the path of the value in the configuration `tree`.
    """
    if below[:1] == ("plugins",) and len(below) > 1 and isinstance(below[1], int):
        kind = tree["plugins"][below[1]]["type"]
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
    if not variant.kv_cache.has_reader:
        return
    key = "preset"
    if variant.spec.endpoint_picker.preset == CUSTOM:
        key = "config"
    for role in variant.roles:
        copies = role.path / "parallelism" / "data"
        count = role.spec.parallelism.data
        spans_pods = (role.spec.parallelism.data_local or count) < count
        if count == 1:
            continue
        if not variant.release.picker.ports.tells_events_apart:
            what = f"does not distinguish copies of the model in a pod ({copies}: {count}, {variant.release.name})"
            remedy = "use another preset, or replicas instead of copies"
            yield Problem(at / key, what, remedy, (copies,), names_service=True)
        elif role.spec.parallelism.load_balancing == "external" and spans_pods:
            # Each copy adds its number in the replica to the port of events, and the picker its number in the pod.
            what = f"reads only the caches of the first pod of a replica ({copies}: {count})"
            remedy = f"set {role.path}.parallelism.dataLocal: {count}, or use another preset"
            yield Problem(at / key, what, remedy, (copies,), names_service=True)
        elif role.spec.parallelism.load_balancing != "external":
            what = f"reads only the cache of the first copy of the model in a pod ({copies}: {count})"
            remedy = f"set {role.path}.parallelism.loadBalancing: external, or use replicas instead of copies"
            if spans_pods:
                remedy = "use another preset, or replicas instead of copies"
            yield Problem(at / key, what, remedy, (copies,), names_service=True)


def _environment(context: PickerContext) -> Iterator[Problem]:
    """Reject variables that follow from other keys, and references to variables that the picker does not have."""
    picker = context.spec
    if not picker.env and not picker.flags:
        return
    generated = deployment.generated_environment(context)
    explicit = environment.values(picker.env)
    yield from environment.problems(context.path / "env", generated, explicit, _reserved_variables(context.variant))
    for name, value in picker.flags.items():
        yield from environment.dangling(context.path / "flags" / name, value, generated.keys() | explicit.keys())


def _reserved_variables(variant: VariantContext) -> dict[str, str]:
    """Return the variables of the picker that no user may set, each with the reason."""
    facts = variant.release.picker.latency_predictor
    reserved = {"NAMESPACE": "it is the pod's own namespace", "POD_NAME": "it is the pod's own name"}
    if facts is not None:
        reserved |= dict.fromkeys((facts.training, facts.prediction), "endpointPicker.latencyPredictor sets it")
    return reserved


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
    if "resources" in picker.explicit_fields:
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
    drain = deployment.drain(variant.spec)
    limits = Limits(drain, variant.spec.drain_timeout, devices, _reserved_variables(variant))
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
    tls = variant.spec.endpoint_picker.tls
    if not isinstance(tls, Certificate) or tls.ca_secret is None:
        return
    cause = "without a gateway"
    if variant.gateway is not None:
        cause = f"with gateway.provider {variant.gateway.provider}"
    if variant.gateway is None or variant.gateway.provider != "istio":
        what = f"has no effect {cause} ({tls.ca_secret})"
        yield Problem(at / "tls" / "caSecret", what, "remove it", (Path("gateway"),), explicit_only=True)


def _images(path: Path, spec: Variant, release: Release) -> Iterator[Problem]:
    """Reject images of another release line. Such images cannot read the configuration and the flags of this line."""
    images = {"endpointPicker": spec.endpoint_picker.image}
    if spec.sidecar is not None:
        images["sidecar"] = spec.sidecar.image
    for key, image in images.items():
        if image is None:
            continue
        lines = other_line(release, image)
        if lines is None:
            continue
        short = f"…/{image.partition('@')[0].rpartition('/')[2]}"
        remedy = "remove it"
        if lines:
            remedy += f" or set release: {' or '.join(lines)}"
        yield Problem(
            path / key / "image", f"belongs to another release line ({short}, release {release.name})", remedy
        )


def _flags(at: Path, flags: dict[str, str], release: Release) -> Iterator[Problem]:
    """Check the names and the values of flags. Problems never contain a value."""
    facts = release.picker.flags
    for name, value in flags.items():
        path = at / "flags"
        if name in _DECIDED_FLAGS:
            instead = _DECIDED_FLAGS[name]
            yield Problem(path / name, f"is decided by this program ({name})", f"remove it{instead}")
        elif name in facts.rejected:
            yield Problem(path / name, f"cannot be set ({name})", f"remove it: {facts.rejected[name]}")
        elif name not in facts.known:
            yield command_line.unknown(path / name, name, facts.known, release)
        elif not any(match[1] or match[0] == "$$" for match in REFERENCE.finditer(value)):
            # The type of a value that refers to a variable is not checked, because the value is known only in the pod.
            yield from value_shapes.problems(
                Reading(path / name), command_line.typed_value(value, facts.known[name]), facts.known[name]
            )
        if name in facts.known:
            yield from departures.problems(path / name, "flag", name, release)


def _preset(context: PickerContext) -> Iterator[Problem]:
    at = context.path
    picker = context.spec
    presets = context.facts.presets
    release = context.variant.release
    if picker.preset == CUSTOM:
        if picker.config is None:
            yield Problem(at / "config", "is missing (preset custom)", "add it, or choose another preset")
        if picker.scorer_weights:
            what = "has no effect with preset custom"
            remedy = "write the weights in config"
            yield Problem(at / "scorerWeights", what, remedy, explicit_only=True)
        return
    if picker.config is not None:
        what = f"has no effect with preset {picker.preset}"
        yield Problem(at / "config", what, "set preset: custom, or remove it", explicit_only=True)
    if picker.preset not in presets:
        remedy = f"use {' or '.join(sorted(presets))}"
        yield Problem(at / "preset", f"is not in {release.name} ({picker.preset})", remedy)
        return
    if "kv-events" in presets[picker.preset].needs and not context.variant_facts.vllm:
        what = f"needs vllm in every role, because only vllm reports its cached blocks ({picker.preset})"
        yield Problem(at / "preset", what, "use another preset, or engine.type: vllm")
    yield from _weights(at, picker.scorer_weights, release)


def _weights(at: Path, weights: dict[str, float], release: Release) -> Iterator[Problem]:
    table = release.picker.plugins.table
    for name in weights:
        path = at / "scorerWeights"
        if name not in table:
            yield start_mistakes.unknown(path / name, name, release)
        elif "scorer" not in table[name].groups:
            scorers = [scorer for scorer, plugin in table.items() if "scorer" in plugin.groups]
            yield Problem(path / name, f"is no scorer ({name})", value_shapes.suggestion(name, scorers) or "remove it")
        else:
            yield from _required_settings(path / name, name, release.picker)


def _required_settings(at: Path, name: str, facts: PickerFacts) -> Iterator[Problem]:
    """Reject a plugin that needs parameters or other plugins, which only a custom configuration can declare."""
    plugin = facts.plugins.table[name]
    required = list(value_shapes.problems(Reading(at), {}, plugin.parameters or {}))
    if required or plugin.requires or plugin.block_size:
        yield Problem(at, f"needs parameters or other plugins ({name})", "use preset: custom, and declare it in config")


def _flow_references(context: PickerContext) -> Iterator[value_shapes.PluginReference]:
    section = context.spec.flow_control
    if section is not None:
        yield from config.flow_references(context.path / FLOW_CONTROL, section, context.facts)


def _flow_control(context: PickerContext) -> Iterator[Problem]:
    """Check the section `flowControl`. With a preset, the plugins in the section must work without parameters."""
    picker = context.spec
    facts = context.facts
    at = context.path
    if picker.flow_control is None:
        return
    if FLOW_CONTROL in config.custom(context.variant.spec):
        yield Problem(at / FLOW_CONTROL, "is written in config, too", "keep one of them", explicit_only=True)
        return
    shape = facts.config.shape.get(FLOW_CONTROL, {})
    noun = f"key in {context.variant.release.name}"
    section = config.flow_control(picker.flow_control, facts)
    yield from value_shapes.problems(Reading(at / FLOW_CONTROL, noun), section, shape)
    scope = DemandScope(at, {FLOW_CONTROL: section}, {})
    yield from value_combinations.problems(scope, facts.config.gated_rules.get(FLOW_CONTROL, []))
    if picker.preset == CUSTOM:
        return
    for reference in _flow_references(context):
        plugin = facts.plugins.table.get(reference.name)
        if plugin is None:
            yield start_mistakes.unknown(reference.path, reference.name, context.variant.release)
        elif not set(plugin.groups) & set(reference.groups):
            yield start_mistakes.wrong_group(reference, plugin, facts.plugins.table)
        else:
            yield from _required_settings(reference.path, reference.name, facts)


def _latency(context: PickerContext) -> Iterator[Problem]:
    """Require `latencyPredictor` if the picker asks a latency predictor, and reject it otherwise.

    Without `latencyPredictor`, the picker would ask for predictions in its own pod, where no predictor runs.
    """
    predictor = context.spec.latency_predictor
    at = context.path / "latencyPredictor"
    if not context.asks_predictor:
        if predictor is not None:
            what = "has no effect, because the picker asks for no predictions of latency"
            yield Problem(at, what, "remove it", explicit_only=True)
    elif predictor is None:
        what = "is missing, and the picker asks servers for predictions of latency"
        yield Problem(at, what, "add deploy: {}, or trainingServer and predictionServers, or use another preset")
    else:
        yield from _predictor(at, predictor, context.variant_facts)


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
