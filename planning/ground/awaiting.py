"""What a deployment run waits for before it calls an object done."""

from dataclasses import dataclass

CURRENT = "@.observedGeneration==$.metadata.generation"
"""The JSONPath test that a status is of this very generation; one of the generation before says nothing."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for; where nothing is said, all that the provider knows of the kind, as long as it will."""

    seconds: int | None = None
    """Absent: the provider's own limit."""
    conditions: tuple[str, ...] = ()
    """Conditions as `kubectl wait --for` takes them, which all have to hold, instead of what the provider knows."""
    skip: bool = False
    """Whether the object is done as soon as it is written."""
    replace_unready: bool = False
    """Whether the next run replaces an object that did not get there, instead of waiting for it in vain."""


PROVIDERS = Wait()
"""As the provider waits by itself."""
SERVICE = Wait(skip=True)
"""Of a Service: the provider waits for endpoints, which come with the pods that are waited for anyway."""
CLAIM = Wait(skip=True)
"""Of a claim: the Job that fills it waits for the claim; of some classes it is bound only when a pod wants it."""
