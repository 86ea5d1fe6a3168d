"""Keys of services whose pods or whose pool are somebody else's.

Keys about pods and weights have no effect on such a service. If its pool is somebody else's, keys about a picker have
none, either. They are taken out of its tree before it is validated, so that no value of `defaults` reaches it. Those
that the user wrote in the service itself are problems.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from models import fields
from models.layers import Layer
from models.paths import Path
from models.problems import Problem
from models.trees import mapping
from models.vocabulary import StandIn

_PODS = "existingPods"
_POOL = "existingPool"
_WHOLE: Mapping[str, Any] = {}
"""Value for a key with an effect, whatever is below it."""
_OF_POOLS: Mapping[str, Any] = {
    _POOL: _WHOLE,
    "annotations": _WHOLE,
    "labels": _WHOLE,
    "model": {"lora": {"dynamic": {"names": _WHOLE}}, "name": _WHOLE},
    "objectives": _WHOLE,
    "release": _WHOLE,
}
"""Keys of a variant that have an effect on a pool that somebody else made, with the keys below them."""
_OF_PODS: Mapping[str, Any] = {
    **_OF_POOLS,
    _PODS: _WHOLE,
    "drainTimeout": _WHOLE,
    "endpointPicker": _WHOLE,
    "engine": {"type": _WHOLE},
    "kvCache": {"blockSize": _WHOLE},
    "metrics": {"interval": _WHOLE, "picker": _WHOLE},
    "slo": _WHOLE,
}
"""Keys of a variant that have an effect on pods that somebody else runs."""
_OF_CANARIES: Mapping[str, Any] = {"gates": _WHOLE, "headers": _WHOLE, "weight": _WHOLE}
_OF_SERVICES: Mapping[str, Any] = {
    "canary": _WHOLE,
    "interceptor": _WHOLE,
    "name": _WHOLE,
    "namespace": _WHOLE,
    "rewrites": _WHOLE,
    "route": _WHOLE,
}


def take_others(merged: Layer) -> Iterator[Problem]:
    """Take keys without effect out of the merged tree of a stack, and yield the problem of each that is no default.

    A required value that nobody can write for what others run gets a `StandIn`.
    """
    for key, service in mapping(merged.tree.get("services")).items():
        at = Path("services", key)
        yield from _take(merged, at, service, _OF_SERVICES)
        yield from _take(merged, at / "canary", mapping(service).get("canary"), _OF_CANARIES)


def _take(merged: Layer, at: Path, variant: object, further: Mapping[str, Any]) -> Iterator[Problem]:
    """Take keys out of a variant. `further` are keys with an effect beside those of all variants."""
    tree = cast("dict[str, Any]", variant)
    if not isinstance(variant, dict):
        return
    if isinstance(tree.get(_POOL), dict):
        what = f"has no effect on a pool that somebody else made ({_POOL})"
        yield from _take_below(merged, at, tree, {**_OF_POOLS, **further}, what)
    elif isinstance(tree.get(_PODS), dict):
        what = f"has no effect on pods that somebody else runs ({_PODS})"
        yield from _take_below(merged, at, tree, {**_OF_PODS, **further}, what)
    else:
        return
    tree["accelerator"] = StandIn()
    model = tree.setdefault("model", {})
    if isinstance(model, dict):
        model["source"] = StandIn()


def _take_below(merged: Layer, at: Path, tree: dict[str, Any], keys: Mapping[str, Any], what: str) -> Iterator[Problem]:
    known = fields.fields_at(at)
    for key in sorted(tree):
        effective = keys.get(key)
        if effective is None and key in known:
            del tree[key]
            place = merged.locate(at / key, absent=False)
            if place.path == at / key:
                yield Problem(place.path, what, "remove it", file=place.file)
        elif effective and isinstance(tree[key], dict):
            yield from _take_below(merged, at / key, tree[key], effective, what)
