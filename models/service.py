"""Specs of one service and its canary: model, adapters, KV cache, sidecar, prefill and metering."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from models.base import Spec
from models.monitoring import Metrics
from models.picker import EndpointPicker
from models.role import Resources, Role
from models.routing import Headers, Objective, Rewrite, Route
from models.source import ModelSource
from models.storage import Ephemeral, Storage
from models.vocabulary import (
    Count,
    Dns1035Label,
    DnsLabel,
    DnsSubdomain,
    Duration,
    Entries,
    ImageRef,
    Items,
    LabelKey,
    LabelValue,
    Port,
    Quantity,
    ResourceId,
    Text,
    Url,
    Within,
)

_MERGED = "merge them into one: one of type kubernetes.io/dockerconfigjson holds several registries, under auths"


class KeyVerification(Spec):
    """The ModelKit has to be signed with a key."""

    type: Literal["key"]
    """The ModelKit has to be signed with a key."""
    secret: Annotated[DnsSubdomain, Field(examples=["cosign"])]
    """The existing Secret that holds the public key, under cosign.pub."""


class KeylessVerification(Spec):
    """The ModelKit has to be signed by an identity."""

    type: Literal["keyless"]
    """The ModelKit has to be signed by an identity."""
    identity: Annotated[Text, Field(examples=["https://github.com/acme/models/.github/workflows/pack.yaml@main"])]
    """The identity in the signing certificate."""
    issuer: Annotated[Url, Field(examples=["https://token.actions.githubusercontent.com"])]
    """OIDC issuer that vouches for the identity."""


Verification = Annotated[KeyVerification | KeylessVerification, Field(discriminator="type")]


class Adapter(Spec):
    """One LoRA adapter."""

    source: Annotated[ModelSource, Field(examples=["hf://acme/qwen3-sql-lora"])]
    """Source of the adapter's weights; opened by the model's secrets."""
    size: Quantity | None = Field(default=None, examples=["200Mi"])
    """Bytes of the adapter's weights."""


class Lora(Spec):
    """LoRA adapters that are served beside the model, each under its own name."""

    adapters: Annotated[
        dict[Dns1035Label, Adapter],
        Field(min_length=1, examples=[{"sql": {"source": "hf://acme/qwen3-sql-lora"}}]),
    ]
    """The adapters by the name that clients send as `model`."""
    max_rank: Literal[1, 8, 16, 32, 64, 128, 256, 320, 512] = 16
    """Highest rank of an adapter (`--max-lora-rank`)."""
    max_adapters: Count | None = Field(default=None, examples=[4])
    """Adapters in one batch (`--max-loras`); absent: all of them."""
    max_cpu_adapters: Count | None = Field(default=None, examples=[16])
    """Adapters kept in host memory (`--max-cpu-loras`); absent: the engine's own."""


def _make_source_optional(schema: dict[str, Any]) -> None:
    """Let the JSON schema accept a model without a source: a shared cache provides it."""
    schema.pop("required")


class Model(Spec):
    """The served model and the source of its weights."""

    model_config = ConfigDict(json_schema_extra=_make_source_optional)

    name: Text | None = Field(default=None, examples=["google-bert/bert-base-uncased"])
    """The served model name: what clients send as `model`, and the price key; absent: the repository of hf://."""
    source: Annotated[ModelSource, Field(examples=["kit://jozu.ml/jozu/bert-base-uncased:safetensors"])]
    """Source of the weights: kit:// (a ModelKit), hf:// (Hugging Face), s3:// (a prefix), pvc:// (a claim that holds
    them, mounted read-only), image:// (inside the engine's image); absent, with storage.type shared: the cache's."""
    size: Quantity | None = Field(default=None, examples=["16Gi"])
    """Bytes of the weights; bounds the volume and the time to load."""
    max_model_len: Count | None = Field(default=None, examples=[8192])
    """Context length in tokens; absent: the model's own."""
    secrets: Annotated[Items[DnsSubdomain], Entries(0, 1, _MERGED)] = Field(default=(), examples=[["registry"]])
    """The existing Secret that opens the source: kit:// of type kubernetes.io/dockerconfigjson, hf:// with the key
    HF_TOKEN, s3:// with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; none for a public source or the identity of
    pod.serviceAccountName."""
    endpoint: Url | None = Field(default=None, examples=["http://minio.storage:9000"])
    """Address of the S3 store or the hub; absent: the vendor's own."""
    region: Text | None = Field(default=None, examples=["eu-central-1"])
    """Region of the bucket."""
    insecure: bool = False
    """Pull the ModelKit over plain HTTP; for a registry inside the cluster."""
    filter: Annotated[
        Items[Literal["kitfile", "model", "datasets", "code", "docs"]],
        Entries(1, None, "write at least model, which is the default"),
    ] = ("model",)
    """Layers of the ModelKit that are unpacked."""
    verify: Verification | None = Field(default=None, examples=[{"type": "key", "secret": "cosign"}])
    """Signer that the ModelKit must have; absent: signatures are not checked."""
    lora: Lora | None = Field(default=None, examples=[{"adapters": {"sql": {"source": "hf://acme/qwen3-sql-lora"}}}])
    """LoRA adapters."""


class KvCache(Spec):
    """The KV cache, in all roles and the picker alike."""

    block_size: Count | None = Field(default=None, examples=[128])
    """Tokens in one block; absent: 64 where roles have to agree, else the engine's own."""
    connector: Literal["nixlv2", "shared-storage", "mooncake", "offloading"] = "nixlv2"
    """How prefill hands its cache to decode."""
    events: bool = False
    """Publish what each pod holds in its cache (`--kv-events-config`), for whoever routes by it."""
    cpu_offload: Quantity | None = Field(default=None, examples=["32Gi"])
    """Host memory for blocks that leave the devices, of one pod."""


class SidecarTls(Spec):
    """TLS between the roles."""

    prefill: bool = False
    """Serve prefill with the certificate, and ask it over TLS: encrypted, not verified, because no certificate names
    pod addresses. The picker then reads no metrics of prefill."""
    certificate: DnsSubdomain | None = Field(default=None, examples=["serving-certificate"])
    """The existing Secret of type kubernetes.io/tls."""


class Sidecar(Spec):
    """The routing sidecar in decode pods; it sends a request's first half to prefill."""

    image: ImageRef | None = Field(default=None, examples=["registry.example/llm-d-router-disagg-sidecar:v0.10.0"])
    """The sidecar's image; absent: the release channel's."""
    engine_port: Port = 8200
    """Port of the engine behind the sidecar, which takes the service's own port."""
    log_level: Literal["debug", "info", "error"] | None = Field(default=None, examples=["debug"])
    """Verbosity (`--zap-log-level`); absent: the sidecar's own."""
    resources: Resources = Resources(requests={"cpu": "1", "memory": "512Mi"}, limits={"memory": "1Gi"})
    """Requests and limits of the sidecar, replaced whole."""
    tls: SidecarTls = SidecarTls.default()
    """How the roles talk."""


class Prefill(Role):
    """The second role: pods that only read prompts. What is absent is as in the service, but replicas and patch."""


class ServiceInterceptor(Spec):
    """The service's part in token metering."""

    enabled: bool = True
    """Put the routing labels on the service's routed Service."""
    resource_id: ResourceId | None = Field(default=None, examples=["chat-7f3a"])
    """The id that requests are billed by, unique in the stack; absent: the service's key."""


class Variant(Role):
    """Keys that a service and its canary have; the keys of `Role` are those of the decode role, or of the only role."""

    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"team": "search"}])
    """Labels on the service's objects; never in selectors."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"owner": "search@example.com"}])
    """Annotations on the service's objects."""
    model: Annotated[
        Model,
        Field(
            examples=[
                {
                    "name": "google-bert/bert-base-uncased",
                    "source": "kit://jozu.ml/jozu/bert-base-uncased:safetensors",
                }
            ]
        ),
    ]
    """The served model."""
    storage: Storage = Ephemeral(type="ephemeral")
    """Storage of the weights in the cluster."""
    kv_cache: KvCache = KvCache.default()
    """The KV cache."""
    drain_timeout: Duration = "45s"
    """Longest request that may finish while a pod ends; preStop, engine and grace period follow from it."""
    prefill: Prefill | None = Field(default=None, examples=[{"replicas": 2}])
    """Read prompts in pods of their own; the service is then the decode role. {} for the service's own settings."""
    sidecar: Sidecar | None = Field(default=None, examples=[{"logLevel": "debug"}])
    """The routing sidecar; only beside prefill, where it is there without being asked for."""
    endpoint_picker: EndpointPicker = EndpointPicker.default()
    """The endpoint picker."""
    objectives: dict[DnsLabel, Objective] = Field(default={}, examples=[{"batch": {"priority": -1}}])
    """Priorities by name; clients send `<service>-<name>` in the header of objectives. A canary has its own, with
    -canary behind the service, because an objective belongs to one pool."""
    metrics: Metrics = Metrics.default()
    """Endpoints that are scraped."""


class Canary(Variant):
    """A second variant with pods, pool and picker of its own; one replica, and what is absent is as in the service."""

    weight: Annotated[int, Within(0, 100, "write the percentage of requests for the canary"), Field(examples=[10])]
    """Percentage of the requests that the canary gets; 0 keeps it running without any."""
    headers: Headers = Field(default={}, examples=[{"x-canary": "always"}])
    """Requests with all of these headers always reach the canary."""


class Service(Variant):
    """One model service; its own keys are those of the decode, or only, role."""

    name: Dns1035Label | None = Field(default=None, examples=["chat"])
    """Base of the object names; absent: the service's key."""
    namespace: DnsLabel | None = Field(default=None, examples=["search"])
    """Namespace of the objects; absent: the stack's."""
    canary: Canary | None = Field(default=None, examples=[{"weight": 10}])
    """A second variant, which gets a share of the requests; absent: none."""
    route: Route = Route.default()
    """The HTTPRoute."""
    rewrites: Items[Rewrite] = Field(
        default=(), examples=[[{"model": "qwen-latest", "targets": [{"model": "Qwen/Qwen3-0.6B"}]}]]
    )
    """Other names of the model, or of its adapters, in requests that come through the gateway."""
    interceptor: ServiceInterceptor = ServiceInterceptor.default()
    """Token metering; meaningful only where the stack has an interceptor."""
