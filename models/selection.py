"""Spec of the wishes of a service for its serving profile."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from models.base import Spec
from models.vocabulary import Bytes, CountOrNone, DnsLabel, Items, Text

ProfileType = Literal["optimized", "general", "preview", "unoptimized"]
"""Maturity of a profile, the best first."""
Metric = Literal["latency", "throughput"]
Precision = Literal["auto", "fp4", "fp8", "fp16", "fp32", "bf16", "int4", "int8"]
ProfileId = DnsLabel


class Selection(Spec):
    """Wishes for the serving profile. Each wish is a filter: a profile that does not meet it is not selected.

    {} has no wishes: the best profile that the nodes of the cluster can run is selected.
    """

    profile: ProfileId | None = Field(default=None, examples=["qwen3-8b-l40s-fp8"])
    """Id of the profile; absent: the best profile. A named profile has to pass every other filter."""
    metric: Metric | None = Field(default=None, examples=["latency"])
    """Metric for which the profile was tuned; absent: no preference."""
    precision: Precision = "auto"
    """Number format of the weights; auto: no preference."""
    minimum_type: ProfileType | None = Field(default=None, examples=["preview"])
    """Minimum maturity of the profile; absent: optimized, or any maturity if `profile` is set."""
    device_count: CountOrNone | None = Field(default=None, examples=[2])
    """Number of devices of one replica; absent: no preference."""
    min_device_memory: Bytes | None = Field(default=None, examples=["64Gi"])
    """Minimum memory of one device, as its driver shows it; absent: no preference."""
    accelerators: Annotated[Items[Text], Field(examples=[["amd-mi300x", "nvidia-l40s"]])] = ()
    """Accelerator classes, the preferred one first. The class of a vendor stands for all its products. Absent: only the
    class in the key `accelerator` beside `selection`, or every class if that key is absent. Refused together with that
    key."""


class Question(Selection):
    """The input of a selection: the model, the wishes, and the accelerator class of the service."""

    model: Text
    """Model of the catalogue."""
    image: Text | None = None
    """Image of the engine, if the service names its model by this image."""
    accelerator: Text | None = None
    """Accelerator class that the service itself names."""


class LockedProfile(Spec):
    """A selected profile, as the lock records it."""

    id: ProfileId
    reasons: Items[Text]
    """Reasons for the selection."""
    question: Question
    """The question for which the profile was selected. The lock does not answer a question that differs from it."""
    service: dict[str, JsonValue]
    """Keys of a service in the profile, as they were when the profile was locked."""
    source: Text
    """Origin of the numbers of the profile."""
