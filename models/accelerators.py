"""Specs of the accelerator classes that a user adds, and of changes to shipped classes."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from models.base import Spec
from models.claims import MOST_DEVICES, DeviceConstraint, DeviceRequest, Selectors
from models.kubernetes import Toleration
from models.vocabulary import (
    DnsLabel,
    DnsSubdomain,
    Items,
    LabelKey,
    LabelValue,
    Quantity,
    Shape,
    Text,
    Within,
    amount,
    check_unit,
    refuse,
)


def _check_at_least_a_byte(quantity: str) -> str:
    if amount(quantity) < 1:
        raise refuse("is less than a byte", "write the memory with its unit, such as 80Gi")
    return quantity


Memory = Annotated[Quantity, AfterValidator(_check_at_least_a_byte), AfterValidator(check_unit)]
"""Device memory: a Kubernetes quantity of at least one byte."""
DevicesPerNode = Annotated[int, Within(1, 1024, "write the number of devices of the largest node, such as 8")]
DevicesPerChip = Annotated[int, Within(1, 64, "write the number of devices that the engine sees in a chip, such as 2")]
_NAME = r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
ExtendedResourceName = Annotated[
    str,
    Shape(
        "is not the name of an extended resource",
        rf"(?!requests\.)(?!.*kubernetes\.io/){_DOMAIN}/{_NAME}",
        "write the vendor's domain and a name, such as nvidia.com/mig-3g.40gb",
        # A ResourceQuota prefixes the name with `requests.`; domain and prefix together have at most 253 characters.
        308,
    ),
]


class ExtendedResource(Spec):
    """Devices that a device plugin advertises, all under one resource name."""

    type: Literal["extended-resource"]
    """Devices that a device plugin advertises, all under one resource name."""
    resource_name: Annotated[ExtendedResourceName, Field(examples=["nvidia.com/mig-3g.40gb"])]
    """Name of the extended resource, such as the resource of a MIG profile."""


class ResourceClaim(Spec):
    """Devices that each pod claims by Dynamic Resource Allocation."""

    type: Literal["resource-claim"]
    """Devices that each pod claims by Dynamic Resource Allocation."""
    device_class_name: DnsSubdomain | None = Field(default=None, examples=["gpu.nvidia.com"])
    """Name of the DeviceClass, which the vendor's driver installs. Required without requests and template."""
    selectors: Selectors = Field(
        default=(), examples=[["device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('40Gi'))"]]
    )
    """CEL expressions over `device`; a device has to satisfy all of them."""
    requests: Annotated[Items[DeviceRequest], Field(max_length=MOST_DEVICES)] = Field(
        default=(),
        examples=[
            [
                {"deviceClassName": "gpu.nvidia.com", "name": "gpu"},
                {"deviceClassName": "mrdma.google.com", "name": "nic"},
            ]
        ],
    )
    """Requests of the claim instead of deviceClassName and selectors. The first one is for the devices of parallelism:
    capacity, prices and reports count its devices alone. The others are for devices beside them, such as network
    cards."""
    constraints: Annotated[Items[DeviceConstraint], Field(max_length=32)] = Field(
        default=(), examples=[[{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]]
    )
    """Demands on the devices of one claim together."""
    per_device: bool = False
    """Whether a pod has a claim for each of its devices, instead of one claim with all of them. Requests beside the
    first one, and constraints, then count for each device."""
    template: DnsSubdomain | None = Field(default=None, examples=["gke-rdma-template"])
    """Existing ResourceClaimTemplate from which each pod gets its claim, or one for each device (perDevice). It has to
    request what parallelism takes. The stack then creates no template, so requests and constraints are refused."""


Allocation = Annotated[ExtendedResource | ResourceClaim, Field(discriminator="type")]


class UserClass(Spec):
    """A class of devices. If a class with this name is shipped, the keys here change that class."""

    vendor: DnsLabel | None = Field(default=None, examples=["nvidia"])
    """Vendor of the devices: nvidia, amd, intel-gaudi, intel, google, cpu for nodes without devices, or another one.
    Required for a new class; a shipped class keeps its vendor. Classes of another vendor need allocation, and get no
    tolerations; their services need engine.image."""
    product: Text | None = Field(default=None, examples=["NVIDIA H100 80GB, 3g.40gb"])
    """Product name of the devices; absent: any product of the vendor."""
    memory: Memory | None = Field(default=None, examples=["40Gi"])
    """Memory of one device, as its driver shows it (nvidia-smi shows 81559Mi for a device of 80 GB); absent:
    unknown."""
    devices_per_node: DevicesPerNode | None = Field(default=None, examples=[8])
    """Number of devices of the largest node; absent: unknown."""
    devices_per_chip: DevicesPerChip | None = Field(default=None, examples=[2])
    """Number of devices that the engine sees in one chip: 2 for TPU7x, whose chips have two cores. The cluster counts
    chips: a pod requests the number of its devices divided by this number, rounded up. Absent: the number of the
    shipped class, or 1."""
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, examples=[{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}]
    )
    """Labels that a node must have, in addition to those of the shipped class. A label with the same key replaces the
    shipped label."""
    tolerations: Items[Toleration] | None = Field(
        default=None, examples=[[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]]
    )
    """Tolerations of the pods. Absent: those of the shipped class. If the shipped class has none, or the class is new:
    those of the classes that stand for all products of the vendor."""
    allocation: Allocation | None = Field(
        default=None, examples=[{"type": "extended-resource", "resourceName": "nvidia.com/mig-3g.40gb"}]
    )
    """How a pod gets its devices. Absent: as in the shipped class. If the shipped class has no allocation, or the class
    is new: as in the class that stands for all products of the vendor (for Intel: intel-i915). Required for a vendor
    that no shipped class has."""
    provisioned: bool = False
    """Whether something such as an autoscaler adds nodes of this class on demand. If true, checks.capacity does not
    report that devices of this class are lacking."""
