"""Release facts: images, flags, plugins and requirements of each release channel.

Each channel is a YAML file in this folder, and the classes here are its schema. A new file is a new channel.
"""

import json
from collections.abc import Collection, Iterator
from datetime import date
from functools import cache, cached_property
from typing import Any, Literal, cast

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.releases.plugins import Additions, Condition, Demand, Handler, Need, Plugin, PluginFacts


class Image(Sourced):
    """An image with its tag or digest."""

    ref: str
    """Reference of the image, as a container has it."""


class Fetcher(Image):
    """An image that fetches weights by its own entrypoint."""

    entrypoint: str
    """Path of the program that a container of the image runs."""


class ReleaseImages(Spec):
    """The images of a release."""

    engine: dict[str, Image]
    """Engine images by accelerator vendor."""
    picker: Image
    kit: Image
    """Image that unpacks a ModelKit."""
    kit_verify: Fetcher
    """Image that verifies the signature of a ModelKit and unpacks it."""
    downloader: Fetcher
    """Image that downloads from Hugging Face and S3."""
    sidecar: Image | None = None
    """The routing sidecar; None if the release does not support disaggregated prefill."""


FETCHERS = frozenset({"images.kit", "images.kitVerify", "images.downloader"})
"""Paths in a table of the images that fetch weights."""


class EngineMetric(Spec):
    """A load metric of the engine."""

    series: str
    """Name of the gauge at the engine's /metrics."""
    pod_metric: str
    """Name under which a metrics adapter offers the gauge to autoscalers, as a metric of pods."""
    aggregation: Literal["sum", "avg"]
    """Function that combines the values of several engines in one pod into one value."""


class HandshakePort(Sourced):
    """Port on which engines agree on a transfer of the KV cache. Each rank adds the number of the rank to the port."""

    variable: str
    """Environment variable that sets the port."""
    number: int
    """The port that engines use if the variable is not set."""


class EngineFacts(Sourced):
    """Flags, KV cache settings and metrics of a release's inference server."""

    kv_transfer: dict[str, dict[str, str]] = Field(default={})
    """Value of `--kv-transfer-config` by connector, for the connectors that the release supports."""
    handshake_ports: dict[str, HandshakePort] = Field(default={})
    """Ports for the transfer of the KV cache, by connector."""
    kv_events: dict[str, bool | str]
    """Value of `--kv-events-config`. Its texts are templates. They may contain `{port}`, the port on which the pod
    receives requests, and `{model}`, the name under which the pod serves the model."""
    json_flags: list[str] = Field(default=[])
    """Flags whose value is JSON."""
    cache_flags: list[str] = Field(default=[])
    """Flags that determine the format of the KV cache. Their values must be equal in all roles."""
    neutral_flags: list[str] = Field(default=[])
    """Flags that do not affect the contents of the KV cache that prefill sends to decode."""
    neutral_variables: list[str] = Field(default=[])
    """Prefixes of environment variables that do not affect the KV cache that prefill sends to decode."""
    metrics: dict[Literal["queue-size", "running-requests", "kv-cache-utilization"], EngineMetric]
    """Metrics for autoscaling, by their names in the configuration."""


class SidecarFacts(Sourced):
    """Flags of a release's routing sidecar.

    All flags are templates. `planning.serving.sidecar` fills in values such as `{port}` and `{pool}`.
    """

    flags: list[str]
    """Flags of every sidecar."""
    lone_connectors: list[str] = Field(default=[])
    """Those of the connectors with which the sidecar works in pods without further roles."""
    connectors: list[str]
    """Values of `kvCache.connector`: protocols by which the sidecar lets prefill and decode work together."""
    tls: list[str]
    """Further flags if the engines of the prefill pods serve TLS."""
    tracing: list[str]
    """Further flags if the stack has tracing."""
    tracing_off_variables: dict[str, str] = Field(default={})
    """Environment variables that disable tracing; empty if the sidecar does not trace by default."""
    log_level: list[str]
    """Further flags if the user sets the log level."""
    copies: list[str]
    """Further flags if every copy of the model in the pod has its own port. `{copies}` is the number of copies."""
    encode: list[str] = Field(default=[])
    """Further flags if other pods run the encoders; empty if the release does not support such pods."""


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


class PickerMetrics(Sourced):
    """Series at the picker's /metrics."""

    series: dict[Literal["picker-queue-size", "picker-running-requests", "pool-saturation"], PickerSeries]
    """Metrics for autoscaling, by their names in the configuration. `picker-queue-size` scales a role up from zero."""


__all__ = ["Condition", "Demand", "Handler", "Need", "Plugin", "PluginFacts"]

DEFAULT_PRESET = "approximate-prefix-cache"
"""Name of the preset that every channel has."""


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


class ImageFamily(Spec):
    """All images of one repository whose tags have the same beginning."""

    repository: str
    """Last segment of the repository's name."""
    tag: str
    """Beginning of the tags, such as `v0.10`. In a tag, a dot, a hyphen or nothing follows this beginning."""


class ReadCommit(Spec):
    """A commit before a release whose source was read in place of the release."""

    commit: str
    date: date
    """Day of the commit."""

    @property
    def short(self) -> str:
        """Return the beginning of the commit's hash, as sources of facts name it."""
        return self.commit[:9]


class ReleaseLine(Sourced):
    """The images of a release line. Its versions of picker and sidecar read the same configuration and flags."""

    images: list[ImageFamily]
    built: ReadCommit | None = None
    """Commit from which a picker was built and run in place of the release; None if the release itself was read."""


class VersionRequirement(Sourced):
    """An API group that the cluster must serve, and the minimum version of the software that provides the group."""

    group: str
    """The API group."""
    version: str
    """Minimum version of the software that provides the group's kinds."""


class Requirements(Spec):
    """API groups that the cluster must serve before a stack is deployed."""

    gateway_api: VersionRequirement
    inference_pool: VersionRequirement
    pool_ports: VersionRequirement
    """Required only if a pool has several target ports."""
    objectives: VersionRequirement
    istio: VersionRequirement
    """Required only if the gateway is Istio's."""

    @property
    def of_definitions(self) -> tuple[VersionRequirement, ...]:
        """Return the requirements that bundles of CRDs meet."""
        return self.gateway_api, self.inference_pool, self.objectives


class TracingFacts(Sourced):
    """Support of a release's picker and sidecar for the OpenTelemetry environment variables."""

    samplers: list[str]
    """Values of OTEL_TRACES_SAMPLER that picker and sidecar support."""
    otherwise: str
    """End of a warning to users: what picker and sidecar do with any other value."""


class Retirement(Sourced):
    """Why a channel can no longer be deployed."""

    reason: str
    """The missing part, as the end of a sentence about the channel."""
    next: str
    """Name of the channel to choose instead."""


class Release(Spec):
    """The facts of one release channel."""

    name: str = ""
    """Name of the channel. `channel` sets it from the file's name."""
    retired: Retirement | None = None
    """None for a channel whose images can be pulled."""
    images: ReleaseImages
    engine: EngineFacts
    sidecar: SidecarFacts | None = None
    picker: PickerFacts
    tracing: TracingFacts
    line: ReleaseLine
    requirements: Requirements

    @cached_property
    def entries(self) -> tuple[tuple[str, Sourced], ...]:
        """Return all entries of the table that have a source, each with its path in the table."""
        return tuple(_entries("", self))


class FormerChannel(Spec):
    """A channel of earlier versions of this program, whose name is now that of another release."""

    written: str
    """Name of the channel in stack files of those versions."""
    base: str
    """Channel with the same picker and sidecar."""
    engine: dict[str, Image]
    """Engine images by accelerator vendor."""
    newer_flags: list[str]
    """Flags that the engine's facts of `base` have, and those of the former channel had not."""


class FormerChannels(Spec):
    """All such channels, by the names that they have now."""

    channels: dict[str, FormerChannel]


def channels() -> tuple[str, ...]:
    """Return the names of all channels that are releases of upstream, sorted by line and version."""
    return tuple(sorted(tables.names("releases"), key=_line_and_version))


def _line_and_version(name: str) -> tuple[str, tuple[int, ...]]:
    line, _, version = name.rpartition("-")
    return line, tuple(int(number) for number in version.split("."))


def offered_channels() -> tuple[str, ...]:
    """Return the names of the channels that are not retired, sorted."""
    return tuple(name for name in channels() if channel(name).retired is None)


def former_channels() -> dict[str, FormerChannel]:
    """Return the channels of earlier versions of this program, by the names that they have now."""
    return tables.read(FormerChannels, "former_channels.yaml").channels


def present_name(written: str) -> str:
    """Return the present name of a channel that earlier versions of this program called `written`."""
    return next((name for name, former in former_channels().items() if former.written == written), written)


def known_channels() -> tuple[str, ...]:
    """Return all names that `channel` takes: those of upstream's releases, and those of former channels."""
    return (*channels(), *former_channels())


@cache
def channel(name: str) -> Release:
    """Return the facts of a channel; `name` is one of `known_channels()`."""
    former = former_channels().get(name)
    if former is None:
        return tables.read(Release, f"releases/{name}.yaml").model_copy(update={"name": name})
    base = channel(former.base)
    images = base.images.model_copy(update={"engine": former.engine})
    engine = _without_flags(base.engine, former.newer_flags)
    return base.model_copy(update={"name": name, "images": images, "engine": engine})


def _without_flags(facts: EngineFacts, flags: Collection[str]) -> EngineFacts:
    """Return the facts of an engine without some flags."""
    lists = {"json_flags": facts.json_flags, "cache_flags": facts.cache_flags, "neutral_flags": facts.neutral_flags}
    update = {name: [flag for flag in known if flag not in flags] for name, known in lists.items()}
    return facts.model_copy(update=update)


def repository_and_tag(image: str) -> tuple[str, str]:
    """Return the last segment of the repository in an image reference, and the tag, which may be empty."""
    repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return repository, tag


def _entries(path: str, node: object) -> Iterator[tuple[str, Sourced]]:
    """Yield the node and everything below it that has a source, each with its path in the table."""
    if isinstance(node, Sourced):
        yield path, node
    for key, child in _children(node):
        if isinstance(child, Spec | dict):
            yield from _entries(f"{path}.{key}" if path else key, cast("object", child))


def _children(node: object) -> Iterator[tuple[str, object]]:
    """Yield the fields of a spec, by their keys in the table, or the items of a mapping."""
    if isinstance(node, Spec):
        yield from ((field.alias or name, getattr(node, name)) for name, field in type(node).model_fields.items())
    elif isinstance(node, dict):
        yield from cast("dict[str, object]", node).items()
