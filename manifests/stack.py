"""Every object of a stack, grouped by the component that registers it, each after what it needs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from manifests import picker, routing, serving, storage
from manifests.objects import Rendered, metadata
from planning import labels
from planning.order import AFTER, Id, Part
from planning.stack import ServicePlan, StackPlan


class ComponentType(StrEnum):
    """The components, by the last part of their type token."""

    NAMESPACES = "Namespaces"
    CACHES = "Caches"
    MODEL_SERVICE = "ModelServiceStack"
    EPP = "EPPStack"
    ROUTING = "RoutingStack"


@dataclass(frozen=True, slots=True)
class Component:
    """One component's objects, in the order of their registration."""

    type: ComponentType
    name: str
    """The component's logical name; its children's begin with it."""
    objects: tuple[Rendered, ...]


def render(plan: StackPlan) -> tuple[Component, ...]:
    """Render a stack."""
    components = tuple(component for component in _components(plan) if component.objects)
    by_id = {rendered.id: rendered for rendered in objects(components)}
    return tuple(
        replace(component, objects=tuple(replace(one, after=_after(one, by_id)) for one in component.objects))
        for component in components
    )


def objects(components: Iterable[Component]) -> Iterator[Rendered]:
    """Yield every object in the order of registration."""
    for component in components:
        yield from component.objects


def _components(plan: StackPlan) -> Iterator[Component]:
    yield Component(ComponentType.NAMESPACES, "namespace", tuple(_namespace(plan, name) for name in plan.namespaces))
    cached = tuple(one for cache in plan.caches for one in storage.of_cache(cache, plan.labels))
    yield Component(ComponentType.CACHES, "caches", cached)
    for service in plan.services:
        own = (*_weights(service), *_serving(service), routing.routed_service(service))
        yield Component(ComponentType.MODEL_SERVICE, service.key, own)
        yield Component(ComponentType.EPP, f"{service.key}-epp", picker.objects(service))
    yield Component(ComponentType.ROUTING, "routing", tuple(_routing(plan)))


def _weights(service: ServicePlan) -> Iterator[Rendered]:
    if service.storage is not None:
        yield from storage.of_service(service.storage, service.own_labels, service.own_annotations)


def _serving(service: ServicePlan) -> Iterator[Rendered]:
    """Render what serves; the pods of a cache's weights come after those are there."""
    for one in serving.objects(service):
        if service.cache is not None and Part.FILL in AFTER[one.id.part]:
            yield replace(one, after=(Id(storage.cache_owner(service.cache), Part.FILL),))
        else:
            yield one


def _namespace(plan: StackPlan, name: str) -> Rendered:
    own = {
        **labels.standard(name, "namespace", plan.labels),
        "pod-security.kubernetes.io/enforce": "restricted",
    }
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, None, own)}
    return Rendered(Id(name, Part.NAMESPACE), manifest, name)


def _routing(plan: StackPlan) -> Iterator[Rendered]:
    for grant in plan.grants:
        yield from routing.interceptor(grant, plan.labels)
    for service in plan.services:
        if service.route is not None:
            yield routing.route(service, service.route)


def _after(one: Rendered, existing: Mapping[Id, Rendered]) -> tuple[Id, ...]:
    """Return the objects that exist before this one; for a part that is not made, its own predecessors."""
    namespace = one.manifest["metadata"].get("namespace") or _only_namespace(one)

    def before(part: Part) -> Iterator[Id]:
        for earlier in AFTER[part]:
            wanted = Id(namespace if earlier is Part.NAMESPACE else one.id.owner, earlier)
            if wanted in existing:
                yield wanted
            else:
                yield from before(earlier)

    return tuple(dict.fromkeys((*before(one.id.part), *one.after)))


def _only_namespace(one: Rendered) -> str:
    """Return the namespace that a cluster-scoped binding speaks of."""
    return next((subject["namespace"] for subject in one.manifest.get("subjects", ())), "")
