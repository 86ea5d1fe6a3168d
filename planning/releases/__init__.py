"""Release facts: images, flags, plugins and requirements of each release channel.

A channel is a YAML file in this folder. To add a channel, add a file.
"""

from collections.abc import Collection, Iterator
from datetime import date
from functools import cache, cached_property
from typing import Any, Literal, cast

from pydantic import Field

from models.base import Spec
from planning.ground import tables


class Sourced(Spec):
    """A release fact with its source, the date on which that was read, and the kind of its proof."""

    source: str
    date: date
    proof: Literal["binary", "source", "none"]
    """Whether a released binary or its source code confirmed the fact."""


class Image(Sourced):
    """A pinned image."""

    ref: str


class Images(Spec):
    """The images of a release."""

    engine: dict[str, Image]
    """Engine images by accelerator vendor."""
    picker: Image
    kit: Image
    """Image that unpacks a ModelKit."""
    kit_verify: Image
    """Image that verifies the signature of a ModelKit and unpacks it."""
    downloader: Image
    """Image that downloads from Hugging Face and S3."""
    sidecar: Image | None = None
    """The routing sidecar; None if the release does not support disaggregated prefill."""


class EngineMetric(Spec):
    """A load metric of the engine."""

    series: str
    """Name of the gauge at the engine's /metrics."""
    pod_metric: str
    """Name of the pod metric that a metrics adapter makes of it for autoscalers."""
    engines: Literal["sum", "avg"]
    """Aggregation of the values of several engines in one pod."""


class EngineFacts(Sourced):
    """Flags, KV cache settings and metrics of a release's inference server."""

    shutdown_timeout: str | None = None
    """Flag for the seconds that running requests may take after SIGTERM; None if the server ends at once."""
    nodes: bool = False
    """Whether one server spans nodes without a further framework (`--nnodes`)."""
    kv_transfer: dict[str, dict[str, str]] = Field(default={})
    """Value of `--kv-transfer-config` by connector, for the connectors that the release supports."""
    kv_events: dict[str, bool | str]
    """Value of `--kv-events-config`. Its texts are templates with the pod's `port` and the served name (`model`)."""
    json_flags: list[str] = Field(default=[])
    """Flags whose value is JSON."""
    cache_flags: list[str] = Field(default=[])
    """Flags that decide the form of the KV cache, and therefore must be equal in all roles."""
    neutral_flags: list[str] = Field(default=[])
    """Flags that have no influence on the KV cache that prefill transfers to decode."""
    neutral_variables: list[str] = Field(default=[])
    """Prefixes of environment variables that have no influence on the KV cache that prefill transfers to decode."""
    metrics: dict[Literal["queue-size", "running-requests", "kv-cache-utilization"], EngineMetric]
    """Metrics that autoscaling can follow, by their names in the configuration."""


class SidecarFacts(Sourced):
    """Flags of a release's routing sidecar, all of them templates over the same record of values."""

    flags: list[str]
    tls: list[str]
    """Flags for TLS to prefill."""
    tracing: list[str]
    """Flags of a sidecar that traces."""
    untraced: dict[str, str] = Field(default={})
    """Variables that disable tracing; empty if the sidecar does not trace by default."""
    log_level: list[str]


class PickerProbes(Sourced):
    """Names of the gRPC health services that probes query."""

    readiness: str
    liveness: str


class PickerFlags(Sourced):
    """Flags of the picker, by names without leading dashes."""

    always: list[str]
    """Flags of every picker, each with its value in one token."""
    known: dict[str, str]
    """Flags that users may set, with the shape of their values (`planning.picker.shapes`)."""
    rejected: dict[str, str]
    """Flags that stop or mislead the picker, with the reason."""
    experimental: str | None = None
    """Flag that permits alpha plugins; None if the release does not distinguish stability levels."""


class ConfigFacts(Sourced):
    """Schema of a release's EndpointPickerConfig."""

    api_version: str
    gates: list[str]
    """Names of the feature gates."""
    shape: dict[str, Any]
    """Keys of the configuration without apiVersion and kind, as a shape of `planning.picker.shapes`."""
    deprecated: dict[str, str] = Field(default={})
    """Deprecated keys, each with its replacement."""
    gate_values: bool = False
    """Whether `name=false` switches a gate off."""
    gated: dict[str, str] = Field(default={})
    """Sections that the picker rejects while a gate is off, each with the gate."""
    ordered: bool = False
    """Whether a plugin must follow the plugins that its parameters name."""


class Deprecation(Spec):
    """The replacement of a deprecated plugin."""

    by: str
    """Type of the replacement."""
    removed: str | None = None
    """Version that removes the deprecated plugin; None if none is announced."""


class Handler(Spec):
    """The way in which a profile handler chooses among scheduling profiles."""

    single: bool = False
    """Whether it supports one profile only."""
    deciders: list[str] = Field(default=[])
    """Alternative parameters for the plugin that decides whether a request uses prefill; empty if no request may."""
    decider: str | None = None
    """Plugin that decides if none of the parameters is set."""
    undecided: dict[str, str] = Field(default={})
    """Parameters, with their values, that make requests use prefill without a decider."""
    profiles: dict[Literal["decode", "prefill"], list[str]] = Field(default={})
    """Parameters that name the profile of a role. By default the profile has the name of the role."""


class Need(Spec):
    """The conditions under which one plugin requires another."""

    parameters: list[str] = Field(default=[])
    """Parameters that the required plugin must have."""
    unless: str | None = None
    """Parameter of the requiring plugin that makes the other one unnecessary."""


class Plugin(Spec):
    """A type of plugin of the endpoint picker."""

    groups: list[str]
    """Kinds of plugin that it can serve as; messages call it by the first."""
    stability: Literal["beta", "alpha"] = "beta"
    deprecated: Deprecation | None = None
    parameters: dict[str, Any] | None = None
    """Its parameters, as a shape of `planning.picker.shapes`; None if they are not checked."""
    implicit: bool = False
    """Whether the picker adds it if needed, under the name of its type."""
    requires: dict[str, Need] = Field(default={})
    """Types of plugin that must be declared along with it."""
    gates: list[str] = Field(default=[])
    """Feature gates without which it has no effect."""
    role: Literal["decode", "prefill", "encode"] | None = None
    """Role of the pods that it selects, if it is a filter by role."""
    protocols: list[str] = Field(default=[])
    """Values of the pool's appProtocol that a parser supports; empty for all."""
    block_size: list[str] = Field(default=[])
    """Alternative parameters for the engine's block size. One is required, to hash blocks as the engine's events do."""
    predicts_latency: bool = False
    """Whether it needs a latency predictor."""
    rejected: str | None = None
    """Reason why it cannot work with the objects of a stack; None if it can."""
    zeros: dict[str, str] = Field(default={})
    """Parameters that must be 0 to work with the objects of a stack, each with the reason."""
    handler: Handler | None = None
    """Behaviour as a profile handler; None if it is none."""


class PluginFacts(Sourced):
    """The plugins that a release registers, by type."""

    table: dict[str, Plugin]


class Preset(Sourced):
    """A way to score endpoints, as picker configurations without apiVersion and kind."""

    aggregated: dict[str, Any]
    """Configuration for aggregated serving."""
    disaggregated: dict[str, Any] | None = None
    """Configuration for disaggregated prefill; None if the picker does not support it."""
    needs: list[Literal["kv-events", "latency-predictor"]] = Field(default=[])
    """Features of the stack that the preset depends on."""


class PredictorFacts(Sourced):
    """Names of the variables that hold the addresses of the latency predictor."""

    training: str
    prediction: str


class Rule(Spec):
    """A rule of the picker's Role."""

    api_groups: list[str]
    resources: list[str]
    verbs: list[str]
    pool_only: bool = False
    """Whether the rule covers only the picker's own pool."""
    lease_only: bool = False
    """Whether the rule covers only the lease of the pool's pickers."""


class RbacFacts(Sourced):
    """Permissions that the picker needs at the API server."""

    rules: list[Rule]
    leader_election: list[Rule]
    """Further rules for leader election among several pickers."""
    lease: str
    """Name of the leader's lease, a template with the pool's `namespace` and name (`pool`)."""


class Headers(Sourced):
    """Names of HTTP headers; None for a header that the release does not use."""

    objective: str
    fairness_id: str
    model_rewrite: str
    base_model: str
    """Header with the base model of a request, set by a payload processor that reads the request's body."""
    ttft_slo: str
    tpot_slo: str
    destination: str
    prefill: str | None = None


class PickerMetrics(Sourced):
    """Names of the series at the picker's /metrics; None for a series that the release does not have."""

    requests: str
    request_errors: str
    ready_endpoints: str
    running_requests: str
    average_queue_size: str
    average_kv_cache_utilization: str
    flow_control_queue_size: str
    pool_saturation: str | None = None


DEFAULT_PRESET = "approximate-prefix-cache"
"""Name of the preset that every channel has."""


class PickerFacts(Sourced):
    """Flags, configuration, plugins and permissions of a release's endpoint picker."""

    service_app_protocol: str
    """appProtocol of the ext-proc port."""
    start_seconds: int = 540
    """Maximum time from the creation of a pod to its readiness, including the pull of the image."""
    objectives_group: str
    """API group of InferenceObjective and InferenceModelRewrite."""
    probes: PickerProbes
    flags: PickerFlags
    untraced: dict[str, str] = Field(default={})
    """Variables that disable tracing; empty if `--tracing=false` does."""
    config: ConfigFacts
    plugins: PluginFacts
    presets: dict[str, Preset]
    """Presets that the release supports, by their names in the configuration."""
    latency_predictor: PredictorFacts | None = None
    rbac: RbacFacts
    headers: Headers
    metrics: PickerMetrics

    @property
    def disaggregated_config(self) -> dict[str, Any] | None:
        """The default configuration for disaggregated prefill; None if the picker does not support it."""
        return self.presets[DEFAULT_PRESET].disaggregated


class LineImage(Spec):
    """Images of one repository whose tags have a common prefix."""

    repository: str
    """Last part of the repository's name."""
    tag: str
    """Prefix of the tags."""


class Line(Sourced):
    """The images of a release line. A picker of one line cannot read the configuration of another."""

    images: list[LineImage]


class Requirement(Sourced):
    """An API that a cluster must serve, with its minimum version."""

    group: str
    """API group of its kinds."""
    version: str
    """Minimum version of the software that serves it."""


class Requirements(Spec):
    """APIs that must be installed in the cluster before the stack."""

    gateway_api: Requirement
    inference_pool: Requirement
    objectives: Requirement
    istio: Requirement
    """Required only if the gateway is Istio's."""


class TracingFacts(Sourced):
    """OpenTelemetry variables that a release's picker and sidecar support."""

    samplers: list[str]
    """Values of OTEL_TRACES_SAMPLER that they support."""
    otherwise: str
    """Text for users about their behaviour with any other value."""


class Release(Spec):
    """The facts of one release channel."""

    name: str = ""
    images: Images
    engine: EngineFacts
    sidecar: SidecarFacts | None = None
    picker: PickerFacts
    tracing: TracingFacts
    line: Line
    requirements: Requirements

    @cached_property
    def entries(self) -> tuple[tuple[str, Sourced], ...]:
        """Return every fact that has a source, with its path in the table."""
        return tuple(_entries("", self))


def channels() -> tuple[str, ...]:
    """Return the names of all channels, sorted."""
    return tables.names("releases")


@cache
def channel(name: str) -> Release:
    """Return the facts of a channel; `name` is one of `channels()`."""
    return tables.read(Release, f"releases/{name}.yaml").model_copy(update={"name": name})


def other_line(release: Release, image: str) -> tuple[str, ...] | None:
    """Return the channels whose release line an image belongs to, or None if it belongs to the line of `release`.

    The result is also None if no line has the image's repository, or if its tag is not a version.
    """
    repository, tag = _repository_and_tag(image)
    lines = {name: channel(name).line.images for name in channels()}
    if not any(line.repository == repository for images in lines.values() for line in images):
        return None
    if not tag.startswith("v") or any(_belongs(line, repository, tag) for line in release.line.images):
        return None
    return tuple(name for name, images in lines.items() if any(_belongs(line, repository, tag) for line in images))


def _repository_and_tag(image: str) -> tuple[str, str]:
    """Return the last part of an image's repository, and its tag."""
    repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return repository, tag


def _belongs(line: LineImage, repository: str, tag: str) -> bool:
    """Tell whether a line's images include one with this repository and tag."""
    return line.repository == repository and (tag == line.tag or tag.startswith((f"{line.tag}.", f"{line.tag}-")))


def unproven(release: Release, vendors: Collection[str]) -> tuple[tuple[str, Sourced], ...]:
    """Return the facts without a proof, with their paths; without the engine images of other vendors."""
    unused = {f"images.engine.{vendor}" for vendor in release.images.engine.keys() - set(vendors)}
    return tuple((at, entry) for at, entry in release.entries if entry.proof == "none" and at not in unused)


def _entries(path: str, node: object) -> Iterator[tuple[str, Sourced]]:
    """Yield the facts at and below a node, with their paths in the table."""
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
