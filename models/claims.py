"""Specs of claims on devices by Dynamic Resource Allocation (DRA).

Source of shapes and limits: k8s.io/api v0.36.3, resource/v1/types.go; k8s.io/kubernetes v1.36.3,
pkg/apis/resource/validation/validation.go.
"""

from typing import Annotated

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import DnsLabel, DnsSubdomain, Items, Shape, Within, refuse

MOST_DEVICES = 32
"""Largest number of requests in a claim, and of devices that a claim gets (AllocationResultsMaxSize)."""
CelExpression = Annotated[
    str,
    Shape(
        "is empty",
        r"\S([\s\S]*\S)?",
        "write a CEL expression over device, such as device.driver == 'gpu.nvidia.com'",
        10 * 1024,
    ),
]
DeviceAttribute = Annotated[
    str,
    Shape(
        "is not the full name of an attribute of devices",
        r"(?=[^/]{1,63}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z_][A-Za-z0-9_]{0,31}",
        "write domain and name, such as resource.kubernetes.io/pcieRoot",
    ),
]
DeviceCount = Annotated[int, Within(1, MOST_DEVICES, "write a number of devices, such as 1")]
Selectors = Annotated[Items[CelExpression], Field(max_length=32)]


class DeviceRequest(Spec):
    """Equal devices that a claim requests."""

    name: Annotated[DnsLabel, Field(examples=["gpu"])]
    """Name of the request in its claim."""
    device_class_name: Annotated[DnsSubdomain, Field(examples=["mrdma.google.com"])]
    """Name of the DeviceClass, which the vendor's driver installs."""
    selectors: Selectors = Field(default=(), examples=[["device.attributes['dra.net'].rdma == true"]])
    """CEL expressions over `device`; a device has to satisfy all of them."""
    count: DeviceCount | None = Field(default=None, examples=[1])
    """Number of devices in one claim; absent: 1. The first request stands for the devices of parallelism, which decides
    their number; a count is refused there."""


class DeviceConstraint(Spec):
    """A demand on the devices of a claim together."""

    match_attribute: Annotated[DeviceAttribute, Field(examples=["resource.kubernetes.io/pcieRoot"])]
    """Attribute that has the same value for all devices."""
    requests: Annotated[Items[DnsLabel], Field(max_length=MOST_DEVICES)] = Field(default=(), examples=[["gpu", "nic"]])
    """Names of the requests whose devices have to satisfy the constraint; absent: all requests of the claim."""


class PodClaim(Spec):
    """A claim on devices beside those of the accelerator class, such as network cards."""

    template: DnsSubdomain | None = Field(default=None, examples=["compute-domain-channel"])
    """Existing ResourceClaimTemplate from which each pod gets its claim. The stack then creates none."""
    device_class_name: DnsSubdomain | None = Field(default=None, examples=["mrdma.google.com"])
    """Name of the DeviceClass of the devices; required without template."""
    selectors: Selectors = Field(default=(), examples=[["device.attributes['dra.net'].rdma == true"]])
    """CEL expressions over `device`; a device has to satisfy all of them."""
    count: DeviceCount | None = Field(default=None, examples=[2])
    """Number of devices that a pod gets; absent: 1."""

    @model_validator(mode="after")
    def _has_one_form(self) -> "PodClaim":
        if self.template is None and self.device_class_name is None:
            raise refuse("has neither template nor deviceClassName", "write one of them", echoed=False)
        own_keys = {
            "deviceClassName": self.device_class_name,
            "selectors": self.selectors,
            "count": self.count,
        }
        surplus = [key for key, value in own_keys.items() if value]
        if self.template is not None and surplus:
            what = f"has {', '.join(surplus)} beside template, which has the devices already"
            raise refuse(what, "remove template, or the others", echoed=False)
        return self
