"""Release channels as data: what belongs together in one release line. Adding a channel is adding a file."""

from collections.abc import Collection, Iterator
from datetime import date
from functools import cache, cached_property
from typing import Any, Literal, cast

from pydantic import Field

from models.base import Spec
from planning.ground import tables


class Sourced(Spec):
    """A fact about a release, with where and when it was read and how it was proven."""

    source: str
    date: date
    proof: Literal["binary", "source", "none"]


class Image(Sourced):
    """A pinned image."""

    ref: str


class Images(Spec):
    """The images of a release; engine images by accelerator vendor."""

    engine: dict[str, Image]
    picker: Image
    kit: Image
    kit_verify: Image
    """Unpacks a ModelKit after its signature was checked."""
    downloader: Image
    """Downloads from Hugging Face and S3."""
    sidecar: Image | None = None
    """The routing sidecar; absent: the release knows no prefill."""


class EngineMetric(Spec):
    """What the engine tells of its load."""

    series: str
    """Name of the gauge at the engine's /metrics."""
    pod_metric: str
    """Name under which an adapter exposes it to autoscalers, as a metric of pods."""
    engines: Literal["sum", "avg"]
    """How the values of several engines in one pod become the pod's."""


class EngineFacts(Sourced):
    """What the inference server of a release understands."""

    shutdown_timeout: str | None = None
    """Flag for the seconds that running requests may take once the server is told to end; absent: it ends at once."""
    nodes: bool = False
    """Whether one server spans nodes without a further framework (`--nnodes`)."""
    kv_transfer: dict[str, dict[str, str]] = Field(default={})
    """`--kv-transfer-config` by connector; a connector that is absent is not known."""
    kv_events: dict[str, bool | str]
    """`--kv-events-config`, its texts being templates over the pod's `port` and the `model`'s served name."""
    json_flags: list[str] = Field(default=[])
    """Flags whose value is JSON."""
    cache_flags: list[str] = Field(default=[])
    """Flags that must say the same in all roles, because they give the KV cache its form."""
    neutral_flags: list[str] = Field(default=[])
    """Flags that change nothing about the KV cache as prefill hands it to decode."""
    neutral_variables: list[str] = Field(default=[])
    """Beginnings of the names of environment variables that change nothing about it."""
    metrics: dict[Literal["queue-size", "running-requests", "kv-cache-utilization"], EngineMetric]
    """What autoscaling can follow, by the words of the configuration."""


class SidecarFacts(Sourced):
    """What the routing sidecar of a release understands. Flags are templates over one record of values."""

    flags: list[str]
    tls: list[str]
    """For asking prefill over TLS."""
    tracing: list[str]
    untraced: dict[str, str] = Field(default={})
    """Variables that keep traces from being begun where nobody asks for them; none: it begins none by itself."""
    log_level: list[str]


class PickerProbes(Sourced):
    """The gRPC health services that probes ask for."""

    readiness: str
    liveness: str


class PickerFlags(Sourced):
    """What the picker's command line takes, by names without the dashes before them."""

    always: list[str]
    """What every picker gets, as single tokens."""
    known: dict[str, str]
    """What users may set, with the shape of its value (`planning.picker.shapes`)."""
    rejected: dict[str, str]
    """What exists and stops or misleads the picker, with the reason."""
    experimental: str | None = None
    """Switch without which alpha plugins are refused; absent: the release knows no stability."""


class ConfigFacts(Sourced):
    """What an EndpointPickerConfig of a release is."""

    api_version: str
    gates: list[str]
    """Feature gates."""
    shape: dict[str, Any]
    """The keys, as `planning.picker.shapes` reads them, without apiVersion and kind."""
    deprecated: dict[str, str] = Field(default={})
    """Keys that are still read, and what takes their place."""
    gate_values: bool = False
    """Whether `name=false` switches a gate off."""
    gated: dict[str, str] = Field(default={})
    """Sections that are refused while a gate is off."""
    ordered: bool = False
    """Whether a plugin has to stand behind those that its parameters name."""


class Deprecation(Spec):
    """What takes a plugin's place, and the version that removes it."""

    by: str
    removed: str | None = None


class Handler(Spec):
    """How a profile handler chooses among profiles."""

    single: bool = False
    """It takes one profile only."""
    deciders: list[str] = Field(default=[])
    """Parameters of which one names who decides that prefill is asked; none: the handler never asks prefill."""
    decider: str | None = None
    """The plugin that decides where no parameter names one."""
    undecided: dict[str, str] = Field(default={})
    """Parameters with which prefill is asked without a decider."""
    profiles: dict[Literal["decode", "prefill"], list[str]] = Field(default={})
    """Parameters that name the profile of a role, which is otherwise called like the role."""


class Need(Spec):
    """Why a plugin cannot be left out beside another."""

    parameters: list[str] = Field(default=[])
    """What it has to be told."""
    unless: str | None = None
    """Parameter of the other with which it can be left out."""


class Plugin(Spec):
    """One type of plugin."""

    groups: list[str]
    """What it can be used as; the first is what it is called."""
    stability: Literal["beta", "alpha"] = "beta"
    deprecated: Deprecation | None = None
    parameters: dict[str, Any] | None = None
    """Its parameters, as `planning.picker.shapes` reads them; absent: they are not checked."""
    implicit: bool = False
    """The picker adds it by itself, under the name of its type, where it is needed."""
    requires: dict[str, Need] = Field(default={})
    """Types that have to be declared beside it."""
    gates: list[str] = Field(default=[])
    """Feature gates without which it does nothing."""
    role: Literal["decode", "prefill", "encode"] | None = None
    """The role whose pods a filter leaves."""
    protocols: list[str] = Field(default=[])
    """Values of the pool's appProtocol that a parser takes; none: any."""
    block_size: list[str] = Field(default=[])
    """Parameters that hold the engine's block size, of which one has to be written: it hashes what engines publish."""
    predicts_latency: bool = False
    """It needs a latency predictor."""
    rejected: str | None = None
    """Why it cannot work beside the objects that are made here; absent: it can."""
    zeros: dict[str, str] = Field(default={})
    """Parameters that cannot work beside them unless they are 0, with the reason."""
    handler: Handler | None = None


class PluginFacts(Sourced):
    """Every plugin that a release registers."""

    table: dict[str, Plugin]


class Preset(Sourced):
    """One way to score endpoints, as a configuration without apiVersion and kind."""

    together: dict[str, Any]
    """For one role."""
    apart: dict[str, Any] | None = None
    """For prefill and decode apart; absent: the picker cannot."""
    needs: list[Literal["kv-events", "latency-predictor"]] = Field(default=[])


class PredictorFacts(Sourced):
    """Variables that say where the latency predictor is."""

    training: str
    prediction: str


class Rule(Spec):
    """One rule of the picker's Role."""

    api_groups: list[str]
    resources: list[str]
    verbs: list[str]
    pool_only: bool = False
    """Narrowed to the picker's own pool by name."""
    lease_only: bool = False
    """Narrowed to the lease of the pool's pickers by name."""


class RbacFacts(Sourced):
    """What the picker reads and writes through the API server."""

    rules: list[Rule]
    leader_election: list[Rule]
    """Further rules where several pickers elect a leader."""
    lease: str
    """Name of the lease that a leader holds, a template over the pool's `namespace` and name (`pool`)."""


class Headers(Sourced):
    """Names of HTTP headers; what is absent is not known to the release."""

    objective: str
    fairness_id: str
    model_rewrite: str
    base_model: str
    """What a payload processor in front writes the base model into that a request's body asks for."""
    ttft_slo: str
    tpot_slo: str
    destination: str
    prefill: str | None = None


class PickerMetrics(Sourced):
    """Series at the picker's /metrics; what is absent does not exist."""

    requests: str
    request_errors: str
    ready_endpoints: str
    running_requests: str
    average_queue_size: str
    average_kv_cache_utilization: str
    flow_control_queue_size: str
    pool_saturation: str | None = None


DEFAULT_PRESET = "approximate-prefix-cache"
"""The preset that every channel has."""


class PickerFacts(Sourced):
    """What the endpoint picker of a release understands."""

    service_app_protocol: str
    """appProtocol of the ext-proc port."""
    start_seconds: int = 540
    """From the creation of a pod to its readiness at most, the pull of the image included."""
    objectives_group: str
    """API group of InferenceObjective and InferenceModelRewrite."""
    probes: PickerProbes
    flags: PickerFlags
    untraced: dict[str, str] = Field(default={})
    """Variables that keep traces from being begun where nobody asks for them; none: `--tracing=false` does."""
    config: ConfigFacts
    plugins: PluginFacts
    presets: dict[str, Preset]
    """By the words of the configuration; a preset that is absent is not known."""
    latency_predictor: PredictorFacts | None = None
    rbac: RbacFacts
    headers: Headers
    metrics: PickerMetrics

    @property
    def disaggregated(self) -> dict[str, Any] | None:
        """The default configuration for prefill and decode apart; nothing where the picker cannot."""
        return self.presets[DEFAULT_PRESET].apart


class LineImage(Spec):
    """Images of one repository, by the last part of its name, whose tags begin alike."""

    repository: str
    tag: str


class Line(Sourced):
    """The images that belong to a release line: a picker of one line cannot read the configuration of another."""

    images: list[LineImage]


class Requirement(Sourced):
    """What a cluster has to have, and since which version of it."""

    group: str
    """API group of its kinds."""
    version: str


class Requirements(Spec):
    """What has to be installed before."""

    gateway_api: Requirement
    inference_pool: Requirement
    objectives: Requirement
    istio: Requirement
    """Only where the gateway is Istio's."""


class TracingFacts(Sourced):
    """What picker and sidecar of a release read of OpenTelemetry's variables."""

    samplers: list[str]
    """Values of OTEL_TRACES_SAMPLER that they understand."""
    otherwise: str
    """What they do with any other."""


class Release(Spec):
    """One release channel."""

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
        """Return every entry that has a source, with where it stands."""
        return tuple(_entries("", self))


def channels() -> tuple[str, ...]:
    """Return the names of all channels, sorted."""
    return tables.names("releases")


@cache
def channel(name: str) -> Release:
    """Return a channel's facts. The name is one of `channels()`."""
    return tables.read(Release, f"releases/{name}.yaml").model_copy(update={"name": name})


def other_line(release: Release, image: str) -> tuple[str, ...] | None:
    """Return the channels whose line an image belongs to where that is not the release's own; else nothing.

    An image that no line knows, or that says no version, may be anybody's.
    """
    repository, tag = _parts(image)
    lines = {name: channel(name).line.images for name in channels()}
    if not any(one.repository == repository for images in lines.values() for one in images):
        return None
    if not tag.startswith("v") or any(_belongs(one, repository, tag) for one in release.line.images):
        return None
    return tuple(name for name, images in lines.items() if any(_belongs(one, repository, tag) for one in images))


def _parts(image: str) -> tuple[str, str]:
    """Return the last part of an image's name, and its tag."""
    repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return repository, tag


def _belongs(line: LineImage, repository: str, tag: str) -> bool:
    return line.repository == repository and (tag == line.tag or tag.startswith((f"{line.tag}.", f"{line.tag}-")))


def unproven(release: Release, vendors: Collection[str]) -> tuple[tuple[str, Sourced], ...]:
    """Return the entries that nobody has proven, with where they stand, of all that engines of these vendors use."""
    unused = {f"images.engine.{vendor}" for vendor in release.images.engine.keys() - set(vendors)}
    return tuple((at, entry) for at, entry in release.entries if entry.proof == "none" and at not in unused)


def _entries(path: str, node: object) -> Iterator[tuple[str, Sourced]]:
    if isinstance(node, Sourced):
        yield path, node
    for key, inside in _below(node):
        if isinstance(inside, Spec | dict):
            yield from _entries(f"{path}.{key}" if path else key, cast("object", inside))


def _below(node: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of a spec by the keys of its table, or those of a mapping."""
    if isinstance(node, Spec):
        yield from ((field.alias or name, getattr(node, name)) for name, field in type(node).model_fields.items())
    elif isinstance(node, dict):
        yield from cast("dict[str, object]", node).items()
