"""Keys of services whose pods somebody else runs.

Keys about pods and weights have no effect on such a service. They are taken out of its tree before it is validated, so
that no value of `defaults` reaches it. Those that the user wrote in the service itself are problems.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from models import fields
from models.layers import Layer
from models.paths import Path
from models.problems import Problem
from models.trees import mapping
from models.vocabulary import StandIn

EXISTING_PODS = "existingPods"
_WHOLE: Mapping[str, Any] = {}
"""Value for a key with an effect, whatever is below it."""
_OF_VARIANT: Mapping[str, Any] = {
    EXISTING_PODS: _WHOLE,
    "annotations": _WHOLE,
    "drainTimeout": _WHOLE,
    "endpointPicker": _WHOLE,
    "engine": {"type": _WHOLE},
    "kvCache": {"blockSize": _WHOLE},
    "labels": _WHOLE,
    "metrics": {"interval": _WHOLE, "picker": _WHOLE},
    "model": {"lora": {"dynamic": {"names": _WHOLE}}, "name": _WHOLE},
    "objectives": _WHOLE,
    "release": _WHOLE,
}
"""Keys of a service or a canary that have an effect on pods that somebody else runs, with the keys below them."""
_OF_CANARY: Mapping[str, Any] = {**_OF_VARIANT, "headers": _WHOLE, "weight": _WHOLE}
_OF_SERVICE: Mapping[str, Any] = {
    **_OF_VARIANT,
    "canary": _WHOLE,
    "interceptor": _WHOLE,
    "name": _WHOLE,
    "namespace": _WHOLE,
    "rewrites": _WHOLE,
    "route": _WHOLE,
}


def take_others(merged: Layer) -> Iterator[Problem]:
    """Take keys without effect out of the merged tree of a stack, and yield the problem of each that is no default.

    A required value that nobody can write for pods of others gets a `StandIn`.
    """
    for key, service in mapping(merged.tree.get("services")).items():
        at = Path("services", key)
        yield from _take(merged, at, service, _OF_SERVICE)
        yield from _take(merged, at / "canary", mapping(service).get("canary"), _OF_CANARY)


def _take(merged: Layer, at: Path, variant: object, keys: Mapping[str, Any]) -> Iterator[Problem]:
    tree = cast("dict[str, Any]", variant)
    if not isinstance(variant, dict) or not isinstance(tree.get(EXISTING_PODS), dict):
        return
    yield from _take_below(merged, at, tree, keys)
    tree["accelerator"] = StandIn()
    model = tree.setdefault("model", {})
    if isinstance(model, dict):
        model["source"] = StandIn()


def _take_below(merged: Layer, at: Path, tree: dict[str, Any], keys: Mapping[str, Any]) -> Iterator[Problem]:
    known = fields.fields_at(at)
    for key in sorted(tree):
        effective = keys.get(key)
        if effective is None and key in known:
            del tree[key]
            place = merged.locate(at / key, absent=False)
            if place.path == at / key:
                what = "has no effect on pods that somebody else runs (existingPods)"
                yield Problem(place.path, what, "remove it", file=place.file)
        elif effective and isinstance(tree[key], dict):
            yield from _take_below(merged, at / key, tree[key], effective)
