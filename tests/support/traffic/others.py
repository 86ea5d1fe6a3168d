"""Pods and pools that a stack leads to, and that somebody else makes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Tree = dict[str, Any]
PICKER_PORT = 9002


def referenced_pools(manifests: Iterable[Tree]) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of the pools that the routes among objects refer to."""
    for manifest in manifests:
        for rule in manifest["spec"].get("rules", ()) if manifest["kind"] == "HTTPRoute" else ():
            for ref in rule.get("backendRefs", ()):
                if ref.get("kind") == "InferencePool":
                    yield ref.get("namespace", manifest["metadata"]["namespace"]), ref["name"]


def pools_of_others(manifests: Sequence[Tree]) -> list[Tree]:
    """Return the pools that routes refer to and that are not among the objects, with the Services of their pickers."""
    known = {_place(manifest) for manifest in manifests if manifest["kind"] == "InferencePool"}
    missing = dict.fromkeys(place for place in referenced_pools(manifests) if place not in known)
    return [item for namespace, name in missing for item in (_pool(namespace, name), _picker(namespace, name))]


def pods_of_others(manifests: Sequence[Tree]) -> list[Tree]:
    """Return a ready pod for each pool whose pods no template among the objects makes."""
    templates = [
        template["metadata"]["labels"].items()
        for manifest in manifests
        for template in (
            manifest.get("spec", {}).get("template"),
            *manifest.get("spec", {}).get("leaderWorkerTemplate", {}).values(),
        )
        if isinstance(template, dict) and "labels" in template.get("metadata", {})
    ]
    pools = [manifest for manifest in manifests if manifest["kind"] == "InferencePool"]
    return [
        _pod(pool, number)
        for number, pool in enumerate(pools)
        if not any(pool["spec"]["selector"]["matchLabels"].items() <= labels for labels in templates)
    ]


def _pool(namespace: str, name: str) -> Tree:
    return {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "targetPorts": [{"number": 8000}],
            "endpointPickerRef": {"name": f"{name}-epp", "port": {"number": PICKER_PORT}},
        },
    }


def _picker(namespace: str, pool: str) -> Tree:
    port = {"name": "grpc", "port": PICKER_PORT, "appProtocol": "kubernetes.io/h2c"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{pool}-epp", "namespace": namespace},
        "spec": {"selector": {"picker": pool}, "ports": [port]},
    }


def _pod(pool: Tree, number: int) -> Tree:
    metadata = pool["metadata"]
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-of-others",
            "namespace": metadata["namespace"],
            "labels": dict(pool["spec"]["selector"]["matchLabels"]),
        },
        "status": {"podIP": f"10.1.0.{number}", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _place(manifest: Mapping[str, Any]) -> tuple[str, str]:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]
