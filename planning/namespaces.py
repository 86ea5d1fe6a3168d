"""Namespaces of a stack: those that it creates, and where the configuration names each of them."""

from collections.abc import Iterable

from models.paths import Path
from models.stack import Stack


def to_create(stack: Stack, used: Iterable[str]) -> tuple[str, ...]:
    """Return the namespaces that a stack creates: those of all of its objects, which are `used`, or none."""
    if not stack.namespace_options.create:
        return ()
    return tuple(sorted(set(used)))


def origins(stack: Stack) -> dict[str, Path]:
    """Return the path of the name of each namespace: of the first service that has it, else of the stack's key."""
    paths = dict[str, Path]()
    for key, service in stack.services.items():
        if service.namespace is not None:
            paths.setdefault(service.namespace, Path("services", key, "namespace"))
    paths.setdefault(stack.namespace, Path("namespace"))
    if stack.interceptor is not None:
        paths.setdefault(stack.interceptor.namespace, Path("interceptor", "namespace"))
    dashboards = stack.observability.dashboards
    if dashboards is not None and dashboards.namespace is not None:
        paths.setdefault(dashboards.namespace, Path("observability", "dashboards", "namespace"))
    return paths
