"""Reader of AIMServices, with the objects of aim-engine that they resolve to.

A service is resolved to a model, a template and runtime configs. They are read from the other documents; what is
lacking is asked for with its name.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

from migration import (
    aim_hardware,
    aim_layers,
    aim_objects,
    aim_routes,
    aim_scaling,
    aim_variables,
    aim_weights,
    pods,
)
from migration.accounts import Original
from migration.aim_layers import LayeredPlace
from migration.aim_objects import GROUP, ResolvedService
from migration.aim_variables import VariableLayer
from migration.aim_weights import ModelWeights
from migration.converted import Converted
from migration.names import sanitize_dns1035_label
from models.paths import Path

_REGISTRY = f"{GROUP}/AIMClusterModelSource"
TABLES: Mapping[str, str] = {aim_objects.SERVICE: "aim"}
COMPANIONS: Mapping[str, str] = {
    f"{GROUP}/AIMModel": "aim-model",
    f"{GROUP}/AIMClusterModel": "aim-cluster-model",
    f"{GROUP}/AIMServiceTemplate": "aim-template",
    f"{GROUP}/AIMClusterServiceTemplate": "aim-cluster-template",
    f"{GROUP}/AIMRuntimeConfig": "aim-runtime-config",
    f"{GROUP}/AIMClusterRuntimeConfig": "aim-cluster-runtime-config",
    f"{GROUP}/AIMTemplateCache": "aim-template-cache",
    f"{GROUP}/AIMArtifact": "aim-artifact",
    _REGISTRY: "aim-model-source",
}
_SPEC = Path("spec")
_STATUS = Path("status")
_LABELS = Path("metadata", "labels")
_NAMELESS = "aim"
_CUSTOM = "custom"
_PODS = (
    "pods have probes and a user of this program, and their Service has another name and port; aim-engine's have "
    "KServe's"
)
_UNUSED = "no service among the files uses the object"
_OF_SERVICE = "the service itself has these values"
_OF_TEMPLATE = "the template decides it"
_ENTRIES = "another template serves"


def read(documents: Sequence[Original], companions: Sequence[Original]) -> list[Converted]:
    """Return the service of each AIMService."""
    services = [_service(document, companions) for document in documents]
    used = {id(document) for converted in services for document in converted.documents}
    for document in companions:
        if id(document) not in used and document.kind != _REGISTRY:
            document.drop(_SPEC, _UNUSED)
            document.drop(_STATUS, _UNUSED)
    return services


def _service(document: Original, companions: Sequence[Original]) -> Converted:
    name = document.text(Path("metadata", "name")) or _NAMELESS
    resolved = aim_objects.resolve(document, companions)
    weights = aim_weights.find(resolved)
    artifacts = list[Original]()
    if weights is not None:
        artifacts = list(aim_objects.artifacts(companions, weights.uri, document))[:1]
    converted = Converted(sanitize_dns1035_label(name), documents=(*resolved.documents, *artifacts))
    if converted.key != name:
        document.note(Path("metadata", "name"), "differs", key=converted.key_of())
    document.remark("differs", _PODS)
    converted.set_in_stack(document.text(Path("metadata", "namespace")), "namespace")
    variables = _variables(resolved, weights)
    image = _image(resolved, converted)
    converted.set(_CUSTOM, "engine", "type")
    if weights is None:
        aim_weights.ask(converted, resolved, image)
    else:
        converted.set(image, "engine", "image")
        aim_weights.read(converted, resolved, weights, variables, next(iter(artifacts), None))
    converted.set(aim_variables.merge(variables) or None, "engine", "env")
    _devices(resolved, converted)
    aim_scaling.read(converted)
    _pod(document, converted)
    converted.disable("endpointPicker", "enabled")
    aim_routes.read(converted, resolved.configs)
    _labels(resolved, converted)
    _leave(resolved)
    return converted


def _image(resolved: ResolvedService, converted: Converted) -> str | None:
    """Return the image of the engine; with a tag to be written if it has no version."""
    model = LayeredPlace(resolved.service, _SPEC / "model")
    places = [model / "image", model / "custom" / "baseImage"]
    if resolved.model is not None:
        places.insert(0, LayeredPlace(resolved.model, _SPEC / "image"))
    place = aim_layers.last(places)
    if place is None:
        return None
    image = pods.image(place.document, place.path, converted.key_of("engine"))
    return image or pods.unversioned_image(place.document, place.path)


def _variables(resolved: ResolvedService, weights: ModelWeights | None) -> list[VariableLayer]:
    """Return the variables of the engine by layer, the lowest first."""
    generated = {"AIM_CACHE_PATH": aim_weights.CACHE_PATH, "VLLM_ENABLE_METRICS": "true"}
    layers = [VariableLayer(generated)]
    layers += [aim_variables.read(LayeredPlace(config, _SPEC / "env")) for config in resolved.configs]
    layers.append(VariableLayer(_profile(resolved)))
    if resolved.template is not None:
        layers.append(aim_variables.read(LayeredPlace(resolved.template, _SPEC / "env")))
    elif resolved.model is not None:
        layers.append(aim_variables.read(LayeredPlace(resolved.model, _SPEC / "env")))
    if resolved.entry is not None:
        layers.append(aim_variables.read(resolved.entry / "env"))
    if weights is not None and weights.model and not weights.is_discovered:
        layers.append(VariableLayer({"AIM_MODEL_ID": weights.model}))
    layers.append(aim_variables.read(LayeredPlace(resolved.service, _SPEC / "env")))
    return layers


def _profile(resolved: ResolvedService) -> dict[str, str]:
    """Return the variables that choose a profile in the image."""
    overrides = LayeredPlace(resolved.service, _SPEC / "overrides")
    overrides.document.take_presence(overrides.path)
    names = {"metric": "AIM_METRIC", "precision": "AIM_PRECISION"}
    values = dict[str, str | None]()
    for field, variable in names.items():
        values[variable] = aim_layers.text([*_of_template(resolved, field), overrides / field])
    if resolved.template is not None:
        values["AIM_PROFILE_ID"] = resolved.template.text(_SPEC / "profileId")
    return {name: value for name, value in values.items() if value}


def _of_template(resolved: ResolvedService, field: str) -> list[LayeredPlace]:
    if resolved.template is not None:
        return [LayeredPlace(resolved.template, _SPEC / field)]
    if resolved.entry is not None:
        return [resolved.entry / "profile" / field]
    return []


def _devices(resolved: ResolvedService, converted: Converted) -> None:
    service = LayeredPlace(resolved.service, _SPEC)
    hardware = [service / "model" / "custom" / "hardware"]
    amounts = list[LayeredPlace]()
    if resolved.model is not None:
        hardware.insert(0, LayeredPlace(resolved.model, _SPEC / "custom" / "hardware"))
    if resolved.entry is not None:
        hardware.append(resolved.entry / "hardware")
    if resolved.template is not None:
        hardware.append(LayeredPlace(resolved.template, _SPEC / "hardware"))
        hardware.append(LayeredPlace(resolved.template, _STATUS / "resolvedHardware"))
        amounts.append(LayeredPlace(resolved.template, _SPEC / "resources"))
    hardware.append(service / "overrides" / "hardware")
    amounts.append(service / "resources")
    devices = aim_hardware.read(converted, hardware, amounts)
    aim_hardware.resources(converted, hardware, amounts, devices)


def _pod(document: Original, converted: Converted) -> None:
    names = pods.secret_names(document, _SPEC / "imagePullSecrets")
    converted.set([{"name": name} for name in names] or None, "pod", "imagePullSecrets")
    converted.set(document.text(_SPEC / "serviceAccountName") or None, "pod", "serviceAccountName")


def _labels(resolved: ResolvedService, converted: Converted) -> None:
    """Read the labels that the runtime configs let reach all objects of the service."""
    patterns = _patterns(resolved.configs)
    labels = dict[str, Any]()
    for name in resolved.service.keys(_LABELS):
        if any(_matches(name, pattern) for pattern in patterns):
            labels[name] = resolved.service.text(_LABELS / name)
        else:
            resolved.service.drop(_LABELS / name)
    converted.set(labels or None, "labels")


def _patterns(configs: Sequence[Original]) -> list[str]:
    """Return the patterns of the labels that reach all objects; none if this is switched off."""
    propagation = [LayeredPlace(config, _SPEC / "labelPropagation") for config in configs]
    for place in propagation:
        place.document.take_presence(place.path)
    place = aim_layers.last([place / "enabled" for place in propagation])
    if place is None or not place.document.switch(place.path):
        for place in propagation:
            (place / "match").drop("labels reach no other objects")
        return []
    match = aim_layers.last([place / "match" for place in propagation])
    if match is None:
        return []
    return match.document.texts(match.path)


def _matches(name: str, pattern: str) -> bool:
    """Tell whether a label's key matches a pattern, whose stars stand for no slash."""
    parts = name.split("/")
    patterns = pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def _leave(resolved: ResolvedService) -> None:
    """Note what means nothing in objects that are used."""
    model = resolved.model
    if model is None:
        return
    if resolved.service.has(_SPEC / "model" / "custom"):
        for name in model.keys(_SPEC):
            model.drop(_SPEC / name, _OF_SERVICE)
    if resolved.template is not None:
        model.drop(_SPEC / "env", _OF_TEMPLATE)
    for entry in LayeredPlace(model, _SPEC / "customTemplates").items():
        if resolved.entry is None or entry.path != resolved.entry.path:
            entry.drop(_ENTRIES)
