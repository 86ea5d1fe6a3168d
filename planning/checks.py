"""Mistakes that only a whole service, or the whole stack, shows."""

import difflib
from collections.abc import Iterator, Mapping

from models.problems import Problem
from models.role import Resources
from models.service import Service
from models.stack import Stack
from models.vocabulary import amount
from planning import accelerators, labels, picker, roles, sources, storage
from planning.accelerators import AcceleratorClass
from planning.names import names
from planning.releases import channel, channels


def problems(stack: Stack) -> list[Problem]:
    """Return every mistake that spans more than one field."""
    found = [*_release(stack), *_interceptor(stack), *_twins(stack)]
    found += [*accelerators.problems(stack.accelerators), *_labels(stack)]
    classes = accelerators.classes(stack.accelerators)
    if stack.release in channels():
        found += storage.problems(stack, channel(stack.release), classes)
    for at, fill in storage.fills(stack):
        found += _container(f"{at}.resources", fill.resources, classes, remedy="remove it")
    for key, service in stack.services.items():
        path = f"services.{key}"
        found += [*sources.problems(path, service), *_route(path, service, stack), *_metering(path, service, stack)]
        found += _beside(path, service, classes)
        if stack.release in channels():
            found += roles.problems(path, service, stack, channel(stack.release), classes)
            found += picker.problems(path, service, channel(stack.release))
        for at, role in roles.each(path, service):
            found += _container(f"{at}.resources", role.resources, classes)
    return found


def resource_id(stack: Stack, key: str) -> str | None:
    """Return the id that a service is billed by, or nothing where it is not metered."""
    wish = stack.services[key].interceptor
    return (wish.resource_id or key) if stack.interceptor is not None and wish.enabled else None


def _beside(path: str, service: Service, classes: Mapping[str, AcceleratorClass]) -> Iterator[Problem]:
    """Check the containers beside the engine, which take no devices."""
    yield from _container(
        f"{path}.endpointPicker.resources", service.endpoint_picker.resources, classes, remedy="remove it"
    )
    if service.sidecar is not None:
        yield from _container(f"{path}.sidecar.resources", service.sidecar.resources, classes, remedy="remove it")


def _container(
    path: str, given: Resources, classes: Mapping[str, AcceleratorClass], *, remedy: str = ""
) -> Iterator[Problem]:
    """Refuse devices, which parallelism decides, and a request above its own limit."""
    known = accelerators.resource_names(classes)
    for group, values in (("requests", given.requests), ("limits", given.limits)):
        for name in sorted(known & values.keys()):
            what = f"sets a device that parallelism decides ({name}: {values[name]})"
            instead = f"remove it and set parallelism.tensor: {values[name]}"
            yield Problem(f"{path}.{group}", what, remedy or instead)
    for name in sorted(given.requests.keys() & given.limits.keys()):
        wanted, most = given.requests[name], given.limits[name]
        if amount(wanted) > amount(most):
            yield Problem(f"{path}.requests.{name}", f"is above its limit ({wanted}, {most})", "raise the limit")


def _release(stack: Stack) -> Iterator[Problem]:
    if stack.release not in channels():
        close = difflib.get_close_matches(stack.release, channels(), n=1)
        remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(channels())}"
        yield Problem("release", f"unknown channel ({stack.release})", remedy)


def _route(path: str, service: Service, stack: Stack) -> Iterator[Problem]:
    if stack.gateway is None and service.route.hostnames:
        yield Problem(
            f"{path}.route.hostnames", "has no effect without a gateway", "add gateway, or remove it", ("gateway",)
        )


def _labels(stack: Stack) -> Iterator[Problem]:
    for key in filter(labels.decided, stack.labels):
        yield Problem(f"labels.{key}", f"is decided by this program ({key})", "remove it, or use another key")


def _twins(stack: Stack) -> Iterator[Problem]:
    """Two services must not make one and the same object: the later would take it from the earlier."""
    holders = dict[tuple[str, str, str], str]()
    for key in sorted(stack.services):
        service = stack.services[key]
        own = names(service.namespace or stack.namespace, service.name or key)
        for kind, name in own.claims:
            holder = holders.setdefault((own.namespace, kind, name), key)
            if holder != key:
                what = f"would make an object of services.{holder} ({kind} {own.namespace}/{name})"
                remedy = "choose another name or namespace for one of them"
                yield Problem(f"services.{key}", what, remedy, (f"services.{key}", f"services.{holder}"))
                break


def _metering(path: str, service: Service, stack: Stack) -> Iterator[Problem]:
    if stack.interceptor is None and service.interceptor.resource_id is not None:
        at = f"{path}.interceptor.resourceId"
        yield Problem(at, "has no effect without an interceptor", "add interceptor, or remove it", ("interceptor",))


def _interceptor(stack: Stack) -> Iterator[Problem]:
    """One interceptor searches one namespace, and bills by ids of which each may stand on one Service only."""
    if stack.interceptor is None:
        return
    holders, namespaces = dict[str, str](), set[str]()
    for key, service in stack.services.items():
        billed = resource_id(stack, key)
        if billed is None:
            continue
        namespaces.add(service.namespace or stack.namespace)
        if billed in holders:
            yield Problem(
                f"services.{key}.interceptor.resourceId",
                f"is used by services.{holders[billed]} ({billed})",
                "requests are billed by it, choose another",
            )
        holders.setdefault(billed, key)
    if len(namespaces) > 1:
        yield Problem(
            "interceptor.mode",
            f"label finds Services of one namespace (label; services live in {', '.join(sorted(namespaces))})",
            "use one stack per namespace, or set interceptor.enabled: false for the others",
        )
