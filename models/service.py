"""One service: a model, the engine that serves it, and how requests reach it."""

from typing import Annotated

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import (
    AbsolutePath,
    Count,
    CountOrNone,
    Dns1035Label,
    DnsLabel,
    DnsSubdomain,
    Duration,
    Hostname,
    ImageRef,
    Items,
    LabelKey,
    LabelValue,
    ModelSource,
    Port,
    Quantity,
    ResourceId,
    Text,
    Within,
    refuse,
    seconds,
)


class Model(Spec):
    """What is served, and where its weights are."""

    name: Annotated[Text, Field(examples=["google-bert/bert-base-uncased"])]
    """The served model name: what clients send as `model`, and the price key."""
    source: Annotated[ModelSource, Field(examples=["kit://jozu.ml/jozu/bert-base-uncased:safetensors"])]
    """Where the weights are: a ModelKit, `kit://registry/repository` with a tag or digest."""
    max_model_len: Count | None = Field(default=None, examples=[8192])
    """Context length in tokens; absent: the model's own."""
    secrets: Annotated[Items[DnsSubdomain], Field(max_length=1)] = Field(default=(), examples=[["registry"]])
    """The existing Secret of type kubernetes.io/dockerconfigjson that opens the source; none for a public one."""
    insecure: bool = False
    """Pull the ModelKit over plain HTTP; for a registry inside the cluster."""


class Engine(Spec):
    """The inference server's container."""

    image: ImageRef | None = Field(default=None, examples=["registry.example/vllm-openai:v0.21.0"])
    """The engine's image; absent: the release channel's for this accelerator vendor."""
    port: Port = 8000
    """Port that the engine listens on and the pool reaches."""
    args: Items[Text] = Field(default=(), examples=[["--enforce-eager"]])
    """Arguments of the engine, after the generated ones. A flag that has a field here is refused."""


class Parallelism(Spec):
    """How one replica is spread over devices; a pod takes tensor times data of them."""

    tensor: Count = 1
    """Devices that share every layer (`--tensor-parallel-size`)."""
    data: Count = 1
    """Copies of the model in one pod that share requests (`--data-parallel-size`)."""


class Resources(Spec):
    """Requests and limits of the engine container. Devices are decided by `parallelism`."""

    requests: dict[LabelKey, Quantity] = Field(default={}, examples=[{"cpu": "8"}])
    """What the scheduler reserves; absent per device: 4 CPU and 32Gi of memory."""
    limits: dict[LabelKey, Quantity] = Field(default={}, examples=[{"memory": "64Gi"}])
    """What the container may use at most; absent per device: 48Gi of memory, no CPU limit."""


class Pod(Spec):
    """The pod around the engine, by PodSpec's names."""

    run_as_user: Annotated[int, Within(1, 2**31 - 1, "write a user id above 0; root is refused")] = 1000
    """User id of every container; never root."""
    fs_group: Annotated[int, Within(1, 2**31 - 1, "write a group id above 0")] = 1000
    """Group that owns the volumes, so that engine and unpacking agree about the files."""
    shared_memory: Quantity | None = Field(default=None, examples=["16Gi"])
    """Size of /dev/shm; absent: 8Gi per device, 1Gi without devices."""


class Health(Spec):
    """The probes, asked on the engine's own port."""

    path: AbsolutePath = "/v1/models"
    """Path of the startup and readiness probes."""
    liveness_path: AbsolutePath = "/health"
    """Path of the liveness probe."""
    interval: Duration = "10s"
    """Time between two probes."""
    timeout: Duration = "5s"
    """Time that one probe may take; at most the interval."""
    failure_threshold: Count = 3
    """Failed probes in a row after which a pod is not ready, or restarted."""
    startup_timeout: Duration = "30m"
    """Time from container start until the model must be loaded."""

    @model_validator(mode="after")
    def _probe_fits_interval(self) -> "Health":
        if seconds(self.timeout) > seconds(self.interval):
            raise refuse(
                f"a probe may take longer than the time between two (timeout {self.timeout}, interval {self.interval})",
                "lower timeout or raise interval",
                echoed=False,
            )
        return self


class Route(Spec):
    """The HTTPRoute of the service."""

    enabled: bool = True
    """Make the route; off: the service is reached inside the cluster only."""
    hostnames: Items[Hostname] = Field(default=(), examples=[["llm.example.com"]])
    """Hosts that the route answers to; absent: every host of the gateway's listener."""


class EndpointPicker(Spec):
    """The endpoint picker of the service's InferencePool."""

    image: ImageRef | None = Field(default=None, examples=["registry.example/endpoint-picker:v0.10.0"])
    """The picker's image; absent: the release channel's."""
    port: Port = 9002
    """Port of the ext-proc server."""
    log_level: Annotated[int, Within(0, 10, "write 1 for normal, 4 for debugging")] = 1
    """Verbosity (`--v`)."""
    metrics_auth: bool = True
    """Let only identities that may get /metrics read the picker's metrics."""
    resources: Resources = Resources(requests={"cpu": "1", "memory": "2Gi"}, limits={"memory": "4Gi"})
    """Requests and limits of the picker, replaced whole."""


class ServiceInterceptor(Spec):
    """The service's part in token metering."""

    enabled: bool = True
    """Put the routing labels on the service's routed Service."""
    resource_id: ResourceId | None = Field(default=None, examples=["chat-7f3a"])
    """The id that requests are billed by, unique in the stack; absent: the service's key."""


class Service(Spec):
    """One model service."""

    name: Dns1035Label | None = Field(default=None, examples=["chat"])
    """Base of the object names; absent: the service's key."""
    namespace: DnsLabel | None = Field(default=None, examples=["search"])
    """Namespace of the objects; absent: the stack's."""
    labels: dict[LabelKey, LabelValue] = Field(default={}, examples=[{"team": "search"}])
    """Labels on the service's objects; never in selectors."""
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
    """What is served."""
    engine: Engine = Engine()
    """The inference server."""
    accelerator: Annotated[str, Field(examples=["nvidia"])]
    """Accelerator class: a vendor such as nvidia, or a product such as nvidia-h100-80gb; cpu for none."""
    parallelism: Parallelism = Parallelism()
    """How one replica is spread over devices."""
    replicas: CountOrNone = 1
    """Number of pods; 0 keeps everything but the pods."""
    resources: Resources = Resources()
    """Requests and limits of the engine container."""
    pod: Pod = Pod()
    """The pod around the engine."""
    health: Health = Health()
    """The probes."""
    route: Route = Route()
    """The HTTPRoute."""
    endpoint_picker: EndpointPicker = EndpointPicker()
    """The endpoint picker."""
    interceptor: ServiceInterceptor = ServiceInterceptor()
    """Token metering; meaningful only where the stack has an interceptor."""
