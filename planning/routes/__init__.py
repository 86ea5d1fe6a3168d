"""How requests reach a service: the paths, headers and hosts that are its own, and what happens to a request there."""

from planning.routes.httproute import mirrored_from
from planning.routes.records import Route
from planning.routes.rules import resolve, warnings

__all__ = ["Route", "mirrored_from", "resolve", "warnings"]
