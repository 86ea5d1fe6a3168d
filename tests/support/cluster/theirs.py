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

    def __init__(self, one: Deployed, stack: Mapping[str, Any], elsewhere: str) -> None:
        self.deployed = one
        self.namespaces = (stack["namespace"], elsewhere)
        self.objects = list(_copies(stack, elsewhere))
        for name in self.namespaces:
            one.plane.kubectl("create", "namespace", name)
        items = {"apiVersion": "v1", "kind": "List", "items": self.objects}
        one.plane.kubectl("create", "-f", "-", input=json.dumps(items))
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
        for one in self.objects:
            if one["kind"] in CLUSTER_SCOPED:
                self.deployed.plane.kubectl("delete", one["kind"], one["metadata"]["name"])
        for name in self.namespaces:
            self.deployed.plane.kubectl("delete", "namespace", name)

    def _now(self) -> dict[str, str]:
        """Return what tells each from another of its name, and from itself before a change."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects})
        found = json.loads(self.deployed.plane.kubectl("get", "-f", "-", "-o", "json", input=text))["items"]
        assert len(found) == len(self.objects)
        return {_place(one): _written(one) for one in found}


def _written(one: Mapping[str, Any]) -> str:
    """Return all of an object but what its controller says of it, in its own time, and the versions that follow."""
    kept = {key: value for key, value in one.items() if key not in {"metadata", "status"}}
    moving = {"resourceVersion", "managedFields"}
    about = {key: value for key, value in one["metadata"].items() if key not in moving}
    return json.dumps({**kept, "metadata": about}, sort_keys=True)


def _place(one: Mapping[str, Any]) -> str:
    about = one["metadata"]
    return f"{one['kind']} {about.get('namespace', '')}/{about['name']}"


def _copies(stack: Mapping[str, Any], elsewhere: str) -> Iterator[dict[str, Any]]:
    for one in rendered(stack):
        if one["kind"] not in CLUSTER_SCOPED:
            yield _idle(_renamed(one, one["metadata"]["name"], elsewhere))
        similar = f"{one['metadata']['name']}-theirs"
        yield _idle(_apart(_renamed(one, similar, one["metadata"].get("namespace"))))


def _renamed(one: Mapping[str, Any], name: str, namespace: str | None) -> dict[str, Any]:
    copied = copy.deepcopy(dict(one))
    copied["metadata"] |= {"name": name} | ({} if namespace is None else {"namespace": namespace})
    return copied


def _idle(one: dict[str, Any]) -> dict[str, Any]:
    """Keep controllers from doing anything about an object."""
    spec = one.get("spec", {})
    if one["kind"] == "Deployment":
        spec["replicas"] = 0
    elif one["kind"] == "Job":
        spec["suspend"] = True
    elif one["kind"] == "PersistentVolumeClaim":
        spec["storageClassName"] = "nobody"
    elif one["kind"] == "HTTPRoute":
        # Requests of theirs: two routes of one gateway must not ask for the same.
        spec["hostnames"] = [f"{one['metadata']['name']}.{one['metadata']['namespace']}.example.com"]
        spec["parentRefs"] = [{"name": "theirs"}]
    return one


def _apart(one: dict[str, Any]) -> dict[str, Any]:
    """Keep an object of the stack's own namespace from meaning the stack's pods and identities."""
    spec, annotations = one.get("spec", {}), one["metadata"].get("annotations", {})
    if "matchLabels" in spec.get("selector", {}):
        spec["selector"] = {"matchLabels": dict(SELECTS)}
    elif "selector" in spec:
        spec["selector"] = dict(SELECTS)
    if one["kind"] == "Deployment":
        spec["template"]["metadata"]["labels"] = dict(SELECTS)
    metadata_labels = one["metadata"]["labels"]
    if labels.RESOURCE_ID in metadata_labels:
        # Two Services of one namespace must not have one id.
        metadata_labels[labels.RESOURCE_ID] += "-theirs"
    if "scaleTargetRef" in spec:
        spec["scaleTargetRef"]["name"] += "-theirs"
    if one.get("type") == "kubernetes.io/service-account-token":
        annotations["kubernetes.io/service-account.name"] += "-theirs"
    return one
