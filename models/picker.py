"""Specs of the endpoint picker: scoring, flow control, TLS and the picker's pods."""

from typing import Annotated, Literal

from pydantic import Field

from models.base import Spec
from models.role import Placed, Resources
from models.vocabulary import (
    Between,
    Count,
    DnsSubdomain,
    Duration,
    Entries,
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
    """Settings of priority bands that do not set their own."""

    max_bytes: Quantity | None = Field(default=None, examples=["1Gi"])
    """Bytes of the requests in one band; absent: the picker's own."""
    max_requests: Quantity | None = Field(default=None, examples=["500"])
    """Requests in one band; absent: the picker's own."""
    fairness_policy_ref: Text | None = Field(default=None, examples=["round-robin-fairness-policy"])
    """The plugin that chooses among the flows of a band."""
    ordering_policy_ref: Text | None = Field(default=None, examples=["fcfs-ordering-policy"])
    """The plugin that chooses among the requests of a flow."""


class PriorityBand(BandDefaults):
    """The requests of one priority."""

    priority: int = Field(examples=[0])
    """The priority, as objectives have it; negative may be shed."""


class SaturationDetector(Spec):
    """The plugin that detects a saturated pool."""

    plugin_ref: Text = Field(examples=["concurrency-detector"])
    """The plugin that says so."""


class FlowControl(Spec):
    """Queues in the picker, by priority, in front of a full pool; upstream's keys. Not every release knows each."""

    max_bytes: Quantity | None = Field(default=None, examples=["10Gi"])
    """Bytes of all requests that wait; absent: no limit."""
    max_requests: Quantity | None = Field(default=None, examples=["1k"])
    """Requests that wait; absent: no limit."""
    default_request_ttl: Duration | None = Field(default=None, alias="defaultRequestTTL", examples=["2m"])
    """Longest time that a request waits, 0s for no limit; absent: the picker's own. A cold start has to fit in."""
    default_priority_band: BandDefaults | None = Field(default=None, examples=[{"maxRequests": "500"}])
    """Bands of priorities that priorityBands does not name."""
    default_negative_priority_band: BandDefaults | None = Field(default=None, examples=[{"maxRequests": "50"}])
    """The same for priorities below zero; absent: as defaultPriorityBand."""
    priority_bands: Items[PriorityBand] = Field(default=(), examples=[[{"priority": 100, "maxRequests": "500"}]])
    """Bands of their own."""
    usage_limit_policy_plugin_ref: Text | None = Field(default=None, examples=["static-usage-limit-policy"])
    """The plugin that says how much of the pool a priority may use; absent: all of it."""
    saturation_detector: SaturationDetector | None = Field(
        default=None, examples=[{"pluginRef": "concurrency-detector"}]
    )
    """The plugin that detects a saturated pool; absent: utilization-detector."""
    enable_eviction: bool = False
    """End running requests of negative priority where higher ones wait."""


class LatencyPredictor(Spec):
    """The servers that learn and predict latency for this service's pool. They are deployed elsewhere."""

    training_server: Annotated[Url, Field(examples=["http://predictor-training:8000"])]
    """Address that measured requests are reported to."""
    prediction_servers: Annotated[
        Items[Url],
        Entries(1, None, "write at least one"),
        Field(examples=[["http://predictor-prediction:8001"]]),
    ]
    """Addresses that serve predictions; several share the load."""


class SelfSigned(Spec):
    """The picker makes a certificate at start: encrypted, and verified by nobody."""

    type: Literal["self-signed"]
    """The picker makes a certificate at start: encrypted, and verified by nobody."""


class Certificate(Spec):
    """The picker serves a certificate of yours, and reads it again when it is renewed."""

    type: Literal["certificate"]
    """The picker serves a certificate of yours, and reads it again when it is renewed."""
    secret: Annotated[DnsSubdomain, Field(examples=["picker-certificate"])]
    """The existing Secret of type kubernetes.io/tls in the service's namespace, for the picker's Service."""
    ca_secret: DnsSubdomain | None = Field(default=None, examples=["picker-ca"])
    """The existing Secret with the key ca.crt, in the gateway's namespace, by which istio verifies the picker; absent:
    it does not."""


class NoTls(Spec):
    """The picker serves plain gRPC."""

    type: Literal["none"]
    """The picker serves plain gRPC."""


PickerTls = Annotated[SelfSigned | Certificate | NoTls, Field(discriminator="type")]


class EndpointPicker(Spec):
    """The endpoint picker of the service's InferencePool."""

    preset: Literal["approximate-prefix-cache", "precise-prefix-cache", "predicted-latency", "custom"] = (
        "approximate-prefix-cache"
    )
    """How pods are scored: by the prefixes that they were sent (approximate-prefix-cache), by the blocks that they say
    they hold (precise-prefix-cache), by predicted latency, or by config. Profiles for the roles follow from prefill."""
    scorer_weights: dict[Text, Weight] = Field(default={}, examples=[{"prefix-cache-scorer": 3}])
    """Weights of scorers, over the preset's; a scorer that the preset has not is added."""
    config: KubernetesObject | None = Field(
        default=None,
        examples=[{"plugins": [{"type": "queue-scorer"}], "schedulingProfiles": []}],
    )
    """The EndpointPickerConfig without apiVersion and kind; only with preset: custom, which requires it."""
    flow_control: FlowControl | None = Field(default=None, examples=[{"defaultRequestTTL": "2m"}])
    """Let requests wait in the picker, by priority, while the pool is full; {} for the picker's own limits."""
    latency_predictor: LatencyPredictor | None = Field(
        default=None,
        examples=[
            {
                "trainingServer": "http://predictor-training:8000",
                "predictionServers": ["http://predictor-prediction:8001"],
            }
        ],
    )
    """The servers that preset predicted-latency asks."""
    flags: dict[FlagName, str] = Field(default={}, examples=[{"drain-timeout": "60s"}])
    """Further flags of the picker, without the dashes before them; none that a field decides."""
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
    replicas: Count = 1
    """Number of pickers. More than one elect a leader, which alone is ready; another takes over when it goes."""
    failure_mode: Literal["FailClose", "FailOpen"] = "FailClose"
    """Behaviour of the gateway while no picker answers: refuse requests, or send them to any pod of the pool."""
    fail_open_reason: Text | None = Field(default=None, examples=["one pod serves, and any is the right one"])
    """Why FailOpen is right here, where it is; written on the pool."""
    tls: PickerTls = SelfSigned(type="self-signed")
    """How the gateway asks the picker."""
    pod: Placed = Placed.default()
    """The picker's pods."""
