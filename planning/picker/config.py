"""The EndpointPickerConfig of a service: a preset's or the user's own, with weights and flow control put in."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import yaml

from models.paths import Path
from models.picker import FlowControl
from models.service import Variant
from models.source import served_name
from models.vocabulary import amount
from planning.ground.names import Names, address
from planning.ground.ports import ROUTED_PORT
from planning.picker import graph as picker_graph
from planning.picker import shapes
from planning.picker.graph import FLOW_CONTROL
from planning.picker.lint import Context
from planning.picker.shapes import Reference
from planning.releases import PickerFacts, Release
from planning.variant import images
from planning.variant.kv_cache import KvCache


def holds_requests(spec: Variant) -> bool:
    """Say whether requests wait in the picker while no pod takes them."""
    wanted = spec.endpoint_picker
    own = wanted.config or {} if wanted.preset == "custom" else {}
    return wanted.flow_control is not None or picker_graph.gate_names(own).get(FLOW_CONTROL, FLOW_CONTROL in own)


def context(spec: Variant, release: Release, cache: KvCache) -> Context:
    """Return what a service's configuration has to fit."""
    roles = [spec] if spec.prefill is None else [spec, spec.prefill]
    custom = any(images.is_custom(spec, role) for role in roles)
    return Context(release, spec.prefill is not None, cache.block_size, vllm=not custom)


def config(spec: Variant, names: Names, release: Release, cache: KvCache) -> dict[str, Any]:
    """Return a service's configuration without apiVersion and kind. The service is without mistakes."""
    wanted, facts = spec.endpoint_picker, release.picker
    if wanted.preset == "custom":
        own: dict[str, Any] = dict(wanted.config or {})
    else:
        template = preset(wanted.preset, facts, apart=spec.prefill is not None)
        if template is None:
            raise ValueError("this release has no such preset")
        own = cast("dict[str, Any]", _filled(template, _values(spec, names, cache)))
    weighted = _weighted(own, wanted.scorer_weights)
    return _flow_controlled(weighted, wanted.flow_control, facts, declare=wanted.preset != "custom")


def preset(name: str, facts: PickerFacts, *, apart: bool) -> dict[str, Any] | None:
    """Return a preset's template; nothing where the release has none, or none for two roles."""
    found = facts.presets.get(name)
    if found is None:
        return None
    return found.disaggregated if apart else found.aggregated


def text(own: Mapping[str, Any], facts: PickerFacts) -> str:
    """Write a configuration as the picker reads it."""
    about = {"apiVersion": facts.config.api_version, "kind": "EndpointPickerConfig"}
    return _yaml(json.dumps({**about, **own}))


@cache
def _yaml(written: str) -> str:
    """Write JSON as YAML; the services of a stack share few configurations, and writing one takes milliseconds."""
    return yaml.safe_dump(json.loads(written), sort_keys=False)


def flow_control(wanted: FlowControl, facts: PickerFacts) -> dict[str, Any]:
    """Return the section as the release reads it; what the release knows not is left as it was written."""
    written = wanted.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return cast("dict[str, Any]", _sized(written, facts.config.shape.get(FLOW_CONTROL)))


def flow_references(path: Path, wanted: FlowControl, facts: PickerFacts) -> Iterator[Reference]:
    """Yield every plugin that the section names."""
    yield from shapes.references(path, flow_control(wanted, facts), facts.config.shape.get(FLOW_CONTROL, {}))


@dataclass(frozen=True, slots=True)
class _Values:
    """What templates may ask for, by name."""

    block_size: int | None
    events_port: int
    model: str
    render_url: str


def _values(spec: Variant, names: Names, cache: KvCache) -> _Values:
    return _Values(
        block_size=cache.block_size,
        events_port=cache.events_port,
        model=served_name(spec.model.name, spec.model.source) or names.base,
        render_url=f"http://{address(names.base, names.namespace)}:{ROUTED_PORT}",
    )


def asks_service(own: object, names: Names) -> bool:
    """Say whether a configuration names the variant's own Service, which is asked what the tokens of a prompt are."""
    if isinstance(own, dict):
        return any(asks_service(inner, names) for inner in cast("dict[str, object]", own).values())
    if isinstance(own, list):
        return any(asks_service(inner, names) for inner in cast("list[object]", own))
    return isinstance(own, str) and f"//{address(names.base, names.namespace)}" in own


def _filled(template: object, values: _Values) -> object:
    """Put values where a text is a name in braces; an integer stays one."""
    if isinstance(template, dict):
        return {key: _filled(inner, values) for key, inner in cast("dict[str, object]", template).items()}
    if isinstance(template, list):
        return [_filled(inner, values) for inner in cast("list[object]", template)]
    if isinstance(template, str) and template.startswith("{") and template.endswith("}"):
        return getattr(values, template[1:-1])
    return template


def _weighted(own: dict[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    """Put weights over a preset's; a scorer that it has not is declared, and stands in every profile."""
    if not weights:
        return own
    declared = {one.get("name", one["type"]): one["type"] for one in own["plugins"]}
    new = [name for name in weights if name not in declared.values()]
    profiles = [
        {**profile, "plugins": list(_entries(profile["plugins"], declared, weights, new))}
        for profile in own["schedulingProfiles"]
    ]
    return {**own, "plugins": [*own["plugins"], *({"type": name} for name in new)], "schedulingProfiles": profiles}


def _entries(
    entries: Sequence[Mapping[str, Any]], declared: Mapping[str, str], weights: Mapping[str, float], new: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the entries of one profile; new scorers come behind the last one that has a weight."""
    last = max((index for index, one in enumerate(entries) if "weight" in one), default=len(entries) - 1)
    for index, one in enumerate(entries):
        weight = weights.get(declared[one["pluginRef"]])
        yield {**one} if weight is None else {**one, "weight": _plain(weight)}
        if index == last:
            yield from ({"pluginRef": name, "weight": _plain(weights[name])} for name in new)


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number


def _flow_controlled(
    own: dict[str, Any], wanted: FlowControl | None, facts: PickerFacts, *, declare: bool
) -> dict[str, Any]:
    """Add the section and open its gate; of a preset, declare the plugins that the section names."""
    if wanted is None and FLOW_CONTROL not in own:
        return own
    section = own.get(FLOW_CONTROL, {}) if wanted is None else flow_control(wanted, facts)
    gates = list(own.get("featureGates", []))
    if FLOW_CONTROL not in picker_graph.gate_names(own):
        gates.append(FLOW_CONTROL)
    rest = {key: value for key, value in own.items() if key not in {"featureGates", FLOW_CONTROL}}
    if declare and wanted is not None:
        present = {one.get("name", one["type"]) for one in rest["plugins"]}
        named = dict.fromkeys(one.name for one in flow_references(Path(), wanted, facts))
        added = [{"type": name} for name in named if name not in present and not _implicit(name, facts)]
        rest["plugins"] = [*rest["plugins"], *added]
    return {"featureGates": gates, **rest, **({FLOW_CONTROL: section} if section else {})}


def _implicit(name: str, facts: PickerFacts) -> bool:
    found = facts.plugins.table.get(name)
    return found is not None and found.implicit


def _sized(value: object, shape: object) -> object:
    """Write quantities as whole numbers where the release takes nothing else."""
    if isinstance(value, dict):
        keys = cast("dict[str, object]", shape) if isinstance(shape, dict) else {}
        return {key: _sized(inner, keys.get(key)) for key, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        inside = cast("list[object]", shape)[0] if isinstance(shape, list) else None
        return [_sized(inner, inside) for inner in cast("list[object]", value)]
    return int(amount(value)) if shape == "integer" and isinstance(value, str) else value
