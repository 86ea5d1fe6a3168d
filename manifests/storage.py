"""Claims of weights, and the Jobs that fill them."""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests import pods
from manifests.objects import Rendered, compact, metadata
from planning import labels
from planning.order import Id, Part
from planning.storage import ClaimPlan, FillPlan, StoragePlan

_COMPONENT = "weights"
_UNCHANGED = ("spec",)
"""A Job that is done stays as it was: nobody can change it, and a new one would bring the same weights again."""


def cache_owner(key: str) -> str:
    """Return the owner of a cache's objects, which no service's key is like."""
    return f"caches.{key}"


def of_service(
    storage: StoragePlan, own_labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Iterator[Rendered]:
    """Render what a service needs before its first pod."""
    yield from _objects(storage, storage.key, "", own_labels, annotations)


def of_cache(storage: StoragePlan, own_labels: Mapping[str, str]) -> Iterator[Rendered]:
    """Render a cache."""
    yield from _objects(storage, cache_owner(storage.key), f"{storage.key}-", own_labels, {})


def _objects(
    storage: StoragePlan, owner: str, prefix: str, own_labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Iterator[Rendered]:
    own = labels.standard(storage.name, _COMPONENT, own_labels)
    claim, fill = storage.claim, storage.fill

    def about(name: str, more: Mapping[str, str]) -> dict[str, Any]:
        return metadata(name, storage.namespace, own, {**annotations, **more})

    if claim is not None:
        # The Job waits for the claim to be bound; of some classes it is bound only when a pod wants it.
        manifest = _claim(claim, about(claim.name, {"pulumi.com/skipAwait": "true"}))
        identity = Id(owner, Part.WEIGHTS_CLAIM)
        yield Rendered(identity, manifest, f"{prefix}weights", retain=claim.retain, protect=claim.protect)
    # A Job that failed, or was interrupted, is replaced by the next run instead of being waited for in vain.
    manifest = _job(fill, about(fill.name, {"pulumi.com/replaceUnready": "true"}), own)
    yield Rendered(Id(owner, Part.FILL), manifest, f"{prefix}fill", wait=fill.wait, ignore=_UNCHANGED)


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
