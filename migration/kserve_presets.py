"""Merge of LLMInferenceServiceConfigs into an LLMInferenceService, as KServe's controller merges them.

The configs of `baseRefs` come in their order, and the service over them. Maps merge by key; lists of a pod's spec merge
by the names of their items, and any other list is replaced. Then actions of Go's templates become values of the
service. (kserve aaac4e2, pkg/controller/v1alpha2/llmisvc/config_merge.go.)
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, cast

from migration import go_templates
from models.base import Spec
from models.trees import at, mapping, sequence
from models.vocabulary import Items
from planning.ground import tables

SHIPPED_PREFIX = "kserve-"
"""Beginning of the names of the configs that KServe's installation brings (`LLM_INFERENCE_SERVICE_CONFIG_PREFIX`)."""
_PIN = "serving.kserve.io/"
"""Beginning of the annotations of the status with the names of configs."""
_NAMESPACE = "default"
"""Namespace of objects whose files name none, as kubectl has it."""
_PODS = frozenset({"template", "worker"})
"""Keys of the specs of pods."""
_Tree = Mapping[str, Any]


class _MergeKeys(Spec):
    """The lists that merge item by item."""

    source: str
    keys: dict[str, str]
    """The key that names an item, by the name of the list."""
    retained: Items[str]
    """Lists whose items lose the keys that the item of the upper layer does not have."""


def merge(low: _Tree, high: _Tree) -> dict[str, Any]:
    """Merge the specs of two layers; `high` overrides `low`."""
    return _merge_maps(low, high, pod=False)


def named_configs(spec: _Tree) -> list[str]:
    """Return the names of the configs that a spec refers to, in their order."""
    names = (at(reference, "name") for reference in sequence(spec.get("baseRefs")))
    return [name for name in names if isinstance(name, str)]


def implied_configs(spec: _Tree, pinned: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return the names of the configs that KServe applies to the roles of a spec by itself, below those of `baseRefs`.

    Its configs about route, picker and tokenizer are left out, because this program generates these parts. `pinned` are
    the annotations of the status, which name the versions of the configs.
    """
    names = ["config-llm-tracing"] if isinstance(spec.get("tracing"), Mapping) else []
    prefill = spec.get("prefill")
    if isinstance(prefill, Mapping):
        names.append(f"config-llm-prefill-{_workload(mapping(cast('object', prefill)))}")
        names.append(f"config-llm-decode-{_workload(spec)}")
    else:
        names.append(f"config-llm-{_workload(spec)}")
    return [pinned.get(f"{_PIN}{name}", f"{SHIPPED_PREFIX}{name}") for name in names]


def _workload(spec: _Tree) -> str:
    """Return the end of the name of the config for a role."""
    if not isinstance(spec.get("worker"), Mapping):
        return "template"
    parallelism = mapping(spec.get("parallelism"))
    if parallelism.get("data") is not None or parallelism.get("dataLocal") is not None:
        return "worker-data-parallel"
    return "worker-pipeline-parallel"


def values(tree: _Tree, spec: _Tree) -> dict[str, Any]:
    """Return the values that actions of templates name, for a service with a merged spec.

    TLS between pods is off, because pods of this program serve in clear.
    """
    metadata = mapping(tree.get("metadata"))
    model = {"Name": at(spec, "model", "name") or metadata.get("name"), "URI": at(spec, "model", "uri")}
    return {
        "ObjectMeta": {"Name": metadata.get("name"), "Namespace": metadata.get("namespace") or _NAMESPACE},
        "Spec": {"Model": model},
        "GlobalConfig": {"EnableTLS": False},
    }


def fill(value: object, known: _Tree) -> object:
    """Return a value whose texts have values in place of actions. A text with an unknown action stays as it is."""
    if isinstance(value, Mapping):
        return {key: fill(inner, known) for key, inner in cast("_Tree", value).items()}
    if isinstance(value, list):
        return [fill(inner, known) for inner in cast("list[Any]", value)]
    if isinstance(value, str):
        try:
            return go_templates.fill(value, known)
        except go_templates.UnknownActionError:
            return value
    return value


def _merge_maps(low: _Tree, high: _Tree, *, pod: bool) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        if value is not None:
            merged[key] = _merge_values(key, merged.get(key), value, pod=pod or key in _PODS)
    return merged


def _merge_values(key: str, low: object, high: object, *, pod: bool) -> object:
    if isinstance(low, Mapping) and isinstance(high, Mapping):
        return _merge_maps(cast("_Tree", low), cast("_Tree", high), pod=pod)
    name = _merge_keys().keys.get(key)
    if pod and name is not None and isinstance(low, list) and isinstance(high, list):
        return _merge_items(key, name, cast("list[Any]", low), cast("list[Any]", high))
    return high


def _merge_items(key: str, name: str, low: Sequence[Any], high: Sequence[Any]) -> list[Any]:
    """Merge two lists by the names of their items. New items follow."""
    merged = list(low)
    for item in high:
        place = next((index for index, lower in enumerate(low) if _is_same(lower, item, name)), None)
        if place is None or not isinstance(item, Mapping):
            merged.append(item)
            continue
        upper = cast("_Tree", item)
        lower = mapping(merged[place])
        if key in _merge_keys().retained:
            lower = {part: value for part, value in lower.items() if part in upper}
        merged[place] = _merge_maps(lower, upper, pod=True)
    return merged


def _is_same(low: object, high: object, name: str) -> bool:
    """Tell whether two items have the same name."""
    value = at(high, name)
    return value is not None and at(low, name) == value


@cache
def _merge_keys() -> _MergeKeys:
    return tables.read(_MergeKeys, "merge-keys.yaml", "migration")
