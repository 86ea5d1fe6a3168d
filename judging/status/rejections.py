"""Pods that the API server does not let a controller make: what the refusal says, in words."""

import re
from collections.abc import Iterator
from datetime import datetime

from judging.status.quotes import quote
from judging.status.records import Finding, ObjectRef, finding

_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<asked>\S+), used: (?P<used>\S+), limited: (?P<hard>\S+)"
)
"""kubernetes v1.36.3, staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go (checkRequest)."""
_POD = re.compile(r'^(?:.*?error: |Error creating: )?(?:pods? "[^"]*" is forbidden: )?')
"""Beginning of a refusal. The name of the pod is random, so that it would tell pods in the same state apart.

kubernetes v1.36.3, pkg/controller/controller_utils.go, pkg/controller/statefulset/stateful_pod_control.go."""


def rejection(text: object, at: ObjectRef, since: datetime | None, role: str = "") -> Finding:
    """Return the state of a workload or Job whose pods the API server refuses with this text."""
    message = text if isinstance(text, str) else ""
    quota = _QUOTA.search(message)
    if quota is None:
        return finding("admission", at, since, role=role, refusal=quote(_POD.sub("", message)))
    sentences = "; ".join(_sentences(quota["asked"], quota["used"], quota["hard"]))
    return finding("quota", at, since, role=role, quota=quota["name"], sentences=quote(sentences))


def _sentences(asked: str, used: str, hard: str) -> Iterator[str]:
    """Yield what a quota says of each resource, from three lists of `resource=quantity`."""
    in_use = _quantities(used)
    limits = _quantities(hard)
    for resource, quantity in _quantities(asked).items():
        share = f"{in_use.get(resource, '?')} of {limits.get(resource, '?')} are in use"
        yield f"a pod asks for {quantity} {resource}, {share}"


def _quantities(text: str) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split(","))
    return {resource: quantity for resource, _, quantity in pairs}
