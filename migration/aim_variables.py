"""Environment variables in the layers of aim-engine: runtime configs, the template, the service."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from migration import pods
from migration.aim_layers import LayeredPlace

ARGUMENTS = "AIM_ENGINE_ARGS"
"""Variable whose values are JSON and merge key by key. (aim-engine 9223504, internal/utils/env.go.)"""
CREDENTIALS = frozenset({
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
})  # fmt: skip
"""Variables of downloaders whose value is a credential, whatever it looks like."""
_IN_CLEAR = "the value of the variable is a credential in clear"
_OTHER = "a higher layer has the variable, too, and its value counts"


@dataclass(frozen=True, slots=True)
class VariableLayer:
    """The variables of one layer."""

    values: Mapping[str, Any]
    """Values in the form of the key engine.env, by name."""
    places: Mapping[str, LayeredPlace] = field(default_factory=dict[str, LayeredPlace])
    """Places of the variables in a file. Those that aim-engine generates have none."""


def read(place: LayeredPlace) -> VariableLayer:
    """Take the variables in a list."""
    values = pods.variables(place.document, place.path)
    names = {item: (item / "name").value for item in place.items()}
    for item, name in names.items():
        value = values.get(str(name))
        if isinstance(name, str) and name in CREDENTIALS and isinstance(value, str) and value:
            place.document.note(item.path, "cannot", _IN_CLEAR)
            del values[name]
    return VariableLayer(
        values, {name: item for item, name in names.items() if isinstance(name, str) and name in values}
    )


def merge(layers: Iterable[VariableLayer]) -> dict[str, Any]:
    """Return the variables of all layers, of which later ones win. Variables that do not count are noted."""
    merged = dict[str, Any]()
    places = dict[str, LayeredPlace]()
    for layer in layers:
        for name, value in layer.values.items():
            result = value
            if name == ARGUMENTS and name in merged:
                result = _merge_arguments(merged[name], value)
            if result == value and name in places:
                places[name].drop(_OTHER)
            merged[name] = result
            if name in layer.places:
                places[name] = layer.places[name]
    return merged


def _merge_arguments(low: object, high: object) -> object:
    """Merge two texts with JSON objects. Another value of the higher layer counts as it is."""
    lower = _json(low)
    higher = _json(high)
    if lower is None or higher is None:
        return high or low
    return json.dumps(_merge_trees(lower, higher), separators=(",", ":"), sort_keys=True)


def _json(value: object) -> dict[str, Any] | None:
    if not isinstance(value, str):
        return None
    try:
        result = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if isinstance(result, dict):
        return cast("dict[str, Any]", result)
    return None


def _merge_trees(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        lower = merged.get(key)
        if isinstance(lower, Mapping) and isinstance(value, Mapping):
            # A mapping in both layers is merged; anything else is replaced.
            merged[key] = _merge_trees(cast("Mapping[str, Any]", lower), cast("Mapping[str, Any]", value))
        else:
            merged[key] = value
    return merged
