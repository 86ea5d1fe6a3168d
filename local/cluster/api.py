"""Client that reads from the API server of a local control plane. The client uses only the standard library."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT = 5.0
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SCHEMA = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""Media type in which Kubernetes clients request the schema of all kinds."""
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Api:
    """Client of the API server on a loopback port. The file `authority` has the certificate of the server's CA."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._token = token

    def get(self, path: str, accept: str = "application/json") -> tuple[int, bytes]:
        """Return status and body of the answer. If there is no answer, the status is 0 and the body is empty."""
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=TIMEOUT, context=self._tls)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}", "Accept": accept})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def ready(self) -> bool:
        """Return whether the API server reports that it is ready."""
        return self.get("/readyz")[0] == http.HTTPStatus.OK

    def exists(self, path: str) -> bool:
        """Return whether the API server has an object at a path."""
        return self.get(path)[0] == http.HTTPStatus.OK

    def serves_custom_resources(self) -> bool:
        """Return whether the API server serves every custom resource that is defined."""
        definitions = self._json("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", METADATA_ONLY)
        discovery = self._json("/apis", DISCOVERY)
        if definitions is None or discovery is None:
            return False
        served = {
            f"{resource['resource']}.{group['metadata']['name']}"
            for group in discovery["items"]
            for version in group["versions"]
            for resource in version.get("resources", ())
        }
        return {item["metadata"]["name"] for item in definitions["items"] or ()} <= served

    def describes_kinds(self) -> bool:
        """Return whether the API server serves the schema of all kinds.

        The API server needs some seconds to compute the schema, and clients such as kubectl need the schema.
        """
        return self.get("/openapi/v2", SCHEMA)[0] == http.HTTPStatus.OK

    def _json(self, path: str, accept: str) -> dict[str, Any] | None:
        status, body = self.get(path, accept)
        if status != http.HTTPStatus.OK:
            return None
        return json.loads(body)
