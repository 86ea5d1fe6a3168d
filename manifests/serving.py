"""The serving workloads of one service: a Deployment or a LeaderWorkerSet for each role, and what goes with it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from manifests import about, autoscaling, awaiting, pods, rbac
from manifests.objects import Manifest, Rendered, compact
from models.paths import Path
from planning.ground import labels, parts
from planning.ground.api_groups import CLAIM_TEMPLATE_API
from planning.plans import VariantPlan
from planning.serving import patch
from planning.serving.sidecar import SidecarPlan
from planning.serving.workload import Workload


def objects(variant: VariantPlan) -> Iterator[Rendered]:
    """Render everything that serves one model, role by role."""
    if variant.decode.sidecar is not None:
        yield from _pool_reader(variant, variant.decode.sidecar)
    for workload in variant.roles:
        of_role = parts.ROLES[workload.role]
        if workload.claim is not None:
            claim = about.rendered(variant, of_role.claim, _claim(variant, workload))
            yield replace(claim, replace=True)
        if workload.disruptions is not None:
            yield about.rendered(variant, of_role.budget, _budget(variant, workload))
        yield from _scaled(variant, workload)


def _scaled(variant: VariantPlan, workload: Workload) -> Iterator[Rendered]:
    """Render the workload, and what owns the number of its replicas where that is not fixed."""
    of_role = parts.ROLES[workload.role]
    render = _deployment if workload.kind == "Deployment" else _group
    manifest = patch.apply(awaiting.annotated(render(variant, workload), workload.wait), workload.patch)
    made = about.rendered(variant, of_role.workload, manifest)
    own = replace(made, wait=workload.wait, origins=_origins(workload, manifest))
    if workload.autoscaler is None:
        yield own
        return
    yield replace(own, ignore=autoscaling.REPLICAS)
    scales = autoscaling.manifest(variant, workload, workload.autoscaler)
    scaler = about.rendered(variant, of_role.autoscaler, scales)
    yield replace(scaler, origins=autoscaling.origins(workload.autoscaler))


def _about(variant: VariantPlan, name: str) -> dict[str, Any]:
    return about.of(variant, about.MODEL_SERVER, name)


def _deployment(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    selector = labels.role_selector(variant.names, workload.role)
    return {
        "apiVersion": workload.api_version,
        "kind": "Deployment",
        "metadata": _about(variant, workload.name),
        "spec": {
            **_replicas(workload),
            "selector": {"matchLabels": selector},
            "strategy": pods.strategy(workload.rollout),
            "progressDeadlineSeconds": workload.progress_deadline,
            "template": _template(variant, workload, selector, pods.leader(workload)),
        },
    }


def _replicas(workload: Workload) -> dict[str, int]:
    return {} if workload.replicas is None else {"replicas": workload.replicas}


def _group(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    """Render a LeaderWorkerSet: the pods of one replica start, fail and end together, and the first of them serves."""
    own, role = variant.names, workload.role
    leads = _template(variant, workload, labels.role_selector(own, role), pods.leader(workload))
    works = _template(variant, workload, labels.worker(own, role), pods.worker(workload))
    strategy = pods.strategy(workload.rollout)
    return {
        "apiVersion": workload.api_version,
        "kind": "LeaderWorkerSet",
        "metadata": _about(variant, workload.name),
        "spec": {
            **_replicas(workload),
            "startupPolicy": "LeaderCreated",
            "networkConfig": {"subdomainPolicy": "Shared"},
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": strategy["rollingUpdate"],
            },
            "leaderWorkerTemplate": {
                "size": workload.layout.pods_per_replica,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": leads,
                "workerTemplate": works,
            },
        },
    }


def _template(
    variant: VariantPlan, workload: Workload, identity: Mapping[str, str], pod: Mapping[str, Any]
) -> dict[str, Any]:
    above = {**labels.serving(variant.names.base, workload.role), **identity}
    return {
        "metadata": compact(
            {
                "labels": about.marks(variant, about.MODEL_SERVER, beneath=workload.identity.labels, above=above),
                "annotations": {**variant.own_annotations, **workload.identity.annotations, **_checksum(workload)},
            }
        ),
        "spec": pod,
    }


def _budget(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    """Render the disruption budget. Of a group, every pod counts: one that goes takes the others with it."""
    selector = (
        labels.role_selector(variant.names, workload.role)
        if workload.kind == "Deployment"
        else {labels.GROUP: workload.name}
    )
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _about(variant, workload.name),
        "spec": {
            "maxUnavailable": workload.disruptions,
            "selector": {"matchLabels": selector},
            # A pod that is not ready serves nobody; guarding it would only keep its node from being drained.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def _claim(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    """Render the template of the claim that each pod makes on devices of a class."""
    return {
        "apiVersion": CLAIM_TEMPLATE_API,
        "kind": "ResourceClaimTemplate",
        "metadata": _about(variant, workload.name),
        "spec": _claim_spec(workload),
    }


def _claim_spec(workload: Workload) -> dict[str, Any]:
    claim = workload.claim
    if claim is None:
        return {}
    exactly = {
        "deviceClassName": claim.device_class_name,
        "allocationMode": "ExactCount",
        "count": workload.layout.devices_per_pod,
        "selectors": [{"cel": {"expression": expression}} for expression in claim.selectors],
    }
    devices = {"requests": [{"name": "devices", "exactly": compact(exactly)}]}
    return {"spec": {"devices": devices}}


def _checksum(workload: Workload) -> dict[str, str]:
    """Roll the pods when their claim changes: one that is made already stays as it is."""
    if workload.claim is None:
        return {}
    text = json.dumps(_claim_spec(workload), sort_keys=True)
    return {"checksum/claim": hashlib.sha256(text.encode()).hexdigest()}


def _pool_reader(variant: VariantPlan, sidecar: SidecarPlan) -> Iterator[Rendered]:
    """Render what the sidecar may do, and the account that it does it with."""
    name, identity = variant.names.decode, variant.decode.identity
    if identity.makes_account:
        yield about.rendered(variant, parts.DECODE_SERVICE_ACCOUNT, rbac.service_account(_about(variant, name)))
    yield about.rendered(variant, parts.DECODE_ROLE, rbac.role(_about(variant, name), sidecar.rules))
    subjects = [rbac.subject(identity.service_account or name, variant.names.namespace)]
    binding = rbac.role_binding(_about(variant, name), name, subjects)
    yield about.rendered(variant, parts.DECODE_ROLE_BINDING, binding)


def _origins(workload: Workload, manifest: Manifest) -> dict[Path, Path]:
    """Say which parts of the object a user passed through, so that a mistake in them is told where it was written."""
    templates = (
        [Path("spec", "template")]
        if workload.kind == "Deployment"
        else [Path("spec", "leaderWorkerTemplate", name) for name in ("leaderTemplate", "workerTemplate")]
    )
    passed = {
        template / "spec" / field: workload.path / "pod" / field for template in templates for field in pods.PASSED
    }
    patched = patch.origins(workload.path / "patch", workload.patch, manifest) if workload.patch else {}
    return {**patched, **passed}
