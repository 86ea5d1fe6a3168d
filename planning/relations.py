"""Relations between owners of objects that determine the order of a stack's objects."""

from planning import interceptor
from planning.ground import parts
from planning.ground.order import Id, Relations
from planning.observing import boards
from planning.plans import ServicePlan, StackPlan
from planning.routes import PlannedRoute


def of_stack(plan: StackPlan) -> Relations:
    """Return the relations of all owners of a stack."""
    variants = [variant for service in plan.services for variant in service.variants]
    routed = [(service, service.route) for service in plan.services if service.route is not None]
    namespaces = {variant.owner: variant.names.namespace for variant in variants}
    namespaces |= {cache.owner: cache.namespace for cache in plan.caches}
    namespaces |= {grant.owner: grant.namespace for grant in plan.grants}
    if plan.interceptor is not None:
        namespaces[interceptor.OWNER] = plan.interceptor.namespace
    if plan.boards is not None:
        namespaces[boards.OWNER] = plan.boards.overview.namespace
    grants = tuple(Id(grant.owner, parts.INTERCEPTOR_ROLE_BINDING) for grant in plan.grants)
    return Relations(
        namespaces=namespaces,
        weights={variant.owner: variant.weights_of for variant in variants},
        further_owners={
            **{service.route_id: _owners_of_canary(service) for service, _ in routed},
            **{Id(service.primary.owner, parts.RULES): _owners_of_canary(service) for service in plan.services},
        },
        further_predecessors={
            Id(interceptor.OWNER, parts.INTERCEPTOR): grants,
            **{
                service.route_id: (*_before_metered(service, plan), *_before_mirror(route)) for service, route in routed
            },
            **_before_dashboards(plan),
        },
    )


def _owners_of_canary(service: ServicePlan) -> tuple[str, ...]:
    return tuple(canary.owner for canary in service.variants[1:])


def _before_dashboards(plan: StackPlan) -> dict[Id, tuple[Id, ...]]:
    """Return the namespaces of dashboards of services, which may be others than those of the services."""
    if plan.boards is None:
        return {}
    owners = {service.key: service.primary.owner for service in plan.services}
    return {
        Id(owners[key], parts.DASHBOARD): (Id(board.namespace, parts.NAMESPACE),)
        for key, board in plan.boards.services.items()
    }


def _before_metered(service: ServicePlan, plan: StackPlan) -> tuple[Id, ...]:
    """Return the objects of the interceptor that must exist before a service's route."""
    if plan.interceptor is None or service.primary.metered_as is None:
        return ()
    return plan.interceptor.precedes_routes


def _before_mirror(route: PlannedRoute) -> tuple[Id, ...]:
    """Return the objects that must exist before a route, because the route mirrors requests to another service."""
    if route.mirror is None:
        return ()
    return Id(route.mirror.key, parts.SERVICE), Id(route.mirror.key, parts.MIRROR_GRANT)
