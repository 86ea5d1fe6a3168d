"""Release channels as data: what belongs together in one release line. Adding a channel is adding a file."""

from datetime import date
from typing import Literal

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


class Release(Spec):
    """One release channel."""

    images: Images
    picker: PickerFacts


def channels() -> tuple[str, ...]:
    """Return the names of all channels, sorted."""
    return tables.names("releases")


def channel(name: str) -> Release:
    """Return a channel's facts. The name is one of `channels()`."""
    return tables.read(Release, f"releases/{name}.yaml")
