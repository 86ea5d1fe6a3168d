"""Claims of weights, and the Jobs that fill them.

A claim is served from only after its Job has succeeded, and every source has a folder of its own in the claim. So pods
never see half of the weights, a new source is filled beside the one that is being served, and two sources cannot mix
even where a cache's source is changed; whether its claim exists already is nothing that planning knows.
"""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING
from typing import cast

from models.problems import Problem
from models.role import RollingUpdate
from models.service import Model, Service
from models.source import scheme
from models.stack import Stack
from models.storage import MODEL_MOUNT, Cache, Dedicated, Ephemeral, Existing, Fill, Shared
from models.vocabulary import amount
from planning import devices, engine, environment, lifecycle, names, roles, sidecar, sources
from planning.accelerators import AcceleratorClass
from planning.environment import EnvValue
from planning.names import Names
from planning.releases import Release
from planning.sources import Fetch, Kept

_GI = 2**30
_RETRIES = 2
"""Times that a fill which failed is tried again."""
_UNKNOWN_DEADLINE = 14400
"""Seconds for weights of unknown size."""
_WAIT_MARGIN = 60
"""The wait outlives the Job's own deadline, so that Kubernetes' reason is the one that is reported."""
_USER = 1000
"""User and group of the Job of a cache, as of serving pods that do not say otherwise."""
_IDENTITY = 8
"""Characters of a source's folder."""
_TAKEN = (
    *(sources.ADAPTERS_MOUNT, sources.FETCH_HOME, sources.PUBLIC_KEY, sidecar.CERTIFICATES, engine.HOME, "/dev"),
    *("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"),
)
"""Folders of a pod that weights must not hide."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """A claim that is made for weights."""

    name: str
    storage_class: str | None
    access_mode: str
    size: str
    """A Kubernetes quantity; whole Gi where it is computed."""
    retain: bool
    protect: bool


@dataclass(frozen=True, slots=True)
class FillPlan:
    """The Job that fills a claim.

    It is named after what it brings, and after nothing else. Kubernetes lets nobody change a Job's template, so that
    a new image of the downloader would mean another Job, and weights that are there would come a second time; a new
    source is another Job, and has to be one.
    """

    name: str
    path: str
    """Where it stands in the configuration."""
    claim: str
    fetch: Fetch
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    service_account: str | None
    image_pull_secrets: tuple[str, ...]
    user: int
    group: int
    retries: int
    deadline: int
    """Seconds for all tries together."""
    wait: int
    """Seconds that a deployment run waits for it."""


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Weights that lie on a claim."""

    key: str
    """Of the cache, or of the service."""
    name: str
    """Of whom the objects are part."""
    namespace: str
    claim: ClaimPlan | None
    """Absent: it exists."""
    fill: FillPlan


@dataclass(frozen=True, slots=True)
class _Job:
    """What is known of a fill before it is decided."""

    path: str
    name: str
    """Without the hash of what it brings."""
    claim: str
    model: Model
    fill: Fill
    service_account: str | None
    sub_path: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    user: int = _USER
    group: int = _USER


def claim_gi(size: int, headroom_percent: int) -> int:
    """Return the whole Gi that hold this many bytes and the headroom; at least 1."""
    return max(1, -(-size * (100 + headroom_percent) // (100 * _GI)))


def kept(service: Service, stack: Stack, own: Names) -> Kept:
    """Return where the weights of a service lie, as its pods see it."""
    storage = service.storage
    if isinstance(storage, Ephemeral):
        headroom = storage.headroom_percent
        return Kept(storage.mount_path, headroom_percent=headroom, limit=storage.size_limit)
    if _stay(service.model.source):
        return Kept(storage.mount_path)
    if isinstance(storage, Shared):
        return Kept(storage.mount_path, names.cache(storage.cache), _folder(_cached(stack.caches[storage.cache])))
    job = _service_job("", service, storage, own)
    folder = _folder(job.model)
    return Kept(storage.mount_path, job.claim, folder if job.sub_path is None else f"{job.sub_path}/{folder}")


def of_service(key: str, service: Service, stack: Stack, own: Names, release: Release) -> StoragePlan | None:
    """Decide the claim and the Job of a service; none where its pods or a cache have its weights."""
    storage = service.storage
    if not isinstance(storage, Dedicated | Existing) or _stay(service.model.source):
        return None
    claim = _claim(own.weights, storage, service.model.size, stack) if isinstance(storage, Dedicated) else None
    job = _service_job(f"services.{key}.storage", service, storage, own)
    return StoragePlan(key, own.base, own.namespace, claim, _fill(job, stack, release))


def of_cache(key: str, stack: Stack, release: Release) -> StoragePlan:
    """Decide the claim and the Job of a cache."""
    cache, name = stack.caches[key], names.cache(key)
    claim = _claim(name, cache, cache.size, stack)
    return StoragePlan(key, name, stack.namespace, claim, _fill(_cache_job(key, cache), stack, release))


def cache_of(service: Service) -> str | None:
    """Return the key of the cache that a service uses, if any."""
    storage = service.storage
    return storage.cache if isinstance(storage, Shared) and not _stay(service.model.source) else None


def _stay(source: str) -> bool:
    """Say whether weights are mounted or run where they are, so that nothing fetches them."""
    return scheme(source) in {"pvc", "image"}


def _service_job(path: str, service: Service, storage: Dedicated | Existing, own: Names) -> _Job:
    model, fill, pod = service.model, storage.fill, service.pod
    both = {
        "secrets": model.secrets or fill.secrets,
        "endpoint": model.endpoint or fill.endpoint,
        "region": model.region or fill.region,
    }
    return _Job(
        path=path,
        name=own.weights,
        claim=storage.claim_name if isinstance(storage, Existing) else own.weights,
        model=model.model_copy(update=both),
        fill=fill,
        service_account=fill.service_account_name or pod.service_account_name,
        sub_path=storage.sub_path if isinstance(storage, Existing) else None,
        image_pull_secrets=tuple(secret.name for secret in pod.image_pull_secrets),
        user=pod.run_as_user,
        group=pod.fs_group,
    )


def _cache_job(key: str, cache: Cache) -> _Job:
    name, account = names.cache(key), cache.fill.service_account_name
    return _Job(f"caches.{key}", name, name, _cached(cache), cache.fill, account)


def _cached(cache: Cache) -> Model:
    """Return what a cache holds, as the model that is fetched."""
    fill = cache.fill
    said = {"source": cache.source, "size": cache.size, "endpoint": fill.endpoint, "region": fill.region}
    return Model.model_validate({**said, "secrets": fill.secrets})


def _folder(model: Model) -> str:
    """Return the folder of a source in its claim: a hash of all that decides what arrives there, and whether it may."""
    kind = scheme(model.source)
    asked: dict[str, object] = {"source": model.source}
    if kind == "s3" and model.endpoint is not None:
        asked["endpoint"] = model.endpoint
    if kind == "kit" and model.filter != ("model",):
        asked["filter"] = model.filter
    if kind == "kit" and model.verify is not None:
        asked["verify"] = model.verify.model_dump()
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:_IDENTITY]


def _claim(name: str, wanted: Dedicated | Cache, bytes_of_weights: str | None, stack: Stack) -> ClaimPlan:
    size = wanted.size if isinstance(wanted, Dedicated) else None
    if size is None:
        size = f"{claim_gi(_bytes(bytes_of_weights or '0'), wanted.headroom_percent)}Gi"
    return ClaimPlan(
        name=name,
        storage_class=wanted.storage_class_name or stack.storage_class_name,
        access_mode=wanted.access_mode,
        size=size,
        retain=wanted.retain,
        protect=wanted.protect,
    )


def _bytes(quantity: str) -> int:
    return int(amount(quantity).to_integral_value(ROUND_CEILING))


def _fill(job: _Job, stack: Stack, release: Release) -> FillPlan:
    size = job.model.size
    deadline = _UNKNOWN_DEADLINE if size is None else lifecycle.fetch(size) * (1 + _RETRIES)
    resources = job.fill.resources
    return FillPlan(
        name=f"{job.name}-{_folder(job.model)}",
        path=job.path,
        claim=job.claim,
        fetch=_fetch(job, stack, release, environment.values(job.fill.env)),
        requests=resources.requests,
        limits=resources.limits,
        service_account=job.service_account,
        image_pull_secrets=job.image_pull_secrets,
        user=job.user,
        group=job.group,
        retries=_RETRIES,
        deadline=deadline,
        wait=deadline + _WAIT_MARGIN,
    )


def _fetch(job: _Job, stack: Stack, release: Release, env: Mapping[str, EnvValue]) -> Fetch:
    identity = job.service_account is not None
    return sources.fill(job.model, _folder(job.model), job.sub_path, stack.images, release, identity=identity, env=env)


def problems(stack: Stack, release: Release, classes: Mapping[str, AcceleratorClass]) -> Iterator[Problem]:
    """Check every cache, and where every service's weights lie."""
    yield from _twins(stack)
    for key, cache in stack.caches.items():
        yield from _cache(f"caches.{key}", key, cache, stack, release)
        users = {f"services.{name}": one for name, one in stack.services.items() if cache_of(one) == key}
        yield from _reach(f"caches.{key}.accessMode", cache.access_mode, users, classes)
    for key, service in stack.services.items():
        path = f"services.{key}"
        yield from _service(path, service, stack)
        if not _stay(service.model.source):
            yield from _kept(path, service, stack, release, classes)


def fills(stack: Stack) -> Iterator[tuple[str, Fill]]:
    """Yield what every Job gets, with where it is written."""
    for key, cache in stack.caches.items():
        yield f"caches.{key}.fill", cache.fill
    for key, service in stack.services.items():
        if isinstance(service.storage, Dedicated | Existing):
            yield f"services.{key}.storage.fill", service.storage.fill


def _twins(stack: Stack) -> Iterator[Problem]:
    """Two claims must not be one object, and two Jobs must not fill one folder."""
    makers, filled = {(stack.namespace, names.cache(key)): f"caches.{key}" for key in stack.caches}, dict[object, str]()
    for key, service in stack.services.items():
        storage, path = service.storage, f"services.{key}"
        own = names.names(service.namespace or stack.namespace, service.name or key)
        if not isinstance(storage, Dedicated | Existing) or _stay(service.model.source):
            continue
        maker = makers.get((own.namespace, own.weights))
        if maker is not None:
            what = f"would make an object of {maker} (weights {own.namespace}/{own.weights})"
            yield Problem(path, what, "choose another name or namespace for one of them", (path, maker))
        if isinstance(storage, Existing):
            job = _service_job(path, service, storage, own)
            place = (own.namespace, job.claim, job.sub_path, _folder(job.model))
            other = filled.setdefault(place, path)
            if other != path:
                what = f"is filled by {other}, too, with the same source ({storage.claim_name})"
                remedy = "use storage.type: shared with an entry under caches, or another subPath"
                yield Problem(f"{path}.storage.claimName", what, remedy, (f"{other}.storage",))


def _cache(path: str, key: str, cache: Cache, stack: Stack, release: Release) -> Iterator[Problem]:
    if _stay(cache.source):
        what = f"is not a source that is fetched ({cache.source})"
        yield Problem(f"{path}.source", what, "use kit://, hf:// or s3://")
        return
    if cache.size is None:
        yield _without_size(path, cache.source, "a claim is made")
    yield from _job(f"{path}.fill", _cache_job(key, cache), stack, release)


def _without_size(path: str, source: str, why: str) -> Problem:
    verb = "was not told by" if scheme(source) in {"s3", "kit"} else "cannot be asked of"
    at, what = f"{path}.size", f"is missing and {verb} {scheme(source)}:// ({why})"
    return Problem(at, what, "add the bytes of the weights, such as 16Gi", (at, f"{path}.source"))


def _job(path: str, job: _Job, stack: Stack, release: Release) -> Iterator[Problem]:
    """Check what a Job is given."""
    kind = scheme(job.model.source)
    for field, given, useful in (
        ("endpoint", job.fill.endpoint, ("hf", "s3")),
        ("region", job.fill.region, ("s3",)),
    ):
        if given is not None and kind not in useful:
            wanted = " or ".join(f"{name}://" for name in useful)
            what = f"has no effect with this source ({kind}://)"
            yield Problem(f"{path}.{field}", what, f"remove it, or use a source of {wanted}")
    plain = _fetch(job, stack, release, {}).env
    generated = {one.name: one.source if one.value is None else one.value for one in plain}
    reserved = {name: "it follows from the source" for name in generated if kind == "kit"}
    reserved |= dict.fromkeys(("HOME", "TMPDIR"), f"{sources.FETCH_HOME} is what the Job may write")
    own = environment.values(job.fill.env)
    yield from environment.problems(f"{path}.env", cast("Mapping[str, EnvValue]", generated), own, reserved)


def _service(path: str, service: Service, stack: Stack) -> Iterator[Problem]:
    """Check what storage says against the source, and where the engine finds the weights."""
    storage, source = service.storage, service.model.source
    at = f"{path}.storage"
    if _stay(source) and "storage" in service.model_fields_set and "storage" not in stack.defaults:
        reason = "is mounted as it is" if scheme(source) == "pvc" else "holds them itself"
        yield Problem(at, f"has no effect with this source ({source} {reason})", "remove it")
    taken = next((one for one in _TAKEN if _overlap(one, storage.mount_path)), None)
    if taken is not None:
        both = ", ".join(dict.fromkeys((storage.mount_path, taken)))
        what = f"is where the pod has something else ({both})"
        yield Problem(f"{at}.mountPath", what, f"choose another, such as {MODEL_MOUNT}")


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _kept(
    path: str, service: Service, stack: Stack, release: Release, classes: Mapping[str, AcceleratorClass]
) -> Iterator[Problem]:
    storage, at = service.storage, f"{path}.storage"
    if isinstance(storage, Shared):
        yield from _shared(path, service, storage, stack)
        return
    size = service.model.size
    field, own = ("sizeLimit", storage.size_limit) if isinstance(storage, Ephemeral) else ("size", None)
    if isinstance(storage, Dedicated):
        own = storage.size
        if own is None and size is None:
            yield _without_size(f"{path}.model", service.model.source, f"storage.type {storage.type}")
        yield from _reach(f"{at}.accessMode", storage.access_mode, {path: service}, classes)
    if own is not None and size is not None and amount(own) < amount(size):
        yield Problem(f"{at}.{field}", f"is below the bytes of the weights ({own}, {size})", "raise it, or remove it")
    if isinstance(storage, Dedicated | Existing):
        own_names = names.names(service.namespace or stack.namespace, service.name or path.split(".")[1])
        yield from _twice(at, service.model, storage.fill)
        yield from _job(f"{at}.fill", _service_job(at, service, storage, own_names), stack, release)


def _twice(path: str, model: Model, fill: Fill) -> Iterator[Problem]:
    """Refuse what the model says already: the Job takes it from there."""
    for field, said, again in (
        ("secrets", model.secrets, fill.secrets),
        ("endpoint", model.endpoint, fill.endpoint),
        ("region", model.region, fill.region),
    ):
        if said and again:
            yield Problem(f"{path}.fill.{field}", f"is said by model.{field}, too", "keep one of them")


def _shared(path: str, service: Service, storage: Shared, stack: Stack) -> Iterator[Problem]:
    """Check a service against the cache that it names."""
    at, cache = f"{path}.storage.cache", stack.caches.get(storage.cache)
    if cache is None:
        close = difflib.get_close_matches(storage.cache, stack.caches, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"add {storage.cache} under caches, with its source"
        yield Problem(at, f"names no cache ({storage.cache})", remedy, (at, f"caches.{storage.cache}"))
        return
    home = service.namespace or stack.namespace
    if home != stack.namespace:
        what = f"is in another namespace ({storage.cache} in {stack.namespace}, the service in {home})"
        yield Problem(at, what, "use storage.type: dedicated, or one namespace")
    model, own = service.model, f"caches.{storage.cache}"
    if model.source != cache.source:
        what = f"is not the source of {own} ({model.source})"
        yield Problem(f"{path}.model.source", what, "remove it, or make another cache", (f"{own}.source",))
    if model.lora is None:
        yield from _idle(f"{path}.model", model, own)


def _idle(path: str, model: Model, cache: str) -> Iterator[Problem]:
    """Refuse what opens a source that the service does not open itself."""
    for field in ("secrets", "endpoint", "region"):
        if getattr(model, field):
            what = f"has no effect with storage.type shared ({cache} is filled once)"
            yield Problem(f"{path}.{field}", what, f"move it to {cache}.fill")
    for field in ("insecure", "filter", "verify"):
        if getattr(model, field) != Model.model_fields[field].default:
            what = f"has no effect with storage.type shared ({cache} is filled once)"
            yield Problem(f"{path}.{field}", what, "remove it, or use storage.type: dedicated")


def _reach(
    path: str, mode: str, users: Mapping[str, Service], classes: Mapping[str, AcceleratorClass]
) -> Iterator[Problem]:
    """Refuse a claim of one node or one pod that more pods may want at a time."""
    if mode == "ReadWriteMany":
        return
    counts = [_most(one, classes) for one in users.values()]
    replicas, pods = sum(one for one, _ in counts), sum(one for _, one in counts)
    if pods > 1:
        noun = f"{replicas} replicas" if replicas == pods else f"{pods} pods"
        owner = "one node" if mode == "ReadWriteOnce" else "one pod"
        what = f"{owner} can mount it, but up to {noun} of {', '.join(users)} want it ({mode})"
        yield Problem(path, what, "use ReadWriteMany, or storage.type: ephemeral")


def _most(service: Service, classes: Mapping[str, AcceleratorClass]) -> tuple[int, int]:
    """Return how many replicas of all roles there may be, and pods while a rollout goes on."""
    replicas = pods = 0
    for at, role in roles.each("", service):
        own = role.replicas if role.autoscaling is None else role.autoscaling.max_replicas
        surge = role.rollout.max_surge if isinstance(role.rollout, RollingUpdate) and own else 0
        accelerator = classes.get(role.accelerator)
        sound = accelerator is not None and not devices.problems(at, role, accelerator)
        each = 1
        if accelerator is not None and sound:
            each = devices.layout(role.parallelism, role.accelerator_memory, accelerator).pods_per_replica
        replicas, pods = replicas + own, pods + (own + surge) * each
    return replicas, pods
