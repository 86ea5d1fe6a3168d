"""HTTPRoutes of services: matches, rules and backends, collisions between routes, and path templates."""

from planning.routes.httproute import mirroring_namespaces
from planning.routes.records import PlannedRoute
from planning.routes.rules import Routing, resolve

__all__ = ["PlannedRoute", "Routing", "mirroring_namespaces", "resolve"]
