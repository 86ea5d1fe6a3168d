"""Assembly of a stack's objects into components. Each object gets the ids of the objects that must exist before it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from manifests import (
    alert_rules,
    awaiting,
    dashboards,
    gke,
    interceptor,
    monitoring,
    network,
    picker,
    requests,
    routing,
    serving,
    storage,
)
from manifests.objects import Rendered, metadata, resource_type
from planning import relations
from planning.ground import labels, order, parts
from planning.ground.awaiting import Wait
from planning.ground.order import Id
from planning.ground.recorded import RecordedIdentity
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.routes import acceptance

_PACKAGE = "inference-stacks:index"
"""Beginning of the type tokens of components."""


_TYPES = {ServicePlan: "ModelServiceStack", VariantPlan: "EPPStack", StackPlan: "RoutingStack"}
"""Ends of the type tokens of components, by the class of what a component is of."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component with its objects in the order of registration."""

    name: str
    """Logical name of the component, and prefix of its children's logical names."""
    objects: tuple[Rendered, ...]
    of: StackPlan | ServicePlan | VariantPlan | None = None
    """Plan from which the objects are rendered: of a service, of a variant with a picker, or, for routes, of the stack.
    None for namespaces and caches, whose objects Pulumi gets without a component."""

    @property
    def type(self) -> str:
        """Return the end of the component's type token; empty if Pulumi gets the objects without a component."""
        return "" if self.of is None else _TYPES[self.of.__class__]

    @property
    def resource(self) -> tuple[str, str] | None:
        """Return type token and logical name of the component; None if Pulumi gets the objects without a component."""
        return None if self.of is None else (f"{_PACKAGE}:{self.type}", self.name)

    def identity(self, rendered: Rendered) -> RecordedIdentity:
        """Return the identity of one of the objects in Pulumi's state."""
        component_type, _ = self.resource or ("", "")
        return RecordedIdentity(component_type, resource_type(rendered.manifest), f"{self.name}-{rendered.suffix}")


def render(plan: StackPlan, awaited: Collection[str] = ()) -> tuple[Component, ...]:
    """Render the objects of a stack. `awaited` has the keys of the services for whose routes `pulumi up` waits."""
    return await_routes(_components_in_order(plan), plan, awaited)


def _components_in_order(plan: StackPlan) -> tuple[Component, ...]:
    components = tuple(component for component in _components(plan) if component.objects)
    after = order.predecessors((rendered.id for rendered in objects(components)), relations.of_stack(plan))
    return tuple(
        _map(component, lambda rendered: replace(rendered, after=after[rendered.id])) for component in components
    )


def _map(component: Component, change: Callable[[Rendered], Rendered]) -> Component:
    return replace(component, objects=tuple(change(rendered) for rendered in component.objects))


def await_routes(components: Iterable[Component], plan: StackPlan, awaited: Collection[str]) -> tuple[Component, ...]:
    """Return the components of a stack. The route of each service in `awaited` gets a wait."""
    waits = {
        service.route_id: acceptance.wait(service.route)
        for service in plan.services
        if service.route is not None and service.key in awaited
    }
    return tuple(_map(component, partial(_with_wait, waits)) for component in components)


def _with_wait(waits: Mapping[Id, Wait], rendered: Rendered) -> Rendered:
    wait = waits.get(rendered.id)
    return rendered if wait is None else awaiting.with_wait(rendered, wait)


def objects(components: Iterable[Component]) -> Iterator[Rendered]:
    """Yield the objects of all components in the order of registration."""
    for component in components:
        yield from component.objects


def _components(plan: StackPlan) -> Iterator[Component]:
    yield Component("namespace", tuple(_namespace(plan, name) for name in plan.namespaces))
    cache_objects = tuple(rendered for cache in plan.caches for rendered in storage.objects(cache, plan.labels, {}))
    yield Component("caches", cache_objects)
    for service in plan.services:
        serving_objects = tuple(rendered for variant in service.variants for rendered in _serving(variant))
        yield Component(service.key, (*serving_objects, *_observing(service, plan)), service)
        for variant in service.variants:
            picker_objects = tuple(_with_prefix(_picker(variant), variant.generation_prefix))
            yield Component(f"{service.key}-{variant.variant_prefix}epp", picker_objects, variant)
    yield Component("routing", tuple(_routing(plan)), plan)


def _observing(service: ServicePlan, plan: StackPlan) -> Iterator[Rendered]:
    yield from alert_rules.of_service(service)
    yield from dashboards.of_service(service, plan)


def _serving(variant: VariantPlan) -> Iterator[Rendered]:
    if variant.storage is not None:
        yield from storage.objects(variant.storage, variant.user_labels, variant.user_annotations)
    pods = (*network.of_pods(variant), *serving.objects(variant), *monitoring.of_pods(variant))
    yield from _with_prefix(pods, f"{variant.variant_prefix}{variant.generation_prefix}")
    if variant.existing_pool is None:
        yield from _with_prefix([routing.routed_service(variant), *gke.of_service(variant)], variant.variant_prefix)


def _picker(variant: VariantPlan) -> Iterator[Rendered]:
    if variant.endpoint_picker is None:
        return
    yield from network.of_picker(variant)
    yield from picker.objects(variant)
    yield from gke.of_pool(variant)
    yield from monitoring.of_picker(variant)


def _with_prefix(rendered: Iterable[Rendered], prefix: str) -> Iterator[Rendered]:
    """Yield the objects with `prefix` before the suffix of their logical names."""
    for item in rendered:
        yield replace(item, suffix=f"{prefix}{item.suffix}")


def _namespace(plan: StackPlan, name: str) -> Rendered:
    namespace_labels = {**labels.standard(name, "namespace", plan.labels), **labels.POD_SECURITY}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, None, namespace_labels)}
    retain = plan.retain_namespaces
    protect = plan.protect_namespaces
    return Rendered(Id(name, parts.NAMESPACE), manifest, name, retain=retain, protect=protect)


def _routing(plan: StackPlan) -> Iterator[Rendered]:
    yield from interceptor.objects(plan)
    for service in plan.services:
        for variant in service.variants:
            yield from _with_prefix(requests.objects(variant), f"{service.key}-{variant.variant_prefix}")
        if service.mirrored_from:
            yield routing.mirror_grant(service)
        if service.route is not None and service.route.model_names is not None:
            yield routing.model_names(service, service.route.model_names)
    for service in plan.services:
        if service.route is not None:
            yield routing.route(service, service.route)
        for variant in service.variants:
            yield from _with_prefix(_proxy(variant), f"{service.key}-{variant.variant_prefix}")
    yield from dashboards.overviews(plan)


def _proxy(variant: VariantPlan) -> Iterator[Rendered]:
    plan = None if variant.endpoint_picker is None else variant.endpoint_picker.proxy
    if plan is not None:
        yield picker.proxy_service(variant, plan)
