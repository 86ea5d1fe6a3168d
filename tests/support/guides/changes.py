"""Changes of rendered objects that a comparison of facts has to find, chosen by a seed."""

import random
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from planning.ground import yaml_text

_TEMPLATES = ("template", "leaderTemplate", "workerTemplate")
_CONTAINERS = ("containers", "initContainers")
_FIELDS = (
    *("args", "command", "env", "image", "lifecycle", "ports", "resources", "restartPolicy", "securityContext"),
    *("livenessProbe", "readinessProbe", "startupProbe", "volumeMounts"),
)
"""Fields of containers that facts have."""
_POD = ("affinity", "nodeSelector", "resourceClaims", "securityContext", "terminationGracePeriodSeconds", "tolerations")
_NAMES = ("name", "protocol")
"""Keys whose values are no facts."""
_PICKER = "endpoint-picker"
_CONFIG = "config.yaml"

Place = tuple[Any, Any]
"""A dict or a list, and the key or index of a value in it."""


def changed(objects: Sequence[Mapping[str, Any]], seed: str) -> Sequence[Mapping[str, Any]]:
    """Return copies of objects with a change of a single value, or without an entry of a list."""
    chance = random.Random(seed)
    copies = deepcopy([*objects])
    config = next(copy for copy in copies if _CONFIG in copy.get("data", {}))
    plugins: Any = yaml_text.load(config["data"][_CONFIG])
    holder, key = chance.choice(
        [*_places(copies), *_leaves(plugins["plugins"]), *_leaves(plugins["schedulingProfiles"])]
    )
    if isinstance(holder, list) and chance.random() < 0.5:
        del holder[key]
    else:
        holder[key] = _other(holder[key])
    config["data"][_CONFIG] = yaml_text.with_blocks(plugins)
    return copies


def _places(objects: Sequence[Mapping[str, Any]]) -> Iterator[Place]:
    for manifest in objects:
        if manifest["kind"] == "InferencePool":
            yield manifest["spec"]["endpointPickerRef"], "failureMode"
            yield from _leaves(manifest["spec"]["targetPorts"])
        elif _PICKER not in manifest["metadata"].get("labels", {}).values():
            for template in _templates(manifest.get("spec", {})):
                yield from _of_pod(template["spec"])


def _templates(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    group = spec.get("leaderWorkerTemplate", spec)
    yield from (group[name] for name in _TEMPLATES if isinstance(group.get(name), dict))


def _of_pod(spec: Mapping[str, Any]) -> Iterator[Place]:
    for field in _POD:
        if field in spec:
            yield from _inner(spec, field)
    for container in (container for kind in _CONTAINERS for container in spec.get(kind, ())):
        for field in _FIELDS:
            if field in container:
                yield from _inner(container, field)


def _inner(holder: Any, key: Any) -> Iterator[Place]:
    value = holder[key]
    if isinstance(value, dict | list):
        yield from _leaves(cast("Any", value))
    else:
        yield holder, key


def _leaves(tree: Any) -> Iterator[Place]:
    keys: list[Any] = [*tree] if isinstance(tree, dict) else [*range(len(tree))]
    for key in keys:
        if key not in _NAMES:
            yield from _inner(tree, key)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}1"
