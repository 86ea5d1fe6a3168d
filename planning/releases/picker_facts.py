"""Facts about the endpoint picker of a release: flags, configuration, permissions, headers and metrics."""

import json
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from models.base import Spec
from planning.ground.metric_facts import MetricFacts
from planning.ground.tables import Sourced
from planning.releases.images import Image
from planning.releases.plugins import Additions, Demand, PluginFacts

DEFAULT_PRESET = "approximate-prefix-cache"
"""Name of the preset that every channel has."""


class PickerProbes(Sourced):
    """Names of the gRPC health services that probes query."""

    readiness: str
    liveness: str


class PickerFlags(Sourced):
    """Flags of the picker."""

    always: list[str]
    """Arguments of every picker, such as `--flag=value`."""
    known: dict[str, str]
    """Flags that users may set, by name without dashes, with the shape of their values (`picker.value_shapes`)."""
    rejected: dict[str, str]
    """Flags that users may not set, by name without dashes, each with the reason why the picker would not work."""
    others: dict[str, str] = Field(default={})
    """All flags of the picker that are not in `known`, by name without dashes, with the shape of their values."""
    defaults: dict[str, Any] = Field(default={})
    """Default values of flags, for flags on which a rule depends."""
    rules: list[Demand] = Field(default=[])
    """Demands on several flags together."""
    experimental: str | None = None
    """Flag, with its dashes, that permits alpha plugins; None if the picker loads them without a flag."""


class ConfigFacts(Sourced):
    """Schema of a release's EndpointPickerConfig."""

    api_version: str
    gates: list[str]
    """Names of the feature gates."""
    shape: dict[str, Any]
    """Keys of the configuration except `apiVersion` and `kind`, as a shape of `planning.picker.value_shapes`."""
    deprecated: dict[str, str] = Field(default={})
    """Deprecated keys of the configuration, each with the key that replaces it."""
    gates_take_values: bool = False
    """Whether an entry of `featureGates` may be `name=true` or `name=false`, and not only `name`."""
    gated: dict[str, str] = Field(default={})
    """Sections that the picker rejects unless a feature gate is on, each with the name of that gate."""
    deprecated_api_versions: list[str] = Field(default=[])
    """Further values of `apiVersion` that the picker reads."""
    gated_rules: dict[str, list[Demand]] = Field(default={})
    """Demands on several values together, by feature gate. They apply while the gate is on."""
    adds: Additions | None = None
    """Plugins that the picker adds; None if it adds only plugins that are `implicit`."""
    ordered: bool = False
    """Whether a plugin must be declared after the plugins that its parameters name."""


class Preset(Sourced):
    """A preset: complete configurations of the picker, except for `apiVersion` and `kind`."""

    aggregated: dict[str, Any]
    """Configuration for services without prefill."""
    disaggregated: dict[str, Any] | None = None
    """Configuration for services with prefill; None if the preset does not support prefill."""
    needs: list[Literal["kv-events", "latency-predictor"]] = Field(default=[])
    """Requirements of the preset in addition to the picker: events from the engines, or the latency predictor."""

    @cached_property
    def has_names(self) -> bool:
        """Tell whether a configuration of the preset contains names in braces, which stand for values of a service."""
        return '"{' in json.dumps((self.aggregated, self.disaggregated))


class EncodeFacts(Sourced):
    """Additions to the configuration of a preset for services with encode pods."""

    plugins: list[dict[str, Any]]
    """Plugins of the encode stage. Those that the preset declares already are not added."""
    profile: list[dict[str, Any]]
    """Plugins of the scheduling profile for encode pods."""
    decode_filter: str
    """Type of the filter that keeps whole requests away from encode pods."""
    handler: str
    """Type of the profile handler with an encode stage."""
    decider: str
    """Name of the plugin that decides whether a request has an encode stage."""


class TlsMetricsFacts(Sourced):
    """Entries of a picker's configuration that read metrics from pods with TLS and from pods without TLS.

    One data source uses TLS, the other does not. Each data source asks every pod. If one data source gets no answer
    from a pod, the metrics from the other remain.
    """

    plugins: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    """Entries of `dataLayer.sources`."""


class PredictorServer(Image):
    """A server of the latency predictor. The command of the image starts the server."""

    port: int
    """Port that the command listens on."""
    folder: str
    """Folder to which the server writes its models."""
    folder_size: str
    """Maximum size of that folder."""
    health_path: str
    env: dict[str, str]
    """Environment variables."""


class PredictorServers(Spec):
    """The servers of the latency predictor."""

    training: PredictorServer
    prediction: PredictorServer
    address_variable: str
    """Environment variable by which the prediction server gets the address of the training server."""
    workers_variable: str
    """Environment variable by which the prediction server gets the number of its own processes."""


class PredictorFacts(Sourced):
    """The latency predictor: its servers, and the environment variables by which the picker gets their addresses."""

    training: str
    """Variable for the address of the training server."""
    prediction: str
    """Variable for the addresses of the prediction servers, separated by commas."""
    servers: PredictorServers | None = None
    """Servers that can be deployed beside the picker. None if the release has none."""


class RoleRule(Spec):
    """A rule of the picker's Role."""

    api_groups: list[str]
    resources: list[str]
    verbs: list[str]
    pool_only: bool = False
    """Whether the rule is restricted to the pool of the picker."""
    lease_only: bool = False
    """Whether the rule is restricted to the Lease of the leader election."""


class RbacFacts(Sourced):
    """Permissions of the picker at the API server."""

    rules: list[RoleRule]
    """Rules of every picker."""
    leader_election: list[RoleRule]
    """Further rules for the leader election of several pickers."""
    lease: str
    """Name of the Lease of the leader election. It is a template with `{namespace}` and `{pool}`, the pool's name."""


class PickerHeaders(Sourced):
    """Names of the HTTP headers by which gateway, picker and sidecar communicate; None for a header not in use."""

    objective: str
    fairness_id: str
    model_rewrite: str
    base_model: str
    """Header with the base model of a request. A payload processor reads the request's body and sets this header."""
    ttft_slo: str
    tpot_slo: str
    destination: str
    prefill: str | None = None

    @property
    def of_requests(self) -> frozenset[str]:
        """Return the names of the request headers that the picker reads or replaces, in lower case."""
        headers = (self.objective, self.fairness_id, self.model_rewrite, self.ttft_slo, self.tpot_slo)
        return frozenset(name.lower() for name in headers)


class PickerSeries(Spec):
    """A load metric of the picker."""

    series: str
    """Name of the gauge at the picker's /metrics."""
    aggregation: Literal["sum", "min"]
    """Function that combines the values of the gauge for all labels and from all pickers."""
    stage_label: str | None = None
    """Name of the label for the role of the counted pods; its value `effective` stands for all pods. None if the gauge
    has no such label."""
    flow_control: bool = False
    """Whether the picker reports the gauge only while flow control is on."""


class PickerMetricFacts(MetricFacts):
    """A metric of the picker."""

    gate: Literal["flowControl", "leaderElection", "latencyPredictor"] | None = None
    """Feature without which the picker reports no series of the metric; None if the picker needs none.

    leaderElection: several pickers of which one works at a time.
    """


PickerMetricName = Literal[
    "requests",
    "request_errors",
    "request_duration",
    "ttft",
    "tpot",
    "running_requests",
    "ready_endpoints",
    "pool_queue",
    "pool_kv_cache",
    "pool_running",
    "scheduler_duration",
    "scheduler_attempts",
    "plugin_duration",
    "flow_queue_size",
    "flow_queue_duration",
    "flow_saturation",
    "poll_errors",
    "extract_errors",
    "leader",
]
"""Names by which this program asks for metrics of pickers. `planning.releases.picker_series` says what they mean."""


class PickerMetrics(Sourced):
    """Series at the picker's /metrics."""

    series: dict[Literal["picker-queue-size", "picker-running-requests", "pool-saturation"], PickerSeries]
    """Metrics for autoscaling, by their names in the configuration. `picker-queue-size` scales a role up from zero."""
    catalogue: dict[PickerMetricName, PickerMetricFacts]
    """Metrics by the names of this program; metrics that the picker does not have are absent.

    A picker that reports one value under two names has the name here that its newer versions keep.
    """


class ActiveActive(Sourced):
    """Support of several pickers that all work at the same time."""


class UnreadRequests(Sourced):
    """Objectives and rewrites that a release's picker never reads."""

    remedy: str
    """Remedy for users."""


class PortFacts(Sourced):
    """Support of a picker for pools with several target ports. Each port of each pod is an endpoint."""

    annotation: str | None = None
    """Annotation of pods with the ports that they serve. None if every pod must serve all ports of the pool."""
    tells_events_apart: bool
    """Whether the picker can distinguish which copy of the model in a pod published a cache event."""


class PickerFacts(Sourced):
    """Flags, configuration, plugins and permissions of a release's endpoint picker."""

    service_app_protocol: str
    """appProtocol of the ext-proc port."""
    objectives_group: str
    """API group of InferenceObjective and InferenceModelRewrite."""
    engine_label: str | None = None
    """Label of pods with the engine by whose names the picker reads metrics; without the label, by those of vLLM. None
    if the key of the label is not known."""
    probes: PickerProbes
    flags: PickerFlags
    tracing_off_variables: dict[str, str] = Field(default={})
    """Environment variables that disable tracing; empty if the flag `--tracing=false` disables it."""
    config: ConfigFacts
    plugins: PluginFacts
    presets: dict[str, Preset]
    """Presets that the release supports, by their names in the configuration."""
    tls_metrics: TlsMetricsFacts | None = None
    """Entries for metrics from pods with TLS and pods without TLS. None if the picker needs no such entries."""
    encode: EncodeFacts | None = None
    """None if the picker knows no encode pods."""
    ports: PortFacts
    unread_requests: UnreadRequests | None = None
    """Facts for a picker that reads no objectives or rewrites. None if the picker reads them."""
    active_active: ActiveActive | None = None
    """None if only one picker of a variant may work at a time."""
    latency_predictor: PredictorFacts | None = None
    rbac: RbacFacts
    headers: PickerHeaders
    metrics: PickerMetrics

    @property
    def disaggregated_config(self) -> dict[str, Any] | None:
        """Return the default preset's configuration for services with prefill; None if the release has no prefill."""
        return self.presets[DEFAULT_PRESET].disaggregated
