"""Claims for weights, and the Jobs that fill them.

Pods mount a claim only after its Job has succeeded, so they never see incomplete weights. Each source has a folder of
its own, so two sources never mix. A claim that the stack creates holds one source and is named after that source. A
new source therefore gets another claim, which is filled while pods still serve the old source.

A canary with the same source as its service uses the service's claim. The name of a claim does not depend on the
variant, so a canary that becomes the service keeps its claim.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from models.paths import Path
from models.problems import Problem, warning
from models.service import Model, Variant
from models.source import scheme
from models.stack import Stack
from models.storage import Cache, Dedicated, EngineLoaded, Ephemeral, Existing, Fill, Shared
from models.vocabulary import amount
from planning.ground import environment, flows, labels, lifecycle, loading, names, parts, resources
from planning.ground.awaiting import Wait
from planning.ground.environment import EnvValue
from planning.ground.flows import Pods, Policy
from planning.releases import Release
from planning.variant.context import VariantContext, VariantId
from planning.weights import sources
from planning.weights.sources import Fetch, Location

_RETRIES = 2
"""Number of retries of a failed Job."""
_UNKNOWN_DEADLINE = 14400
"""Deadline of a Job for weights of unknown size, in seconds."""
_USER = 1000
"""User and group of a cache's Job. Serving pods have the same default."""
_FOLDER_NAME_LENGTH = 8
"""Number of hex digits in the name of a folder."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """A claim that the stack creates for weights."""

    name: str
    storage_class: str | None
    storage_class_at: Path
    """Path of `storage_class` in the configuration; for the default class, path of the storage."""
    access_mode: str
    size: str
    """A Kubernetes quantity; whole Gi if it is computed."""
    retain: bool
    """Whether the claim stays in the cluster when its owner is deleted."""
    protect: bool
    """Whether Pulumi refuses to delete the claim."""


@dataclass(frozen=True, slots=True)
class FillPlan:
    """The Job that fills a claim.

    The Job's name depends only on the source, so only a new source leads to a new Job. If the name depended on the
    downloader's image as well, an update of this image would fetch existing weights again.
    """

    name: str
    path: Path
    """Path of the storage or cache in the configuration."""
    claim: str
    fetch: Fetch
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    service_account: str | None
    image_pull_secrets: tuple[str, ...]
    pod_at: Path
    """Path of the settings of pods in the configuration, which have `image_pull_secrets`."""
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
    """Owner of the objects: a variant or a cache."""
    name: str
    """Name of the service or cache, for labels."""
    namespace: str
    folder: str
    """Folder of the source in the claim. Logical names contain this folder."""
    claim: ClaimPlan | None
    """The claim to create; None if the claim already exists."""
    fill: FillPlan
    policy: Policy | None
    """Network policy of the Job; None if the stack has no network policies."""
    prefix: str = ""
    """Text before the rest of each logical name: `<key>-` for a cache, empty for a variant."""


@dataclass(frozen=True, slots=True)
class FillRequest:
    """A request to fill a claim with weights, in the same form for variants and caches."""

    path: Path
    """Path of the storage or cache in the configuration."""
    name: str
    """Name of the Job."""
    claim: str
    folder: str
    """Folder of the claim to which the Job writes the weights."""
    model: Model
    """The model to fetch, including the Secret, endpoint and region with which the Job fetches it."""
    model_at: Path
    secrets_at: Path
    """Path of the list with the Secret."""
    fill: Fill
    service_account: str | None
    pod_at: Path
    """Path of the settings of pods in the configuration, which have `image_pull_secrets`."""
    sub_path: str | None = None
    """Folder of the claim that the Job mounts; `folder` is below it. None for the whole claim."""
    image_pull_secrets: tuple[str, ...] = ()
    user: int = _USER
    group: int = _USER
    fetches_all: bool = False
    """Whether all files of a repository are fetched by default, because a custom engine may read any of them."""


@dataclass(frozen=True, slots=True)
class FillRequests:
    """Requests to fill the claims of a stack."""

    caches: Mapping[str, FillRequest]
    """Requests by key of the cache."""
    variants: Mapping[VariantId, FillRequest]
    """Requests of the variants whose weights a Job fetches into a claim."""

    def of_pods(self, variant: VariantContext) -> FillRequest | None:
        """Return the request by which the pods of a variant get their weights; None if no Job fetches them."""
        key = cache_of(variant.spec)
        if key is not None:
            return self.caches[key]
        return self.variants.get(variant.id)


def fill_requests(stack: Stack, variants: Iterable[VariantContext]) -> FillRequests:
    """Return the requests to fill the claims of a stack."""
    fills = dict[VariantId, FillRequest]()
    for variant in variants:
        storage = variant.spec.storage
        if isinstance(storage, Dedicated | Existing) and not is_used_in_place(variant.spec.model.source):
            fills[variant.id] = _variant_fill_request(variant, storage)
    return FillRequests({key: _cache_fill_request(key, cache) for key, cache in stack.caches.items()}, fills)


def location(context: VariantContext, requests: FillRequests) -> Location:
    """Return where the pods of a variant find its weights."""
    storage = context.spec.storage
    if isinstance(storage, Ephemeral):
        headroom = storage.headroom_percent
        return Location(storage.mount_path, headroom_percent=headroom, limit=storage.size_limit)
    if isinstance(storage, EngineLoaded):
        return Location(storage.mount_path, is_opened_by_engine=loading.of(context.spec).is_by_engine)
    request = requests.of_pods(context)
    if request is None:
        return Location(storage.mount_path)
    folder = request.folder
    if request.sub_path is not None:
        folder = f"{request.sub_path}/{folder}"
    return Location(storage.mount_path, request.claim, folder)


def of_variant(context: VariantContext, requests: FillRequests) -> StoragePlan | None:
    """Return the claim and the Job of a variant; None if the variant has no Job that fetches its weights."""
    request = requests.variants.get(context.id)
    if request is None:
        return None
    storage = context.spec.storage
    object_names = context.names
    claim = None
    if isinstance(storage, Dedicated):
        claim = _claim(request, storage, context.spec.model.size, context.stack)
    fill = _fill(request, context.stack, context.release)
    policy = _policy(object_names.namespace, fill, context.stack)
    return StoragePlan(context.owner, object_names.service, object_names.namespace, request.folder, claim, fill, policy)


def of_cache(key: str, stack: Stack, release: Release, requests: FillRequests) -> StoragePlan:
    """Return the claim and the Job of a cache."""
    cache = stack.caches[key]
    request = requests.caches[key]
    claim = _claim(request, cache, cache.size, stack)
    fill = _fill(request, stack, release)
    policy = _policy(stack.namespace, fill, stack)
    return StoragePlan(
        cache_owner(key), names.cache(key), stack.namespace, request.folder, claim, fill, policy, prefix=f"{key}-"
    )


def judge(variants: Iterable[VariantContext], caches: Iterable[StoragePlan]) -> Iterator[Problem]:
    """Warn of every cache that no variant uses, because its objects remain."""
    users = {cache_owner(key) for variant in variants if (key := cache_of(variant.spec)) is not None}
    for cache in caches:
        if cache.owner not in users and cache.claim is not None:
            what = f"is used by no service, and its claim ({cache.claim.size}) and its Job remain"
            effect = "both are deleted"
            if cache.claim.retain:
                effect = "the Job is deleted, but the claim remains (retain)"
            yield warning(cache.fill.path, what, f"remove it, and {effect}")


def cache_owner(key: str) -> str:
    """Return the owner of a cache's objects. No service key equals this owner, because keys contain no dot."""
    return f"caches.{key}"


def cache_of(spec: Variant) -> str | None:
    """Return the key of the cache that a variant uses; None if it uses none."""
    if isinstance(spec.storage, Shared) and not is_used_in_place(spec.model.source):
        return spec.storage.cache
    return None


def is_used_in_place(source: str) -> bool:
    """Tell whether weights are used where they are, in a claim or an image, so that no container fetches them."""
    return scheme(source) in {"pvc", "oci", "image"}


def _variant_fill_request(context: VariantContext, storage: Dedicated | Existing) -> FillRequest:
    """Return the request to fill the claim of a variant."""
    model = context.spec.model
    fill = storage.fill
    pod = context.spec.pod
    access = {
        "secrets": model.secrets or fill.secrets,
        "endpoint": model.endpoint or fill.endpoint,
        "region": model.region or fill.region,
    }
    secrets_at = context.path / "model" / "secrets"
    if not model.secrets:
        secrets_at = Path(*context.path, "storage", "fill", "secrets")
    model = model.model_copy(update=access)
    folder = _folder(model, fetches_all=not context.kind.vllm_tables)
    name = f"{context.names.weights}-{folder}"
    request = FillRequest(
        path=context.path / "storage",
        name=name,
        claim=name,
        folder=folder,
        model=model,
        model_at=context.path / "model",
        secrets_at=secrets_at,
        fill=fill,
        service_account=fill.service_account_name or pod.service_account_name,
        image_pull_secrets=tuple(secret.name for secret in pod.image_pull_secrets),
        pod_at=context.path / "pod",
        user=pod.run_as_user,
        group=pod.fs_group,
        fetches_all=not context.kind.vllm_tables,
    )
    if isinstance(storage, Existing):
        return replace(request, claim=storage.claim_name, sub_path=storage.sub_path)
    return request


def _cache_fill_request(key: str, cache: Cache) -> FillRequest:
    """Return the request to fill the claim of a cache."""
    model = _cache_model(cache)
    folder = _folder(model, fetches_all=False)
    name = f"{names.cache(key)}-{folder}"
    at = Path("caches", key)
    return FillRequest(
        path=at,
        name=name,
        claim=name,
        folder=folder,
        model=model,
        model_at=at,
        secrets_at=Path(*at, "fill", "secrets"),
        fill=cache.fill,
        service_account=cache.fill.service_account_name,
        pod_at=at,
    )


def _cache_model(cache: Cache) -> Model:
    """Return the weights of a cache as a model to fetch."""
    fill = cache.fill
    fields = {"source": cache.source, "size": cache.size, "endpoint": fill.endpoint, "region": fill.region}
    model = Model.default(**fields, secrets=fill.secrets, ignore_patterns=cache.ignore_patterns)
    return model.with_pin(cache.pin)


def _folder(model: Model, *, fetches_all: bool) -> str:
    """Return the name of a source's folder: a hash of the settings on which its content and its verification depend.

    The default patterns of files that are not fetched are left out of the hash, because no engine reads those files.
    """
    kind = scheme(model.source)
    identity: dict[str, object] = {"source": model.identity}
    if kind == "s3" and model.endpoint is not None:
        identity["endpoint"] = model.endpoint
    if kind == "hf" and (fetches_all or model.ignore_patterns is not None):
        identity["ignorePatterns"] = sources.ignored_patterns(model, fetches_all=fetches_all)
    if kind == "kit" and model.filter != ("model",):
        identity["filter"] = model.filter
    if kind == "kit" and model.verify is not None:
        identity["verify"] = model.verify.model_dump()
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:_FOLDER_NAME_LENGTH]


def _claim(request: FillRequest, spec: Dedicated | Cache, weights_bytes: str | None, stack: Stack) -> ClaimPlan:
    size = f"{resources.claim_gi(amount(weights_bytes or '0'), spec.headroom_percent)}Gi"
    if isinstance(spec, Dedicated) and spec.size is not None:
        size = spec.size
    return ClaimPlan(
        name=request.claim,
        storage_class=spec.storage_class_name or stack.storage_class_name,
        storage_class_at=_storage_class_at(request.path, spec, stack),
        access_mode=spec.access_mode,
        size=size,
        retain=spec.retain,
        protect=spec.protect,
    )


def _storage_class_at(at: Path, spec: Dedicated | Cache, stack: Stack) -> Path:
    """Return the path of the name of the StorageClass of the storage at a path; that path for the default class."""
    if spec.storage_class_name:
        return at / "storageClassName"
    if stack.storage_class_name:
        return Path("storageClassName")
    return at


def _fill(request: FillRequest, stack: Stack, release: Release) -> FillPlan:
    deadline = _UNKNOWN_DEADLINE
    if request.model.size is not None:
        deadline = lifecycle.fetch_seconds(request.model.size) * (1 + _RETRIES)
    quantities = request.fill.resources
    return FillPlan(
        name=request.name,
        path=request.path,
        claim=request.claim,
        fetch=fetch(request, stack, release, environment.values(request.fill.env)),
        requests=quantities.requests,
        limits=quantities.limits,
        service_account=request.service_account,
        image_pull_secrets=request.image_pull_secrets,
        pod_at=request.pod_at,
        user=request.user,
        group=request.group,
        retries=_RETRIES,
        deadline=deadline,
        # A Job that has failed never succeeds, so the next run replaces it.
        wait=Wait(deadline + lifecycle.WAIT_MARGIN, replace_unready=True),
    )


def _policy(namespace: str, fill: FillPlan, stack: Stack) -> Policy | None:
    """Return the network policy of a Job. The Job's pods fetch weights, and accept no connections."""
    spec = stack.network_policies
    if spec is None:
        return None
    pods = Pods(namespace, {labels.JOB: fill.name})
    edges = (*flows.dns(pods, spec), *flows.fetch_edges(pods, fill.fetch.urls, stack))
    return flows.policy(parts.FILL_NETWORK_POLICY, fill.name, pods, edges)


def fetch(request: FillRequest, stack: Stack, release: Release, env: Mapping[str, EnvValue]) -> Fetch:
    """Return the container that fetches the weights."""
    source = sources.WeightSource(
        request.model,
        request.model_at,
        stack.images,
        release,
        identity=request.service_account is not None,
        fetches_all=request.fetches_all,
        secrets_at=request.secrets_at,
    )
    return sources.fill(source, request.folder, request.sub_path, env, Path(*request.path, "fill", "env"))
