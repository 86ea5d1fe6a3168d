"""Objects that an AIMService resolves to: its model, its template, its runtime configs, and the cache of its weights.

A live service names in its status what it was resolved to. Without a name, a template is taken if it is the only one
that the model and the overrides leave.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from migration.accounts import Original
from migration.aim_hardware import product
from migration.aim_layers import LayeredPlace
from models.paths import Path

GROUP = "aim.eai.amd.com"
SERVICE = f"{GROUP}/AIMService"
MODELS = (f"{GROUP}/AIMModel", f"{GROUP}/AIMClusterModel")
TEMPLATES = (f"{GROUP}/AIMServiceTemplate", f"{GROUP}/AIMClusterServiceTemplate")
CONFIGS = (f"{GROUP}/AIMClusterRuntimeConfig", f"{GROUP}/AIMRuntimeConfig")
"""Kinds of runtime configs, the lower layer first."""
CACHE = f"{GROUP}/AIMTemplateCache"
ARTIFACT = f"{GROUP}/AIMArtifact"
_CLUSTER = "AIMCluster"
"""Beginning of the kinds without a namespace."""
_SPEC = Path("spec")
_STATUS = Path("status")
_DEFAULT = "default"
"""Name of the runtime config of services that name none."""
_WITH = "name a file with it after --with"
_NO_CONFIG = (
    f"the runtime config {_DEFAULT} of the cluster, if there is one, decides route, storage class and variables; "
    f"{_WITH}"
)


@dataclass(frozen=True, slots=True)
class ResolvedService:
    """The objects of a service."""

    service: Original
    model: Original | None
    template: Original | None
    entry: LayeredPlace | None
    """The custom template in the model that serves, if no template is known as an object."""
    configs: tuple[Original, ...]
    """Runtime configs, the lower layer first."""
    caches: tuple[Original, ...]
    """The template cache, if it is known."""

    @property
    def documents(self) -> tuple[Original, ...]:
        """All documents, that of the service first."""
        others = (self.model, self.template, *self.configs, *self.caches)
        return (self.service, *(document for document in others if document is not None))


def resolve(service: Original, companions: Sequence[Original]) -> ResolvedService:
    """Return the objects of a service. What is lacking is asked for with its name."""
    model = _model(service, companions)
    template, entry = _template(service, model, companions)
    return ResolvedService(
        service,
        model,
        template,
        entry,
        _configs(service, companions),
        _caches(service, template, companions),
    )


def find(companions: Sequence[Original], kinds: Sequence[str], name: str, service: Original) -> Original | None:
    """Return the object with a name, of the first kind that has one, which a service can refer to."""
    for kind in kinds:
        for document in companions:
            if (document.kind, document.name) == (kind, name) and _is_reachable(document, service):
                return document
    return None


def _is_reachable(document: Original, service: Original) -> bool:
    """Tell whether an object has no namespace, or that of a service. A file without a namespace fits any."""
    if document.kind.rpartition("/")[2].startswith(_CLUSTER):
        return True
    return document.namespace in {"", service.namespace} or not service.namespace


def _model(service: Original, companions: Sequence[Original]) -> Original | None:
    """Return the model of a service; None if it is lacking, or if the service needs none."""
    place = _SPEC / "model" / "name"
    name = service.text(place)
    if name:
        model = find(companions, MODELS, name, service)
        if model is None:
            service.note(place, "ask", f"AIMModel {name} decides the image and the weights; {_WITH}")
        return model
    resolved = _of_status(service, "resolvedModel", MODELS, companions)
    if resolved is not None:
        return resolved
    image = service.peek(_SPEC / "model" / "image")
    models = [
        document
        for document in companions
        if document.kind in MODELS
        and image is not None
        and document.peek(_SPEC / "image") == image
        and _is_reachable(document, service)
    ]
    if len(models) > 1:
        names = ", ".join(document.name for document in models)
        service.note(_SPEC / "model" / "image", "ask", f"several models have this image ({names}); name one of them")
        return None
    return next(iter(models), None)


def _of_status(service: Original, field: str, kinds: Sequence[str], companions: Sequence[Original]) -> Original | None:
    """Return the object that the status names, if its file is there."""
    place = _STATUS / field / "name"
    name = service.peek(place)
    if not isinstance(name, str):
        return None
    document = find(companions, kinds, name, service)
    if document is not None:
        service.take(place)
    return document


def _template(
    service: Original, model: Original | None, companions: Sequence[Original]
) -> tuple[Original | None, LayeredPlace | None]:
    """Return the template of a service, as an object or as an entry of its model."""
    place = _SPEC / "template" / "name"
    name = service.text(place)
    if name:
        template = find(companions, TEMPLATES, name, service)
        entry = _named_entry(model, name)
        if template is None and entry is None:
            service.note(place, "ask", f"AIMServiceTemplate {name} decides devices, weights and variables; {_WITH}")
        return template, (entry if template is None else None)
    template = _of_status(service, "resolvedTemplate", TEMPLATES, companions)
    if template is not None or model is None:
        return template, None
    templates = [document for document in companions if _fits(document, service, model)]
    if len(templates) > 1:
        names = ", ".join(document.name for document in templates)
        service.remark("ask", f"several templates fit ({names}); {templates[0].name} is taken; write template.name")
    if templates:
        return templates[0], None
    return None, _entry(service, model)


def _fits(document: Original, service: Original, model: Original) -> bool:
    """Tell whether a template is one of a model's, and the overrides of the service allow it."""
    if document.kind not in TEMPLATES or not _is_reachable(document, service):
        return False
    if document.peek(_SPEC / "modelName") != model.name:
        return False
    profile = _STATUS / "profile" / "metadata"
    pairs = [
        (document.peek(profile / name) or document.peek(_SPEC / name), service.peek(_SPEC / "overrides" / name))
        for name in ("metric", "precision")
    ]
    return _allows(pairs, LayeredPlace(document, _SPEC / "hardware"), service)


def _allows(pairs: Sequence[tuple[object, object]], hardware: LayeredPlace, service: Original) -> bool:
    devices = LayeredPlace(service, _SPEC / "overrides" / "hardware" / "gpu")
    known = [*pairs, ((hardware / "gpu" / "requests").value, (devices / "requests").value)]
    names = [(place / "model").value for place in (hardware / "gpu", devices)]
    if all(isinstance(name, str) for name in names):
        known.append((product(str(names[0])), product(str(names[1]))))
    return all(None in pair or pair[0] == pair[1] for pair in known)


def _named_entry(model: Original | None, name: str) -> LayeredPlace | None:
    """Return the custom template of a model with a name."""
    if model is None:
        return None
    entries = LayeredPlace(model, _SPEC / "customTemplates").items()
    return next((entry for entry in entries if (entry / "name").value == name), None)


def _entry(service: Original, model: Original) -> LayeredPlace | None:
    """Return the custom template of a model that the overrides of the service allow."""
    entries = [entry for entry in LayeredPlace(model, _SPEC / "customTemplates").items() if _entry_fits(entry, service)]
    if len(entries) > 1:
        service.remark("ask", f"several custom templates of {model.name} fit; the first is taken; write overrides")
    return next(iter(entries), None)


def _entry_fits(entry: LayeredPlace, service: Original) -> bool:
    pairs = [
        ((entry / "profile" / name).value, service.peek(_SPEC / "overrides" / name)) for name in ("metric", "precision")
    ]
    return _allows(pairs, entry / "hardware", service)


def _configs(service: Original, companions: Sequence[Original]) -> tuple[Original, ...]:
    """Return the runtime configs with the name that a service says, of the cluster and of the namespace."""
    place = _SPEC / "runtimeConfigName"
    stated = (service.text(place) or "").strip()
    name = stated or _DEFAULT
    configs = (find(companions, [kind], name, service) for kind in CONFIGS)
    known = tuple(config for config in configs if config is not None)
    if not known and stated and stated != _DEFAULT:
        service.note(place, "ask", f"AIMRuntimeConfig {stated} decides route, storage class and variables; {_WITH}")
    elif not known:
        service.remark("ask", _NO_CONFIG)
    return known


def _caches(service: Original, template: Original | None, companions: Sequence[Original]) -> tuple[Original, ...]:
    """Return the cache that the status names, or else one of the template."""
    cache = _resolved_cache(service, companions)
    if cache is None and template is not None:
        caches = (document for document in companions if _is_of(document, template, service))
        cache = next(caches, None)
    if cache is None:
        return ()
    return (cache,)


def _resolved_cache(service: Original, companions: Sequence[Original]) -> Original | None:
    place = _STATUS / "cache" / "templateCacheRef" / "name"
    name = service.peek(place)
    if not isinstance(name, str):
        return None
    cache = find(companions, [CACHE], name, service)
    if cache is not None:
        service.take(place)
    return cache


def _is_of(document: Original, template: Original, service: Original) -> bool:
    is_cache = document.kind == CACHE and _is_reachable(document, service)
    return is_cache and document.peek(_SPEC / "templateName") == template.name


def artifacts(companions: Sequence[Original], source: str, service: Original) -> Iterator[Original]:
    """Yield the artifacts of a source of weights that a service can use."""
    for document in companions:
        is_reachable = document.kind == ARTIFACT and _is_reachable(document, service)
        if is_reachable and document.peek(_SPEC / "sourceUri") == source:
            yield document
