"""Records of waits: the conditions under which a run counts an object as done, and the time limit of the wait."""

from dataclasses import dataclass

CURRENT = "@.observedGeneration==$.metadata.generation"
"""JSONPath test that a status belongs to the current `metadata.generation` of the object, and not to an older state."""

_ROLLED_OUT = (
    "(@.updatedReplicas==$.spec.replicas || $.spec.replicas==0)",
    "(@.availableReplicas==$.spec.replicas || $.spec.replicas==0)",
    "!(@.replicas>$.spec.replicas)",
)
"""JSONPath tests of a Deployment's status. A status leaves out a number that is 0."""
ROLLED_OUT = tuple(f"jsonpath={{$[?({CURRENT} && {test})].observedGeneration}}" for test in _ROLLED_OUT)
"""Conditions of a Deployment after its rollout: all pods are of the current spec and available, and no others are left.

The provider's own wait may end before a rollout: it takes the status of an older `metadata.generation` for the present
one if its watch lags behind the update (pulumi-kubernetes 4.25 to 4.34, provider/pkg/await/deployment.go,
`waitUntilDeploymentControllerReconciles`). The tests are three conditions, because the provider's parser of JSONPath
takes no more than one `&&` (theory/jsonpath 0.9).
"""


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait for one object. The defaults leave conditions and time limit to the provider."""

    seconds: int | None = None
    """Time limit in seconds; None for the provider's default."""
    conditions: tuple[str, ...] = ()
    """Conditions in the syntax of `kubectl wait --for`. All must hold. They replace the provider's conditions."""
    skip: bool = False
    """Whether a run does not wait for the object at all."""
    replace_unready: bool = False
    """Whether the next run replaces the object if it has failed, because a failed object of its kind never recovers."""


PROVIDER_DEFAULT = Wait()
"""The provider's default wait."""
SERVICE = Wait(skip=True)
"""No wait for a Service. The provider would wait for endpoints of the Service, but a run already waits for the pods."""
CLAIM = Wait(skip=True)
"""No wait for a claim. Some storage classes bind a claim only when a pod mounts it. A run waits for the fill Job
instead."""
