"""Mistakes in where weights lie."""

import difflib
from collections.abc import Iterator, Sequence
from typing import cast

from models.problems import Problem
from models.role import RollingUpdate
from models.service import Model
from models.source import scheme
from models.stack import Stack
from models.storage import MODEL_MOUNT, Cache, Dedicated, Ephemeral, Existing, Fill, Shared
from models.vocabulary import amount
from planning.ground import environment, names
from planning.ground.names import CANARY
from planning.hardware import devices
from planning.releases import Release
from planning.serving import engine, sidecar
from planning.variant import context
from planning.variant.context import VariantContext
from planning.weights import claims as storage
from planning.weights import sources
from planning.weights.claims import Job

_TAKEN = (
    *(sources.ADAPTERS_MOUNT, sources.FETCH_HOME, sources.PUBLIC_KEY, sidecar.CERTIFICATES, engine.HOME, "/dev"),
    *("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"),
)
"""Folders of a pod that weights must not hide."""


def problems(stack: Stack, variants: Sequence[VariantContext], release: Release) -> Iterator[Problem]:
    """Check every cache, and where every variant's weights lie."""
    yield from _twins(stack, variants)
    for key, cache in stack.caches.items():
        yield from _cache(f"caches.{key}", key, cache, stack, release)
        users = [one for one in variants if storage.cache_of(one.spec) == key]
        yield from _reach(f"caches.{key}.accessMode", cache.access_mode, users)
    for one in variants:
        yield from _variant(one)
        if not storage.stays(one.spec.model.source):
            yield from _kept(one)
    yield from _claims(variants)


def fills(stack: Stack) -> Iterator[tuple[str, Fill]]:
    """Yield what every Job gets, with where it is written."""
    for key, cache in stack.caches.items():
        yield f"caches.{key}.fill", cache.fill
    for subject in context.subjects(stack):
        if isinstance(subject.spec.storage, Dedicated | Existing):
            yield f"{subject.path}.storage.fill", subject.spec.storage.fill


def _twins(stack: Stack, variants: Sequence[VariantContext]) -> Iterator[Problem]:
    """Two services must not fill one folder, nor make the claim of a cache."""
    makers = {(stack.namespace, names.cache(key)): f"caches.{key}" for key in stack.caches}
    filled = dict[object, VariantContext]()
    for one in variants:
        kept, own = one.spec.storage, one.names
        if not isinstance(kept, Dedicated | Existing) or storage.stays(one.spec.model.source):
            continue
        maker = makers.get((own.namespace, own.weights))
        if maker is not None:
            what = f"would make an object of {maker} (weights {own.namespace}/{own.weights})"
            yield Problem(one.path, what, "choose another name or namespace for one of them", (one.path, maker))
        job = storage.variant_job(one, kept)
        other = filled.setdefault((own.namespace, job.claim, job.sub_path, job.folder), one)
        if other.key != one.key and isinstance(kept, Existing):
            what = f"is filled by {other.path}, too, with the same source ({kept.claim_name})"
            remedy = "use storage.type: shared with an entry under caches, or another subPath"
            yield Problem(f"{one.path}.storage.claimName", what, remedy, (f"{other.path}.storage",))


def _claims(variants: Sequence[VariantContext]) -> Iterator[Problem]:
    """Check the claims that Jobs fill for a service: its canary uses the same where it has the same source."""
    users = dict[tuple[str, str], list[VariantContext]]()
    for one in variants:
        if isinstance(one.spec.storage, Dedicated | Existing) and not storage.stays(one.spec.model.source):
            job = storage.variant_job(one, one.spec.storage)
            users.setdefault((one.namespace, job.name), []).append(one)
    for first, *others in users.values():
        at, kept = f"{first.path}.storage", first.spec.storage
        if isinstance(kept, Dedicated):
            yield from _reach(f"{at}.accessMode", kept.access_mode, [first, *others])
        for other in others:
            if other.spec.storage != kept:
                what = f"differs from {at}, whose claim it is (the same source)"
                yield Problem(f"{other.path}.storage", what, "remove it, or use another source")
            yield from _opened_by_another(first, other)


def _opened_by_another(first: VariantContext, other: VariantContext) -> Iterator[Problem]:
    """Refuse what would open a source that the service's own Job opens."""
    own, filled = other.spec.model, first.spec.model
    for field in ("secrets", "region") if own.lora is None else ():
        if getattr(own, field) != getattr(filled, field):
            what = f"has no effect, because the weights are those of {first.path} (the same source)"
            yield Problem(f"{other.path}.model.{field}", what, "remove it, or use another source", said=True)


def _cache(path: str, key: str, cache: Cache, stack: Stack, release: Release) -> Iterator[Problem]:
    if storage.stays(cache.source):
        what = f"is not a source that is fetched ({cache.source})"
        yield Problem(f"{path}.source", what, "use kit://, hf:// or s3://")
        return
    if cache.size is None:
        yield _without_size(path, cache.source, "a claim is made")
    yield from _job(f"{path}.fill", storage.cache_job(key, cache), stack, release)


def _without_size(path: str, source: str, why: str) -> Problem:
    verb = "was not told by" if scheme(source) in {"s3", "kit"} else "cannot be asked of"
    at, what = f"{path}.size", f"is missing and {verb} {scheme(source)}:// ({why})"
    return Problem(at, what, "add the bytes of the weights, such as 16Gi", (at, f"{path}.source"))


def _job(path: str, job: Job, stack: Stack, release: Release) -> Iterator[Problem]:
    """Check what a Job is given."""
    kind = scheme(job.model.source)
    for field, given, useful in (
        ("endpoint", job.fill.endpoint, ("hf", "s3")),
        ("region", job.fill.region, ("s3",)),
    ):
        if given is not None and kind not in useful:
            wanted = " or ".join(f"{name}://" for name in useful)
            what = f"has no effect with this source ({kind}://)"
            yield Problem(f"{path}.{field}", what, f"remove it, or use a source of {wanted}", said=True)
    plain = storage.fetch(job, stack, release, {}).env
    generated = {one.name: one.source if one.value is None else one.value for one in plain}
    reserved = {name: "it follows from the source" for name in generated if kind == "kit"}
    reserved |= dict.fromkeys(("HOME", "TMPDIR"), f"{sources.FETCH_HOME} is what the Job may write")
    own = environment.values(job.fill.env)
    yield from environment.problems(f"{path}.env", cast("dict[str, environment.EnvValue]", generated), own, reserved)


def _variant(of: VariantContext) -> Iterator[Problem]:
    """Check what storage says against the source, and where the engine finds the weights."""
    kept, source, at = of.spec.storage, of.spec.model.source, f"{of.path}.storage"
    if storage.stays(source) and "storage" in of.spec.model_fields_set:
        reason = "is mounted as it is" if scheme(source) == "pvc" else "holds them itself"
        yield Problem(at, f"has no effect with this source ({source} {reason})", "remove it", said=True)
    taken = next((one for one in _TAKEN if _overlap(one, kept.mount_path)), None)
    if taken is not None:
        both = ", ".join(dict.fromkeys((kept.mount_path, taken)))
        what = f"is where the pod has something else ({both})"
        yield Problem(f"{at}.mountPath", what, f"choose another, such as {MODEL_MOUNT}")


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _kept(of: VariantContext) -> Iterator[Problem]:
    kept, model, at = of.spec.storage, of.spec.model, f"{of.path}.storage"
    if isinstance(kept, Shared):
        yield from _shared(of, kept)
        return
    field, own = ("sizeLimit", kept.size_limit) if isinstance(kept, Ephemeral) else ("size", None)
    if isinstance(kept, Dedicated):
        own = kept.size
        if own is None and model.size is None:
            yield _without_size(f"{of.path}.model", model.source, f"storage.type {kept.type}")
    if own is not None and model.size is not None and amount(own) < amount(model.size):
        what = f"is below the bytes of the weights ({own}, {model.size})"
        yield Problem(f"{at}.{field}", what, "raise it, or remove it")
    if isinstance(kept, Dedicated | Existing):
        yield from _twice(at, model, kept.fill)
        yield from _job(f"{at}.fill", storage.variant_job(of, kept), of.stack, of.release)


def _twice(path: str, model: Model, fill: Fill) -> Iterator[Problem]:
    """Refuse what the model says already: the Job takes it from there."""
    for field, said, again in (
        ("secrets", model.secrets, fill.secrets),
        ("endpoint", model.endpoint, fill.endpoint),
        ("region", model.region, fill.region),
    ):
        if said and again:
            yield Problem(f"{path}.fill.{field}", f"is said by model.{field}, too", "keep one of them")


def _shared(of: VariantContext, kept: Shared) -> Iterator[Problem]:
    """Check a variant against the cache that it names."""
    at, stack, cache = f"{of.path}.storage.cache", of.stack, of.stack.caches.get(kept.cache)
    if cache is None:
        close = difflib.get_close_matches(kept.cache, stack.caches, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"add {kept.cache} under caches, with its source"
        yield Problem(at, f"names no cache ({kept.cache})", remedy, (at, f"caches.{kept.cache}"))
        return
    if of.namespace != stack.namespace:
        what = f"is in another namespace ({kept.cache} in {stack.namespace}, the service in {of.namespace})"
        yield Problem(at, what, "use storage.type: dedicated, or one namespace")
    model, own = of.spec.model, f"caches.{kept.cache}"
    if model.source != cache.source:
        what = f"is not the source of {own} ({model.source})"
        yield Problem(f"{of.path}.model.source", what, _another(of), (f"{own}.source",))
    if model.lora is None:
        yield from _idle(f"{of.path}.model", model, own)


def _another(of: VariantContext) -> str:
    """Return what gives a variant another source than its cache's."""
    if of.variant == CANARY:
        return "set canary.storage to another cache, or to a type of its own"
    return "remove it, or make another cache"


def _idle(path: str, model: Model, cache: str) -> Iterator[Problem]:
    """Refuse what opens a source that the service does not open itself."""
    for field in ("secrets", "endpoint", "region"):
        if getattr(model, field):
            what = f"has no effect with storage.type shared ({cache} is filled once)"
            yield Problem(f"{path}.{field}", what, f"move it to {cache}.fill", said=True)
    for field in ("insecure", "filter", "verify"):
        if getattr(model, field) != Model.model_fields[field].default:
            what = f"has no effect with storage.type shared ({cache} is filled once)"
            yield Problem(f"{path}.{field}", what, "remove it, or use storage.type: dedicated", said=True)


def _reach(path: str, mode: str, users: Sequence[VariantContext]) -> Iterator[Problem]:
    """Refuse a claim of one node or one pod that more pods may want at a time."""
    if mode == "ReadWriteMany":
        return
    counts = [_most(one) for one in users]
    replicas, pods = sum(one for one, _ in counts), sum(one for _, one in counts)
    if pods > 1:
        noun = f"{replicas} replicas" if replicas == pods else f"{pods} pods"
        owner = "one node" if mode == "ReadWriteOnce" else "one pod"
        asking = ", ".join(one.path for one in users)
        what = f"{owner} can mount it, but up to {noun} of {asking} want it ({mode})"
        yield Problem(path, what, "use ReadWriteMany, or storage.type: ephemeral")


def _most(of: VariantContext) -> tuple[int, int]:
    """Return how many replicas of all roles there may be, and pods while a rollout goes on."""
    replicas = pods = 0
    for _, path, role in of.roles:
        own = role.replicas if role.autoscaling is None else role.autoscaling.max_replicas
        surge = role.rollout.max_surge if isinstance(role.rollout, RollingUpdate) and own else 0
        accelerator = of.classes.get(role.accelerator)
        each = 1
        if accelerator is not None and not devices.problems(path, role, accelerator):
            each = devices.layout(role.parallelism, role.accelerator_memory, accelerator).pods_per_replica
        replicas, pods = replicas + own, pods + (own + surge) * each
    return replicas, pods
