"""Specs of small types of the Kubernetes API, with its names and rules."""

from typing import Literal

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import CountOrNone, DnsSubdomain, LabelKey, LabelValue, refuse


class LocalObjectReference(Spec):
    """An object in the pod's own namespace."""

    name: DnsSubdomain = Field(examples=["registry"])
    """Name of the object."""


class Toleration(Spec):
    """A taint that a pod puts up with."""

    key: LabelKey | None = Field(default=None, examples=["nvidia.com/gpu"])
    """Key of the taint; absent: every taint, which needs operator Exists."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Equal: the taint has this value; Exists: any value."""
    value: LabelValue | None = Field(default=None, examples=["present"])
    """Value of the taint, for operator Equal; absent: the empty one."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(default=None, examples=["NoSchedule"])
    """Effect of the taint; absent: every effect."""
    toleration_seconds: CountOrNone | None = Field(default=None, examples=[300])
    """Seconds that a running pod stays after a NoExecute taint has come; absent: for ever."""

    @model_validator(mode="after")
    def _is_valid_in_kubernetes(self) -> "Toleration":
        if self.operator == "Exists" and self.value:
            raise refuse(
                f"has a value that operator Exists never compares ({self.value})",
                "remove value, or write operator: Equal",
                echoed=False,
            )
        if self.operator == "Equal" and self.key is None:
            raise refuse("compares a value without a key", "add key, or write operator: Exists", echoed=False)
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            raise refuse(
                f"limits a stay that only NoExecute ends (tolerationSeconds {self.toleration_seconds})",
                "write effect: NoExecute, or remove tolerationSeconds",
                echoed=False,
            )
        return self
