"""Claims for weights, and the Jobs that fill them.

Pods mount a claim only after its Job has succeeded. A claim that a stack creates holds one source and is named after
it. In an existing claim every source has a folder of its own. Pods therefore never see incomplete weights, a new source
is fetched while the old one is served, and two sources never mix.

A canary with the same source as its service uses the service's claim. A canary that becomes the service keeps its
claim.
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
from planning.weights.sources import Fetch, Location

_RETRIES = 2
"""Number of retries of a failed Job."""
_UNKNOWN_DEADLINE = 14400
"""Deadline of a Job for weights of unknown size, in seconds."""
_USER = 1000
"""User and group of a cache's Job; the same as the default of serving pods."""
_IDENTITY = 8
"""Length of a folder's name, in characters."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """A claim that the stack creates for weights."""

    name: str
    storage_class: str | None
    access_mode: str
    size: str
    """A Kubernetes quantity; in whole Gi if it is computed."""
    retain: bool
    """Whether the claim stays in the cluster when its owner is deleted."""
    protect: bool
    """Whether Pulumi refuses to delete the claim."""


@dataclass(frozen=True, slots=True)
class FillPlan:
    """The Job that fills a claim.

    Its name depends on the source alone. The template of a Job cannot be changed, so that a name which depended on the
    downloader's image, too, would lead to a second Job for weights that are already there. Only a new source needs a
    new Job.
    """

    name: str
    path: Path
    """Place of the storage or cache in the configuration."""
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
    """Maximum time for all attempts together, in seconds."""
    wait: Wait


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """The objects that store weights on a claim."""

    owner: str
    """Owner of the objects."""
    name: str
    """Name of the service or cache, for labels."""
    namespace: str
    holds: str
    """Identity of the source (`_folder`), part of the logical names."""
    claim: ClaimPlan | None
    """The claim to create; None if it exists."""
    fill: FillPlan
    policy: Policy | None
    """Network policy of the Job; None if the stack has no network policies."""
    prefix: str = ""
    """Prefix of the logical names, after that of the component."""


@dataclass(frozen=True, slots=True)
class Job:
    """The spec of a Job that fills a claim, the same for variants and caches."""

    path: Path
    """Place of the storage or cache in the configuration."""
    name: str
    claim: str
    folder: str
    """Folder of the claim that the Job writes the weights to."""
    model: Model
    """The model to fetch; the fill spec supplies the secrets, endpoint and region that the model lacks."""
    fill: Fill
    service_account: str | None
    sub_path: str | None = None
    """Folder of the claim that is mounted, which contains `folder`; None for the whole claim."""
    image_pull_secrets: tuple[str, ...] = ()
    user: int = _USER
    group: int = _USER


def location(context: VariantContext) -> Location:
    """Return the location of a variant's weights, as its pods see it."""
    storage, stack = context.spec.storage, context.stack
    if isinstance(storage, Ephemeral):
        headroom = storage.headroom_percent
        return Location(storage.mount_path, headroom_percent=headroom, limit=storage.size_limit)
    if stays(context.spec.model.source):
        return Location(storage.mount_path)
    if isinstance(storage, Shared):
        job = cache_job(storage.cache, stack.caches[storage.cache])
    else:
        job = variant_job(context, storage)
    return Location(
        storage.mount_path, job.claim, job.folder if job.sub_path is None else f"{job.sub_path}/{job.folder}"
    )


def of_variant(context: VariantContext) -> StoragePlan | None:
    """Return the claim and the Job of a variant; None if its weights are in its pods, in a cache or in place."""
    storage, object_names = context.spec.storage, context.names
    if not isinstance(storage, Dedicated | Existing) or stays(context.spec.model.source):
        return None
    job = variant_job(context, storage)
    size = context.spec.model.size
    claim = _claim(job.claim, storage, size, context.stack) if isinstance(storage, Dedicated) else None
    fill = _fill(job, context.stack, context.release)
    policy = _policy(object_names.namespace, fill, context.stack)
    return StoragePlan(context.owner, object_names.service, object_names.namespace, job.folder, claim, fill, policy)


def of_cache(key: str, stack: Stack, release: Release) -> StoragePlan:
    """Return the claim and the Job of a cache."""
    cache = stack.caches[key]
    job = cache_job(key, cache)
    claim, fill = _claim(job.claim, cache, cache.size, stack), _fill(job, stack, release)
    policy = _policy(stack.namespace, fill, stack)
    return StoragePlan(
        cache_owner(key), names.cache(key), stack.namespace, job.folder, claim, fill, policy, prefix=f"{key}-"
    )


def cache_owner(key: str) -> str:
    """Return the owner of a cache's objects; no service key contains a dot."""
    return f"caches.{key}"


def cache_of(spec: Variant) -> str | None:
    """Return the key of the cache that a variant uses, or None."""
    storage = spec.storage
    return storage.cache if isinstance(storage, Shared) and not stays(spec.model.source) else None


def stays(source: str) -> bool:
    """Tell whether weights are used in place, from a claim or an image, so that nothing fetches them."""
    return scheme(source) in {"pvc", "image"}


def variant_job(context: VariantContext, storage: Dedicated | Existing) -> Job:
    """Return the spec of the Job that fills a variant's own claim."""
    model, fill, pod = context.spec.model, storage.fill, context.spec.pod
    merged = {
        "secrets": model.secrets or fill.secrets,
        "endpoint": model.endpoint or fill.endpoint,
        "region": model.region or fill.region,
    }
    model = model.model_copy(update=merged)
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
    """Return the spec of the Job that fills a cache."""
    model = _cache_model(cache)
    name, account = f"{names.cache(key)}-{_folder(model)}", cache.fill.service_account_name
    return Job(Path("caches", key), name, name, _folder(model), model, cache.fill, account)


def _cache_model(cache: Cache) -> Model:
    """Return the content of a cache as a model to fetch."""
    fill = cache.fill
    fields = {"source": cache.source, "size": cache.size, "endpoint": fill.endpoint, "region": fill.region}
    return Model.model_validate({**fields, "secrets": fill.secrets})


def _folder(model: Model) -> str:
    """Return the name of a source's folder: a hash of all settings that decide its content or its verification."""
    kind = scheme(model.source)
    identity: dict[str, object] = {"source": model.source}
    if kind == "s3" and model.endpoint is not None:
        identity["endpoint"] = model.endpoint
    if kind == "kit" and model.filter != ("model",):
        identity["filter"] = model.filter
    if kind == "kit" and model.verify is not None:
        identity["verify"] = model.verify.model_dump()
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:_IDENTITY]


def _claim(name: str, spec: Dedicated | Cache, weights_bytes: str | None, stack: Stack) -> ClaimPlan:
    size = spec.size if isinstance(spec, Dedicated) else None
    if size is None:
        size = f"{resources.claim_gi(amount(weights_bytes or '0'), spec.headroom_percent)}Gi"
    return ClaimPlan(
        name=name,
        storage_class=spec.storage_class_name or stack.storage_class_name,
        access_mode=spec.access_mode,
        size=size,
        retain=spec.retain,
        protect=spec.protect,
    )


def _fill(job: Job, stack: Stack, release: Release) -> FillPlan:
    size = job.model.size
    deadline = _UNKNOWN_DEADLINE if size is None else lifecycle.fetch(size) * (1 + _RETRIES)
    quantities = job.fill.resources
    return FillPlan(
        name=job.name,
        path=job.path,
        claim=job.claim,
        fetch=fetch(job, stack, release, environment.values(job.fill.env)),
        requests=quantities.requests,
        limits=quantities.limits,
        service_account=job.service_account,
        image_pull_secrets=job.image_pull_secrets,
        user=job.user,
        group=job.group,
        retries=_RETRIES,
        deadline=deadline,
        # A Job that failed or was interrupted can never succeed.
        wait=Wait(deadline + lifecycle.WAIT_MARGIN, replace_unready=True),
    )


def _policy(namespace: str, fill: FillPlan, stack: Stack) -> Policy | None:
    """Return the network policy of a Job, whose pods fetch weights and accept no connections."""
    if stack.network_policies is None:
        return None
    pods = Pods(namespace, {labels.JOB: fill.name})
    edges = (flows.dns(pods), *flows.fetch_edges(pods, fill.fetch.urls, stack))
    return flows.policy(parts.FILL_NETWORK_POLICY, fill.name, pods, edges)


def fetch(job: Job, stack: Stack, release: Release, env: Mapping[str, EnvValue]) -> Fetch:
    """Return the container of a Job."""
    source = sources.Source(job.model, stack.images, release, identity=job.service_account is not None)
    return sources.fill(source, job.folder, job.sub_path, env)
