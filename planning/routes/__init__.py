"""HTTPRoutes of services: matches, rules and backends, collisions between routes, and path templates."""

from planning.routes.httproute import mirroring_namespaces
from planning.routes.nesting import warnings as nesting_warnings
from planning.routes.precedence import warnings as precedence_warnings
from planning.routes.records import Route
from planning.routes.rules import resolve, warnings

__all__ = ["Route", "mirroring_namespaces", "nesting_warnings", "precedence_warnings", "resolve", "warnings"]
