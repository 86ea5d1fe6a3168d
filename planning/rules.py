"""Validation that spans several fields, services or the whole stack."""

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

_MUTABLE_TAGS = frozenset({"latest", "main"})
"""Image tags that point to another image over time."""


def problems(resolved: Resolved) -> list[Problem]:
    """Return every problem that spans more than one field."""
    stack, subjects = resolved.stack, resolved.subjects
    devices = accelerators.resource_names(resolved.classes)
    found = [*_release(stack), *_interceptor(stack), *hardware.problems(stack.accelerators)]
    found += [*_labels(stack, subjects), *network.problems(stack), *_mutable_images(stack, subjects)]
    for at, fill in weights.fills(stack, subjects):
        found += _container(at / "resources", fill.resources, devices, remedy="remove it")
    for key, service in stack.services.items():
        path = Path("services", key)
        found += [*_metering(path, service, stack), *variant.problems(path, service, stack)]
    for subject in subjects:
        found += [
            *weights.subject_problems(subject),
            *network.subject_problems(subject),
            *_other_containers(subject, devices),
        ]
        for _, at, role in subject.roles:
            found += _container(at / "resources", role.resources, devices)
    return found if resolved.release is None else [*found, *_release_rules(resolved, resolved.release)]


def _release_rules(resolved: Resolved, release: Release) -> Iterator[Problem]:
    """Check what depends on the release channel."""
    contexts = resolved.contexts
    yield from _duplicate_objects(contexts.variants.values())
    yield from weights.problems(resolved.stack, contexts, release)
    yield from resolved.route_problems
    for context in contexts.variants.values():
        yield from serving.problems(context, contexts)
        yield from picker.problems(context)


def _other_containers(subject: Subject, devices: frozenset[str]) -> Iterator[Problem]:
    """Check the containers other than the engine, which take no devices."""
    path, spec = subject.path, subject.spec
    yield from _container(
        path / "endpointPicker" / "resources", spec.endpoint_picker.resources, devices, remedy="remove it"
    )
    if spec.sidecar is not None:
        yield from _container(path / "sidecar" / "resources", spec.sidecar.resources, devices, remedy="remove it")


def _container(path: Path, resources: Resources, devices: frozenset[str], *, remedy: str = "") -> Iterator[Problem]:
    """Reject devices, which parallelism decides, and requests above their limits."""
    for group, values in (("requests", resources.requests), ("limits", resources.limits)):
        for name in sorted(devices & values.keys()):
            what = f"sets a device that parallelism decides ({name}: {values[name]})"
            instead = f"remove it and set parallelism.tensor: {values[name]}"
            yield Problem(path / group, what, remedy or instead)
    for name in sorted(resources.requests.keys() & resources.limits.keys()):
        request, limit = resources.requests[name], resources.limits[name]
        if amount(request) > amount(limit):
            yield Problem(path / "requests" / name, f"is above its limit ({request}, {limit})", "raise the limit")


def _release(stack: Stack) -> Iterator[Problem]:
    if stack.release not in channels():
        close = difflib.get_close_matches(stack.release, channels(), n=1)
        remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(channels())}"
        yield Problem(Path("release"), f"unknown channel ({stack.release})", remedy)


def _labels(stack: Stack, subjects: Iterable[Subject]) -> Iterator[Problem]:
    """Reject labels that planning decides, because it would overwrite the user's value."""
    label_sets = [
        (Path("labels"), stack.labels),
        (Path("observability", "metrics", "labels"), stack.observability.metrics.labels),
    ]
    for subject in subjects:
        label_sets.append((subject.path / "labels", subject.spec.labels))
        label_sets += [(at / "pod" / "labels", role.pod.labels) for _, at, role in subject.roles]
        label_sets.append((subject.path / "endpointPicker" / "pod" / "labels", subject.spec.endpoint_picker.pod.labels))
    for at, label_set in label_sets:
        for key in filter(labels.is_reserved, label_set):
            yield Problem(at / key, f"is decided by this program ({key})", "remove it, or use another key")


def _duplicate_objects(variants: Iterable[VariantContext]) -> Iterator[Problem]:
    """Reject services that would make the same object, which the later one would take from the earlier one."""
    holders = dict[tuple[str, str], Path]()
    for context in sorted(variants, key=lambda context: context.path):
        identities = [(kind, f"{context.namespace}/{name}", "name or namespace") for kind, name in context.names.claims]
        identities += [
            ("InferenceObjective", f"{context.namespace}/{context.names.objective(key)}", "name")
            for key in context.spec.objectives
        ]
        identities += [("logical name", f"{prefix}-…", "key") for prefix in context.logical_prefixes]
        for kind, name, field in identities:
            holder = holders.setdefault((kind, name), context.path)
            if holder != context.path:
                what = f"would make an object of {holder} ({kind} {name})"
                yield Problem(context.path, what, f"choose another {field} for one of them", (context.path, holder))
                break


def _mutable_images(stack: Stack, subjects: Iterable[Subject]) -> Iterator[Problem]:
    """Reject mutable image tags: pods of a deployment could differ, and a preview would show no change."""
    for at, image in _images(stack, subjects):
        tag = "" if image is None or "@" in image else image.rpartition("/")[2].partition(":")[2]
        if tag in _MUTABLE_TAGS:
            yield Problem(at, f"is another image from one day to the next ({tag})", "write a version or a digest")


def _images(stack: Stack, subjects: Iterable[Subject]) -> Iterator[tuple[Path, str | None]]:
    """Yield path and reference of every image in the configuration."""
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
    """Check that metered services have distinct resource ids and share the namespace that the interceptor searches."""
    if stack.interceptor is None:
        return
    holders, namespaces = dict[str, str](), set[str]()
    for key, service in stack.services.items():
        identifier = resource_id(service, key, stack)
        if identifier is None:
            continue
        namespaces.add(service.namespace or stack.namespace)
        if identifier in holders:
            yield Problem(
                Path("services", key, "interceptor", "resourceId"),
                f"is used by services.{holders[identifier]} ({identifier})",
                "requests are billed by it, choose another",
            )
        holders.setdefault(identifier, key)
    if len(namespaces) > 1:
        yield Problem(
            Path("interceptor", "mode"),
            f"label finds Services of one namespace (label; services live in {', '.join(sorted(namespaces))})",
            "use one stack per namespace, or set interceptor.enabled: false for the others",
        )
