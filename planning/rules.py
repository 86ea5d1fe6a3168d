"""Mistakes that only a whole service, or the whole stack, shows."""

import difflib
from collections.abc import Iterable, Iterator

from models.paths import Path
from models.problems import Problem
from models.role import Resources
from models.service import Service
from models.source import scheme
from models.stack import Stack
from models.vocabulary import amount
from planning import hardware, network, picker, serving, variant, weights
from planning.ground import labels
from planning.hardware import accelerators
from planning.releases import Release, channels
from planning.resolve import Resolved
from planning.variant import Subject, VariantContext
from planning.variant.context import resource_id

_MOVING = frozenset({"latest", "main"})
"""Tags under which another image is found tomorrow."""


def problems(resolved: Resolved) -> list[Problem]:
    """Return every mistake that spans more than one field."""
    stack, subjects = resolved.stack, resolved.subjects
    devices = accelerators.resource_names(resolved.classes)
    found = [*_release(stack), *_interceptor(stack), *hardware.problems(stack.accelerators)]
    found += [*_labels(stack, subjects), *network.problems(stack), *_moving(stack, subjects)]
    for at, fill in weights.fills(stack, subjects):
        found += _container(at / "resources", fill.resources, devices, remedy="remove it")
    for key, service in stack.services.items():
        path = Path("services", key)
        found += [*_metering(path, service, stack), *variant.problems(path, service, stack)]
    for subject in subjects:
        found += [*weights.subject_problems(subject), *network.subject_problems(subject), *_beside(subject, devices)]
        for _, at, role in subject.roles:
            found += _container(at / "resources", role.resources, devices)
    return found if resolved.release is None else [*found, *_planned(resolved, resolved.release)]


def _planned(resolved: Resolved, release: Release) -> Iterator[Problem]:
    """Check what needs to know the release channel."""
    contexts = resolved.contexts
    yield from _twins(contexts.variants.values())
    yield from weights.problems(resolved.stack, contexts, release)
    yield from resolved.route_problems
    for context in contexts.variants.values():
        yield from serving.problems(context, contexts)
        yield from picker.problems(context)


def _beside(subject: Subject, devices: frozenset[str]) -> Iterator[Problem]:
    """Check the containers beside the engine, which take no devices."""
    path, spec = subject.path, subject.spec
    yield from _container(
        path / "endpointPicker" / "resources", spec.endpoint_picker.resources, devices, remedy="remove it"
    )
    if spec.sidecar is not None:
        yield from _container(path / "sidecar" / "resources", spec.sidecar.resources, devices, remedy="remove it")


def _container(path: Path, given: Resources, devices: frozenset[str], *, remedy: str = "") -> Iterator[Problem]:
    """Refuse devices, which parallelism decides, and a request above its own limit."""
    for group, values in (("requests", given.requests), ("limits", given.limits)):
        for name in sorted(devices & values.keys()):
            what = f"sets a device that parallelism decides ({name}: {values[name]})"
            instead = f"remove it and set parallelism.tensor: {values[name]}"
            yield Problem(path / group, what, remedy or instead)
    for name in sorted(given.requests.keys() & given.limits.keys()):
        wanted, most = given.requests[name], given.limits[name]
        if amount(wanted) > amount(most):
            yield Problem(path / "requests" / name, f"is above its limit ({wanted}, {most})", "raise the limit")


def _release(stack: Stack) -> Iterator[Problem]:
    if stack.release not in channels():
        close = difflib.get_close_matches(stack.release, channels(), n=1)
        remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(channels())}"
        yield Problem(Path("release"), f"unknown channel ({stack.release})", remedy)


def _labels(stack: Stack, subjects: Iterable[Subject]) -> Iterator[Problem]:
    """Refuse labels that are decided here: a user's value could not stand."""
    written = [
        (Path("labels"), stack.labels),
        (Path("observability", "metrics", "labels"), stack.observability.metrics.labels),
    ]
    for subject in subjects:
        written.append((subject.path / "labels", subject.spec.labels))
        written += [(at / "pod" / "labels", role.pod.labels) for _, at, role in subject.roles]
        written.append((subject.path / "endpointPicker" / "pod" / "labels", subject.spec.endpoint_picker.pod.labels))
    for at, own in written:
        for key in filter(labels.is_reserved, own):
            yield Problem(at / key, f"is decided by this program ({key})", "remove it, or use another key")


def _twins(variants: Iterable[VariantContext]) -> Iterator[Problem]:
    """Two services must not make one and the same object: the later would take it from the earlier."""
    holders = dict[tuple[str, str], Path]()
    for one in sorted(variants, key=lambda one: one.path):
        claimed = [(kind, f"{one.namespace}/{name}", "name or namespace") for kind, name in one.names.claims]
        claimed += [
            ("InferenceObjective", f"{one.namespace}/{one.names.objective(key)}", "name") for key in one.spec.objectives
        ]
        claimed += [("logical name", f"{prefix}-…", "key") for prefix in one.logical_prefixes]
        for kind, name, another in claimed:
            holder = holders.setdefault((kind, name), one.path)
            if holder != one.path:
                what = f"would make an object of {holder} ({kind} {name})"
                yield Problem(one.path, what, f"choose another {another} for one of them", (one.path, holder))
                break


def _moving(stack: Stack, subjects: Iterable[Subject]) -> Iterator[Problem]:
    """Refuse images that change under their name: pods of one deployment would differ, and a preview show nothing."""
    for at, image in _images(stack, subjects):
        tag = "" if image is None or "@" in image else image.rpartition("/")[2].partition(":")[2]
        if tag in _MOVING:
            yield Problem(at, f"is another image from one day to the next ({tag})", "write a version or a digest")


def _images(stack: Stack, subjects: Iterable[Subject]) -> Iterator[tuple[Path, str | None]]:
    """Yield every image that is written, with where."""
    yield Path("images", "kit"), stack.images.kit
    yield Path("images", "downloader"), stack.images.downloader
    for subject in subjects:
        path, spec = subject.path, subject.spec
        yield path / "endpointPicker" / "image", spec.endpoint_picker.image
        yield path / "model" / "source", spec.model.source if scheme(spec.model.source) == "image" else None
        if spec.sidecar is not None:
            yield path / "sidecar" / "image", spec.sidecar.image
        yield from ((at / "engine" / "image", role.engine.image) for _, at, role in subject.roles)


def _metering(path: Path, service: Service, stack: Stack) -> Iterator[Problem]:
    if stack.interceptor is None and service.interceptor.resource_id is not None:
        at = path / "interceptor" / "resourceId"
        yield Problem(
            at, "has no effect without an interceptor", "add interceptor, or remove it", (Path("interceptor"),)
        )


def _interceptor(stack: Stack) -> Iterator[Problem]:
    """One interceptor searches one namespace, and bills by ids of which each may stand on one Service only."""
    if stack.interceptor is None:
        return
    holders, namespaces = dict[str, str](), set[str]()
    for key, service in stack.services.items():
        billed = resource_id(service, key, stack)
        if billed is None:
            continue
        namespaces.add(service.namespace or stack.namespace)
        if billed in holders:
            yield Problem(
                Path("services", key, "interceptor", "resourceId"),
                f"is used by services.{holders[billed]} ({billed})",
                "requests are billed by it, choose another",
            )
        holders.setdefault(billed, key)
    if len(namespaces) > 1:
        yield Problem(
            Path("interceptor", "mode"),
            f"label finds Services of one namespace (label; services live in {', '.join(sorted(namespaces))})",
            "use one stack per namespace, or set interceptor.enabled: false for the others",
        )
