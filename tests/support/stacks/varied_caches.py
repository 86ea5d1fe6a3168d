"""Valid stacks whose engines hold cache blocks, or compiled code, outside the memory of the devices."""

from typing import Any

from tests.support.stacks import tree

VOLUMES = {
    "files": {"type": "claim", "claimName": "kv-cache", "mountPath": "/files"},
    "edited": {"type": "claim", "claimName": "other", "mountPath": "/edited"},
    "store": {"type": "config-map", "name": "store", "mountPath": "/store"},
}
"""Volumes for tiers, and another one."""
_CPU = {"type": "cpu", "size": "8Gi"}


def _tiered(*tiers: dict[str, Any], **further: Any) -> dict[str, Any]:
    """Return a service and its canary with tiers."""
    service = {"model": {"source": "hf://org/m"}, "kvCache": {"tiers": list(tiers)}, "pod": {"volumes": VOLUMES}}
    return tree(qwen={**service, "canary": {"weight": 10, "kvCache": service["kvCache"]}, **further})


def _sharing() -> dict[str, Any]:
    """Return pods that take blocks from each other."""
    cache = {"tiers": [_CPU, {"type": "p2p"}], "connector": "offloading"}
    return tree(qwen={"model": {"source": "hf://org/m"}, "kvCache": cache, "sidecar": {}}) | {"networkPolicies": {}}


def _compiled(**roles: Any) -> dict[str, Any]:
    """Return a service and its canary, whose roles keep compiled code in a volume."""
    settings = {"engine": {"compileCache": {"volume": "files"}}, "pod": {"volumes": VOLUMES}, **roles}
    canary = {"weight": 10, "model": {"maxModelLen": 4096}, **roles}
    return tree(qwen={"model": {"source": "hf://org/m"}, **settings, "canary": canary})


CACHES = {
    "compiled": _compiled(prefill={}, encode={}),
    "compiled-apart": _compiled(prefill={"sets": {"one": {}}}, decode={"sets": {"one": {}}}),
    "tiered": _tiered(_CPU, {"type": "file-system", "volume": "files"}, prefill={}),
    "tiered-peers": _sharing(),
    "tiered-lmcache": _tiered({"type": "lmcache", "size": "8Gi", "volume": "files", "volumeSize": "9Gi"}),
    "tiered-mooncake": _tiered({"type": "mooncake-store", "volume": "store", "file": "store.json", "size": "8Gi"}),
}
"""Stacks by name."""
