"""Specs of storage for weights: a volume of each pod, or a claim that a Job fills once."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, TypeAdapter, ValidationError

from models.base import Spec
from models.containers import Resources
from models.env import EnvName, EnvValue
from models.pins import PinnedSource
from models.secrets import FillSecrets
from models.source import FilePattern, ModelSource, served_name
from models.trees import at, mapping
from models.vocabulary import (
    Bytes,
    ClaimSize,
    Dns1035Label,
    DnsSubdomain,
    Items,
    MountPath,
    SubPath,
    Text,
    Url,
    Within,
)

FETCHING = Resources(requests={"cpu": "1", "memory": "1Gi"}, limits={"memory": "4Gi"})
"""Default requests and limits of a container that fetches weights, in a pod or in a Job."""
MODEL_MOUNT = "/models"
"""Default mount path of the weights in the engine's container."""

Headroom = Annotated[int, Within(0, 1000, "write percent, such as 10")]
AccessMode = Literal["ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
"""Access modes with which a Job can fill a claim. ReadOnlyMany is therefore left out."""


class Fill(Spec):
    """The Job that fills a claim.

    A change of these settings affects only later fills: the fill of a new source, or the retry of a failed fill.
    """

    secrets: FillSecrets = Field(default=(), examples=[["s3-reader"]])
    """The existing Secret with the credentials for the source. It has the same keys as a Secret of model.secrets."""
    endpoint: Url | None = Field(default=None, examples=["http://minio.storage:9000"])
    """URL of the S3 store or of the Hugging Face hub; absent: the URL of AWS or of huggingface.co."""
    region: Text | None = Field(default=None, examples=["eu-central-1"])
    """Region of the bucket."""
    env: dict[EnvName, EnvValue] = Field(default={}, examples=[{"HTTPS_PROXY": "http://proxy.example.com:3128"}])
    """Environment variables of the Job; they override the generated ones."""
    resources: Resources = FETCHING
    """Requests and limits of the Job's container. If you set these keys, none of the default requests and limits
    remain."""
    service_account_name: DnsSubdomain | None = Field(default=None, examples=["weights-reader"])
    """An existing ServiceAccount with access to the source. Absent: pod.serviceAccountName of the service. For a cache,
    or if the service has none: the namespace's default account, without a token."""


class Ephemeral(Spec):
    """Every pod fetches the weights to the disk of its node."""

    type: Literal["ephemeral"]
    """Every pod fetches the weights to the disk of its node."""
    size_limit: Bytes | None = Field(default=None, examples=["20Gi"])
    """Size limit of the volume. Absent: model.size plus the headroom; no limit if the size is unknown."""
    headroom_percent: Headroom = 10
    """Extra space, in percent of the weights."""
    mount_path: MountPath = MODEL_MOUNT
    """Mount path of the weights."""


class Shared(Spec):
    """The weights of a cache, which other services may use as well."""

    type: Literal["shared"]
    """The weights of a cache, which other services may use as well."""
    cache: Annotated[Dns1035Label, Field(examples=["mistral"])]
    """Key of the cache."""
    mount_path: MountPath = MODEL_MOUNT
    """Mount path of the weights, read-only for the engine."""


class Dedicated(Spec):
    """A claim for this service alone, which a Job fills before the first pod starts."""

    type: Literal["dedicated"]
    """A claim for this service alone, which a Job fills before the first pod starts."""
    storage_class_name: DnsSubdomain | None = Field(default=None, examples=["shared-nfs"])
    """StorageClass of the claim; absent: storageClassName of the stack."""
    access_mode: AccessMode = "ReadWriteMany"
    """Access mode of the claim; ReadWriteOnce and ReadWriteOncePod work only with a single pod."""
    size: ClaimSize | None = Field(default=None, examples=["160Gi"])
    """Size of the claim; absent: model.size plus the headroom. For a new source a second claim is created. Pods use the
    old claim until the second one is filled."""
    headroom_percent: Headroom = 10
    """Extra space, in percent of the weights."""
    retain: bool = False
    """Keep the claim in the cluster when the service or the stack is deleted."""
    protect: bool = False
    """Let Pulumi refuse to delete the claim."""
    fill: Fill = Fill.default()
    """Settings of the Job. Secrets, endpoint and region may stand here or under model, but not in both places."""
    mount_path: MountPath = MODEL_MOUNT
    """Mount path of the weights, read-only for the engine."""


class Existing(Spec):
    """An existing claim, which a Job fills before the first pod starts."""

    type: Literal["existing"]
    """An existing claim, which a Job fills before the first pod starts. For a claim that already contains the weights,
    use model.source: pvc:// instead."""
    claim_name: Annotated[DnsSubdomain, Field(examples=["weights"])]
    """The claim, in the service's namespace."""
    sub_path: SubPath | None = Field(default=None, examples=["llm/qwen"])
    """Folder of the claim for the weights; absent: the root of the claim. In it, each source gets a separate folder."""
    fill: Fill = Fill.default()
    """Settings of the Job. Secrets, endpoint and region may stand here or under model, but not in both places."""
    mount_path: MountPath = MODEL_MOUNT
    """Mount path of the weights, read-only for the engine."""


class EngineLoaded(Spec):
    """The engine opens the source itself: no container fetches the weights, and no volume holds them."""

    type: Literal["engine"]
    """The engine opens the source itself: no container fetches the weights, and no volume holds them. Only for hf://,
    which the engine fetches into its home, and for s3://, which it streams to the devices. The credentials of
    model.secrets become variables of the engine."""

    @property
    def mount_path(self) -> str:
        """Return the folder of weights that a pod mounts all the same, such as those of a claim."""
        return MODEL_MOUNT


Storage = Annotated[Ephemeral | Shared | Dedicated | Existing | EngineLoaded, Field(discriminator="type")]


class Cache(PinnedSource):
    """A claim in the stack's namespace that is filled once, for every service whose storage names the cache."""

    source: Annotated[ModelSource, Field(examples=["s3://acme-models/mistral-small-24b"])]
    """Source of the weights: kit://, hf:// or s3://. A model with another source needs another cache."""
    size: Bytes | None = Field(default=None, examples=["48Gi"])
    """Bytes of the files that are fetched."""
    ignore_patterns: Items[FilePattern] | None = Field(default=None, examples=[["original/**", "*.bin"]])
    """Patterns of files of an hf:// repository that are not fetched, in the syntax of model.ignorePatterns. Absent:
    patterns of files that vLLM never reads."""
    storage_class_name: DnsSubdomain | None = Field(default=None, examples=["shared-nfs"])
    """StorageClass of the claim; absent: storageClassName of the stack."""
    access_mode: AccessMode = "ReadWriteMany"
    """Access mode of the claim; ReadWriteOnce and ReadWriteOncePod work only with a single pod."""
    headroom_percent: Headroom = 10
    """Extra space, in percent of the weights."""
    retain: bool = False
    """Keep the claim in the cluster when the cache or the stack is deleted."""
    protect: bool = False
    """Let Pulumi refuse to delete the claim."""
    fill: Fill = Fill.default()
    """Settings of the Job that fills the claim: Secrets, endpoint, region, environment, resources, ServiceAccount."""


_CACHE_FIELDS: dict[str, TypeAdapter[Any]] = {"source": TypeAdapter(ModelSource), "size": TypeAdapter(Bytes)}
"""Types of the fields that a cache supplies to the models of its services, by the name of the field."""
_STAND_IN_SOURCE = "hf://Qwen/Qwen3-0.6B"
"""Placeholder source of a model whose cache has no valid source. The mistake is then reported only for the cache."""


def complete_models(tree: object) -> object:
    """Return the tree of a stack, with the values that models get from a cache or from their service.

    The model of a shared cache gets the cache's source and size. The model of a canary gets its service's served model
    name. Explicit values win. The given tree is not changed.
    """
    stack = mapping(tree)
    if not isinstance(stack.get("services"), dict):
        return tree
    caches = mapping(stack.get("caches"))
    services = {key: _complete_service(service, caches) for key, service in mapping(stack["services"]).items()}
    return {**stack, "services": services}


def _complete_service(tree: object, caches: Mapping[str, Any]) -> object:
    service = _with_values_of_cache(tree, caches)
    if not mapping(at(service, "canary")):
        return service
    canary = mapping(_with_values_of_cache(at(service, "canary"), caches))
    source = at(service, "model", "source")
    if isinstance(source, str) and isinstance(canary.get("model"), dict):
        name = served_name(cast("str | None", at(service, "model", "name")), source)
        if name is not None:
            canary = {**canary, "model": {"name": name, **mapping(canary["model"])}}
    return {**mapping(service), "canary": canary}


def _with_values_of_cache(tree: object, caches: Mapping[str, Any]) -> object:
    """Return a variant with the source and the size of its shared cache as values of its model.

    A variant is returned unchanged if it has no shared cache, or if its model names another source.
    """
    if at(tree, "storage", "type") != "shared" or not isinstance(at(tree, "model"), dict):
        return tree
    cache = mapping(caches.get(str(at(tree, "storage", "cache"))))
    model = mapping(at(tree, "model"))
    values = {key: cache[key] for key, kind in _CACHE_FIELDS.items() if key in cache and _is_valid(kind, cache[key])}
    if model.get("source", values.get("source")) != values.get("source"):
        return tree
    return {**mapping(tree), "model": {"source": _STAND_IN_SOURCE, **values, **model}}


def _is_valid(kind: TypeAdapter[Any], value: object) -> bool:
    try:
        kind.validate_python(value)
    except ValidationError:
        return False
    return True
