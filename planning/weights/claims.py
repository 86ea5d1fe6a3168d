"""Claims of weights, and the Jobs that fill them.

A claim is served from only after its Job has succeeded. A claim that is made here is named after what it holds, and
holds nothing else; in one that exists every source has a folder of its own. So pods never see half of the weights, a
new source is filled beside the one that is being served, and two sources cannot mix. A canary of the same source uses
its service's claim; where it becomes the service, its claim stays what it is.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from models.paths import Path
from models.service import Model, Variant
from models.source import scheme
from models.stack import Stack
from models.storage import Cache, Dedicated, Ephemeral, Existing, Fill, Shared
from models.vocabulary import amount
from planning.ground import environment, flows, labels, lifecycle, names, parts, resources
from planning.ground.awaiting import Wait
from planning.ground.environment import EnvValue
from planning.ground.flows import Pods, Policy
from planning.releases import Release
from planning.variant.context import VariantContext
from planning.weights import sources
from planning.weights.sources import Fetch, Kept

_RETRIES = 2
"""Times that a fill which failed is tried again."""
_UNKNOWN_DEADLINE = 14400
"""Seconds for weights of unknown size."""
_USER = 1000
"""User and group of the Job of a cache, as of serving pods that do not say otherwise."""
_IDENTITY = 8
"""Characters of a source's folder."""


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
    path: Path
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
    wait: Wait


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Weights that lie on a claim."""

    owner: str
    """Whose the objects are."""
    name: str
    """Of whom the objects are part."""
    namespace: str
    holds: str
    """What the source is known by."""
    claim: ClaimPlan | None
    """Absent: it exists."""
    fill: FillPlan
    policy: Policy | None
    """Whom the Job may reach; absent: anybody."""
    prefix: str = ""
    """What the logical names begin with, below the component's."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of a fill before it is decided."""

    path: Path
    name: str
    claim: str
    folder: str
    """Where in the claim it brings them."""
    model: Model
    fill: Fill
    service_account: str | None
    sub_path: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    user: int = _USER
    group: int = _USER


def kept(context: VariantContext) -> Kept:
    """Return where the weights of a variant lie, as its pods see it."""
    storage, stack = context.spec.storage, context.stack
    if isinstance(storage, Ephemeral):
        headroom = storage.headroom_percent
        return Kept(storage.mount_path, headroom_percent=headroom, limit=storage.size_limit)
    if stays(context.spec.model.source):
        return Kept(storage.mount_path)
    if isinstance(storage, Shared):
        job = cache_job(storage.cache, stack.caches[storage.cache])
    else:
        job = variant_job(context, storage)
    return Kept(storage.mount_path, job.claim, job.folder if job.sub_path is None else f"{job.sub_path}/{job.folder}")


def of_variant(context: VariantContext) -> StoragePlan | None:
    """Decide the claim and the Job of a variant; none where its pods or a cache have its weights."""
    storage, own = context.spec.storage, context.names
    if not isinstance(storage, Dedicated | Existing) or stays(context.spec.model.source):
        return None
    job = variant_job(context, storage)
    size = context.spec.model.size
    claim = _claim(job.claim, storage, size, context.stack) if isinstance(storage, Dedicated) else None
    fill = _fill(job, context.stack, context.release)
    policy = _policy(own.namespace, fill, context.stack)
    return StoragePlan(context.owner, own.service, own.namespace, job.folder, claim, fill, policy)


def of_cache(key: str, stack: Stack, release: Release) -> StoragePlan:
    """Decide the claim and the Job of a cache."""
    cache = stack.caches[key]
    job = cache_job(key, cache)
    claim, fill = _claim(job.claim, cache, cache.size, stack), _fill(job, stack, release)
    policy = _policy(stack.namespace, fill, stack)
    return StoragePlan(
        cache_owner(key), names.cache(key), stack.namespace, job.folder, claim, fill, policy, prefix=f"{key}-"
    )


def cache_owner(key: str) -> str:
    """Return whose the objects of a cache are, which no service's key is like."""
    return f"caches.{key}"


def cache_of(spec: Variant) -> str | None:
    """Return the key of the cache that a variant uses, if any."""
    storage = spec.storage
    return storage.cache if isinstance(storage, Shared) and not stays(spec.model.source) else None


def stays(source: str) -> bool:
    """Say whether weights are mounted or run where they are, so that nothing fetches them."""
    return scheme(source) in {"pvc", "image"}


def variant_job(context: VariantContext, storage: Dedicated | Existing) -> Job:
    """Return what is known of the fill of a variant's own weights."""
    model, fill, pod = context.spec.model, storage.fill, context.spec.pod
    both = {
        "secrets": model.secrets or fill.secrets,
        "endpoint": model.endpoint or fill.endpoint,
        "region": model.region or fill.region,
    }
    model = model.model_copy(update=both)
    name = f"{context.names.weights}-{_folder(model)}"
    return Job(
        path=context.path / "storage",
        name=name,
        claim=storage.claim_name if isinstance(storage, Existing) else name,
        folder=_folder(model),
        model=model,
        fill=fill,
        service_account=fill.service_account_name or pod.service_account_name,
        sub_path=storage.sub_path if isinstance(storage, Existing) else None,
        image_pull_secrets=tuple(secret.name for secret in pod.image_pull_secrets),
        user=pod.run_as_user,
        group=pod.fs_group,
    )


def cache_job(key: str, cache: Cache) -> Job:
    """Return what is known of the fill of a cache."""
    model = _cached(cache)
    name, account = f"{names.cache(key)}-{_folder(model)}", cache.fill.service_account_name
    return Job(Path("caches", key), name, name, _folder(model), model, cache.fill, account)


def _cached(cache: Cache) -> Model:
    """Return what a cache holds, as the model that is fetched."""
    fill = cache.fill
    said = {"source": cache.source, "size": cache.size, "endpoint": fill.endpoint, "region": fill.region}
    return Model.model_validate({**said, "secrets": fill.secrets})


def _folder(model: Model) -> str:
    """Return what a source is known by: a hash of all that decides what arrives, and whether it may."""
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
        size = f"{resources.claim_gi(amount(bytes_of_weights or '0'), wanted.headroom_percent)}Gi"
    return ClaimPlan(
        name=name,
        storage_class=wanted.storage_class_name or stack.storage_class_name,
        access_mode=wanted.access_mode,
        size=size,
        retain=wanted.retain,
        protect=wanted.protect,
    )


def _fill(job: Job, stack: Stack, release: Release) -> FillPlan:
    size = job.model.size
    deadline = _UNKNOWN_DEADLINE if size is None else lifecycle.fetch(size) * (1 + _RETRIES)
    given = job.fill.resources
    return FillPlan(
        name=job.name,
        path=job.path,
        claim=job.claim,
        fetch=fetch(job, stack, release, environment.values(job.fill.env)),
        requests=given.requests,
        limits=given.limits,
        service_account=job.service_account,
        image_pull_secrets=job.image_pull_secrets,
        user=job.user,
        group=job.group,
        retries=_RETRIES,
        deadline=deadline,
        # One that failed, or was interrupted, will never succeed any more.
        wait=Wait(deadline + lifecycle.WAIT_MARGIN, replace_unready=True),
    )


def _policy(namespace: str, fill: FillPlan, stack: Stack) -> Policy | None:
    """Return what the pods of a Job may do: ask for the weights. Nobody asks them anything."""
    if stack.network_policies is None:
        return None
    pods = Pods(namespace, {labels.JOB: fill.name})
    edges = (flows.dns(pods), *flows.fetch_edges(pods, fill.fetch.asks, stack))
    return flows.policy(parts.FILL_NETWORK_POLICY, fill.name, pods, edges)


def fetch(job: Job, stack: Stack, release: Release, env: Mapping[str, EnvValue]) -> Fetch:
    """Decide the container of a Job."""
    source = sources.Source(job.model, stack.images, release, identity=job.service_account is not None)
    return sources.fill(source, job.folder, job.sub_path, env)
