"""Claims of serving pods on devices (Dynamic Resource Allocation): templates, and references of pods and containers."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from manifests import about
from manifests.objects import Manifest, Rendered, compact
from models.paths import Path
from planning.ground import parts
from planning.ground.api_groups import CLAIM_TEMPLATE_API
from planning.hardware.device_claims import ClaimedDevices
from planning.plans import VariantPlan
from planning.serving.pod_claims import ClaimTemplatePlan, PodClaims
from planning.serving.workload import Workload


def templates(variant: VariantPlan, workload: Workload) -> Iterator[Rendered]:
    """Render the templates of claims that the stack creates for a role.

    The API server refuses every change of a template's spec, so changed templates are replaced.
    """
    part = parts.ROLES[workload.stage.name].claim
    claims = workload.claims
    if claims.devices is not None:
        manifest = _template(variant, claims.devices)
        yield replace(about.part_object(variant, part, manifest, workload.set_name), replace=True)
    for name, plan in claims.further.items():
        # Names of sets and of claims have no dot.
        qualifier = f"{workload.set_name}.{name}" if workload.set_name else name
        yield replace(about.part_object(variant, part, _template(variant, plan), qualifier), replace=True)


def _template(variant: VariantPlan, plan: ClaimTemplatePlan) -> dict[str, Any]:
    return {
        "apiVersion": CLAIM_TEMPLATE_API,
        "kind": "ResourceClaimTemplate",
        "metadata": about.metadata(variant, about.MODEL_SERVER, plan.name),
        "spec": _spec(plan),
    }


def _spec(plan: ClaimTemplatePlan) -> dict[str, Any]:
    constraints = [
        compact({"matchAttribute": constraint.match_attribute, "requests": list(constraint.requests)})
        for constraint in plan.constraints
    ]
    devices = {"requests": [_request(request) for request in plan.requests], "constraints": constraints}
    return {"spec": {"devices": compact(devices)}}


def _request(request: ClaimedDevices) -> dict[str, Any]:
    exactly = {
        "deviceClassName": request.device_class,
        "allocationMode": "ExactCount",
        "count": request.count,
        "selectors": [{"cel": {"expression": expression}} for expression in request.selectors],
    }
    return {"name": request.name, "exactly": compact(exactly)}


def checksums(claims: PodClaims) -> dict[str, str]:
    """Return annotations for pods: the hashes of the templates that the stack creates.

    A running pod keeps its claims, even if a template changes. The hashes change with the templates, so that the
    workload replaces the pods.
    """
    hashes = dict[str, str]()
    if claims.devices is not None:
        hashes["checksum/claim"] = _digest(_spec(claims.devices))
    if claims.further:
        hashes["checksum/claims"] = _digest({name: _spec(plan) for name, plan in claims.further.items()})
    return hashes


def _digest(tree: Mapping[str, Any]) -> str:
    """Return the hash of a plain tree."""
    return hashlib.sha256(json.dumps(dict(tree), sort_keys=True).encode()).hexdigest()


def of_pod(claims: PodClaims) -> list[Manifest]:
    """Render the claims of a pod."""
    return [
        {"name": reference.name, "resourceClaimTemplateName": reference.template} for reference in claims.references
    ]


def of_container(claims: PodClaims) -> list[Manifest]:
    """Render the claims of a pod whose devices its engine container gets: all of them, with all their requests."""
    return [{"name": reference.name} for reference in claims.references]


def origins(claims: PodClaims, spec: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the origins of the claims in a rendered pod. `spec` is the path of the pod's spec in the object."""
    for index, reference in enumerate(claims.references):
        yield Path(*spec, "resourceClaims", index), reference.at
