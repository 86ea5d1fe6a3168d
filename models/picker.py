"""Specs of the endpoint picker: scoring, flow control, TLS and the picker's pods."""

from typing import Annotated, Literal

from pydantic import Field

from models.base import Spec
from models.containers import FurtherContainer, Resources
from models.env import EnvName, EnvValue
from models.role import Placed
from models.vocabulary import (
    Argument,
    Between,
    Count,
    DnsLabel,
    DnsSubdomain,
    Duration,
    ImageRef,
    Items,
    KubernetesObject,
    Port,
    Quantity,
    Shape,
    Text,
    Url,
    Within,
)

_LARGEST = 1000
Weight = Annotated[float, Between(0, _LARGEST, "write a number above 0, such as 2")]
FlagName = Annotated[
    str,
    Shape(
        "is not a flag's name",
        r"[a-z0-9]([-a-z0-9]*[a-z0-9])?",
        "write the name without the dashes before it, such as drain-timeout",
    ),
]


class BandDefaults(Spec):
    """Settings of a priority band, which holds the waiting requests of one priority."""

    max_bytes: Quantity | None = Field(default=None, examples=["1Gi"])
    """Maximum size of the waiting requests of a band; absent: the picker's default."""
    max_requests: Quantity | None = Field(default=None, examples=["500"])
    """Maximum number of waiting requests in a band; absent: the picker's default."""
    fairness_policy_ref: Text | None = Field(default=None, examples=["round-robin-fairness-policy"])
    """Plugin that chooses the flow from which a band takes the next request; absent: the picker's default."""
    ordering_policy_ref: Text | None = Field(default=None, examples=["fcfs-ordering-policy"])
    """Plugin that orders the requests of a flow; absent: the picker's default."""


class PriorityBand(BandDefaults):
    """The settings of one priority band."""

    priority: int = Field(examples=[0])
    """Priority of the band, as in objectives. The picker may drop requests of a negative priority."""


class SaturationDetector(Spec):
    """The detector of a saturated pool. A saturated pool can take no further requests."""

    plugin_ref: Text = Field(examples=["concurrency-detector"])
    """Plugin that decides whether the pool is saturated."""


class FlowControl(Spec):
    """Flow control: while the pool is saturated, requests wait in queues of the picker, by priority.

    The keys are those of the EndpointPickerConfig. A release may lack some of them.
    """

    max_bytes: Quantity | None = Field(default=None, examples=["10Gi"])
    """Maximum size of all waiting requests together; absent: no limit."""
    max_requests: Quantity | None = Field(default=None, examples=["1k"])
    """Maximum number of all waiting requests together; absent: no limit."""
    default_request_ttl: Duration | None = Field(default=None, alias="defaultRequestTTL", examples=["2m"])
    """Maximum time that a request waits; 0s for no limit; absent: the picker's default. If the pool can scale to zero,
    choose a time in which a pod can start and load the model."""
    default_priority_band: BandDefaults | None = Field(default=None, examples=[{"maxRequests": "500"}])
    """Settings of the bands that priorityBands does not list."""
    default_negative_priority_band: BandDefaults | None = Field(default=None, examples=[{"maxRequests": "50"}])
    """Settings of the bands with a negative priority that priorityBands does not list; absent: the settings in
    defaultPriorityBand."""
    priority_bands: Items[PriorityBand] = Field(default=(), examples=[[{"priority": 100, "maxRequests": "500"}]])
    """Settings of single bands, by their priority."""
    usage_limit_policy_plugin_ref: Text | None = Field(default=None, examples=["static-usage-limit-policy"])
    """Plugin that limits the share of the pool that requests of a priority may use; absent: no limit."""
    saturation_detector: SaturationDetector | None = Field(
        default=None, examples=[{"pluginRef": "concurrency-detector"}]
    )
    """Detector of a saturated pool; absent: the plugin utilization-detector."""
    enable_eviction: bool = False
    """End running requests of a negative priority while requests of a higher priority wait."""


class PredictorDeployment(Spec):
    """A latency predictor in the pods of the picker: a server that learns, and a server that predicts."""

    training_image: ImageRef | None = Field(default=None, examples=["registry.example/predictor-training:0.9.0"])
    """Image of the server that learns; absent: the release channel's."""
    training_resources: Resources = Resources(
        requests={"cpu": "2", "memory": "4Gi"}, limits={"cpu": "4", "memory": "8Gi"}
    )
    """Resource requests and limits of the server that learns. If you set requests or limits, no default value remains
    in either."""
    prediction_image: ImageRef | None = Field(default=None, examples=["registry.example/predictor-prediction:0.9.0"])
    """Image of the server that predicts; absent: the release channel's."""
    prediction_resources: Resources = Resources(requests={"cpu": "8", "memory": "4Gi"}, limits={"memory": "8Gi"})
    """Resource requests and limits of the server that predicts. If you set requests or limits, no default value remains
    in either."""
    prediction_workers: Count = 8
    """Number of processes of the server that predicts."""


class LatencyPredictor(Spec):
    """The latency predictor for the pool of this service: in the pods of the picker, or at given addresses."""

    deploy: PredictorDeployment | None = Field(default=None, examples=[{"predictionWorkers": 4}])
    """A predictor in the pods of the picker; {} for the default images and sizes. Absent: the predictor is not part of
    the stack, and trainingServer and predictionServers are required."""
    training_server: Url | None = Field(default=None, examples=["http://predictor-training:8000"])
    """URL of the server that learns: the picker reports the latency of finished requests to it."""
    prediction_servers: Items[Url] = Field(default=(), examples=[["http://predictor-prediction:8001"]])
    """URLs of the servers that predict; the picker distributes its queries over them."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the URLs in `training_server` and `prediction_servers`: servers outside of the picker's pods."""
        if self.training_server is None:
            return self.prediction_servers
        return (self.training_server, *self.prediction_servers)


class Traffic(Spec):
    """Expected traffic of the pool in its busiest time."""

    requests_per_second: Annotated[
        float, Between(0, 100_000, "write the number of requests in a busy second, such as 20"), Field(examples=[20])
    ]
    """Number of requests in a busy second."""
    input_tokens: Count = 8000
    """Average number of tokens in the prompt of a request."""
    output_tokens: Count = 1000
    """Average number of tokens in the answer to a request."""


class PickerContainer(FurtherContainer):
    """A further container of the picker's pods, such as a tokenizer of prompts. The picker calls it at localhost.

    The container gets allowPrivilegeEscalation: false. It has no volumes and no token for the API server;
    endpointPicker.patch can add them.
    """


class SelfSigned(Spec):
    """TLS with a certificate that the picker makes when it starts. The gateway cannot verify it."""

    type: Literal["self-signed"]
    """TLS with a certificate that the picker makes when it starts. The gateway cannot verify it."""


class Certificate(Spec):
    """TLS with a certificate of yours. The picker reloads it after a renewal."""

    type: Literal["certificate"]
    """TLS with a certificate of yours. The picker reloads it after a renewal."""
    secret: Annotated[DnsSubdomain, Field(examples=["picker-certificate"])]
    """Existing Secret of type kubernetes.io/tls, in the namespace of the service. The certificate must be for the DNS
    name of the picker's Service."""
    ca_secret: DnsSubdomain | None = Field(default=None, examples=["picker-ca"])
    """Existing Secret with the CA certificate (key ca.crt), in the namespace of the gateway. Istio verifies the
    picker's certificate by the CA certificate. Absent: Istio does not verify the picker's certificate. Refused unless
    gateway.provider is istio."""


class NoTls(Spec):
    """gRPC without TLS."""

    type: Literal["none"]
    """gRPC without TLS."""


PickerTls = Annotated[SelfSigned | Certificate | NoTls, Field(discriminator="type")]


class PickerProxy(Spec):
    """A proxy beside each picker, for clients within the cluster. It needs no gateway.

    It answers at port 80 of the Service `<service>-proxy`, and for a canary of `<service>-canary-proxy`.
    """

    image: ImageRef | None = Field(default=None, examples=["registry.example/envoy:v1.40.0"])
    """Image of Envoy; absent: the version that was tried with pickers."""
    port: Port = 8081
    """Port of the picker's pods on which the proxy takes requests."""
    resources: Resources = Resources(requests={"cpu": "1", "memory": "512Mi"}, limits={"memory": "1Gi"})
    """Resource requests and limits of the proxy. If you set requests or limits, no default value remains in either."""


class EndpointPicker(Spec):
    """The endpoint picker of the service's InferencePool: it chooses the pod for each request."""

    enabled: bool = True
    """Whether an endpoint picker chooses the pod for each request. false: there is neither a picker nor an
    InferencePool, and the route leads to the Service of the decode pods, which spreads requests over the pods. No
    other key of endpointPicker is then allowed."""
    preset: Literal["approximate-prefix-cache", "precise-prefix-cache", "predicted-latency", "custom"] = (
        "approximate-prefix-cache"
    )
    """Plugins and scheduling profiles by which the picker scores the pods. approximate-prefix-cache: by the prompt
    prefixes that the picker sent to each pod; precise-prefix-cache: by the KV cache blocks that each pod reports;
    predicted-latency: by the latency that latencyPredictor predicts; custom: as config says. If the service has
    prefill, a preset has a scheduling profile for each role. Not every release has every preset."""
    scorer_weights: dict[Text, Weight] = Field(default={}, examples=[{"prefix-cache-scorer": 3}])
    """Weights by type of scorer. A weight here replaces the preset's weight for this type. A scorer that the preset
    lacks is added to every scheduling profile. Refused with preset custom."""
    config: KubernetesObject | None = Field(
        default=None,
        examples=[{"plugins": [{"type": "queue-scorer"}], "schedulingProfiles": []}],
    )
    """The whole EndpointPickerConfig; apiVersion and kind may be left out. Required with preset custom, refused with
    any other preset."""
    flow_control: FlowControl | None = Field(default=None, examples=[{"defaultRequestTTL": "2m"}])
    """Flow control: requests wait in the picker, by priority, while the pool is saturated. {}: flow control with the
    picker's default limits; absent: no flow control, unless config has it."""
    latency_predictor: LatencyPredictor | None = Field(
        default=None,
        examples=[
            {
                "trainingServer": "http://predictor-training:8000",
                "predictionServers": ["http://predictor-prediction:8001"],
            }
        ],
    )
    """The latency predictor. Required if the preset is predicted-latency or config predicts latency, refused
    otherwise."""
    flags: dict[FlagName, Argument] = Field(default={}, examples=[{"drain-timeout": "60s"}])
    """Further flags of the picker, by their names without leading dashes. Flags that other keys set are refused."""
    image: ImageRef | None = Field(default=None, examples=["registry.example/endpoint-picker:v0.10.0"])
    """Image of the picker; absent: the release channel's image."""
    port: Port = 9002
    """Port on which the gateway asks the picker (ext-proc, gRPC)."""
    log_level: Annotated[int, Within(0, 10, "write 1 for normal, 4 for debugging")] = 1
    """Verbosity of the logs (`--v`): 1 for normal operation, 4 for debugging."""
    metrics_auth: bool = True
    """Whether readers of the picker's metrics must authenticate and have the right to get /metrics."""
    env: dict[EnvName, EnvValue] = Field(default={}, examples=[{"LATENCY_MAX_SAMPLE_SIZE": "10000"}])
    """Environment variables of the picker container. A value is a text, or a reference to a Secret, a ConfigMap or a
    field of the pod."""
    containers: dict[DnsLabel, PickerContainer] = Field(
        default={}, examples=[{"render": {"image": "registry.example/vllm-openai-cpu:v0.21.0", "ports": [8000]}}]
    )
    """Further containers of the picker pods, by name."""
    proxy: PickerProxy | None = Field(default=None, examples=[{"port": 8081}])
    """A proxy in the picker's pods, which asks the picker and sends requests to the chosen pods; {} for its defaults.
    Absent: only gateways ask the picker."""
    resources: Resources = Resources(requests={"cpu": "1", "memory": "2Gi"}, limits={"memory": "4Gi"})
    """Resource requests and limits of the picker container. If you set requests or limits, no default value remains in
    either."""
    traffic: Traffic | None = Field(default=None, examples=[{"requestsPerSecond": 20}])
    """Traffic from which the resource requests and limits of the picker container are computed; absent: resources
    states them. Refused together with resources."""
    replicas: Count = 1
    """Number of picker pods."""
    replication: Literal["active-passive", "active-active"] = "active-passive"
    """Division of work between picker pods. active-passive: the pods elect a leader, the only pod that is ready and
    answers. If the leader fails, another pod takes its place. A change of the picker's pods replaces all of them at the
    same time. active-active: all pods answer, each with a queue and with knowledge of its own requests only. A change
    replaces the pods one after another. active-active is refused with preset approximate-prefix-cache, and in releases
    whose pickers do not support it."""
    failure_mode: Literal["FailClose", "FailOpen"] = "FailClose"
    """Behaviour of the gateway while no picker answers. FailClose: it refuses requests; FailOpen: it sends them to any
    pod of the pool, which requires failOpenReason."""
    fail_open_reason: Text | None = Field(default=None, examples=["one pod serves, and any is the right one"])
    """Reason for FailOpen. It becomes an annotation of the InferencePool. Required with FailOpen."""
    tls: PickerTls = SelfSigned(type="self-signed")
    """TLS between the gateway and the picker."""
    pod: Placed = Placed.default()
    """Placement and metadata of the picker pods."""
    patch: KubernetesObject = Field(default={}, examples=[{"spec": {"minReadySeconds": 5}}])
    """Changes of the rendered Deployment of the picker, merged into it at the end. Maps merge by key, and null removes
    a key. Lists of named items merge by name; other lists are replaced. A patch is refused if the API server, or Pod
    Security in a namespace that the stack creates, would refuse its pods."""
