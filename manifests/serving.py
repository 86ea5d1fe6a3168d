"""Serving workloads of a variant: a Deployment or LeaderWorkerSet per role, with disruption budget and autoscaler."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from manifests import about, autoscaling, awaiting, claims, pod_additions, pod_templates, pods, rbac
from manifests.objects import Manifest, Rendered, compact, sort_keys
from models.paths import Path
from models.trees import without_none
from planning.ground import labels, parts, patch
from planning.plans import VariantPlan
from planning.serving.additions import FilesPlan
from planning.serving.sidecar import SidecarPlan
from planning.serving.workload import Workload


def objects(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the serving objects of a variant, role by role."""
    sidecar = variant.destinations[0].sidecar
    if sidecar is not None:
        yield from _pool_reader(variant, sidecar)
    for workload in variant.workloads:
        role_parts = parts.ROLES[workload.stage.name]
        yield from claims.templates(variant, workload)
        if workload.additions.files is not None:
            yield _files(variant, workload, workload.additions.files)
        if workload.disruptions is not None:
            yield about.part_object(variant, role_parts.budget, _budget(variant, workload), workload.set_name)
        yield from _scaled_workload(variant, workload)


def _scaled_workload(variant: VariantPlan, workload: Workload) -> Iterator[Rendered]:
    """Render the workload and, if the number of replicas is not fixed, its autoscaler."""
    role_parts = parts.ROLES[workload.stage.name]
    unpatched = _workload(variant, workload)
    manifest = patch.apply(awaiting.annotate(unpatched, workload.wait), workload.patch)
    rendered = about.part_object(variant, role_parts.workload, manifest, workload.set_name)
    workload_object = replace(rendered, wait=workload.wait, origins=_origins(variant, workload, unpatched, manifest))
    if workload.autoscaler is None:
        yield workload_object
        return
    yield replace(workload_object, ignore=autoscaling.REPLICAS)
    autoscaler = autoscaling.manifest(variant, workload, workload.autoscaler)
    autoscaler_object = about.part_object(variant, role_parts.autoscaler, autoscaler, workload.set_name)
    yield replace(autoscaler_object, origins=autoscaling.origins(workload.autoscaler))


def _metadata(variant: VariantPlan, name: str) -> dict[str, Any]:
    return about.metadata(variant, about.MODEL_SERVER, name)


def _workload(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    if workload.kind == "Deployment":
        return _deployment(variant, workload)
    return _group(variant, workload)


def _deployment(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    selector = labels.role_selector(variant.names, workload.role)
    return {
        "apiVersion": workload.api_version,
        "kind": "Deployment",
        "metadata": _metadata(variant, workload.name),
        "spec": {
            **without_none({"replicas": workload.replicas}),
            "selector": {"matchLabels": selector},
            "strategy": pods.strategy(workload.rollout),
            "progressDeadlineSeconds": workload.progress_deadline,
            "template": _template(variant, workload, selector, pods.leader(workload), _served_ports(variant, workload)),
        },
    }


def _group(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    """Render a LeaderWorkerSet. The pods of a replica start, fail and end together."""
    strategy = pods.strategy(workload.rollout)
    return {
        "apiVersion": workload.api_version,
        "kind": "LeaderWorkerSet",
        "metadata": _metadata(variant, workload.name),
        "spec": {
            **without_none({"replicas": workload.replicas}),
            "startupPolicy": "LeaderCreated",
            "networkConfig": {"subdomainPolicy": "Shared"},
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": strategy["rollingUpdate"],
            },
            "leaderWorkerTemplate": {
                "size": workload.layout.pods_per_replica,
                "restartPolicy": "RecreateGroupOnPodRestart",
                **_group_templates(variant, workload),
            },
        },
    }


def _group_templates(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    """Render the pod templates of a LeaderWorkerSet: one if every pod gets requests, else one for the leader as well.

    Without a template of its own, the leader has that of the workers (lws v0.9.0, leaderworkerset_types.go).
    """
    serving_labels = labels.role_selector(variant.names, workload.role)
    ports = _served_ports(variant, workload)
    serving_template = _template(variant, workload, serving_labels, pods.leader(workload), ports)
    if workload.layout.every_pod_serves:
        return {"workerTemplate": serving_template}
    worker_labels = labels.worker(variant.names, workload.role)
    worker_template = _template(variant, workload, worker_labels, pods.worker(workload), {})
    return {"leaderTemplate": serving_template, "workerTemplate": worker_template}


def _served_ports(variant: VariantPlan, workload: Workload) -> dict[str, str]:
    """Return the annotation that tells the picker on which ports a pod serves; empty if the variant has none."""
    if variant.ports_annotation is None:
        return {}
    return {variant.ports_annotation: ",".join(map(str, workload.target_ports))}


def _template(
    variant: VariantPlan,
    workload: Workload,
    identity: Mapping[str, str],
    pod: Mapping[str, Any],
    ports: Mapping[str, str],
) -> dict[str, Any]:
    override = {**labels.serving(variant.names.base, workload.stage.name), **identity}
    return {
        "metadata": compact(
            {
                "labels": about.object_labels(
                    variant, about.MODEL_SERVER, base=workload.pod_settings.labels, override=override
                ),
                "annotations": sort_keys(
                    {
                        **variant.user_annotations,
                        **workload.pod_settings.annotations,
                        **claims.checksums(workload.claims),
                        **_reasons(workload),
                        **ports,
                    }
                ),
            }
        ),
        "spec": pod,
    }


def _budget(variant: VariantPlan, workload: Workload) -> dict[str, Any]:
    """Render the disruption budget.

    Every pod of a LeaderWorkerSet counts, because the loss of any pod ends the whole replica.
    """
    members = {labels.GROUP: workload.name}
    if workload.kind == "Deployment":
        members = labels.role_selector(variant.names, workload.role)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(variant, workload.name),
        "spec": {
            "maxUnavailable": workload.disruptions,
            "selector": {"matchLabels": members},
            # A pod that is not ready serves no requests. A budget for such a pod would only block the drain of a node.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def _files(variant: VariantPlan, workload: Workload, files: FilesPlan) -> Rendered:
    """Render the ConfigMap with the files of a role's volumes.

    The logical name has the hash of the files. So a run with other files creates their ConfigMap before it updates the
    workload, and deletes the former ConfigMap last. A run that fails deletes nothing.
    """
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(variant, files.name),
        "data": dict(files.texts),
    }
    rendered = about.part_object(variant, parts.ROLES[workload.stage.name].files, manifest, workload.set_name)
    return replace(rendered, suffix=f"{rendered.suffix}-{files.digest}")


def _reasons(workload: Workload) -> dict[str, str]:
    """Return an annotation for pods: why containers have privileges."""
    reasons = workload.additions.reasons
    if not reasons:
        return {}
    return {labels.PRIVILEGES_REASON: "; ".join(f"{name}: {reason}" for name, reason in reasons.items())}


def _pool_reader(variant: VariantPlan, sidecar: SidecarPlan) -> Iterator[Rendered]:
    """Render the Role and RoleBinding that let the sidecar read the pool.

    The service account comes first, if the stack creates it.
    """
    name = variant.names.decode
    settings = [workload.pod_settings for workload in variant.destinations]
    if any(pod.makes_account for pod in settings):
        yield about.part_object(variant, parts.DECODE_SERVICE_ACCOUNT, rbac.service_account(_metadata(variant, name)))
    yield about.part_object(variant, parts.DECODE_ROLE, rbac.role(_metadata(variant, name), sidecar.rules))
    accounts = dict.fromkeys(pod.service_account or name for pod in settings)
    subjects = [rbac.subject(account, variant.names.namespace) for account in accounts]
    binding = rbac.role_binding(_metadata(variant, name), name, subjects)
    yield about.part_object(variant, parts.DECODE_ROLE_BINDING, binding)


def _origins(variant: VariantPlan, workload: Workload, unpatched: Manifest, manifest: Manifest) -> dict[Path, Path]:
    """Return which fields of the manifest come unchanged from the user's configuration.

    Keys are paths in the manifest. Values are paths in the configuration.
    """
    fetches = workload.weights.fetches
    env = {workload.engine.name: workload.engine.env, **pods.fetch_environments(fetches)}
    env |= {container.name: container.env for container in workload.additions.all_containers}
    certificate_at = Path(*variant.path, "sidecar", "tls", "certificate")
    volumes = {**pods.fetch_secrets(fetches), pods.CERTIFICATE_VOLUME: certificate_at}
    top = workload.path / "pod"
    pod_origins = {at: top / at[-1] for at in pods.PASSED[workload.kind]}
    patch_origins: dict[Path, Path] = {}
    if workload.patch:
        patch_origins = patch.origins(workload.path / "patch", workload.patch, manifest)
    pod_fields = dict[Path, Path]()
    for template in pod_templates.templates(unpatched):
        at = template.at / "spec"
        pod_fields |= dict(pod_additions.origins(workload.additions, workload.engine.name, at, template.spec))
        pod_fields |= dict(claims.origins(workload.claims, at))
        pod_fields |= dict(pods.image_origins(workload.weights, at, template.spec))
        pod_fields |= dict(pods.pod_secret_origins(at, template.spec, env, volumes))
    annotations = {key: variant.path / "annotations" / key for key in variant.user_annotations}
    annotations |= {key: top / "annotations" / key for key in workload.pod_settings.annotations}
    return {
        **pods.annotation_origins(workload.kind, annotations),
        **pod_origins,
        **pod_fields,
        **patch_origins,
    }
