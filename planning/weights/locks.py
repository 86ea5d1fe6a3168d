"""Effect of a lock on a stack: pins and sizes of sources, and problems of sources that have no valid pin.

A pin is valid as long as the configuration has the source as it was locked: the same text, and the same settings on
which the source's content depends. A source without a valid pin is planned as without a lock.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from models.load import Loaded
from models.lock import Lock, file_name
from models.paths import Path
from models.pins import Pin, Settings
from models.problems import Problem
from models.service import Canary, Lora, Model, Service
from models.source import scheme
from models.stack import Stack
from models.storage import Cache, Dedicated, Existing, Fill
from models.weight_parts import WeightPart
from planning.variant.context import ConfiguredVariant, variants_of
from planning.weights import ignored_files, sizes, source_access, sources
from planning.weights.claims import cache_of
from planning.weights.sizes import Answer, Size, Wanted

_AnyVariant = TypeVar("_AnyVariant", Service, Canary)


@dataclass(frozen=True, slots=True)
class Lockable:
    """A source of a stack that a lock can pin."""

    at: Path
    """Path of the model, the adapter or the cache."""
    source: str
    settings: Settings
    question: Wanted
    """The question for content and bytes of the source."""
    by_pods: bool
    """Whether serving pods fetch the source. If not, a Job does."""


@dataclass(frozen=True, slots=True)
class LockedStack:
    """A stack with the pins of its lock."""

    loaded: Loaded
    answers: Mapping[Wanted, Answer]
    """Sizes from the lock, by question. A run sends none of these questions to a registry or to an S3 store."""
    warnings: tuple[Problem, ...]


def lockables(stack: Stack) -> Iterator[Lockable]:
    """Yield the sources of a stack that a lock can pin.

    A model in a shared cache is left out, because it gets the pin of the cache. A canary's source is left out if the
    service has the same source with the same settings, because the canary then gets the pin of the service.
    """
    for key, cache in stack.caches.items():
        yield _of_cache(Path("caches", key), cache)
    for key, service in stack.services.items():
        of_service = set[tuple[str, Settings]]()
        for variant in variants_of(key, service, stack):
            of_variant = {lockable.at: lockable for lockable in _of_variant(variant)}.values()
            yield from (lockable for lockable in of_variant if (lockable.source, lockable.settings) not in of_service)
            of_service = {(lockable.source, lockable.settings) for lockable in of_variant}


def apply(loaded: Loaded, lock: Lock | None, stack_name: str) -> LockedStack:
    """Return a stack with the pins of its lock. `stack_name` is the last segment of the full stack name.

    Sources with a mistake get no pin.
    """
    mode = loaded.stack.checks.lock
    if lock is None:
        if mode == "strict":
            loaded = replace(loaded, problems=(*loaded.problems, _no_lock(stack_name)))
        return LockedStack(loaded, {}, ())
    pins = dict[Path, Pin]()
    problems = list[Problem]()
    for lockable in lockables(loaded.stack):
        if loaded.is_repaired(lockable.at):
            continue
        pin = lock.pins.get(lockable.at)
        if pin is not None and pin.is_of(lockable.source, lockable.settings):
            pins[lockable.at] = pin
        elif mode != "skip":
            problems.append(_problem(lockable, pin, lock, stack_name))
    stack, answers = _with_pins(loaded.stack, pins)
    located = loaded.locate(problems)
    if mode == "strict":
        return LockedStack(replace(loaded, stack=stack, problems=(*loaded.problems, *located)), answers, ())
    warnings = tuple(replace(problem, severity="warning") for problem in located)
    return LockedStack(replace(loaded, stack=stack), answers, warnings)


def settings(spec: Model | WeightPart | Cache, endpoint: str | None) -> Settings:
    """Return the settings that the content of a source depends on."""
    match scheme(spec.source):
        case "hf" if not isinstance(spec, WeightPart):
            return Settings.default(endpoint=endpoint, ignore_patterns=spec.ignore_patterns)
        case "hf" | "s3":
            return Settings.default(endpoint=endpoint)
        case "kit" if isinstance(spec, Model) and spec.filter != ("model",):
            return Settings.default(filter=spec.filter)
        case _:
            return Settings.default()


def _no_lock(stack_name: str) -> Problem:
    what = f"is strict, and there is no lock ({file_name(stack_name)})"
    return Problem(Path("checks", "lock"), what, f"write one with `python -m cli lock {stack_name}`")


def _problem(lockable: Lockable, pin: Pin | None, lock: Lock, stack_name: str) -> Problem:
    """Return the problem of a source without a pin, or of a source that has changed since it was locked."""
    at = lockable.at / "source"
    file = lock.file or file_name(stack_name)
    if pin is None:
        return Problem(at, f"has no block in {file}", f"run `python -m cli lock {stack_name}`")
    other = pin.was
    if other == lockable.source:
        other = "the same source with other settings"
    return Problem(at, f"differs from {file}, which has {other}", f"run `python -m cli lock {stack_name}`")


def _of_cache(at: Path, cache: Cache) -> Lockable:
    fill = cache.fill
    ignored = ()
    if scheme(cache.source) == "hf":
        ignored = cache.ignore_patterns
    if ignored is None:
        ignored = ignored_files.patterns()
    question = Wanted(cache.source, fill.endpoint, fill.region, private=bool(fill.secrets), ignored=ignored)
    return Lockable(at, cache.source, settings(cache, fill.endpoint), question, by_pods=False)


def _of_variant(variant: ConfiguredVariant) -> Iterator[Lockable]:
    """Yield the sources of one variant."""
    spec = variant.spec
    at = variant.path / "model"
    if cache_of(spec) is None:
        yield _of_model(at, variant)
    for path, part in _parts(at, spec.model).items():
        access = source_access.of_part(spec.model, at, part, path)
        ignored = ()
        if scheme(part.source) == "hf":
            ignored = ignored_files.patterns()
        question = Wanted(
            part.source,
            access.endpoint,
            access.region,
            spec.model.insecure,
            private=access.secret is not None,
            ignored=ignored,
        )
        yield Lockable(path, part.source, settings(part, access.endpoint), question, by_pods=True)


def _parts(at: Path, model: Model) -> dict[Path, WeightPart]:
    """Return the adapters and the draft of a model by path. `at` is the path of the model."""
    parts = dict[Path, WeightPart]()
    if model.lora is not None:
        parts |= {at / "lora" / "adapters" / name: adapter for name, adapter in model.lora.adapters.items()}
    if model.speculative is not None and model.speculative.draft is not None:
        parts[at / "speculative" / "draft"] = model.speculative.draft
    return parts


def _of_model(at: Path, variant: ConfiguredVariant) -> Lockable:
    model = variant.spec.model
    storage = variant.spec.storage
    fill = Fill()
    is_filled = isinstance(storage, Dedicated | Existing)
    if is_filled:
        fill = storage.fill
    endpoint = model.endpoint or fill.endpoint
    ignored = ()
    if scheme(model.source) == "hf":
        ignored = sources.ignored_patterns(model, fetches_all=not variant.kind.vllm_tables)
    question = Wanted(
        model.source,
        endpoint,
        model.region or fill.region,
        model.insecure,
        model.filter,
        private=bool(model.secrets or fill.secrets),
        ignored=ignored,
    )
    return Lockable(at, model.source, settings(model, endpoint), question, by_pods=not is_filled)


def _with_pins(stack: Stack, pins: Mapping[Path, Pin]) -> tuple[Stack, dict[Wanted, Answer]]:
    """Return a stack with `pins` (by path), and answers to the size questions of sources with packed files."""
    answers = dict[Wanted, Answer]()
    caches = {
        key: _with_pin(cache, pins.get(Path("caches", key)), sizes.cache_question(cache), answers)
        for key, cache in stack.caches.items()
    }
    services = {key: _service(key, service, stack, pins, answers) for key, service in stack.services.items()}
    return stack.model_copy(update={"caches": caches, "services": services}), answers


def _service(
    key: str, service: Service, stack: Stack, pins: Mapping[Path, Pin], answers: dict[Wanted, Answer]
) -> Service:
    """Return a service with the pins of its sources and of its canary's sources."""
    at = Path("services", key)
    primary = _variant(at, service, stack, pins, answers)
    if service.canary is None:
        return primary
    configured, variant = variants_of(key, service, stack)
    of_service = {(lockable.source, lockable.settings): pins.get(lockable.at) for lockable in _of_variant(configured)}
    pins_of_both = {**pins}
    for lockable in _of_variant(variant):
        pin = of_service.get((lockable.source, lockable.settings))
        if pin is not None:
            pins_of_both[lockable.at] = pin
    canary = _variant(variant.path, service.canary, stack, pins_of_both, answers)
    return primary.model_copy(update={"canary": canary})


def _variant(
    at: Path, spec: _AnyVariant, stack: Stack, pins: Mapping[Path, Pin], answers: dict[Wanted, Answer]
) -> _AnyVariant:
    model = spec.model
    key = cache_of(spec) or ""
    cache = stack.caches.get(key)
    if cache is None:
        model = _with_pin(model, pins.get(at / "model"), sizes.variant_question(spec), answers)
    elif cache.source == model.source:
        model = _with_pin(model, pins.get(Path("caches", key)), sizes.cache_question(cache), answers)
    if model.lora is not None:
        adapters = {
            name: adapter.with_pin(pins.get(at / "model" / "lora" / "adapters" / name))
            for name, adapter in model.lora.adapters.items()
        }
        model = model.model_copy(update={"lora": Lora.model_copy(model.lora, update={"adapters": adapters})})
    speculative = model.speculative
    if speculative is not None and speculative.draft is not None:
        draft = speculative.draft.with_pin(pins.get(at / "model" / "speculative" / "draft"))
        model = model.model_copy(update={"speculative": speculative.model_copy(update={"draft": draft})})
    return spec.model_copy(update={"model": model})


_Sized = TypeVar("_Sized", Model, Cache)


def _with_pin(spec: _Sized, pin: Pin | None, question: Wanted | None, answers: dict[Wanted, Answer]) -> _Sized:
    """Return a spec with a pin, and with the bytes of the pin as its size.

    Time limits of pods depend on the size, so a new size replaces pods. The size is therefore set in two cases only: a
    claim needs the size, or the pin changes the pods anyway. The size of a claim cannot be computed from the bytes of
    packed files, so these bytes go into `answers` instead.
    """
    if pin is None:
        return spec
    if pin.bytes is not None and spec.size is None:
        if pin.packed and question is not None:
            answers[question] = Size(pin.bytes, pin.digest, packed=True)
        elif not pin.packed and (question is not None or pin.pinned_source != pin.was):
            spec = spec.model_copy(update={"size": str(pin.bytes)})
    return spec.with_pin(pin)
