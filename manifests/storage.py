"""Claims for weights, the Jobs that fill these claims, and the network policies of the Jobs."""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests import awaiting, network, pods
from manifests.objects import Manifest, Rendered, compact, metadata
from models.paths import Path
from planning.ground import labels, parts
from planning.ground.awaiting import CLAIM
from planning.ground.order import Id
from planning.weights.claims import ClaimPlan, FillPlan, StoragePlan

_COMPONENT = "weights"
_IGNORED = ("spec", "metadata.labels", "metadata.annotations")
"""Fields of a Job whose changes the engine ignores (Pulumi's `ignoreChanges`).

A Job's spec is immutable, so a change would replace the Job, and the new Job would fetch the weights again.

A Job that replaces a failed Job must get the spec of the current run. It does if `spec` is ignored as a whole. If only
a field below `spec` were ignored, the engine would give the new Job the earlier value of that field
(processIgnoreChanges in pkg/resource/deploy of Pulumi 3.230).

Metadata is ignored, because an update of metadata would replace the Job. In an update, the provider takes the whole
spec from the cluster, with the labels that the Job controller adds to the template. The provider then replaces the Job,
because the manifest lacks these labels (handleSSAIgnoreFields and Diff in provider/pkg of pulumi-kubernetes 4.25).
"""


def objects(storage: StoragePlan, user_labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Rendered]:
    """Render the claim for weights, the Job that fills it, and the Job's network policy."""
    storage_labels = labels.standard(storage.name, _COMPONENT, user_labels)
    fill = storage.fill

    def object_metadata(name: str) -> dict[str, Any]:
        return metadata(name, storage.namespace, storage_labels, annotations)

    if storage.claim is not None:
        claim = storage.claim
        rendered = Rendered(
            Id(storage.owner, parts.WEIGHTS_CLAIM),
            _claim(claim, object_metadata(claim.name)),
            f"{storage.prefix}weights-{storage.folder}",
            retain=claim.retain,
            protect=claim.protect,
            origins={Path("spec", "storageClassName"): claim.storage_class_at},
        )
        yield awaiting.with_wait(rendered, CLAIM)
    fill_suffix = f"{storage.prefix}fill-{storage.folder}"
    if storage.policy is not None:
        policy = network.manifest(storage.policy, object_metadata(storage.policy.name))
        yield Rendered(Id(storage.owner, storage.policy.part), policy, f"{fill_suffix}-{storage.policy.part.suffix}")
    job = _job(fill, object_metadata(fill.name), storage_labels)
    rendered = Rendered(Id(storage.owner, parts.FILL), job, fill_suffix, ignore=_IGNORED, origins=_origins(fill, job))
    yield awaiting.with_wait(rendered, fill.wait)


def _origins(fill: FillPlan, job: Manifest) -> dict[Path, Path]:
    """Return the origins of the names of Secrets in a Job."""
    pull_secrets = {Path("spec", "template", "spec", "imagePullSecrets"): fill.pod_at / "imagePullSecrets"}
    fetches = (fill.fetch,)
    return pull_secrets | pods.secret_origins(job, pods.fetch_environments(fetches), pods.fetch_secrets(fetches))


def _claim(claim: ClaimPlan, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": compact(
            {
                "accessModes": [claim.access_mode],
                "storageClassName": claim.storage_class,
                "resources": {"requests": {"storage": claim.size}},
            }
        ),
    }


def _job(fill: FillPlan, metadata: Mapping[str, Any], pod_labels: Mapping[str, str]) -> dict[str, Any]:
    """Render the Job without a time to live (`ttlSecondsAfterFinished`).

    If Kubernetes removed the finished Job, the next run would create it again and fetch the weights again.
    """
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": fill.retries,
            "activeDeadlineSeconds": fill.deadline,
            "template": {
                "metadata": {"labels": {**pod_labels}},
                "spec": compact(
                    {
                        "serviceAccountName": fill.service_account,
                        "automountServiceAccountToken": False,
                        "enableServiceLinks": False,
                        "imagePullSecrets": [{"name": name} for name in fill.image_pull_secrets],
                        "securityContext": pods.security(fill.user, fill.group),
                        "restartPolicy": "Never",
                        "containers": [pods.fetching(fill.fetch, fill.requests, fill.limits)],
                        "volumes": [
                            {"name": fill.fetch.volume, "persistentVolumeClaim": {"claimName": fill.claim}},
                            *pods.fetch_volumes((fill.fetch,)),
                        ],
                    }
                ),
            },
        },
    }
