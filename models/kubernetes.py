"""Specs of small types of the Kubernetes API, with the names and rules of the API."""

from typing import Literal

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import CountOrNone, DnsSubdomain, LabelKey, LabelValue, refuse


class LocalObjectReference(Spec):
    """An object in the namespace of the pod."""

    name: DnsSubdomain = Field(examples=["registry"])
    """Name of the object."""


class Toleration(Spec):
    """A toleration: which taints of a node a pod tolerates."""

    key: LabelKey | None = Field(default=None, examples=["nvidia.com/gpu"])
    """Key of the taint. Absent: every key; the operator must then be Exists."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Equal: tolerate taints whose value is the one in `value`; Exists: tolerate taints with any value."""
    value: LabelValue | None = Field(default=None, examples=["present"])
    """Value of the taint, for operator Equal only. Absent: the empty value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(default=None, examples=["NoSchedule"])
    """Effect of the taint; absent: every effect."""
    toleration_seconds: CountOrNone | None = Field(default=None, examples=[300])
    """Seconds that a running pod stays on a node after the node gets a NoExecute taint; absent: without limit."""

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
                f"has tolerationSeconds without effect NoExecute ({self.toleration_seconds})",
                "write effect: NoExecute, or remove tolerationSeconds",
                echoed=False,
            )
        return self
