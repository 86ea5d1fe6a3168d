"""Verdicts across several fields, services or facts, which a single spec cannot give."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from models.containers import Resources
from models.paths import Path
from models.problems import Problem
from models.service import RoleSet, Variant
from models.source import scheme
from models.stack import Stack
from models.vocabulary import amount, lacks_unit
from planning import (
    advisories,
    hardware,
    interceptor,
    money,
    network,
    observing,
    picker,
    serving,
    upgrades,
    variant,
    weights,
)
from planning.ground import labels, parts, patch
from planning.ground.names import PRIMARY
from planning.hardware import accelerators
from planning.refusals import resources as container_resources
from planning.refusals import sizes
from planning.releases import channel, channels, known_channels, offered_channels, tracing
from planning.resolve import Judgement, Resolved, about
from planning.routes import gateway_defects
from planning.variant import ConfiguredVariant, VariantContext, existing_rules, gates, roles
from planning.weights import pins
from planning.weights.pins import MUTABLE_TAGS

_SYSTEM_NAMESPACE, _SYSTEM_PREFIX = "default", "kube-"
"""Namespace that every cluster has, and prefix of the names that Kubernetes reserves (Kubernetes documentation,
Namespaces, Working with Namespaces)."""
_BYTES = frozenset({"ephemeral-storage", "memory"})
"""Resources that are counted in bytes."""
_CREATE = Path("namespaceOptions", "create")
_Field = tuple[Path, tuple[str, ...]]
"""Place of a field: the path of a section, and keys below it. Full paths are built only for fields with a problem."""


def judge(resolved: Resolved) -> Iterator[Judgement]:
    """Yield the errors and warnings of a stack that a single spec cannot find."""
    stack = resolved.stack
    devices = accelerators.resource_names(resolved.classes)
    yield from about("", _judge_stack(resolved, devices))
    for key, service in stack.services.items():
        yield from about(key, variant.judge(Path("services", key), service, stack))
        yield from about(key, existing_rules.judge_service(Path("services", key), service))
        yield from about(key, gates.judge(Path("services", key), service, stack))
    for configured in resolved.configured_variants:
        if configured.spec.runs_pods:
            yield from about(configured.key, weights.judge_variant(configured))
        yield from about(configured.key, network.judge_variant(configured))
        yield from about(configured.key, _variant_resource_problems(configured, devices))
    yield from about("", _duplicate_object_problems(resolved.contexts.variants.values()))
    yield from about("", weights.judge(stack, resolved.contexts, resolved.release, resolved.fill_requests))
    for key, problems in resolved.routing.of_services.items():
        yield from about(key, problems)
    yield from about("", resolved.routing.between_services)
    with_protocol = {identity for identity, context in resolved.pickers.items() if context.verdict.app_protocol}
    yield from about("", gateway_defects.judge(resolved.routing.routes, resolved.contexts, with_protocol))
    yield from about("", money.judge(stack, resolved.classes, resolved.contexts))
    for release in resolved.contexts.releases:
        yield from about("", tracing.judge(stack.observability.tracing, release))
    for context in resolved.contexts.variants.values():
        yield from about(context.key, _judge_variant(context, resolved))
    yield from about("", advisories.judge(stack, [engine.exposure for engine in resolved.engines.values()]))


def _judge_stack(resolved: Resolved, devices: frozenset[str]) -> Iterator[Problem]:
    """Yield the problems of a stack that can be found without the facts of a release channel."""
    stack = resolved.stack
    variants = resolved.configured_variants
    yield from _release_problems(stack, variants)
    yield from upgrades.judge(stack)
    yield from _namespace_problems(stack)
    yield from _system_namespace_problems(stack)
    yield from interceptor.judge(stack)
    yield from hardware.judge(stack.accelerators)
    for key, profile in stack.catalogue.profiles.items():
        at = Path("catalogue", "profiles", key, "service")
        yield from hardware.check_class(at, profile.service.accelerator, resolved.classes)
    yield from _reserved_label_problems(stack, variants)
    yield from _reserved_annotation_problems(stack, variants)
    yield from _annotation_size_problems(stack, variants)
    yield from network.judge(stack)
    yield from observing.judge(stack)
    yield from _mutable_image_problems(stack, variants)
    yield from pins.judge(stack, variants)
    if stack.interceptor is not None and stack.interceptor.deploy is not None:
        at = Path("interceptor", "deploy", "resources")
        resources = stack.interceptor.deploy.resources
        yield from _container_problems(at, resources, devices, device_remedy="remove it")
    for at, fill in weights.fills(stack, variants):
        yield from _container_problems(at / "resources", fill.resources, devices, device_remedy="remove it")


def _judge_variant(context: VariantContext, resolved: Resolved) -> Iterator[Problem]:
    if context.variant_name == PRIMARY:
        yield from interceptor.judge_service(context)
    if context.spec.runs_pods:
        yield from pins.judge_variant(context)
        yield from serving.judge(context, resolved.contexts, resolved.engines)
    yield from existing_rules.judge(context, resolved.contexts)
    yield from picker.judge(context, resolved.pickers.get(context.id))
    destinations = [engine.role for engine in resolved.engines_of(context).values() if engine.role.stage.is_destination]
    yield from observing.judge_variant(context, tuple(destinations), resolved.pickers.get(context.id))


def _variant_resource_problems(configured: ConfiguredVariant, devices: frozenset[str]) -> Iterator[Problem]:
    """Check the resources of all containers of a variant. Only engines have devices."""
    path = configured.path
    spec = configured.spec
    yield from _container_problems(
        path / "endpointPicker" / "resources", spec.endpoint_picker.resources, devices, device_remedy="remove it"
    )
    predictor = spec.endpoint_picker.latency_predictor
    if predictor is not None and predictor.deploy is not None:
        at = path / "endpointPicker" / "latencyPredictor" / "deploy"
        for key, resources in (
            ("trainingResources", predictor.deploy.training_resources),
            ("predictionResources", predictor.deploy.prediction_resources),
        ):
            yield from _container_problems(at / key, resources, devices, device_remedy="remove it")
    for name, container in spec.endpoint_picker.containers.items():
        at = path / "endpointPicker" / "containers" / name / "resources"
        yield from _container_problems(at, container.resources, devices, device_remedy="remove it")
    if spec.sidecar is not None:
        yield from _container_problems(
            path / "sidecar" / "resources", spec.sidecar.resources, devices, device_remedy="remove it"
        )
    for role in configured.roles:
        yield from _container_problems(role.path / "resources", role.spec.resources, devices)
        pod = role.spec.pod
        for field, containers in (("initContainers", pod.init_containers), ("containers", pod.containers)):
            for name, container in containers.items():
                at = role.path / "pod" / field / name / "resources"
                yield from _container_problems(at, container.resources, devices, device_remedy="remove it")


def _container_problems(
    path: Path, resources: Resources, devices: frozenset[str], *, device_remedy: str = ""
) -> Iterator[Problem]:
    """Reject what Kubernetes refuses, bytes without a unit, and devices, whose number follows from parallelism.

    `device_remedy` is the remedy for a device in a container other than the engine; empty for the engine. An engine has
    cpu and memory by default.
    """
    requests, limits = (
        {name: quantity for name, quantity in amounts.items() if name not in devices}
        for amounts in (resources.requests, resources.limits)
    )
    yield from container_resources.problems(path, requests, limits, computes=not device_remedy)
    for group, values in (("requests", resources.requests), ("limits", resources.limits)):
        for name in sorted(devices & values.keys()):
            what = f"sets a device that parallelism decides ({name}: {values[name]})"
            yield Problem(path / group, what, device_remedy or patch.device_remedy(values[name]))
        for name in sorted(_BYTES & values.keys()):
            if lacks_unit(values[name]):
                what = f"is {amount(values[name]).normalize():f} bytes"
                yield Problem(path / group / name, what, "write the number with its unit, such as 16Gi")


def _release_problems(stack: Stack, variants: Sequence[ConfiguredVariant]) -> Iterator[Problem]:
    names = {Path("release"): stack.release}
    for configured in variants:
        if configured.spec.release is not None:
            names[configured.path / "release"] = configured.spec.release
    for at, name in names.items():
        if name not in known_channels():
            remedy = f"known: {', '.join(offered_channels())}"
            for close in difflib.get_close_matches(name, offered_channels(), n=1):
                remedy = f"did you mean {close}?"
            yield Problem(at, f"unknown channel ({name})", remedy)
    yield from _retired_channels(variants)


def _retired_channels(variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject channels whose images are gone, for variants that do not bring copies of these images."""
    for configured in variants:
        spec = configured.spec
        if configured.channel not in channels():
            continue
        retired = channel(configured.channel).retired
        images = _missing_copies(spec)
        if retired is None or not images:
            continue
        at = Path("release")
        if spec.release is not None:
            at = configured.path / "release"
        remedy = f"write {retired.next}, or set {' and '.join(images)} to copies of your own"
        yield Problem(at, f"is retired ({configured.channel}): {retired.reason}", remedy)


def _missing_copies(spec: Variant) -> list[str]:
    """Return the keys of the images of picker and sidecar that a variant uses and does not set."""
    keys = list[str]()
    if spec.has_picker and spec.endpoint_picker.image is None:
        keys.append("endpointPicker.image")
    if roles.further(spec) and (spec.sidecar is None or spec.sidecar.image is None):
        keys.append("sidecar.image")
    return keys


def _namespace_problems(stack: Stack) -> Iterator[Problem]:
    """Reject options of namespaces that the stack does not create."""
    options = stack.namespace_options
    at = Path("namespaceOptions")
    for key in ("retain", "protect"):
        if getattr(options, key) and not options.create:
            remedy = "add create: true, or remove it"
            yield Problem(at / key, "has no effect on namespaces that exist already", remedy, (at / "create",))


def _system_namespace_problems(stack: Stack) -> Iterator[Problem]:
    """Reject the creation of a namespace of Kubernetes. A run would take it over, and `destroy` would delete it."""
    if not stack.namespace_options.create:
        return
    uses = {Path("services", key, "namespace"): service.namespace for key, service in stack.services.items()}
    if stack.caches or None in uses.values():
        uses = {Path("namespace"): stack.namespace, **uses}
    if stack.interceptor is not None and stack.interceptor.deploy is not None:
        uses[Path("interceptor", "namespace")] = stack.interceptor.namespace
    for at, name in uses.items():
        if name is not None and (name == _SYSTEM_NAMESPACE or name.startswith(_SYSTEM_PREFIX)):
            what = f"is a namespace of Kubernetes, which no stack may create ({name})"
            yield Problem(at, what, "write another, or namespaceOptions: {create: false}", (_CREATE,))


def _reserved_label_problems(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject labels that this program sets itself, because the program would overwrite the user's value."""
    label_sets: list[tuple[_Field, Mapping[str, str]]] = [
        ((Path("labels"), ()), stack.labels),
        ((Path("observability", "metrics", "labels"), ()), stack.observability.metrics.labels),
    ]
    for key, spec in (("rules", stack.observability.rules), ("dashboards", stack.observability.dashboards)):
        if spec is not None:
            label_sets.append(((Path("observability", key, "labels"), ()), spec.labels))
    for configured in variants:
        path = configured.path
        spec = configured.spec
        label_sets.append(((path, ("labels",)), spec.labels))
        label_sets += [((role.path, ("pod", "labels")), role.spec.pod.labels) for role in configured.roles]
        label_sets += [
            ((role.path, ("labels",)), role.spec.labels) for role in configured.roles if isinstance(role.spec, RoleSet)
        ]
        label_sets.append(((path, ("endpointPicker", "pod", "labels")), spec.endpoint_picker.pod.labels))
    yield from _decided_keys(label_sets, labels.is_reserved)


def _reserved_annotation_problems(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject users' annotations that are decided by this program.

    They have this program's domain, or Pulumi's provider obeys them, and a run would not wait as this program decides.
    """
    annotation_sets: list[tuple[_Field, Mapping[str, str]]] = [
        ((Path("services"), (key, "route", "annotations")), service.route.annotations)
        for key, service in stack.services.items()
    ]
    annotation_sets += [
        ((Path("catalogue", "profiles"), (key, "service", "pod", "annotations")), profile.service.pod.annotations)
        for key, profile in stack.catalogue.profiles.items()
    ]
    dashboards = stack.observability.dashboards
    if dashboards is not None:
        annotation_sets.append(((Path("observability", "dashboards", "annotations"), ()), dashboards.annotations))
    for configured in variants:
        path = configured.path
        spec = configured.spec
        annotation_sets.append(((path, ("annotations",)), spec.annotations))
        annotation_sets.append(((path, ("endpointPicker", "pod", "annotations")), spec.endpoint_picker.pod.annotations))
        annotation_sets += [
            ((role.path, ("pod", "annotations")), role.spec.pod.annotations) for role in configured.roles
        ]
    yield from _decided_keys(annotation_sets, labels.is_ours)
    for (at, keys), values in annotation_sets:
        for key in filter(labels.is_providers, values):
            yield Problem(Path(*at, *keys, key), f"is obeyed by Pulumi's provider ({key})", patch.PROVIDER_REMEDY)


def _annotation_size_problems(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject annotations that are too long together for objects that have them."""
    dashboards = stack.observability.dashboards
    if dashboards is not None:
        yield from sizes.annotations(Path("observability", "dashboards", "annotations"), dashboards.annotations)
    for key, service in stack.services.items():
        at = Path("services", key, "route", "annotations")
        yield from sizes.annotations(at, service.route.annotations, inherited=service.annotations)
    for configured in variants:
        path = configured.path
        spec = configured.spec
        yield from sizes.annotations(path / "annotations", spec.annotations)
        yield from sizes.annotations(
            path / "endpointPicker" / "pod" / "annotations", spec.endpoint_picker.pod.annotations
        )
        for role in configured.roles:
            at = role.path / "pod" / "annotations"
            yield from sizes.annotations(at, role.spec.pod.annotations, inherited=spec.annotations)


def _decided_keys(
    fields: Iterable[tuple[_Field, Mapping[str, str]]], is_decided: Callable[[str], bool]
) -> Iterator[Problem]:
    """Yield a problem for each key of labels or annotations that this program decides."""
    for (at, keys), values in fields:
        for key in filter(is_decided, values):
            what = f"is decided by this program ({key})"
            yield Problem(Path(*at, *keys, key), what, "remove it, or use another key")


def _duplicate_object_problems(variants: Iterable[VariantContext]) -> Iterator[Problem]:
    """Reject variants that would make the same object. The second variant would overwrite the object of the first."""
    holders = dict[tuple[str, str], Path]()
    contexts = sorted(variants, key=lambda context: str(context.path))
    has_sets = any(role.set_name for context in contexts for role in context.roles)
    for context in contexts:
        named = context.names.exclusive_names(*(role.name for role in context.roles))
        if context.existing_pool is not None:
            named = (("HTTPRoute", context.names.base),)
        identities = [(kind, f"{context.namespace}/{name}", "name or namespace") for kind, name in named]
        identities += [
            ("InferenceObjective", f"{context.namespace}/{context.names.objective(key)}", "name")
            for key in context.spec.objectives
        ]
        if context.spec.endpoint_picker.proxy is not None:
            identities.append(("Service", f"{context.namespace}/{context.names.proxy}", "name or namespace"))
        identities += [("logical name", f"{prefix}-…", "key") for prefix in context.logical_prefixes]
        if has_sets:
            identities += [("logical name", name, "key") for name in _logical_names_of_roles(context)]
        for kind, name, field in identities:
            holder = holders.setdefault((kind, name), context.path)
            if holder != context.path:
                what = f"would make the same object as {holder} ({kind} {name})"
                yield Problem(context.path, what, f"choose another {field} for one of them", (context.path, holder))
                break


def _logical_names_of_roles(context: VariantContext) -> Iterator[str]:
    """Yield the logical names of the roles' objects.

    The name of a set stands at the end, so different prefixes may make one name: a set `decode` of the service `qwen`
    is called like the decode role of a service `qwen-decode`.
    """
    for prefix in context.logical_prefixes:
        for role in context.roles:
            for suffix in parts.ROLES[role.stage.name].suffixes_of(role.set_name):
                yield f"{prefix}-{suffix}"


def _mutable_image_problems(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[Problem]:
    """Reject mutable image tags.

    With such a tag, pods of one workload could run different images, and a preview would show no change.
    """
    for (at, keys), image in _images(stack, variants):
        tag = image.rpartition("/")[2].partition(":")[2]
        if "@" not in image and tag in MUTABLE_TAGS:
            what = f"names a tag that moves to newer images ({tag})"
            yield Problem(Path(*at, *keys), what, "write a version or a digest")


def _images(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[tuple[_Field, str]]:
    """Yield place and reference of every image field that names an image."""
    for field, image in _image_fields(stack, variants):
        if image is not None:
            yield field, image


def _image_fields(stack: Stack, variants: Iterable[ConfiguredVariant]) -> Iterator[tuple[_Field, str | None]]:
    yield (Path("images"), ("kit",)), stack.images.kit
    yield (Path("images"), ("downloader",)), stack.images.downloader
    for configured in variants:
        path = configured.path
        spec = configured.spec
        picker_spec = configured.spec.endpoint_picker
        yield (path, ("endpointPicker", "image")), picker_spec.image
        for name, container in picker_spec.containers.items():
            yield (path, ("endpointPicker", "containers", name, "image")), container.image
        predictor = picker_spec.latency_predictor
        if predictor is not None and predictor.deploy is not None:
            at = path / "endpointPicker" / "latencyPredictor" / "deploy"
            yield (at, ("trainingImage",)), predictor.deploy.training_image
            yield (at, ("predictionImage",)), predictor.deploy.prediction_image
        if scheme(spec.model.source) == "image":
            yield (path, ("model", "source")), spec.model.source
        if spec.sidecar is not None:
            yield (path, ("sidecar", "image")), spec.sidecar.image
        yield from (((role.path, ("engine", "image")), role.spec.engine.image) for role in configured.roles)
