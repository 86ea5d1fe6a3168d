"""Specs of one service and its canary: model, adapters, KV cache, sidecar, prefill and metering."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from models.architecture import Architecture
from models.base import Spec
from models.containers import Resources
from models.env import EnvName, EnvValue
from models.existing import ExistingPods, ExistingPool
from models.gates import Gates
from models.kv_cache import KvCache
from models.monitoring import Metrics
from models.objectives import Slo
from models.picker import EndpointPicker, FlagName
from models.pins import PinnedSource
from models.role import Role
from models.routing import Headers, Objective, Rewrite, Route
from models.secrets import SourceSecrets
from models.selection import Selection
from models.source import FilePattern, ModelSource
from models.speculation import Speculative
from models.storage import Ephemeral, Storage
from models.vocabulary import (
    Argument,
    Bytes,
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
    ModelName,
    OrStandIn,
    Port,
    ResourceId,
    SetName,
    SubPath,
    Text,
    Url,
    Within,
    refuse,
)
from models.weight_parts import WeightPart


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
    """OIDC issuer of the identity."""


Verification = Annotated[KeyVerification | KeylessVerification, Field(discriminator="type")]


class Adapter(WeightPart):
    """One LoRA adapter."""

    source: Annotated[ModelSource, Field(examples=["hf://acme/qwen3-sql-lora"])]
    """Source of the adapter's weights."""
    size: Bytes | None = Field(default=None, examples=["200Mi"])
    """Bytes of the adapter's weights."""


class DynamicLora(Spec):
    """Adapters that an engine loads while it runs."""

    names: Items[ModelName] = Field(default=(), examples=[["sql-v1", "sql-v2"]])
    """Names of such adapters, for rewrites and for payload processors. Nothing compares them with the adapters."""
    directory: DnsLabel | None = Field(default=None, examples=["adapters"])
    """Key of the volume in pod.volumes with a folder for each adapter, by name. An engine loads an adapter when the
    first request names it. Absent: engines load what requests for /v1/load_lora_adapter tell them, each for itself."""


class Lora(Spec):
    """LoRA adapters that are served with the model, each under its own name."""

    adapters: dict[Dns1035Label, Adapter] = Field(
        default={}, examples=[{"sql": {"source": "hf://acme/qwen3-sql-lora"}}]
    )
    """The adapters by the name that clients send as `model`. Absent: only adapters of dynamic are served."""
    dynamic: DynamicLora | None = Field(default=None, examples=[{"directory": "adapters", "names": ["sql-v1"]}])
    """Adapters that engines load while they run. Absent: none."""
    max_rank: Literal[1, 8, 16, 32, 64, 128, 256, 320, 512] = 16
    """Highest rank of an adapter (`--max-lora-rank`)."""
    max_adapters: Count | None = Field(default=None, examples=[4])
    """Maximum number of adapters in one batch (`--max-loras`); absent: all of them."""
    max_cpu_adapters: Count | None = Field(default=None, examples=[16])
    """Maximum number of adapters in host memory (`--max-cpu-loras`); absent: the engine's default."""

    @model_validator(mode="after")
    def _serves_adapters(self) -> "Lora":
        if not self.adapters and self.dynamic is None:
            raise refuse("serves no adapter", "write adapters or dynamic", echoed=False)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all adapters, those of `dynamic` at the end."""
        dynamic = () if self.dynamic is None else self.dynamic.names
        return (*sorted(self.adapters), *dynamic)

    @property
    def batch(self) -> int:
        """Return the maximum number of adapters in one batch."""
        return self.max_adapters or max(1, len(self.names))


def _make_source_optional(schema: dict[str, Any]) -> None:
    """Make the source optional in the JSON schema, because a shared cache may provide it."""
    schema.pop("required")


class Model(PinnedSource):
    """The served model and the source of its weights."""

    model_config = ConfigDict(json_schema_extra=_make_source_optional)

    name: ModelName | None = Field(default=None, examples=["google-bert/bert-base-uncased"])
    """The served model name, which clients send as `model`; absent: the repository of an hf:// source."""
    source: Annotated[ModelSource, OrStandIn(), Field(examples=["kit://jozu.ml/jozu/bert-base-uncased:safetensors"])]
    """Source of the weights: kit:// (a ModelKit), hf:// (Hugging Face), s3:// (a prefix), pvc:// (a claim with the
    weights, mounted read-only), oci:// (an image or artifact with the weights, which the node pulls and Kubernetes
    mounts read-only) or image:// (inside the engine's image). Absent, with storage.type shared: the source of the
    cache."""
    folder: SubPath | None = Field(default=None, examples=["models/qwen3"])
    """Folder of the image with the weights; absent: its root. Only for oci://."""
    size: Bytes | None = Field(default=None, examples=["16Gi"])
    """Bytes of the files that are fetched. The size of the volume and the time allowed for loading follow from this
    size."""
    max_model_len: Count | None = Field(default=None, examples=[8192])
    """Context length in tokens; absent: the model's maximum."""
    secrets: SourceSecrets = Field(default=(), examples=[["registry"]])
    """The existing Secret with the credentials for the source. For kit://, its type is kubernetes.io/dockerconfigjson.
    For hf://, it has the key HF_TOKEN, or the one that {name: …, key: …} says. For s3://, it has the keys
    AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Absent: the source is public, or pod.serviceAccountName has access to
    the source."""
    endpoint: Url | None = Field(default=None, examples=["http://minio.storage:9000"])
    """URL of the S3 store or of the Hugging Face hub; absent: the URL of AWS or of huggingface.co."""
    region: Text | None = Field(default=None, examples=["eu-central-1"])
    """Region of the bucket."""
    insecure: bool = False
    """Pull the ModelKit over plain HTTP, such as from a registry inside the cluster."""
    filter: Annotated[
        Items[Literal["kitfile", "model", "datasets", "code", "docs"]],
        Entries(1, None, "write at least model, which is the default"),
    ] = ("model",)
    """Layers of the ModelKit to unpack."""
    ignore_patterns: Items[FilePattern] | None = Field(default=None, examples=[["original/**", "*.bin"]])
    """Files of an hf:// repository that are not fetched; * stands for any text, slashes included. Absent: files
    that vLLM never reads, such as original/**, *.pth and *.onnx; for a custom engine, no files. []: every file is
    fetched."""
    verify: Verification | None = Field(default=None, examples=[{"type": "key", "secret": "cosign"}])
    """Signer that the ModelKit must have; absent: signatures are not checked."""
    lora: Lora | None = Field(default=None, examples=[{"adapters": {"sql": {"source": "hf://acme/qwen3-sql-lora"}}}])
    """LoRA adapters."""
    speculative: Speculative | None = Field(default=None, examples=[{"method": "mtp", "tokens": 1}])
    """Speculative decoding (`--speculative-config`), for vLLM: several tokens of an answer are guessed, and the model
    checks them in one step. Absent: each step makes one token."""
    architecture: Architecture | None = Field(
        default=None, examples=[{"layers": 36, "hiddenSize": 4096, "heads": 32, "kvHeads": 8, "headDim": 128}]
    )
    """Numbers of the model, from which checks.fit computes the memory that the model needs. Absent: the numbers in the
    lock, or else those that the shipped table has for the name in an hf:// source."""


class SidecarTls(Spec):
    """TLS between the sidecar and prefill."""

    prefill: bool = False
    """Let prefill pods serve with the certificate, and let the sidecar send requests to them over TLS. The requests are
    encrypted. The certificate is not verified, because no certificate names pod addresses. If this key is true, pickers
    before llm-d-0.8 read no metrics of prefill pods."""
    certificate: DnsSubdomain | None = Field(default=None, examples=["serving-certificate"])
    """The existing Secret of type kubernetes.io/tls."""


class Sidecar(Spec):
    """The routing sidecar in decode pods.

    It lets encode pods read the images and a prefill pod process the prompt, if there are such pods, and then sends the
    request to the engine in its own pod.
    """

    image: ImageRef | None = Field(default=None, examples=["registry.example/llm-d-router-disagg-sidecar:v0.10.0"])
    """The sidecar's image; absent: the release channel's."""
    engine_port: Port = 8200
    """Port of the engine in decode pods. In these pods, the sidecar listens on engine.port."""
    log_level: Literal["debug", "info", "error"] | None = Field(default=None, examples=["debug"])
    """Verbosity (`--zap-log-level`); absent: the sidecar's default."""
    resources: Resources = Resources(requests={"cpu": "1", "memory": "512Mi"}, limits={"memory": "1Gi"})
    """Requests and limits of the sidecar. If this key is set, none of the default requests and limits remain."""
    tls: SidecarTls = SidecarTls.default()
    """TLS between the sidecar and prefill."""
    flags: dict[FlagName, Argument] = Field(default={}, examples=[{"prefill-max-retries": "2"}])
    """Further flags of the sidecar, by their names without leading dashes. Flags that other keys set are refused."""
    env: dict[EnvName, EnvValue] = Field(default={}, examples=[{"MORIIO_METRICS_ADDR": ":9100"}])
    """Environment variables of the sidecar, as those of the engine."""


class RoleSet(Role):
    """One of several sets of pods of a role, such as pods on another accelerator, or larger replicas for long prompts.

    Absent keys have the values of the role (of the service in decode.sets, of prefill in prefill.sets), except
    replicas, autoscaling and patch.
    """

    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"llm-d.ai/context-length-range": "0-1000"}])
    """Labels of the set's pods, by which plugins of the endpoint picker tell the sets apart. They win over
    pod.labels."""


class Prefill(Role):
    """The second role: pods that only process prompts.

    Absent keys have the values of the service, except replicas, autoscaling and patch.
    """

    selection: Selection | None = Field(default=None, examples=[{"metric": "throughput"}])
    """Wishes for the serving profile of prefill; absent: those of the service."""
    sets: dict[SetName, RoleSet] = Field(default={}, examples=[{"long": {"replicas": 2}, "short": {}}])
    """Sets of prefill pods, by name: a workload for each of them. Absent: one workload. With sets, prefill itself has
    no replicas, autoscaling or patch."""


class Decode(Spec):
    """Division of the decode role, or of the only role, into sets of pods. The role's keys are those of the service."""

    sets: dict[SetName, RoleSet] = Field(default={}, examples=[{"amd": {"accelerator": "amd"}, "nvidia": {}}])
    """Sets of pods that answer requests, by name: a workload for each of them, in one pool. Absent: one workload. With
    sets, the service itself has no replicas, autoscaling or patch."""


class EncoderCache(Spec):
    """Transfer of the outputs of encoders, from encode pods to the pods that process prompts."""

    connector: Literal["ec-nixl"] = "ec-nixl"
    """Connector that transfers the outputs (`--ec-connector` of the sidecar, `--ec-transfer-config` of the engines)."""
    bytes: Bytes = "4Gi"
    """Host memory for outputs in each pod that sends or gets them. It is a part of /dev/shm."""


class Encode(Role):
    """A role for models that read images, sound or video: pods that only run the encoders of these inputs.

    Absent keys have the values of the service, except replicas, autoscaling and patch.
    """

    encoder_cache: EncoderCache = EncoderCache.default()
    """Transfer of the outputs of encoders."""


class ServiceInterceptor(Spec):
    """Token metering of the service."""

    enabled: bool = True
    """Lead the route to the interceptor. The interceptor bills the requests and forwards them to the Kubernetes
    Service."""
    resource_id: ResourceId | None = Field(default=None, examples=["chat-7f3a"])
    """Id by which requests are billed. No other service of the stack may have it. In mode `label`, no other Service
    of the namespace may have it either. Absent: the service's key."""


class Variant(Role):
    """Keys that a service and its canary have. The keys of `Role` apply to the decode role, or to the only role."""

    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"team": "search"}])
    """Labels of the service's objects. Selectors do not use them."""
    annotations: dict[LabelKey, str] = Field(default={}, examples=[{"owner": "search@example.com"}])
    """Annotations of the service's objects."""
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
    release: Text | None = Field(default=None, examples=["gie-1.3"])
    """Release channel of engines, sidecar and picker: images, flags and API versions that belong together. Absent: the
    stack's."""
    selection: Selection | None = Field(default=None, examples=[{"metric": "latency"}])
    """Wishes for the serving profile. The profile decides the keys that the service lacks. A service
    with this key always gets a profile. A service without it, even if `defaults` has it, gets a profile in two cases:
    model.source is absent, or accelerator is absent and the catalogue has the model."""
    storage: Storage = Ephemeral(type="ephemeral")
    """Storage of the weights in the cluster."""
    kv_cache: KvCache = KvCache.default()
    """The KV cache."""
    drain_timeout: Duration = "45s"
    """Time that running requests have to finish while a pod terminates. The pod's preStop hook, the engine's shutdown
    timeout and the grace periods of pods and picker follow from it."""
    decode: Decode = Decode.default()
    """Sets of pods of the decode role, or of the only role."""
    prefill: Prefill | None = Field(default=None, examples=[{"replicas": 2}])
    """Process prompts in separate pods. The service's keys then apply to the decode role. {}: prefill with the
    service's settings."""
    encode: Encode | None = Field(default=None, examples=[{"replicas": 2}])
    """Run the encoders of images, sound and video in separate pods. {}: encode with the service's settings."""
    sidecar: Sidecar | None = Field(default=None, examples=[{"logLevel": "debug"}])
    """The routing sidecar. With prefill or encode, decode pods always have it; without both, this key is allowed only
    with a kvCache.connector that needs no further pods, which is offloading."""
    endpoint_picker: EndpointPicker = EndpointPicker.default()
    """The endpoint picker."""
    objectives: dict[DnsLabel, Objective] = Field(default={}, examples=[{"batch": {"priority": -1}}])
    """Priorities of requests, by name. Clients send `<service>-<name>` in the header for objectives, and
    `<service>-canary-<name>` for a canary, because an objective belongs to one pool."""
    metrics: Metrics = Metrics.default()
    """Endpoints that are scraped."""
    existing_pods: ExistingPods | None = Field(default=None, examples=[{"matchLabels": {"app": "vllm-qwen3"}}])
    """Serving pods that somebody else runs. The service then has no pods and no weights of its own, but a Service, a
    pool, an endpoint picker and a route that lead to these pods. Keys about pods of its own are refused, and are not
    inherited from defaults. Absent: the service runs its pods itself."""
    existing_pool: ExistingPool | None = Field(default=None, examples=[{"name": "vllm-qwen3"}])
    """InferencePool that somebody else made. The service then is a route to it, with objectives and rewrites for its
    endpoint picker. Other keys are refused, and are not inherited from defaults. Absent: the service has a pool of its
    own."""

    @property
    def runs_pods(self) -> bool:
        """Tell whether the stack runs the pods of the variant. If it does not, the variant has no roles."""
        return self.existing_pods is None and self.existing_pool is None

    @property
    def port(self) -> int:
        """Return the port on which the serving pods get requests; the first one if they have several."""
        return self.engine.port if self.existing_pods is None else self.existing_pods.ports[0]

    @property
    def has_picker(self) -> bool:
        """Tell whether the stack makes a pool with an endpoint picker for the variant."""
        return self.endpoint_picker.enabled and self.existing_pool is None


class Canary(Variant):
    """A second variant of the service, with its own pods, pool and picker.

    Absent keys have the values of the service, except replicas (1) and autoscaling (none).
    """

    weight: Annotated[int, Within(0, 100, "write the percentage of requests for the canary"), Field(examples=[10])]
    """Percentage of the requests that go to the canary. With 0 the canary runs, but gets only requests that have all
    headers in `headers`."""
    headers: Headers = Field(default={}, examples=[{"x-canary": "always"}])
    """Requests with all of these headers always go to the canary."""
    gates: Gates | None = Field(default=None, examples=[{"bake": "60m", "worse": {"errors": 1}}])
    """Comparison of the canary with the primary, which `gate` makes. Absent: none."""


class Service(Variant):
    """One model service. The keys for a role apply to its decode role, or to its only role."""

    name: Dns1035Label | None = Field(default=None, examples=["chat"])
    """Beginning of the objects' names; absent: the service's key."""
    namespace: DnsLabel | None = Field(default=None, examples=["search"])
    """Namespace of the objects; absent: the stack's."""
    canary: Canary | None = Field(default=None, examples=[{"weight": 10}])
    """A second variant that gets a share of the requests; absent: none."""
    route: Route = Route.default()
    """The HTTPRoute."""
    rewrites: Items[Rewrite] = Field(
        default=(), examples=[[{"model": "qwen-latest", "targets": [{"model": "Qwen/Qwen3-0.6B"}]}]]
    )
    """Other names for the model or its adapters, in requests that come through the gateway."""
    slo: Slo | None = Field(
        default=None, examples=[{"availability": 99.9, "ttft": {"within": "2500ms", "percent": 95}}]
    )
    """Objectives for the requests of the service, which alerts, dashboards and the gates of a canary use. Absent: no
    objectives."""
    interceptor: ServiceInterceptor = ServiceInterceptor.default()
    """Token metering; it has an effect only if the stack has an interceptor."""
