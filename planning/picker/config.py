"""The EndpointPickerConfig of a variant: a preset with scorer weights, or a user's configuration.

Both get the flow control of the variant, unless the user's configuration has its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from models.paths import Path
from models.picker import FlowControl
from models.service import Variant
from models.source import served_name
from models.trees import EMPTY, mapping, sequence
from models.vocabulary import amount
from planning.ground import yaml_text
from planning.ground.names import Names, address
from planning.ground.ports import ROUTED_PORT
from planning.picker import encode, value_shapes, yaml_reader
from planning.picker.graph import FLOW_CONTROL, HEADER, KIND, feature_gates, predicts_latency, reads_tls_metrics
from planning.picker.value_shapes import PluginReference
from planning.releases import Release, engine_kinds
from planning.releases.picker_facts import Additions, PickerFacts
from planning.variant.kv_cache import KvCacheSettings

CUSTOM = "custom"
"""Value of `preset` for a configuration that a user wrote."""
_METRICS_PATH = "/metrics"
"""Path of the pods' metrics that a picker reads unless its configuration says another one."""
_RENDER_URL = "{render_url}"
"""Text in a preset's template that stands for the URL of the variant's Service."""


@dataclass(frozen=True, slots=True)
class BuiltConfig:
    """The configuration that this program makes for a picker."""

    tree: Mapping[str, Any]
    """The configuration without `apiVersion` and `kind`."""
    asks_service: bool
    """Whether the picker sends prompts to the variant's Service for tokenization."""


def holds_requests(spec: Variant) -> bool:
    """Tell whether the picker queues requests that no pod can take yet."""
    picker = spec.endpoint_picker
    if not spec.has_picker:
        return False
    config = custom(spec)
    return picker.flow_control is not None or feature_gates(config).get(FLOW_CONTROL, FLOW_CONTROL in config)


def custom(spec: Variant) -> Mapping[str, Any]:
    """Return the configuration that a user wrote; empty if the picker has a preset."""
    if spec.endpoint_picker.preset != CUSTOM:
        return EMPTY
    return spec.endpoint_picker.config or EMPTY


def asks_predictor(spec: Variant, facts: PickerFacts) -> bool:
    """Tell whether a variant's configuration makes the picker ask a latency predictor."""
    picker = spec.endpoint_picker
    if picker.preset == CUSTOM:
        return predicts_latency(custom(spec), facts)
    template = facts.presets.get(picker.preset)
    return template is not None and "latency-predictor" in template.needs


def build(spec: Variant, names: Names, release: Release, cache: KvCacheSettings) -> BuiltConfig | None:
    """Return a variant's configuration. None if the release lacks the preset. The variant may have mistakes."""
    picker = spec.endpoint_picker
    facts = release.picker
    if picker.preset == CUSTOM:
        config = {key: value for key, value in custom(spec).items() if key not in HEADER}
        section = picker.flow_control
        if FLOW_CONTROL in config:
            # The section in `endpointPicker.config` wins over `endpointPicker.flowControl`, which may be inherited.
            section = None
        url = f"//{address(names.base, names.namespace)}"
        asks_service = any(url in text for text in yaml_text.texts(config))
        return BuiltConfig(_with_flow_control(config, section, facts, declare=False), asks_service)
    template = preset(picker.preset, facts, disaggregated=spec.prefill is not None)
    if template is None:
        return None
    asks_service = _RENDER_URL in yaml_text.texts(template)
    if facts.presets[picker.preset].has_names:
        template = cast("dict[str, Any]", _fill_template(template, _values(spec, names, cache)))
    config = _with_weights(_with_deciders(template, spec), picker.scorer_weights, facts)
    if spec.encode is not None and facts.encode is not None:
        config = encode.with_stage(config, facts.encode)
    if serves_tls(spec) and facts.tls_metrics is not None:
        config = _with_sources(config, facts.tls_metrics.plugins, facts.tls_metrics.sources)
    path = metrics_path(spec, facts)
    engine = _default_engine(spec)
    if facts.config.adds is not None and (path != _METRICS_PATH or engine is not None):
        config = _with_metrics(config, path, engine, facts.config.adds)
    return BuiltConfig(_with_flow_control(config, picker.flow_control, facts, declare=True), asks_service)


def _with_deciders(template: dict[str, Any], spec: Variant) -> dict[str, Any]:
    """Return a template without deciders that the variant's engines cannot work with, each replaced by another one."""
    modes = engine_kinds.of(spec, spec).disaggregation
    if spec.prefill is None or modes is None or not modes.deciders:
        return template
    plugins = [
        {"type": modes.deciders[plugin["type"]]} if plugin["type"] in modes.deciders else plugin
        for plugin in cast("list[dict[str, Any]]", template["plugins"])
    ]
    return cast("dict[str, Any]", _with_names({**template, "plugins": plugins}, modes.deciders))


def _with_names(template: object, names: Mapping[str, str]) -> object:
    """Replace every text that is a key of `names`."""
    if isinstance(template, dict):
        return {key: _with_names(inner, names) for key, inner in cast("dict[str, object]", template).items()}
    if isinstance(template, list):
        return [_with_names(inner, names) for inner in cast("list[object]", template)]
    if isinstance(template, str):
        return names.get(template, template)
    return template


def serves_tls(spec: Variant) -> bool:
    """Tell whether the prefill pods of a variant use TLS for all that they serve, including metrics."""
    return spec.prefill is not None and spec.sidecar is not None and spec.sidecar.tls.prefill


def asks_over_tls(spec: Variant, facts: PickerFacts) -> bool:
    """Tell whether a data source of the picker asks pods for metrics by HTTPS.

    Another one asks the same pods by HTTP, and each pod answers one of them alone.
    """
    if spec.endpoint_picker.preset == CUSTOM:
        return reads_tls_metrics(custom(spec), facts)
    return serves_tls(spec) and facts.tls_metrics is not None


def metrics_path(spec: Variant, facts: PickerFacts) -> str:
    """Return the path at which a preset reads the metrics of pods: that of their engine, if the release can say it."""
    if facts.config.adds is None:
        return _METRICS_PATH
    return engine_kinds.of(spec, spec).metrics_path


def _default_engine(spec: Variant) -> str | None:
    """Return the engine whose names of metrics count for pods that do not say their engine; None for the default.

    Pods of the stack say it by a label. Pods that somebody else runs may lack the label.
    """
    if spec.existing_pods is None:
        return None
    return engine_kinds.of(spec, spec).label


def _with_metrics(config: dict[str, Any], path: str, engine: str | None, adds: Additions) -> dict[str, Any]:
    """Write down the source of metrics that the picker otherwise adds itself, because it reads them in another way.

    `path` is the path of the metrics. `engine` is the engine of pods without a label; None for the picker's default.
    """
    source: dict[str, Any] = {"type": adds.source}
    extractor: dict[str, Any] = {"type": adds.extractor}
    if path != _METRICS_PATH:
        source["parameters"] = {"path": path}
    if engine is not None:
        extractor["parameters"] = {"defaultEngine": engine}
    plugins = [source, extractor]
    sources = [{"pluginRef": adds.source, "extractors": [{"pluginRef": adds.extractor}]}]
    return _with_sources(config, plugins, sources)


def _with_sources(
    config: dict[str, Any], plugins: Iterable[Mapping[str, Any]], sources: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Add plugins of the data layer, and the sources that it asks with them."""
    data_layer = cast("dict[str, Any]", config.get("dataLayer", {}))
    return {
        **config,
        "plugins": [*config["plugins"], *plugins],
        "dataLayer": {**data_layer, "sources": [*data_layer.get("sources", []), *sources]},
    }


def preset(name: str, facts: PickerFacts, *, disaggregated: bool) -> dict[str, Any] | None:
    """Return a preset's template for variants with a prefill (`disaggregated`) or without.

    None if the release lacks the preset, or lacks this template of the preset.
    """
    preset_facts = facts.presets.get(name)
    if preset_facts is None:
        return None
    if disaggregated:
        return preset_facts.disaggregated
    return preset_facts.aggregated


def text(config: Mapping[str, Any], facts: PickerFacts) -> str:
    """Return a configuration as YAML, with `apiVersion` and `kind`."""
    header = {"apiVersion": facts.config.api_version, "kind": KIND}
    return yaml_text.with_folding({**header, **config}, yaml_reader.is_ambiguous)


def flow_control(spec: FlowControl, facts: PickerFacts) -> dict[str, Any]:
    """Return the section `flowControl`, with whole numbers for quantities where the release reads integers."""
    section = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return cast("dict[str, Any]", _with_whole_numbers(section, facts.config.shape.get(FLOW_CONTROL)))


def flow_references(path: Path, spec: FlowControl, facts: PickerFacts) -> Iterator[PluginReference]:
    """Yield every mention of a plugin in the section `flowControl`."""
    yield from value_shapes.references(path, flow_control(spec, facts), facts.config.shape.get(FLOW_CONTROL, {}))


@dataclass(frozen=True, slots=True)
class _Values:
    """Values that templates refer to by name."""

    block_size: int | None
    events_port: int
    model: str
    render_url: str


def _values(spec: Variant, names: Names, cache: KvCacheSettings) -> _Values:
    return _Values(
        block_size=cache.block_size,
        events_port=cache.events_port,
        model=served_name(spec.model.name, spec.model.source) or names.base,
        render_url=f"http://{address(names.base, names.namespace)}:{ROUTED_PORT}",
    )


def _fill_template(template: object, values: _Values) -> object:
    """Replace every text such as `{block_size}` by the value that has this name. The value keeps its type."""
    if isinstance(template, dict):
        return {key: _fill_template(inner, values) for key, inner in cast("dict[str, object]", template).items()}
    if isinstance(template, list):
        return [_fill_template(inner, values) for inner in cast("list[object]", template)]
    if isinstance(template, str) and template.startswith("{") and template.endswith("}"):
        return getattr(values, template[1:-1])
    return template


def _with_weights(config: dict[str, Any], weights: Mapping[str, float], facts: PickerFacts) -> dict[str, Any]:
    """Override a preset's weights. A scorer that the preset lacks is declared and added to every scheduling profile."""
    if not weights:
        return config
    types = {plugin.get("name", plugin["type"]): plugin["type"] for plugin in config["plugins"]}
    added = [name for name in weights if name not in types.values()]
    profiles = [
        {**profile, "plugins": list(_weighted_entries(profile["plugins"], types, weights, added))}
        for profile in config["schedulingProfiles"]
    ]
    return {
        **config,
        "plugins": [*config["plugins"], *(_declaration(name, config["plugins"], facts) for name in added)],
        "schedulingProfiles": profiles,
    }


def _declaration(name: str, plugins: Iterable[Mapping[str, Any]], facts: PickerFacts) -> dict[str, Any]:
    """Return the declaration of a scorer that a preset lacks.

    The scorer reads data of the producers that the scorers of the preset name. Otherwise it would look for the data of
    the default producer, which the preset may lack.
    """
    if name not in facts.plugins.table:
        return {"type": name}
    keys = [consumed.producer for consumed in facts.plugins.table[name].consumes]
    parameters = {
        key: plugin["parameters"][key] for plugin in plugins for key in keys if key in plugin.get("parameters", ())
    }
    declaration: dict[str, Any] = {"type": name}
    if parameters:
        declaration["parameters"] = parameters
    return declaration


def _weighted_entries(
    entries: Sequence[Mapping[str, Any]], types: Mapping[str, str], weights: Mapping[str, float], added: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the entries of a scheduling profile. The scorers in `added` follow the last entry that has a weight."""
    last = max((index for index, entry in enumerate(entries) if "weight" in entry), default=len(entries) - 1)
    for index, entry in enumerate(entries):
        kind = types[entry["pluginRef"]]
        if kind in weights:
            yield {**entry, "weight": _plain_number(weights[kind])}
        else:
            yield {**entry}
        if index == last:
            yield from ({"pluginRef": name, "weight": _plain_number(weights[name])} for name in added)


def _plain_number(number: float) -> float:
    if float(number).is_integer():
        return int(number)
    return number


def _with_flow_control(
    config: dict[str, Any], spec: FlowControl | None, facts: PickerFacts, *, declare: bool
) -> dict[str, Any]:
    """Add the section `flowControl` of `spec` and its feature gate. A section in `config` also gets this gate.

    If `declare` is true, also declare the plugins that the section of `spec` names.
    """
    if spec is not None:
        section = flow_control(spec, facts)
    elif FLOW_CONTROL in config:
        section = config[FLOW_CONTROL]
    else:
        return config
    gates = list(sequence(config.get("featureGates")))
    if FLOW_CONTROL not in feature_gates(config):
        gates.append(FLOW_CONTROL)
    rest = {key: value for key, value in config.items() if key not in {"featureGates", FLOW_CONTROL}}
    if declare and spec is not None:
        present = {plugin.get("name", plugin["type"]) for plugin in rest["plugins"]}
        names = dict.fromkeys(reference.name for reference in flow_references(Path(), spec, facts))
        undeclared = [{"type": name} for name in names if name not in present and not _is_implicit(name, facts)]
        rest["plugins"] = [*rest["plugins"], *undeclared]
    if section:
        rest[FLOW_CONTROL] = section
    return {"featureGates": gates, **rest}


def _is_implicit(name: str, facts: PickerFacts) -> bool:
    plugin = facts.plugins.table.get(name)
    return plugin is not None and plugin.implicit


def _with_whole_numbers(value: object, shape: object) -> object:
    """Replace each quantity by a whole number if, according to `shape`, the release reads an integer in its place."""
    if isinstance(value, dict):
        keys = mapping(shape)
        return {
            key: _with_whole_numbers(inner, keys.get(key)) for key, inner in cast("dict[str, object]", value).items()
        }
    if isinstance(value, list):
        item_shape = next(iter(sequence(shape)), None)
        return [_with_whole_numbers(inner, item_shape) for inner in cast("list[object]", value)]
    if shape == "integer" and isinstance(value, str):
        return int(amount(value))
    return value
