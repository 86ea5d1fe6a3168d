"""Every object of a stack, grouped by the component that registers it, each after what it needs."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from manifests import awaiting, gke, monitoring, network, picker, requests, routing, serving, storage
from manifests.objects import Rendered, metadata
from planning.ground import labels, order, parts
from planning.ground.awaiting import PROVIDER_DEFAULT
from planning.ground.order import Id
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.routes import acceptance


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
    of: ServicePlan | VariantPlan | None = None
    """The plan that they are rendered from, where they are one service's or one variant's."""


def render(plan: StackPlan, awaited: Collection[str] = ()) -> tuple[Component, ...]:
    """Render a stack, in which the routes of some services, by their keys, are awaited."""
    components = tuple(component for component in _components(plan, awaited) if component.objects)
    after = order.predecessors((each.id for each in objects(components)), plan.relations)
    return tuple(
        replace(component, objects=tuple(replace(each, after=after[each.id]) for each in component.objects))
        for component in components
    )


def objects(components: Iterable[Component]) -> Iterator[Rendered]:
    """Yield every object in the order of registration."""
    for component in components:
        yield from component.objects


def _components(plan: StackPlan, awaited: Collection[str]) -> Iterator[Component]:
    yield Component(ComponentType.NAMESPACES, "namespace", tuple(_namespace(plan, name) for name in plan.namespaces))
    cached = tuple(one for cache in plan.caches for one in storage.objects(cache, plan.labels, {}))
    yield Component(ComponentType.CACHES, "caches", cached)
    for service in plan.services:
        own = tuple(one for variant in service.variants for one in _serving(variant))
        yield Component(ComponentType.MODEL_SERVICE, service.key, own, service)
        for variant in service.variants:
            picked = tuple(_marked(_picking(variant), variant.generation_prefix))
            yield Component(ComponentType.EPP, f"{service.key}-{variant.variant_prefix}epp", picked, variant)
    yield Component(ComponentType.ROUTING, "routing", tuple(_routing(plan, awaited)))


def _serving(variant: VariantPlan) -> Iterator[Rendered]:
    if variant.storage is not None:
        yield from storage.objects(variant.storage, variant.own_labels, variant.own_annotations)
    pods = (*network.of_pods(variant), *serving.objects(variant), *monitoring.of_pods(variant))
    yield from _marked(pods, f"{variant.variant_prefix}{variant.generation_prefix}")
    yield from _marked([routing.routed_service(variant)], variant.variant_prefix)


def _picking(variant: VariantPlan) -> Iterator[Rendered]:
    yield from network.of_picker(variant)
    yield from picker.objects(variant)
    yield from gke.objects(variant)
    yield from monitoring.of_picker(variant)


def _marked(rendered: Iterable[Rendered], mark: str) -> Iterator[Rendered]:
    """Tell the logical names of a variant's or a generation's objects from others'."""
    return (replace(one, suffix=f"{mark}{one.suffix}") for one in rendered)


def _namespace(plan: StackPlan, name: str) -> Rendered:
    own = {**labels.standard(name, "namespace", plan.labels), **labels.POD_SECURITY}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, None, own)}
    return Rendered(Id(name, parts.NAMESPACE), manifest, name)


def _routing(plan: StackPlan, awaited: Collection[str]) -> Iterator[Rendered]:
    for grant in plan.grants:
        yield from routing.interceptor(grant, plan.labels)
    for service in plan.services:
        for variant in service.variants:
            yield from _marked(requests.objects(variant), f"{service.key}-{variant.variant_prefix}")
        if service.mirrored_from:
            yield routing.mirror_grant(service)
    for service in plan.services:
        if service.route is not None:
            wait = acceptance.wait(service.route) if service.key in awaited else PROVIDER_DEFAULT
            yield awaiting.awaited(routing.route(service, service.route), wait)
