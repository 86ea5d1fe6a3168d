"""Claims of serving pods on devices (Dynamic Resource Allocation), and the templates of them that the stack creates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.accelerators import ResourceClaim
from models.claims import DeviceConstraint, PodClaim
from models.paths import Path
from models.problems import Problem
from planning.hardware import device_claims
from planning.hardware.device_claims import ClaimedDevices
from planning.variant.context import RoleContext

_DEVICES = "accelerators"
"""Name of the claim of a pod on the devices of its accelerator class. If there are several, they end with a number."""


@dataclass(frozen=True, slots=True)
class ClaimTemplatePlan:
    """A ResourceClaimTemplate that the stack creates."""

    name: str
    requests: tuple[ClaimedDevices, ...]
    constraints: tuple[DeviceConstraint, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """A claim of a pod."""

    name: str
    template: str
    """Name of the ResourceClaimTemplate from which the pod gets its claim."""
    at: Path
    """Path of the claim in the configuration."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """All claims of the pods of a role."""

    references: tuple[ClaimReference, ...]
    devices: ClaimTemplatePlan | None
    """Template of the claims on the devices of the accelerator class; None if the stack creates none."""
    further: Mapping[str, ClaimTemplatePlan]
    """Other templates that the stack creates, by name of the claim."""


def plan(context: RoleContext) -> PodClaims:
    """Return the claims of a role's pods."""
    pod_claims = context.role.pod.claims
    further = {name: _further(context, name, pod_claims[name]) for name in sorted(pod_claims)}
    templates = {name: template for name, template in further.items() if template is not None}
    allocation = context.accelerator.allocation
    devices = None
    references = list[ClaimReference]()
    if isinstance(allocation, ResourceClaim) and context.layout.devices_per_pod:
        if allocation.template is None:
            devices = _devices(context, allocation)
        references += _device_references(context, allocation)
    for name in further:
        template = pod_claims[name].template or templates[name].name
        references.append(ClaimReference(name, template, context.path / "pod" / "claims" / name))
    return PodClaims(tuple(references), devices, templates)


def _devices(context: RoleContext, claim: ResourceClaim) -> ClaimTemplatePlan:
    requests = device_claims.requests(claim, context.layout.chips_per_pod)
    return ClaimTemplatePlan(context.workload, requests, claim.constraints)


def _device_references(context: RoleContext, claim: ResourceClaim) -> Iterator[ClaimReference]:
    at = Path("accelerators", context.role.accelerator, "allocation")
    template = claim.template or context.workload
    if not claim.per_device:
        yield ClaimReference(_DEVICES, template, at)
        return
    for number in range(device_claims.count(claim, context.layout.chips_per_pod)):
        yield ClaimReference(f"{_DEVICES}-{number}", template, at)


def _further(context: RoleContext, name: str, claim: PodClaim) -> ClaimTemplatePlan | None:
    """Return the template of a claim beside the devices; None if the user names an existing template."""
    if claim.device_class_name is None:
        return None
    request = ClaimedDevices(name, claim.device_class_name, claim.count or 1, claim.selectors)
    # Names of workloads and of claims have no dot, so no template of another set or service has this name.
    return ClaimTemplatePlan(f"{context.workload}.{name}", (request,))


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check the claims of a role's pods."""
    allocation = context.accelerator.allocation
    names = set[str]()
    if isinstance(allocation, ResourceClaim) and context.layout.devices_per_pod:
        chips = context.layout.chips_per_pod
        yield from device_claims.judge_size(context.path, context.role.accelerator, allocation, chips)
        if context.role.pod.claims:
            names = {reference.name for reference in _device_references(context, allocation)}
    for name in sorted(names & context.role.pod.claims.keys()):
        what = f"is the name of the claim on the devices of {context.role.accelerator} ({name})"
        yield Problem(context.path / "pod" / "claims" / name, what, "choose another name")
