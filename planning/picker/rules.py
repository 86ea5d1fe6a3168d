"""Mistakes about the endpoint picker of a variant."""

from collections.abc import Iterator

from models.paths import Path
from models.picker import Certificate, EndpointPicker
from models.problems import Problem
from models.service import Variant
from planning.picker import config as picker_config
from planning.picker import graph as picker_graph
from planning.picker import lint as picker_lint
from planning.picker import shapes
from planning.picker.graph import FLOW_CONTROL
from planning.picker.lint import Context
from planning.picker.shapes import Reading
from planning.releases import PickerFacts, Release, other_line
from planning.variant.context import VariantContext

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


def problems(of: VariantContext) -> list[Problem]:
    """Return every mistake about the picker of a variant, as far as the release shows it."""
    path, spec, release = of.path, of.spec, of.release
    wanted, at = spec.endpoint_picker, path / "endpointPicker"
    context = picker_config.context(spec, release, of.kv_cache)
    found = [*_images(path, spec, release), *_flags(at / "flags", wanted.flags, release)]
    found += [*_preset(at, spec, context), *_failing(at, wanted), *_verified(at, of)]
    if wanted.preset == "custom" and wanted.config is not None:
        section = wanted.flow_control
        named = [] if section is None else list(_flow_references(at, spec, context.facts))
        found += picker_lint.problems(at / "config", wanted.config, context, named)
    return [*found, *_flow_control(at, spec, context), *_latency(at, spec, context)]


def _failing(at: Path, wanted: EndpointPicker) -> Iterator[Problem]:
    """Ask for a reason where requests go past the picker."""
    if wanted.failure_mode == "FailOpen" and wanted.fail_open_reason is None:
        what = "is missing, and FailOpen sends requests to any pod of the pool while no picker answers"
        remedy = "say why that is right here, or remove failureMode"
        yield Problem(at / "failOpenReason", what, remedy, (at / "failureMode",))
    if wanted.failure_mode == "FailClose" and wanted.fail_open_reason is not None:
        what = "has no effect while requests are refused (FailClose)"
        yield Problem(at / "failOpenReason", what, "remove it, or set failureMode: FailOpen", explicit_only=True)


def _verified(at: Path, of: VariantContext) -> Iterator[Problem]:
    """Refuse an authority that nobody would ask."""
    tls, gateway = of.spec.endpoint_picker.tls, of.gateway
    if isinstance(tls, Certificate) and tls.ca_secret is not None and (gateway is None or gateway.provider != "istio"):
        asked = "without a gateway" if gateway is None else f"with gateway.provider {gateway.provider}"
        what = f"has no effect {asked} ({tls.ca_secret})"
        yield Problem(at / "tls" / "caSecret", what, "remove it", (Path("gateway"),), explicit_only=True)


def _images(path: Path, spec: Variant, release: Release) -> Iterator[Problem]:
    """Refuse images of another line: they cannot read this line's configuration and flags."""
    sidecar = spec.sidecar.image if spec.sidecar is not None else None
    for at, image in (("endpointPicker", spec.endpoint_picker.image), ("sidecar", sidecar)):
        lines = None if image is None else other_line(release, image)
        if image is not None and lines is not None:
            short = f"…/{image.partition('@')[0].rpartition('/')[2]}"
            remedy = f"remove it or set release: {' or '.join(lines)}" if lines else "remove it"
            what = f"belongs to another release line ({short}, release {release.name})"
            yield Problem(path / at / "image", what, remedy)


def _flags(path: Path, given: dict[str, str], release: Release) -> Iterator[Problem]:
    """Check flags by name and, where the release tells, by the shape of the value, which is never echoed."""
    facts = release.picker.flags
    for name, value in given.items():
        if name in _OURS:
            instead = _OURS[name]
            remedy = f"remove it and {instead}" if instead.startswith("set ") else f"remove it: {instead}"
            yield Problem(path / name, f"is decided by this program ({name})", remedy)
        elif name in facts.rejected:
            yield Problem(path / name, f"cannot be set ({name})", f"remove it: {facts.rejected[name]}")
        elif name not in facts.known:
            remedy = shapes.suggestion(name, facts.known) or "remove it"
            yield Problem(path / name, f"is no flag of {release.name}'s picker ({name})", remedy)
        else:
            yield from shapes.problems(Reading(path / name), _read(value, facts.known[name]), facts.known[name])


def _read(value: str, word: str) -> object:
    """Return what a flag's text means, where its shape is no text."""
    if shapes.kind(word) == "boolean":
        return {"true": True, "false": False}.get(value, value)
    return int(value) if shapes.kind(word) == "integer" and value.lstrip("-").isdecimal() else value


def _preset(at: Path, spec: Variant, context: Context) -> Iterator[Problem]:
    wanted, release = spec.endpoint_picker, context.release
    if wanted.preset == "custom":
        if wanted.config is None:
            yield Problem(at / "config", "is missing (preset custom)", "add it, or choose another preset")
        if wanted.scorer_weights:
            yield Problem(at / "scorerWeights", "has no effect with preset custom", "write the weights in config")
        return
    if wanted.config is not None:
        what = f"has no effect with preset {wanted.preset}"
        yield Problem(at / "config", what, "set preset: custom, or remove it")
    if wanted.preset not in context.facts.presets:
        known = " or ".join(sorted(context.facts.presets))
        yield Problem(at / "preset", f"is not in {release.name} ({wanted.preset})", f"use {known}")
        return
    if "kv-events" in context.facts.presets[wanted.preset].needs and not context.vllm:
        what = f"needs vllm in every role, which says what it holds ({wanted.preset})"
        yield Problem(at / "preset", what, "use another preset, or engine.type: vllm")
    yield from _weights(at / "scorerWeights", wanted.scorer_weights, release)


def _weights(path: Path, given: dict[str, float], release: Release) -> Iterator[Problem]:
    table = release.picker.plugins.table
    scorers = {name: plugin for name, plugin in table.items() if "scorer" in plugin.groups}
    for name in given:
        if name not in table:
            yield picker_lint.unknown(path / name, name, release)
        elif name not in scorers:
            yield Problem(path / name, f"is no scorer ({name})", shapes.suggestion(name, scorers) or "remove it")
        else:
            yield from _needs_more(path / name, name, release.picker)


def _needs_more(at: Path, name: str, facts: PickerFacts) -> Iterator[Problem]:
    """Refuse a plugin that needs more than its name, which only a configuration can say."""
    plugin = facts.plugins.table[name]
    required = list(shapes.problems(Reading(at), {}, plugin.parameters or {}))
    if required or plugin.requires or plugin.block_size:
        yield Problem(at, f"needs more than its name ({name})", "use preset: custom, and declare it in config")


def _flow_references(at: Path, spec: Variant, facts: PickerFacts) -> Iterator[shapes.Reference]:
    if spec.endpoint_picker.flow_control is not None:
        yield from picker_config.flow_references(at / FLOW_CONTROL, spec.endpoint_picker.flow_control, facts)


def _flow_control(at: Path, spec: Variant, context: Context) -> Iterator[Problem]:
    """Check the section: the release has to know its keys, and a preset has no plugins but those of the release."""
    wanted, facts = spec.endpoint_picker, context.facts
    if wanted.flow_control is None:
        return
    if FLOW_CONTROL in (wanted.config or {}) and wanted.preset == "custom":
        yield Problem(at / FLOW_CONTROL, "is written in config, too", "keep one of them")
        return
    shape = facts.config.shape.get(FLOW_CONTROL, {})
    noun = f"key in {context.release.name}"
    section = picker_config.flow_control(wanted.flow_control, facts)
    yield from shapes.problems(Reading(at / FLOW_CONTROL, noun), section, shape)
    for one in _flow_references(at, spec, facts) if wanted.preset != "custom" else ():
        plugin = facts.plugins.table.get(one.name)
        if plugin is None:
            yield picker_lint.unknown(one.path, one.name, context.release)
        elif not set(plugin.groups) & set(one.groups):
            yield picker_lint.misplaced(one, plugin, facts.plugins.table)
        else:
            yield from _needs_more(one.path, one.name, facts)


def _latency(at: Path, spec: Variant, context: Context) -> Iterator[Problem]:
    """Ask for the predicting servers, which are no objects of ours: without an address the picker asks its own pod."""
    wanted, facts = spec.endpoint_picker, context.facts
    if wanted.preset == "custom":
        asked = picker_graph.predicts_latency(wanted.config or {}, facts)
    else:
        found = facts.presets.get(wanted.preset)
        asked = found is not None and "latency-predictor" in found.needs
    if asked and wanted.latency_predictor is None:
        what = "is missing, and latency is predicted by servers that are not deployed here"
        remedy = "add trainingServer and predictionServers, or use another preset"
        yield Problem(at / "latencyPredictor", what, remedy)
    if not asked and wanted.latency_predictor is not None:
        yield Problem(at / "latencyPredictor", "has no effect where nothing predicts latency", "remove it")
