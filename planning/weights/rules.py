"""Mistakes in where weights lie."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from models.paths import Path
from models.problems import Problem
from models.role import RollingUpdate
from models.service import Model
from models.source import scheme, served_name
from models.stack import Stack
from models.storage import MODEL_MOUNT, Cache, Dedicated, Ephemeral, Existing, Fill, Shared
from models.vocabulary import amount
from planning.ground import environment, names
from planning.ground.mounts import ADAPTERS_MOUNT, CERTIFICATES, ENGINE_HOME, FETCH_HOME, PUBLIC_KEY
from planning.ground.names import CANARY, PRIMARY
from planning.releases import Release
from planning.variant.context import Contexts, RoleContext, Subject, VariantContext, max_replicas
from planning.weights import claims
from planning.weights.claims import Job

_TAKEN = (
    *(ADAPTERS_MOUNT, FETCH_HOME, PUBLIC_KEY, CERTIFICATES, ENGINE_HOME, "/dev"),
    *("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"),
)
"""Folders of a pod that weights must not hide."""


def problems(stack: Stack, contexts: Contexts, release: Release) -> Iterator[Problem]:
    """Check every cache, and where every variant's weights lie."""
    variants = tuple(contexts.variants.values())
    yield from _twins(stack, variants)
    for key, cache in stack.caches.items():
        yield from _cache(Path("caches", key), key, cache, stack, release)
        users = [one for one in variants if claims.cache_of(one.spec) == key]
        yield from _reach(Path("caches", key, "accessMode"), cache.access_mode, users, contexts)
    for one in variants:
        yield from _variant(one)
        if not claims.stays(one.spec.model.source):
            yield from _kept(one)
    yield from _claims(variants, contexts)


def fills(stack: Stack, subjects: Iterable[Subject]) -> Iterator[tuple[Path, Fill]]:
    """Yield what every Job gets, with where it is written."""
    for key, cache in stack.caches.items():
        yield Path("caches", key, "fill"), cache.fill
    for subject in subjects:
        if isinstance(subject.spec.storage, Dedicated | Existing):
            yield subject.path / "storage" / "fill", subject.spec.storage.fill


def subject_problems(subject: Subject) -> list[Problem]:
    """Refuse what the source cannot use, and a model without a name."""
    model, found = subject.spec.model, list[Problem]()
    at, kind = subject.path / "model", scheme(model.source)
    if subject.variant == PRIMARY and served_name(model.name, model.source) is None:
        what = f"is missing and this source carries none ({model.source})"
        remedy = "add the name that clients will send, such as Qwen/Qwen3-8B"
        found.append(Problem(at / "name", what, remedy, (at / "name", at / "source")))
    adapters = {} if model.lora is None else model.lora.adapters
    kinds = {kind, *(scheme(adapter.source) for adapter in adapters.values())}
    for field, given, useful in (
        ("insecure", model.insecure, {"kit"}),
        ("filter", model.filter != ("model",), {"kit"}),
        ("verify", model.verify is not None, {"kit"}),
        ("endpoint", model.endpoint is not None, {"s3", "hf"}),
        ("region", model.region is not None, {"s3"}),
        ("secrets", bool(model.secrets), {"kit", "hf", "s3"}),
    ):
        if given and not kinds & useful:
            wanted = " or ".join(f"{name}://" for name in sorted(useful))
            remedy = f"remove it, or use a source of {wanted}"
            what = f"has no effect with this source ({kind}://)"
            found.append(Problem(at / field, what, remedy, explicit_only=True))
    if model.insecure and model.verify is not None:
        what = "cannot be asked of a registry that speaks plain HTTP"
        found.append(Problem(at / "verify", what, "remove it, or insecure"))
    for name, adapter in adapters.items():
        if scheme(adapter.source) == "image":
            what = "cannot be taken out of an image (image://)"
            remedy = "use kit://, hf://, s3:// or pvc://"
            found.append(Problem(at / "lora" / "adapters" / name / "source", what, remedy))
    if model.lora is not None and (kind == "image" or subject.spec.engine.type == "custom"):
        found.append(Problem(at / "lora", "needs vllm (a custom engine)", "remove it"))
    return found


def _twins(stack: Stack, variants: Sequence[VariantContext]) -> Iterator[Problem]:
    """Two services must not fill one folder, nor make the claim of a cache."""
    makers = {(stack.namespace, names.cache(key)): Path("caches", key) for key in stack.caches}
    filled = dict[object, VariantContext]()
    for one in variants:
        kept, own = one.spec.storage, one.names
        if not isinstance(kept, Dedicated | Existing) or claims.stays(one.spec.model.source):
            continue
        maker = makers.get((own.namespace, own.weights))
        if maker is not None:
            what = f"would make an object of {maker} (weights {own.namespace}/{own.weights})"
            yield Problem(one.path, what, "choose another name or namespace for one of them", (one.path, maker))
        job = claims.variant_job(one, kept)
        other = filled.setdefault((own.namespace, job.claim, job.sub_path, job.folder), one)
        if other.key != one.key and isinstance(kept, Existing):
            what = f"is filled by {other.path}, too, with the same source ({kept.claim_name})"
            remedy = "use storage.type: shared with an entry under caches, or another subPath"
            yield Problem(one.path / "storage" / "claimName", what, remedy, (other.path / "storage",))


def _claims(variants: Sequence[VariantContext], contexts: Contexts) -> Iterator[Problem]:
    """Check the claims that Jobs fill for a service: its canary uses the same where it has the same source."""
    users = dict[tuple[str, str], list[VariantContext]]()
    for one in variants:
        if isinstance(one.spec.storage, Dedicated | Existing) and not claims.stays(one.spec.model.source):
            job = claims.variant_job(one, one.spec.storage)
            users.setdefault((one.namespace, job.name), []).append(one)
    for first, *others in users.values():
        at, kept = first.path / "storage", first.spec.storage
        if isinstance(kept, Dedicated):
            yield from _reach(at / "accessMode", kept.access_mode, [first, *others], contexts)
        for other in others:
            if other.spec.storage != kept:
                what = f"differs from {at}, whose claim it is (the same source)"
                yield Problem(other.path / "storage", what, "remove it, or use another source")
            yield from _opened_by_another(first, other)


def _opened_by_another(first: VariantContext, other: VariantContext) -> Iterator[Problem]:
    """Refuse what would open a source that the service's own Job opens."""
    own, filled = other.spec.model, first.spec.model
    for field in ("secrets", "region") if own.lora is None else ():
        if getattr(own, field) != getattr(filled, field):
            what = f"has no effect, because the weights are those of {first.path} (the same source)"
            yield Problem(other.path / "model" / field, what, "remove it, or use another source", explicit_only=True)


def _cache(path: Path, key: str, cache: Cache, stack: Stack, release: Release) -> Iterator[Problem]:
    if claims.stays(cache.source):
        what = f"is not a source that is fetched ({cache.source})"
        yield Problem(path / "source", what, "use kit://, hf:// or s3://")
        return
    if cache.size is None:
        yield _without_size(path, cache.source, "a claim is made")
    yield from _job(path / "fill", claims.cache_job(key, cache), stack, release)


def _without_size(path: Path, source: str, why: str) -> Problem:
    verb = "was not told by" if scheme(source) in {"s3", "kit"} else "cannot be asked of"
    at, what = path / "size", f"is missing and {verb} {scheme(source)}:// ({why})"
    return Problem(at, what, "add the bytes of the weights, such as 16Gi", (at, path / "source"))


def _job(path: Path, job: Job, stack: Stack, release: Release) -> Iterator[Problem]:
    """Check what a Job is given."""
    kind = scheme(job.model.source)
    for field, given, useful in (
        ("endpoint", job.fill.endpoint, ("hf", "s3")),
        ("region", job.fill.region, ("s3",)),
    ):
        if given is not None and kind not in useful:
            wanted = " or ".join(f"{name}://" for name in useful)
            what = f"has no effect with this source ({kind}://)"
            yield Problem(path / field, what, f"remove it, or use a source of {wanted}", explicit_only=True)
    plain = claims.fetch(job, stack, release, {}).env
    generated = {one.name: one.source if one.value is None else one.value for one in plain}
    reserved = {name: "it follows from the source" for name in generated if kind == "kit"}
    reserved |= dict.fromkeys(("HOME", "TMPDIR"), f"{FETCH_HOME} is what the Job may write")
    own = environment.values(job.fill.env)
    yield from environment.problems(path / "env", cast("dict[str, environment.EnvValue]", generated), own, reserved)


def _variant(of: VariantContext) -> Iterator[Problem]:
    """Check what storage says against the source, and where the engine finds the weights."""
    kept, source, at = of.spec.storage, of.spec.model.source, of.path / "storage"
    if claims.stays(source) and "storage" in of.spec.model_fields_set:
        reason = "is mounted as it is" if scheme(source) == "pvc" else "holds them itself"
        yield Problem(at, f"has no effect with this source ({source} {reason})", "remove it", explicit_only=True)
    taken = next((one for one in _TAKEN if _overlap(one, kept.mount_path)), None)
    if taken is not None:
        both = ", ".join(dict.fromkeys((kept.mount_path, taken)))
        what = f"is where the pod has something else ({both})"
        yield Problem(at / "mountPath", what, f"choose another, such as {MODEL_MOUNT}")


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _kept(of: VariantContext) -> Iterator[Problem]:
    kept, model, at = of.spec.storage, of.spec.model, of.path / "storage"
    if isinstance(kept, Shared):
        yield from _shared(of, kept)
        return
    field, own = ("sizeLimit", kept.size_limit) if isinstance(kept, Ephemeral) else ("size", None)
    if isinstance(kept, Dedicated):
        own = kept.size
        if own is None and model.size is None:
            yield _without_size(of.path / "model", model.source, f"storage.type {kept.type}")
    if own is not None and model.size is not None and amount(own) < amount(model.size):
        what = f"is below the bytes of the weights ({own}, {model.size})"
        yield Problem(at / field, what, "raise it, or remove it")
    if isinstance(kept, Dedicated | Existing):
        yield from _twice(at, model, kept.fill)
        yield from _job(at / "fill", claims.variant_job(of, kept), of.stack, of.release)


def _twice(path: Path, model: Model, fill: Fill) -> Iterator[Problem]:
    """Refuse what the model says already: the Job takes it from there."""
    for field, said, again in (
        ("secrets", model.secrets, fill.secrets),
        ("endpoint", model.endpoint, fill.endpoint),
        ("region", model.region, fill.region),
    ):
        if said and again:
            yield Problem(path / "fill" / field, f"is said by model.{field}, too", "keep one of them")


def _shared(of: VariantContext, kept: Shared) -> Iterator[Problem]:
    """Check a variant against the cache that it names."""
    at, stack, cache = of.path / "storage" / "cache", of.stack, of.stack.caches.get(kept.cache)
    if cache is None:
        close = difflib.get_close_matches(kept.cache, stack.caches, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"add {kept.cache} under caches, with its source"
        yield Problem(at, f"names no cache ({kept.cache})", remedy, (at, Path("caches", kept.cache)))
        return
    if of.namespace != stack.namespace:
        what = f"is in another namespace ({kept.cache} in {stack.namespace}, the service in {of.namespace})"
        yield Problem(at, what, "use storage.type: dedicated, or one namespace")
    model, own = of.spec.model, Path("caches", kept.cache)
    if model.source != cache.source:
        what = f"is not the source of {own} ({model.source})"
        yield Problem(of.path / "model" / "source", what, _another(of), (own / "source",))
    if model.lora is None:
        yield from _idle(of.path / "model", model, own)


def _another(of: VariantContext) -> str:
    """Return what gives a variant another source than its cache's."""
    if of.variant == CANARY:
        return "set canary.storage to another cache, or to a type of its own"
    return "remove it, or make another cache"


def _idle(path: Path, model: Model, cache: Path) -> Iterator[Problem]:
    """Refuse what opens a source that the service does not open itself."""
    for field in ("secrets", "endpoint", "region"):
        if getattr(model, field):
            what = f"has no effect with storage.type shared ({cache} is filled once)"
            yield Problem(path / field, what, f"move it to {cache / 'fill'}", explicit_only=True)
    for field in ("insecure", "filter", "verify"):
        if getattr(model, field) != Model.model_fields[field].default:
            what = f"has no effect with storage.type shared ({cache} is filled once)"
            yield Problem(path / field, what, "remove it, or use storage.type: dedicated", explicit_only=True)


def _reach(path: Path, mode: str, users: Sequence[VariantContext], contexts: Contexts) -> Iterator[Problem]:
    """Refuse a claim of one node or one pod that more pods may want at a time."""
    if mode == "ReadWriteMany":
        return
    counts = [_pods(user, contexts.roles_of(user)) for user in users]
    replicas, pods = sum(number for number, _ in counts), sum(number for _, number in counts)
    if pods > 1:
        noun = f"{replicas} replicas" if replicas == pods else f"{pods} pods"
        owner = "one node" if mode == "ReadWriteOnce" else "one pod"
        asking = ", ".join(str(one.path) for one in users)
        what = f"{owner} can mount it, but up to {noun} of {asking} want it ({mode})"
        yield Problem(path, what, "use ReadWriteMany, or storage.type: ephemeral")


def _pods(of: VariantContext, roles: Mapping[str, RoleContext]) -> tuple[int, int]:
    """Return how many replicas of all roles there may be, and pods while a rollout goes on."""
    replicas = pods = 0
    for name, _, role in of.roles:
        number = max_replicas(role)
        surge = role.rollout.max_surge if isinstance(role.rollout, RollingUpdate) and number else 0
        each = roles[name].layout.pods_per_replica if name in roles else 1
        replicas, pods = replicas + number, pods + (number + surge) * each
    return replicas, pods
