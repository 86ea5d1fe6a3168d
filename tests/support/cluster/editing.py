"""Edits of single objects of the API server: kubectl takes a fifth of a second of a processor for each."""

import contextlib
import http.client
import json
from typing import Any

from facts import live_objects
from local.cluster import ControlPlane
from local.errors import LocalError
from tests.support.cluster.server import TIMEOUT, access

APIS = {
    "Deployment": "apps/v1/Deployment",
    "Gateway": "gateway.networking.k8s.io/v1/Gateway",
    "HTTPRoute": "gateway.networking.k8s.io/v1/HTTPRoute",
    "InferencePool": "inference.networking.k8s.io/v1/InferencePool",
    "Lease": "coordination.k8s.io/v1/Lease",
    "Pod": "v1/Pod",
    "ReplicaSet": "apps/v1/ReplicaSet",
    "ResourceQuota": "v1/ResourceQuota",
    "Secret": "v1/Secret",
    "Service": "v1/Service",
}
OF_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid", "deletionTimestamp")
"""Metadata that the API server writes, not who makes an object."""
PATCH = "application/json-patch+json"
MERGE = "application/strategic-merge-patch+json"


BY_HAND = "kubectl-edit"


def manager_of(item: Any) -> str:
    """Return who wrote what an object asks for."""
    entries = item["metadata"]["managedFields"]
    return next(entry["manager"] for entry in entries if "f:spec" in entry["fieldsV1"] and "subresource" not in entry)


class Editor:
    """Reads and writes the objects of a control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._access = access(plane)

    def get(self, kind: str, namespace: str, name: str) -> Any:
        """Return an object; raises LocalError where it is not there."""
        return self._ask("GET", self._path(kind, namespace, name))

    def items(self, kind: str, namespace: str) -> list[Any]:
        """Return the objects of a kind."""
        return self._ask("GET", self._path(kind, namespace))["items"]

    def create(self, kind: str, manifest: Any, manager: str = BY_HAND) -> Any:
        """Make an object, as it was before it was deleted if it comes from `get`."""
        metadata = {key: value for key, value in manifest["metadata"].items() if key not in OF_THE_SERVER}
        whole = {key: value for key, value in manifest.items() if key != "status"} | {"metadata": metadata}
        return self._ask("POST", f"{self._path(kind, metadata['namespace'])}?fieldManager={manager}", whole)

    def delete(self, kind: str, namespace: str, name: str) -> Any:
        """Delete an object; what it owns follows. Return the object as it was."""
        before = self.get(kind, namespace, name)
        options = {"propagationPolicy": "Background"}
        self._ask("DELETE", self._path(kind, namespace, name), options)
        return before

    def patch(self, kind: str, namespace: str, name: str, operation: Any, manager: str = BY_HAND) -> Any:
        """Change an object by an operation of a JSON patch."""
        path = f"{self._path(kind, namespace, name)}?fieldManager={manager}"
        return self._ask("PATCH", path, [operation], PATCH)

    def merge(self, kind: str, namespace: str, name: str, change: Any, subresource: str = "") -> Any:
        """Change an object by a strategic merge, its status with the subresource `status`."""
        return self._ask("PATCH", self._path(kind, namespace, name, subresource), change, MERGE)

    def clear_status(self, kind: str, namespace: str, name: str, field: str) -> None:
        """Empty a list in the status of an object."""
        operation = {"op": "replace", "path": f"/status/{field}", "value": []}
        self._ask("PATCH", self._path(kind, namespace, name, "status"), [operation], PATCH)

    def _path(self, kind: str, namespace: str, *parts: str) -> str:
        return "/".join((live_objects.path(APIS[kind], namespace), *filter(None, parts)))

    def _ask(self, method: str, path: str, body: object = None, content: str = "application/json") -> Any:
        text = None if body is None else json.dumps(body)
        token, host, context = self._access
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "Content-Type": content}
        with contextlib.closing(http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)) as connection:
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise LocalError(f"{method} {path}: {response.status} {answer.get('message')}")
        return answer
