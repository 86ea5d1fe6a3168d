"""Stacks of a service and a canary whose pods or pools are somebody else's."""

from typing import Any

from tests.support.stacks.existing import existing, of_pool

LABELED = {"matchLabels": {"app": "vllm", "track": "stable"}, "ports": [8000, 8001]}


def _of_others() -> dict[str, Any]:
    """Return pods of two ports each, whose picker counts blocks, and a canary of other pods."""
    picker = {"preset": "precise-prefix-cache", "replicas": 2, "replication": "active-active"}
    canary = {"weight": 10, "existingPods": {"matchLabels": {"track": "next"}}}
    further = {"kvCache": {"blockSize": 64}, "endpointPicker": picker, "objectives": {"batch": {"priority": -1}}}
    return existing(existingPods=LABELED, canary=canary, **further) | {"networkPolicies": {}}


def _pool_of_others() -> dict[str, Any]:
    """Return a route to two pools, with priorities and other names for their pickers."""
    rewrites = [{"model": "latest", "targets": [{"model": "org/model"}]}]
    canary = {"weight": 10, "existingPool": {"name": "next"}}
    return of_pool(canary=canary, objectives={"batch": {"priority": -1}}, rewrites=rewrites)


OF_OTHERS = {"pods-of-others": _of_others(), "pool-of-others": _pool_of_others()}
