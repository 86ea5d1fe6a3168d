"""Weights of aim-engine's models: sources, caches, and the variables of the jobs that fetch them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migration import aim_layers, aim_variables, pods
from migration.accounts import Original
from migration.aim_layers import LayeredPlace
from migration.aim_objects import ResolvedService
from migration.aim_variables import VariableLayer
from migration.converted import Converted
from migration.names import sanitize_dns1035_label
from models.paths import Path
from models.trees import at, mapping

CACHE_PATH = "/workspace/cache"
"""Folder in which an AIM image looks for weights, each in a folder with the id of its model."""
_SPEC = Path("spec")
_STATUS = Path("status")
_DEDICATED = frozenset({"Dedicated", "Never"})
"""Modes that aim-engine takes for a cache of the service alone."""
_SHARED = frozenset({None, "Shared", "Auto", "Always"})
_LONGEST_KEY = 40
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_ENDPOINTS = {"hf": "HF_ENDPOINT", "s3": "AWS_ENDPOINT_URL"}
_REGIONS = ("AWS_DEFAULT_REGION", "AWS_REGION")
_FETCHING = re.compile(r"(HF|AWS|S3)_.*|HUGGING_FACE_HUB_TOKEN|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy")
"""Names of variables that jobs need to fetch weights; aim-engine gives them all variables."""
_SEVERAL = "an engine here has one model"
_DECIDED = "the template names the weights"
_NO_MODE = "aim-engine knows no such mode, and takes Shared"
_UNKNOWN = "it counts once the weights are known"
_ASKED = (
    "the image decides by itself which weights it serves, and by which name; write model.name and model.source, or "
    "name a file with its AIMServiceTemplate and the status of this after --with"
)


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """The source of a service's weights."""

    place: LayeredPlace
    """The source in a file."""
    model: str
    """Id of the model."""
    uri: str
    is_discovered: bool
    """Whether the source is in a status, so that the image names the model and not the template."""


def find(resolved: ResolvedService) -> ModelWeights | None:
    """Return the source of a service's weights; None if no file names it. Further sources are noted."""
    service = LayeredPlace(resolved.service, _SPEC)
    places = [service / "model" / "custom" / "modelSources"]
    if resolved.model is not None:
        places.append(LayeredPlace(resolved.model, _SPEC / "modelSources"))
    places += [LayeredPlace(cache, _SPEC / "modelSources") for cache in resolved.caches]
    if resolved.template is not None:
        places.append(LayeredPlace(resolved.template, _STATUS / "modelSources"))
        places.append(LayeredPlace(resolved.template, _SPEC / "modelSources"))
    known = [place for place in places if place.items()]
    for place in known[:-1]:
        place.drop(_DECIDED)
    if not known:
        return None
    for item in known[-1].items()[1:]:
        item.document.note(item.path, "cannot", _SEVERAL)
    item = known[-1].items()[0]
    uri = item.document.text(item.path / "sourceUri")
    model = item.document.text(item.path / "modelId")
    if not uri:
        return None
    return ModelWeights(item, model or "", uri, item.path[0] == "status")


def read(
    converted: Converted,
    resolved: ResolvedService,
    weights: ModelWeights,
    variables: Sequence[VariableLayer],
    artifact: Original | None,
) -> None:
    """Set model and storage of a service. `variables` are those of its layers, the lowest first."""
    claim = _claim(resolved, weights, artifact)
    claim |= _fill(resolved, weights, artifact, variables)
    path = f"{CACHE_PATH}/{weights.model}".rstrip("/")
    converted.set(weights.model or None, "model", "name")
    if _is_dedicated(converted, resolved.service):
        _set_dedicated(converted, weights, claim, path)
        return
    key = sanitize_dns1035_label((weights.model or weights.uri.partition("://")[2]).replace("/", "-"))
    key = key[:_LONGEST_KEY].rstrip("-")
    converted.set_in_stack({"source": weights.uri, **claim}, "caches", key)
    converted.set({"type": "shared", "cache": key, "mountPath": path}, "storage")


def _is_dedicated(converted: Converted, service: Original) -> bool:
    """Tell whether the weights are in a claim of the service alone."""
    path = _SPEC / "caching" / "mode"
    service.take_presence(path.parent)
    mode = service.text(path)
    if mode not in _DEDICATED | _SHARED:
        service.note(path, "differs", _NO_MODE, converted.key_of("storage"))
    return mode in _DEDICATED


def _set_dedicated(converted: Converted, weights: ModelWeights, claim: Mapping[str, Any], path: str) -> None:
    rest = dict(claim)
    converted.set(weights.uri, "model", "source")
    converted.set(rest.pop("size", None), "model", "size")
    converted.set({"type": "dedicated", **rest, "mountPath": path}, "storage")


def ask(converted: Converted, resolved: ResolvedService, image: str | None) -> None:
    """Ask for weights, and let the image serve them from itself until they are known."""
    service = resolved.service
    service.remark("ask", _ASKED, converted.key_of("model"))
    places = [
        _SPEC / "caching",
        _SPEC / "storage" / "defaultStorageClassName",
        _SPEC / "storage" / "pvcHeadroomPercent",
    ]
    for path in places:
        if service.has(path):
            service.note(path, "ask", _UNKNOWN)
    for document in (*resolved.configs, *resolved.caches):
        names = ("storage", "defaultStorageClassName", "pvcHeadroomPercent", "storageClassName", "env")
        for name in names if document in resolved.caches else names[:3]:
            document.drop(_SPEC / name, _UNKNOWN)
    if resolved.template is not None:
        resolved.template.drop(_SPEC / "caching", _UNKNOWN)
    name = None
    if resolved.model is not None:
        metadata = Path("imageMetadata", "model", "canonicalName")
        name = aim_layers.text([LayeredPlace(resolved.model, Path(top, *metadata)) for top in ("status", "spec")])
    converted.set(name or service.name or converted.key, "model", "name")
    if image is not None:
        converted.set(f"image://{image}", "model", "source")


def _claim(resolved: ResolvedService, weights: ModelWeights, artifact: Original | None) -> dict[str, Any]:
    """Return size, storage class and headroom of the claim with the weights."""
    classes = list[LayeredPlace]()
    headrooms = list[LayeredPlace]()
    for config in resolved.configs:
        for top in (_SPEC, _SPEC / "storage"):
            classes.append(LayeredPlace(config, top / "defaultStorageClassName"))
            headrooms.append(LayeredPlace(config, top / "pvcHeadroomPercent"))
    storage = LayeredPlace(resolved.service, _SPEC / "storage")
    classes.append(storage / "defaultStorageClassName")
    headrooms.append(storage / "pvcHeadroomPercent")
    classes += [LayeredPlace(cache, _SPEC / "storageClassName") for cache in resolved.caches]
    sizes = [weights.place / "size"]
    if artifact is not None:
        classes.append(LayeredPlace(artifact, _SPEC / "storageClassName"))
        sizes = [
            LayeredPlace(artifact, _STATUS / "discoveredSizeBytes"),
            *sizes,
            LayeredPlace(artifact, _SPEC / "size"),
        ]
        artifact.text(_SPEC / "sourceUri")
    for document in (resolved.service, *resolved.configs):
        document.take_presence(_SPEC / "storage")
    size = aim_layers.last(sizes)
    claim = {
        "size": pods.quantity(size.document, size.path) if size is not None else None,
        "storageClassName": aim_layers.text(classes),
        "headroomPercent": aim_layers.number(headrooms),
    }
    return {name: value for name, value in claim.items() if value is not None}


def _fill(
    resolved: ResolvedService, weights: ModelWeights, artifact: Original | None, variables: Sequence[VariableLayer]
) -> dict[str, Any]:
    """Return the settings of the job that fetches the weights, as the key fill; empty without settings."""
    layers = [_of_fetching(layer) for layer in variables[:-1]]
    if resolved.template is not None:
        layers.append(aim_variables.read(LayeredPlace(resolved.template, _SPEC / "caching" / "env")))
        resolved.template.take_presence(_SPEC / "caching")
    layers += [_of_fetching(layer) for layer in variables[-1:]]
    layers += [aim_variables.read(LayeredPlace(cache, _SPEC / "env")) for cache in resolved.caches]
    layers.append(aim_variables.read(weights.place / "env"))
    if artifact is not None:
        layers.append(aim_variables.read(LayeredPlace(artifact, _SPEC / "env")))
    fill = _settings(aim_variables.merge(layers), weights.uri.partition("://")[0])
    if not fill:
        return {}
    return {"fill": fill}


def _of_fetching(layer: VariableLayer) -> VariableLayer:
    """Return the variables of a layer that jobs need. Their places stay with the engine, which has them, too."""
    return VariableLayer({name: value for name, value in layer.values.items() if _FETCHING.fullmatch(name)})


def _settings(variables: dict[str, Any], scheme: str) -> dict[str, Any]:
    """Return variables of a job as the keys that stand for them, and the others as its environment."""
    settings = dict[str, Any]()
    secrets = _secrets(variables, scheme)
    if secrets:
        settings["secrets"] = secrets
    endpoint = variables.get(_ENDPOINTS.get(scheme, ""))
    if isinstance(endpoint, str) and endpoint:
        settings["endpoint"] = variables.pop(_ENDPOINTS[scheme])
    regions = {name: variables[name] for name in _REGIONS if isinstance(variables.get(name), str)}
    if scheme == "s3" and len(set(regions.values())) == 1:
        settings["region"] = next(iter(regions.values()))
        for name in regions:
            del variables[name]
    if variables:
        settings["env"] = variables
    return settings


def _secrets(variables: dict[str, Any], scheme: str) -> list[Any]:
    """Take the credentials out of variables that are references to one Secret of the expected form."""
    if scheme == "hf":
        for name in _TOKENS:
            reference = _reference(variables.get(name))
            if reference is not None:
                del variables[name]
                return [{"name": reference[0], "key": reference[1]}]
    references = [_reference(variables.get(name)) for name in _KEYS]
    known = [reference for reference in references if reference is not None]
    if scheme == "s3" and tuple(key for _, key in known) == _KEYS and len({name for name, _ in known}) == 1:
        for name in _KEYS:
            del variables[name]
        return [known[0][0]]
    return []


def _reference(value: object) -> tuple[str, str] | None:
    """Return name and key of a Secret; None for another value, and for a Secret that may be absent."""
    reference = mapping(at(value, "secretKeyRef"))
    if reference.get("optional"):
        return None
    name: object = reference.get("name")
    key: object = reference.get("key")
    if not isinstance(name, str) or not isinstance(key, str):
        return None
    return name, key
