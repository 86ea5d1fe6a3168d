"""Spec of what a service wishes of the serving profile that is selected for it."""

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
    """Wishes for the serving profile. Each is a filter: a profile that does not meet it is not selected.

    {} wishes nothing: the best profile that the nodes of the cluster can run is selected.
    """

    profile: ProfileId | None = Field(default=None, examples=["qwen3-8b-l40s-fp8"])
    """Id of the profile; absent: the best one. A named profile has to pass every other filter."""
    metric: Metric | None = Field(default=None, examples=["latency"])
    """Purpose of the profile; absent: no preference."""
    precision: Precision = "auto"
    """Number format of the weights; auto: no preference."""
    minimum_type: ProfileType | None = Field(default=None, examples=["preview"])
    """Least maturity of the profile; absent: optimized, or with `profile` none."""
    device_count: CountOrNone | None = Field(default=None, examples=[2])
    """Devices of one replica; absent: no preference."""
    min_device_memory: Bytes | None = Field(default=None, examples=["64Gi"])
    """Least memory of one device, as its driver shows it; absent: no preference."""
    accelerators: Annotated[Items[Text], Field(examples=[["amd-mi300x", "nvidia-l40s"]])] = ()
    """Accelerator classes, the preferred one first; the class of all products of a vendor stands for each of them.
    Absent: every class, unless `accelerator` names one. It is refused beside `accelerator`."""


class Question(Selection):
    """All that decides which profiles may be selected: the model, the wishes, and a class beside them."""

    model: Text
    """Model of the catalogue."""
    image: Text | None = None
    """Image of the engine, if the service names its model by it."""
    accelerator: Text | None = None
    """Accelerator class that the service says itself."""


class LockedProfile(Spec):
    """The profile that was selected, in a lock."""

    id: ProfileId
    reasons: Items[Text]
    """Why it was selected."""
    question: Question
    """The question that it answers. Another question has another answer."""
    service: dict[str, JsonValue]
    """Keys of a service, as the profile had them."""
    source: Text
    """Origin of the numbers of the profile."""
