"""Problems of roles whose model does not fit their devices, with changes after which the model would fit."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from models.paths import Path
from models.problems import SEVERITIES, Problem, gap
from models.profile import Profile
from models.source import served_name
from models.vocabulary import amount
from planning.fit import memory
from planning.fit.memory import Devices, Fit
from planning.ground.cluster_facts import Unknown
from planning.ground.names import PRIMARY
from planning.hardware.accelerators import AcceleratorClass
from planning.selection import profile_memory, shipped
from planning.serving import device_memory
from planning.serving.context import EngineContext
from planning.serving.device_memory import gibibytes
from planning.variant.context import RoleContext, VariantContext

_GI = 2**30
_NODE = 8
"""Number of devices in a node whose accelerator class does not state the number. The boards of every vendor have 8."""
_MOST_DEVICES = 64
"""The search for a larger parallelism ends when `tensor` × `pipeline` has reached this number of devices."""
_MOST_CLASSES = 3
"""Maximum number of accelerator classes that a message names."""
_QUANTISED = frozenset({"fp4", "fp8", "int4", "int8"})


def judge(engine: EngineContext) -> Iterator[Problem]:
    """Yield the problem of a role whose model does not fit its devices; `checks.fit` decides the severity."""
    context = engine.role
    mode = context.variant.stack.checks.fit
    if mode == "skip":
        return
    fit = engine.fit
    if isinstance(fit, Unknown):
        if mode == "strict":
            yield gap(context.path / "model", "fit of the model", fit.reason)
    elif not fit.is_sufficient:
        remedy = ", or ".join(remedies(context, fit))
        at = context.path / "accelerator"
        yield Problem(at, _what(context, fit), remedy, _dependencies(context), severity=SEVERITIES[mode])


def _what(context: RoleContext, fit: Fit) -> str:
    """Return what is wrong with a role that does not fit."""
    unit = "device" if context.layout.devices_per_pod else "worker"
    usable = f"the engine may use {gibibytes(fit.usable)} of a {unit} of {context.role.accelerator}"
    taken = f"weights take {gibibytes(fit.weights)}, overhead {gibibytes(fit.overhead)}"
    if fit.room < 0 or fit.longest == 0:
        return f"is too small for the model ({usable}; {taken})"
    sequence = f"the cache {gibibytes(fit.cache)}"
    return f"is too small for a sequence of {fit.request.tokens} tokens ({usable}; {taken}, {sequence})"


def remedies(context: RoleContext, fit: Fit) -> Iterator[str]:
    """Yield changes after which the model would fit, the smallest change first."""
    longest = fit.longest
    if longest:
        yield f"set model.maxModelLen to {longest} at most"
    if not context.layout.devices_per_pod:
        yield f"raise resources.limits.memory to {_sufficient_limit(context, fit)}"
        return
    candidates = (_larger_layout(context, fit), _other_classes(context, fit), _quantised_profile(context, fit))
    larger = [remedy for remedy in candidates if remedy is not None]
    yield from larger
    if longest == 0 and not larger:
        yield "use a smaller model, or a model with fewer bits per weight"


def _sufficient_limit(context: RoleContext, fit: Fit) -> str:
    """Return the memory limit with which an engine on CPUs starts.

    The limit has room for twice the KV cache, because `engine_environment.cpu_memory` gives the cache only half of the
    memory that remains after the weights, in whole GiB per worker.
    """
    workers = device_memory.workers(context)
    whole = -(-fit.cache // _GI) * _GI
    needed = fit.weights * workers + workers * max(2 * whole, fit.cache + fit.overhead)
    size = amount(context.variant.spec.model.size or "0") * context.layout.data_local
    needed = max(needed, int(size) + 2 * whole * workers)
    return f"{-(-(needed + device_memory.host_memory(context)) // _GI)}Gi"


def _larger_layout(context: RoleContext, fit: Fit) -> str | None:
    """Return a remedy with the first larger parallelism that fits. The search doubles `tensor`, then `pipeline`.

    None if the search ends at `_MOST_DEVICES` without a fit, or if a role with data parallelism would need pipeline
    parallelism as well.
    """
    layout = context.layout
    heads = fit.request.architecture.heads
    node = context.accelerator.devices_per_node or _NODE
    tensor = layout.tensor
    pipeline = layout.pipeline
    while tensor * pipeline < _MOST_DEVICES:
        is_wider = tensor * 2 * layout.data_local <= node and (heads is None or heads % (tensor * 2) == 0)
        tensor, pipeline = (tensor * 2, pipeline) if is_wider else (tensor, pipeline * 2)
        if pipeline > 1 and layout.data > 1:
            return None
        larger = memory.fits(memory.with_layout(fit.request, tensor=tensor, pipeline=pipeline))
        if isinstance(larger, Fit) and larger.is_sufficient:
            numbers = {"tensor": tensor, "pipeline": pipeline}
            sizes = [f"{name}: {number}" for name, number in numbers.items() if number != getattr(layout, name)]
            room = f"{larger.most_sequences} × {fit.request.tokens} tokens"
            return f"under parallelism, set {', '.join(sizes)} ({room})"
    return None


def _other_classes(context: RoleContext, fit: Fit) -> str | None:
    """Return a remedy with classes of the role's vendor on which the model fits with the role's parallelism.

    All of them have more memory than the role's class; those with less memory come first. For each class, the remedy
    states how many sequences the cache can hold. None if there is no such class.
    """
    candidates = sorted(_products(context.variant.classes, context.accelerator), key=lambda entry: (entry[1], entry[0]))
    fitting_classes = list[str]()
    for name, size, cls in candidates:
        if cls.devices_per_node is not None and cls.devices_per_node < context.layout.devices_per_pod:
            continue
        other = memory.fits(replace(fit.request, devices=Devices(cls.vendor, cls.product, size)))
        if isinstance(other, Fit) and other.is_sufficient:
            room = f"{other.most_sequences} × {fit.request.tokens} tokens"
            fitting_classes.append(f"{name} ({room})")
    if not fitting_classes:
        return None
    *others, last = fitting_classes[:_MOST_CLASSES]
    if others:
        return f"use {', '.join(others)} or {last}"
    return f"use {last}"


def _products(
    classes: Mapping[str, AcceleratorClass], like: AcceleratorClass
) -> Iterator[tuple[str, int, AcceleratorClass]]:
    """Yield the classes with the vendor of `like` and with more memory than `like`, each as name, memory and class."""
    for name, cls in classes.items():
        if cls.vendor == like.vendor and cls.memory is not None and cls.memory > (like.memory or 0):
            yield name, cls.memory, cls


def _quantised_profile(context: RoleContext, fit: Fit) -> str | None:
    """Return a remedy with a quantised profile of the model from the catalogue; None if no such profile fits.

    A profile with the role's class is preferred, then the profile with the fewest devices. The result is None for
    canaries and for services with prefill, too, because keys that a canary or prefill inherits win over keys of a
    profile.
    """
    variant = context.variant
    cls = context.accelerator
    name = served_name(variant.spec.model.name, variant.spec.model.source)
    if name is None or variant.variant_name != PRIMARY or len(variant.roles) > 1:
        return None
    candidates = list[tuple[bool, int, str, str]]()
    for key, profile in _profiles(variant, name):
        class_name = profile.service.accelerator
        accelerator = variant.classes.get(class_name)
        if profile.precision not in _QUANTISED or accelerator is None or accelerator.vendor != cls.vendor:
            continue
        sequences = _sequences(context, fit, profile, accelerator)
        if sequences:
            about = f"{profile.precision}, {profile.device_count} × {class_name}, {sequences}"
            candidates.append((class_name != context.role.accelerator, profile.device_count, key, about))
    if not candidates:
        return None
    *_, key, about = min(candidates)
    keys = "accelerator, parallelism, model.source and model.size"
    return f"replace {keys} by model.name: {name} and selection.profile: {key} ({about})"


def _profiles(variant: VariantContext, model: str) -> Iterator[tuple[str, Profile]]:
    """Yield the profiles of a model by id: profiles of the stack, then shipped profiles with other ids."""
    catalogue = variant.stack.catalogue
    yield from ((key, entry) for key, entry in catalogue.profiles.items() if entry.model == model)
    if catalogue.shipped:
        yield from ((key, entry) for key, entry in shipped.profiles(model).items() if key not in catalogue.profiles)


def _sequences(context: RoleContext, fit: Fit, profile: Profile, cls: AcceleratorClass) -> str | None:
    """Return how many sequences the cache of a profile can hold, as text.

    None if the profile's model does not fit, or if its weights are not smaller than the role's.

    If the service itself sets `engine`, the service's engine wins over the profile's. If `defaults` sets `engine`, the
    profile's engine wins. `context.role.engine` does not tell which of them set it, so the profile must fit with both
    engines: its own, and the role's.
    """
    model = context.variant.spec.model
    tokens = context.variant.spec.model.max_model_len
    changed = {"lora": model.lora, **({} if tokens is None else {"max_model_len": tokens})}
    served_model = profile.service.model.model_copy(update=changed)
    fits = [profile_memory.fit(profile, cls, served_model, engine) for engine in (None, context.role.engine)]
    sufficient = [candidate for candidate in fits if isinstance(candidate, Fit) and candidate.is_sufficient]
    if len(sufficient) < len(fits) or any(other.request.weights >= fit.request.weights for other in sufficient):
        return None
    sequences = min(other.most_sequences for other in sufficient)
    return f"{sequences} × {max(other.request.tokens for other in sufficient)} tokens"


def _dependencies(context: RoleContext) -> tuple[Path, ...]:
    """Return the paths of the keys on which the fit of a role depends."""
    top = context.variant.path
    at = context.path
    keys = ("accelerator", "acceleratorMemory", "parallelism", "engine", "resources")
    return (
        *(at / key for key in keys),
        top / "model",
        top / "kvCache",
        Path("accelerators", context.role.accelerator),
    )
