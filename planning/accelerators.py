"""Accelerator classes: what a class name means for resources and nodes. The table is `accelerators.yaml`."""

import difflib

from pydantic import Field

from models.base import Spec
from models.problems import Problem
from models.service import Service
from planning import tables


class AcceleratorClass(Spec):
    """One class of devices."""

    vendor: str
    product: str | None = None
    resource: str | None = None
    """The extended resource; absent: the class has no devices."""
    devices_per_node: int | None = None
    """Devices of the largest node; absent: unknown."""
    node_labels: dict[str, list[str]] = Field(default={})
    """Labels of nodes that carry the product, each with the values that qualify."""
    source: str


class _Classes(Spec):
    classes: dict[str, AcceleratorClass]


def classes() -> dict[str, AcceleratorClass]:
    """Return every class by name."""
    return tables.read(_Classes, "accelerators.yaml").classes


def devices_per_pod(service: Service) -> int:
    """Return the devices that one pod takes: tensor times data, or none where the class has none."""
    has_devices = classes()[service.accelerator].resource is not None
    return service.parallelism.tensor * service.parallelism.data if has_devices else 0


def problems(path: str, service: Service) -> list[Problem]:
    """Check a service's class, and that one node can carry one pod."""
    accelerator = classes().get(service.accelerator)
    at = f"{path}.accelerator"
    if accelerator is None:
        close = difflib.get_close_matches(service.accelerator, classes(), n=1, cutoff=0.3)
        return [Problem(at, f"unknown class ({service.accelerator})", f"use {close[0] if close else _listed()}")]
    wanted = devices_per_pod(service)
    most = accelerator.devices_per_node
    if most is None or wanted <= most:
        return []
    sizes = f"tensor {service.parallelism.tensor} × data {service.parallelism.data}"
    return [
        Problem(
            f"{path}.parallelism",
            f"a pod would need {wanted} devices ({sizes}), nodes of {service.accelerator} have {most}",
            f"use at most {most} in all",
            depends_on=(at, f"{path}.parallelism.tensor", f"{path}.parallelism.data"),
        )
    ]


def _listed() -> str:
    return ", ".join(sorted(classes()))
