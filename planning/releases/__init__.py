"""Release facts: images, flags, plugins and requirements of each release channel.

Each channel is a YAML file in this folder, and the classes of this package are its schema. A new file is a new channel.
"""

from collections.abc import Collection, Iterator
from datetime import date
from functools import cache, cached_property
from typing import Literal, cast

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.releases.images import Image, ReleaseImages
from planning.releases.picker_facts import PickerFacts


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
