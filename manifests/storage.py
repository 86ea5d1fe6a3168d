"""Claims of weights, and the Jobs that fill them."""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests import awaiting, network, pods
from manifests.objects import Rendered, compact, metadata
from planning.ground import labels, parts
from planning.ground.awaiting import CLAIM
from planning.ground.order import Id
from planning.weights.claims import ClaimPlan, FillPlan, StoragePlan

_COMPONENT = "weights"
_UNCHANGED = ("spec",)
"""A Job that is done stays as it was: nobody can change it, and a new one would bring the same weights again.

What is ignored counts for updates alone: a Job that is replaced, because it failed, has the spec of that run.
"""


def objects(storage: StoragePlan, own_labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Rendered]:
    """Render what is needed before the first pod that has the weights."""
    own = labels.standard(storage.name, _COMPONENT, own_labels)
    claim, fill = storage.claim, storage.fill

    def about(name: str) -> dict[str, Any]:
        return metadata(name, storage.namespace, own, annotations)

    if claim is not None:
        identity, suffix = Id(storage.owner, parts.WEIGHTS_CLAIM), f"{storage.prefix}weights-{storage.holds}"
        made = Rendered(identity, _claim(claim, about(claim.name)), suffix, retain=claim.retain, protect=claim.protect)
        yield awaiting.awaited(made, CLAIM)
    if storage.policy is not None:
        suffix = f"{storage.prefix}fill-{storage.holds}-{storage.policy.part.suffix}"
        denied = network.manifest(storage.policy, about(storage.policy.name))
        yield Rendered(Id(storage.owner, storage.policy.part), denied, suffix)
    suffix, job = f"{storage.prefix}fill-{storage.holds}", _job(fill, about(fill.name), own)
    yield awaiting.awaited(Rendered(Id(storage.owner, parts.FILL), job, suffix, ignore=_UNCHANGED), fill.wait)


def _claim(claim: ClaimPlan, about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": about,
        "spec": compact(
            {
                "accessModes": [claim.access_mode],
                "storageClassName": claim.storage_class,
                "resources": {"requests": {"storage": claim.size}},
            }
        ),
    }


def _job(fill: FillPlan, about: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    """Render the Job; it has no time to live, because one that Kubernetes took away would be made again."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": about,
        "spec": {
            "backoffLimit": fill.retries,
            "activeDeadlineSeconds": fill.deadline,
            "template": {
                "metadata": {"labels": {**own}},
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
