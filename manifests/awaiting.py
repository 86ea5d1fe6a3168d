"""When a route counts as done."""

import json
from dataclasses import replace

from manifests.objects import Rendered

ACCEPTED_SECONDS = 300
"""Cloud load balancers take minutes to take a route on; controllers in the cluster seconds."""
_SAID = ("Accepted", "ResolvedRefs")
_NOW = "@.observedGeneration==$.metadata.generation"


def accepted(route: Rendered, gateway: str) -> Rendered:
    """Return a route that is done when its Gateway accepts it, and all that it leads to is found."""
    metadata = route.manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), "pulumi.com/waitFor": json.dumps(_conditions(gateway))}
    manifest = {**route.manifest, "metadata": {**metadata, "annotations": annotations}}
    return replace(route, manifest=manifest, wait=ACCEPTED_SECONDS)


def _conditions(gateway: str) -> list[str]:
    """Return what has to hold, of this very generation.

    A status of the generation before says nothing. The first condition is for the message alone: the provider reports
    what it found where a scalar was expected, so it selects a refusal whole, with its reason, before anything else.
    Parentheses pair what is joined, because the provider's parser takes no three terms in a row.
    """
    parent = f".status.parents[?(@.parentRef.name=='{gateway}')]"
    refusals = ", ".join(f"?@.type=='{one}' && (@.status=='False' && {_NOW})" for one in _SAID)
    return [
        f"jsonpath={{{parent}..[{refusals}, ?@=='True']}}=True",
        *(f"jsonpath={{{parent}.conditions[?(@.type=='{one}' && {_NOW})].status}}=True" for one in _SAID),
    ]
