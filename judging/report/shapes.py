"""Shapes of the values that reports read in objects of an event log.

A preview has any text in place of a value that is unknown yet or secret, and a program may have resources of other
providers, so an object of the log is not always an object as Kubernetes takes it. What has another shape is left out.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

Shape = Callable[[object], bool] | type[str] | list["Shape"] | dict[str, "Shape"]
"""A check, text, a list of values of one shape, or a mapping with the shapes of some keys; `*` stands for all keys."""
_LARGEST = 2**31
"""First number that the API server takes for no number of replicas (int32)."""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _is_quantity(value: object) -> bool:
    return isinstance(value, str) or _is_count(value)


_METADATA: dict[str, Shape] = {"name": str, "namespace": str, "labels": {"*": str}, "annotations": {}}
_CONTAINER: dict[str, Shape] = {
    "name": str,
    "image": str,
    "args": [str],
    "env": [{"name": str}],
    "resources": {"limits": {"*": _is_quantity}},
}
_TERMS: list[Shape] = [{"matchExpressions": [{"key": str, "operator": str, "values": [str]}]}]
_AFFINITY: dict[str, Shape] = {
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": _TERMS}}
}
_TEMPLATE: dict[str, Shape] = {
    "metadata": _METADATA,
    "spec": {"containers": [_CONTAINER], "affinity": _AFFINITY, "nodeSelector": {"*": str}},
}
_GROUP: dict[str, Shape] = {"size": _is_count, "leaderTemplate": _TEMPLATE, "workerTemplate": _TEMPLATE}
_RULE: dict[str, Shape] = {
    "matches": [{"path": {"value": str}, "headers": [{"name": str}]}],
    "backendRefs": [{"name": str, "weight": _is_count}],
}
_OBJECT: dict[str, Shape] = {
    "apiVersion": str,
    "kind": str,
    "metadata": _METADATA,
    "spec": {
        "replicas": _is_count,
        "template": _TEMPLATE,
        "leaderWorkerTemplate": _GROUP,
        "hostnames": [str],
        "rules": [_RULE],
    },
}
_ABSENT = object()


def readable(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the inputs of a resource without values that a report cannot read."""
    return cast("Mapping[str, Any]", _fitting(inputs, _OBJECT))


def _fitting(value: object, shape: Shape) -> object:
    """Return the parts of a value that have the shape; `_ABSENT` if the value itself has another one."""
    if isinstance(shape, dict):
        keys = cast("dict[str, Shape]", shape)
        if isinstance(value, dict):
            return _mapping(cast("Mapping[str, object]", value), keys)
        return _ABSENT
    if isinstance(shape, list):
        item = cast("list[Shape]", shape)[0]
        if isinstance(value, list):
            return _list(cast("list[object]", value), item)
        return _ABSENT
    if shape is str:
        fits = isinstance(value, str)
    else:
        fits = cast("Callable[[object], bool]", shape)(value)
    if fits:
        return value
    return _ABSENT


def _mapping(value: Mapping[str, object], shape: Mapping[str, Shape]) -> Mapping[str, object]:
    every = shape.get("*")
    readable_fields = dict[str, object]()
    for key, child in value.items():
        of_key = shape.get(key, every)
        fitting = child
        if of_key is not None:
            fitting = _fitting(child, of_key)
        if fitting is not _ABSENT:
            readable_fields[key] = fitting
    return readable_fields


def _list(values: list[object], shape: Shape) -> list[object]:
    fitting = (_fitting(value, shape) for value in values)
    return [value for value in fitting if value is not _ABSENT]
