"""Somebody else's objects: every object of a stack once more, called alike, and not ours to touch."""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from planning.ground import labels
from tests.support.cluster.deployments import Deployed
from tests.support.stacks import rendered

SELECTS = {"app": "theirs"}
CLUSTER_SCOPED = frozenset({"ClusterRole", "ClusterRoleBinding"})


class Theirs:
    """The objects of a stack in another namespace under their own names, and in its own under similar ones."""

    def __init__(self, deployed: Deployed, stack: Mapping[str, Any], elsewhere: str) -> None:
        self.deployed = deployed
        self.namespaces = (stack["namespace"], elsewhere)
        self.objects = list(_copies(stack, elsewhere))
        for name in self.namespaces:
            deployed.plane.kubectl("create", "namespace", name)
        items = {"apiVersion": "v1", "kind": "List", "items": self.objects}
        deployed.plane.kubectl("create", "-f", "-", input=json.dumps(items))
        self.before: dict[str, str] = {}

    def look(self) -> None:
        """Remember them as they are."""
        self.before = self._now()

    def assert_untouched(self) -> None:
        """Assert that every one is as it was remembered."""
        assert self.before
        assert self._now() == self.before

    def remove(self) -> None:
        """Remove them and their namespaces, where nothing else is left."""
        for manifest in self.objects:
            if manifest["kind"] in CLUSTER_SCOPED:
                self.deployed.plane.kubectl("delete", manifest["kind"], manifest["metadata"]["name"])
        for name in self.namespaces:
            self.deployed.plane.kubectl("delete", "namespace", name)

    def _now(self) -> dict[str, str]:
        """Return what tells each from another of its name, and from itself before a change."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects})
        found = json.loads(self.deployed.plane.kubectl("get", "-f", "-", "-o", "json", input=text))["items"]
        assert len(found) == len(self.objects)
        return {_place(manifest): _written(manifest) for manifest in found}


def _written(manifest: Mapping[str, Any]) -> str:
    """Return all of an object but what its controller says of it, in its own time, and the versions that follow."""
    fields = {key: value for key, value in manifest.items() if key not in {"metadata", "status"}}
    moving = {"resourceVersion", "managedFields"}
    about = {key: value for key, value in manifest["metadata"].items() if key not in moving}
    return json.dumps({**fields, "metadata": about}, sort_keys=True)


def _place(manifest: Mapping[str, Any]) -> str:
    about = manifest["metadata"]
    return f"{manifest['kind']} {about.get('namespace', '')}/{about['name']}"


def _copies(stack: Mapping[str, Any], elsewhere: str) -> Iterator[dict[str, Any]]:
    for manifest in rendered(stack):
        if manifest["kind"] not in CLUSTER_SCOPED:
            yield _idle(_renamed(manifest, manifest["metadata"]["name"], elsewhere))
        similar = f"{manifest['metadata']['name']}-theirs"
        yield _idle(_apart(_renamed(manifest, similar, manifest["metadata"].get("namespace"))))


def _renamed(manifest: Mapping[str, Any], name: str, namespace: str | None) -> dict[str, Any]:
    copied = copy.deepcopy(dict(manifest))
    copied["metadata"] |= {"name": name} | ({} if namespace is None else {"namespace": namespace})
    return copied


def _idle(manifest: dict[str, Any]) -> dict[str, Any]:
    """Keep controllers from doing anything about an object."""
    spec = manifest.get("spec", {})
    if manifest["kind"] == "Deployment":
        spec["replicas"] = 0
    elif manifest["kind"] == "Job":
        spec["suspend"] = True
    elif manifest["kind"] == "PersistentVolumeClaim":
        spec["storageClassName"] = "nobody"
    elif manifest["kind"] == "HTTPRoute":
        # Requests of theirs: two routes of one gateway must not ask for the same.
        spec["hostnames"] = [f"{manifest['metadata']['name']}.{manifest['metadata']['namespace']}.example.com"]
        spec["parentRefs"] = [{"name": "theirs"}]
    return manifest


def _apart(manifest: dict[str, Any]) -> dict[str, Any]:
    """Keep an object of the stack's own namespace from meaning the stack's pods and identities."""
    spec = manifest.get("spec", {})
    annotations = manifest["metadata"].get("annotations", {})
    if "matchLabels" in spec.get("selector", {}):
        spec["selector"] = {"matchLabels": dict(SELECTS)}
    elif "selector" in spec:
        spec["selector"] = dict(SELECTS)
    if manifest["kind"] == "Deployment":
        spec["template"]["metadata"]["labels"] = dict(SELECTS)
    metadata_labels = manifest["metadata"]["labels"]
    if labels.RESOURCE_ID in metadata_labels:
        # Two Services of one namespace must not have one id.
        metadata_labels[labels.RESOURCE_ID] += "-theirs"
    if "scaleTargetRef" in spec:
        spec["scaleTargetRef"]["name"] += "-theirs"
    if manifest.get("type") == "kubernetes.io/service-account-token":
        annotations["kubernetes.io/service-account.name"] += "-theirs"
    return manifest
