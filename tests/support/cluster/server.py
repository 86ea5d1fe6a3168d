"""The API server asked directly: kubectl takes a fifth of a second of a processor for every question."""

import functools
import http.client
import json
import ssl
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from local.cluster import ControlPlane
from local.errors import LocalError

TIMEOUT = 30.0
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
REFUSED = {http.HTTPStatus.BAD_REQUEST, http.HTTPStatus.FORBIDDEN, http.HTTPStatus.UNPROCESSABLE_ENTITY}

Answer = tuple[int, Any]


def read(plane: ControlPlane, kinds: str, namespace: str | None = None, selector: str = "") -> list[Any]:
    """Return the objects of kinds, separated by commas, in a namespace or in all; each tells its kind."""
    query = f"?labelSelector={urllib.parse.quote(selector)}" if selector else ""
    found = list[Any]()
    for kind in kinds.split(","):
        listed = _expected(plane, f"{_path(plane, kind, namespace)}{query}")
        told = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
        found += [told | item for item in listed["items"]]
    return found


def read_one(plane: ControlPlane, kind: str, name: str, namespace: str | None = None) -> Any:
    """Return an object; raises LocalError where it is not there."""
    return _expected(plane, f"{_path(plane, kind, namespace)}/{name}")


def accepts(plane: ControlPlane, manifest: Mapping[str, Any]) -> bool:
    """Say whether the API server takes a namespaced object, strictly; nothing is made."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    path = _path(plane, f"{manifest['kind'].lower()}.{group}", manifest["metadata"]["namespace"], version)
    status, answer = _ask(plane, f"{path}?dryRun=All&fieldValidation=Strict", body=json.dumps(manifest))
    if status in REFUSED:
        return False
    if status != http.HTTPStatus.CREATED:
        raise LocalError(f"{path}: {status} {answer}")
    return True


def _expected(plane: ControlPlane, path: str) -> Any:
    status, answer = _ask(plane, path)
    if status != http.HTTPStatus.OK:
        raise LocalError(f"{path}: {status} {answer.get('message', answer)}")
    return answer


def _ask(plane: ControlPlane, path: str, accept: str = "application/json", body: str | None = None) -> Answer:
    user, host, context = _access(plane)
    connection = http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)
    sent = {"Authorization": f"Bearer {user}", "Accept": accept, "Content-Type": "application/json"}
    try:
        connection.request("GET" if body is None else "POST", path, body, sent)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException) as error:
        raise LocalError(f"{path}: {error}") from error
    finally:
        connection.close()


def _access(plane: ControlPlane) -> tuple[str, str, ssl.SSLContext]:
    """Return token, address and authority, as the kubeconfig has them."""
    config = json.loads(plane.kubeconfig.read_text(encoding="utf-8"))
    host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
    return config["users"][0]["user"]["token"], host, _context(str(plane.directory / "pki" / "ca.crt"))


@functools.cache
def _context(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)


def _path(plane: ControlPlane, kind: str, namespace: str | None, wanted: str | None = None) -> str:
    """Return the path of the objects of a kind, spelled as for kubectl, in the wanted or the preferred version."""
    for group, version, resource in _served(plane):
        spelled = {resource["resource"], resource["singularResource"], *resource.get("shortNames", ())}
        meant = kind.lower() in spelled | {f"{name}.{group}" for name in spelled}
        if meant and wanted in {None, version}:
            start = f"/apis/{group}/{version}" if group else f"/api/{version}"
            place = f"/namespaces/{namespace}" if namespace and resource["scope"] == "Namespaced" else ""
            return f"{start}{place}/{resource['resource']}"
    raise LocalError(f"the API server has no {kind}")


def _served(plane: ControlPlane) -> Iterator[tuple[str, str, Any]]:
    """Yield group, version and resource of everything that is served; of a group the preferred version comes first."""
    for root in ("/api", "/apis"):
        _, found = _ask(plane, root, DISCOVERY)
        for group in found["items"]:
            for version in group["versions"]:
                for resource in version.get("resources", ()):
                    yield group["metadata"].get("name", ""), version["version"], resource
