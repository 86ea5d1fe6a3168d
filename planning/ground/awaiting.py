"""Conditions and time limits that a deployment run waits for before it counts an object as done."""

from dataclasses import dataclass

CURRENT = "@.observedGeneration==$.metadata.generation"
"""JSONPath test that a status belongs to the object's current generation. An older status proves nothing."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait for one object. The defaults leave conditions and time limit to the provider."""

    seconds: int | None = None
    """Time limit; None for the provider's own."""
    conditions: tuple[str, ...] = ()
    """Conditions in the syntax of `kubectl wait --for`. All must hold; they replace the provider's own conditions."""
    skip: bool = False
    """Whether the object is done as soon as it is written."""
    replace_unready: bool = False
    """Whether the next run replaces an object that did not become ready, instead of waiting for it in vain."""


PROVIDER_DEFAULT = Wait()
"""The provider's own wait."""
SERVICE = Wait(skip=True)
"""No wait for a Service: the provider would wait for endpoints, and the wait for the pods covers those."""
CLAIM = Wait(skip=True)
"""No wait for a claim: some storage classes bind it only when a pod mounts it, and its fill Job waits for it anyway."""
