"""What the provider waits for before a route counts as done."""

import json

ACCEPTED_SECONDS = 300
"""Cloud load balancers take minutes to take a route on; controllers in the cluster seconds."""
_NOW = "@.observedGeneration==$.metadata.generation"


def accepted(gateway: str) -> dict[str, str]:
    """Return the annotation by which a route is done when its Gateway accepts this very generation of it.

    A status of the generation before says nothing. The first condition is for the message alone: the provider reports
    what it found where a scalar was expected, so it selects a refusal whole, with its reason, before anything else.
    """
    parent = f".status.parents[?(@.parentRef.name=='{gateway}')]"
    refusal = f"(@.type=='Accepted' || @.type=='ResolvedRefs') && @.status=='False' && {_NOW}"
    conditions = [
        f"jsonpath={{{parent}..[?({refusal}), ?(@=='True')]}}=True",
        *(
            f"jsonpath={{{parent}.conditions[?(@.type=='{one}' && {_NOW})].status}}=True"
            for one in ("Accepted", "ResolvedRefs")
        ),
    ]
    return {"pulumi.com/waitFor": json.dumps(conditions)}
