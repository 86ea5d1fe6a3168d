"""Release channels as data: what belongs together in one release line. Adding a channel is adding a file."""

from datetime import date
from typing import Any, Literal

from pydantic import Field

from models.base import Spec
from planning import tables


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
    log_level: list[str]


class PickerProbes(Spec):
    """The gRPC health services that probes ask for."""

    readiness: str
    liveness: str


class PickerFacts(Sourced):
    """What the endpoint picker of a release understands."""

    config_api_version: str
    objectives_group: str
    """API group of InferenceObjective and InferenceModelRewrite."""
    probes: PickerProbes
    flags: list[str]
    """Flags that every picker gets, as single tokens."""
    service_app_protocol: str
    """appProtocol of the ext-proc port."""
    disaggregated: dict[str, Any] | None = None
    """The configuration for prefill and decode apart, without apiVersion and kind; absent: the picker cannot."""


class Release(Spec):
    """One release channel."""

    images: Images
    engine: EngineFacts
    sidecar: SidecarFacts | None = None
    picker: PickerFacts


def channels() -> tuple[str, ...]:
    """Return the names of all channels, sorted."""
    return tables.names("releases")


def channel(name: str) -> Release:
    """Return a channel's facts. The name is one of `channels()`."""
    return tables.read(Release, f"releases/{name}.yaml")
