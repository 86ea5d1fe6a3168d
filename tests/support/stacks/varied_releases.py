"""Valid stacks whose services have several release channels."""

from typing import Any

from models.stack import Stack
from tests.support.stacks import tree

STACK_RELEASE = Stack.model_fields["release"].default
OTHER_RELEASE = "gie-1.3"
PICKED = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "picker-running-requests", "target": 16}]}


def _mixed() -> dict[str, Any]:
    """Return services of two channels, and of each a canary of the other channel."""
    shared = {"objectives": {"batch": {"priority": -1}}, "endpointPicker": {"replicas": 2}, "autoscaling": PICKED}
    old = {**shared, "release": OTHER_RELEASE, "canary": {"weight": 10, "release": STACK_RELEASE}}
    new = {**shared, "canary": {"weight": 0, "headers": {"x-canary": "always"}, "release": OTHER_RELEASE}}
    disaggregated = {**shared, "prefill": {}, "canary": {"weight": 5, "prefill": None, "release": OTHER_RELEASE}}
    return tree(qwen=old, bert=new, chat=disaggregated)


def _defaulted() -> dict[str, Any]:
    """Return services of the channel of the defaults, one of its own, and a cache that the stack's channel fills."""
    cached = {"model": {"name": "org/m"}, "storage": {"type": "shared", "cache": "m"}, "canary": {"weight": 10}}
    stack = tree(qwen=cached, bert={"release": STACK_RELEASE, "prefill": {}})
    stack |= {"caches": {"m": {"source": "hf://org/m", "size": "10Gi"}}}
    return stack | {"defaults": {"release": OTHER_RELEASE}, "networkPolicies": {}}


RELEASES = {"mixed-releases": _mixed(), "defaulted-releases": _defaulted()}
"""Valid stacks of several release channels."""
