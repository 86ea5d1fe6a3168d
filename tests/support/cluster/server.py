"""The API server asked directly: kubectl takes a fifth of a second of a processor for every question."""

import contextlib
import functools
import http.client
import json
import re
import ssl
import urllib.parse
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from local.cluster import ControlPlane
from local.errors import LocalError

TIMEOUT = 30.0
SURROGATES = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
REFUSED = {http.HTTPStatus.BAD_REQUEST, http.HTTPStatus.FORBIDDEN, http.HTTPStatus.UNPROCESSABLE_ENTITY}

Answer = tuple[int, Any]


def read(plane: ControlPlane, kinds: str, namespace: str | None = None, selector: str = "") -> list[Any]:
    """Return the objects of kinds, separated by commas, in a namespace or in all; each tells its kind."""
    query = f"?labelSelector={urllib.parse.quote(selector)}" if selector else ""
    paths = [f"{_path(plane, kind, namespace)}{query}" for kind in kinds.split(",")]
    return [item for path in paths for item in _items(plane, path)]


def read_one(plane: ControlPlane, kind: str, name: str, namespace: str | None = None) -> Any:
    """Return an object; raises LocalError where it is not there."""
    return _expected(plane, f"{_path(plane, kind, namespace)}/{name}")


def read_all(plane: ControlPlane, without: Collection[str]) -> list[Any]:
    """Return every listable object of the cluster, but those of some kinds, spelled with their group."""
    paths = dict[str, str]()
    for group, version, resource in _served(plane):
        if "list" in resource["verbs"]:
            paths.setdefault(f"{resource['resource']}.{group}".rstrip("."), _place(group, version, resource))
    return [item for kind, path in paths.items() if kind not in without for item in _items(plane, path)]


def accepts(plane: ControlPlane, manifest: Mapping[str, Any]) -> bool:
    """Say whether the API server takes a namespaced object, strictly; nothing is made."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    path = _path(plane, f"{manifest['kind'].lower()}.{group}", manifest["metadata"]["namespace"], version)
    status, answer = ask(plane, f"{path}?dryRun=All&fieldValidation=Strict", body=json.dumps(manifest))
    if status in REFUSED:
        return False
    if status != http.HTTPStatus.CREATED:
        raise LocalError(f"{path}: {status} {answer}")
    return True


def refusals(plane: ControlPlane, manifests: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Apply objects server-side and strictly, as the provider does; nothing is made. Yield what is refused, and why."""
    return _applied(plane, manifests, "&dryRun=All")


def apply(plane: ControlPlane, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Apply objects server-side and strictly, as the provider does; raises LocalError where one is refused."""
    refused = list(_applied(plane, manifests, ""))
    if refused:
        raise LocalError("\n".join(refused))


def _applied(plane: ControlPlane, manifests: Iterable[Mapping[str, Any]], query: str) -> Iterator[str]:
    """Apply objects and yield what is refused. One connection serves all requests, and kinds are looked up once."""
    user, host, context = access(plane)
    sent = {"Authorization": f"Bearer {user}", "Content-Type": "application/apply-patch+yaml"}
    served = {
        (group, version, resource["responseKind"]["kind"]): resource for group, version, resource in _served(plane)
    }
    with contextlib.closing(http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)) as connection:
        for manifest in manifests:
            group, _, version = manifest["apiVersion"].rpartition("/")
            name = manifest["metadata"]["name"]
            namespace = manifest["metadata"].get("namespace")
            place = _place(group, version, served[group, version, manifest["kind"]], namespace)
            path = f"{place}/{urllib.parse.quote(name)}?fieldManager=test&force=true&fieldValidation=Strict{query}"
            connection.request("PATCH", path, _as_yaml(manifest), sent)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status not in {http.HTTPStatus.OK, http.HTTPStatus.CREATED}:
                yield f"{manifest['kind']} {name}: {response.status} {answer.get('message')}"


def _as_yaml(manifest: Mapping[str, Any]) -> bytes:
    """Return an object as JSON that is YAML, too: YAML knows no pairs of surrogates."""
    text = json.dumps(manifest)
    return SURROGATES.sub(lambda pair: json.loads(f'"{pair[0]}"'), text).encode()


def owned(plane: ControlPlane, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Create objects whose fields are owned by whom the manifests say; raises LocalError where one is refused."""
    user, host, context = access(plane)
    served = {
        (group, version, resource["responseKind"]["kind"]): resource for group, version, resource in _served(plane)
    }
    with contextlib.closing(http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)) as connection:

        def send(method: str, path: str, body: object, kind: str) -> None:
            headers = {"Authorization": f"Bearer {user}", "Content-Type": kind}
            connection.request(method, path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status not in {http.HTTPStatus.OK, http.HTTPStatus.CREATED}:
                raise LocalError(f"{method} {path}: {response.status} {answer.get('message')}")

        for manifest in manifests:
            metadata = dict(manifest["metadata"])
            owners = metadata.pop("managedFields")
            group, _, version = manifest["apiVersion"].rpartition("/")
            path = _place(group, version, served[group, version, manifest["kind"]], metadata.get("namespace"))
            send("POST", path, {**manifest, "metadata": metadata}, "application/json")
            # Whoever creates an object owns all of it; a patch of the owners alone makes nobody an owner.
            patch = [{"op": "replace", "path": "/metadata/managedFields", "value": owners}]
            send("PATCH", f"{path}/{urllib.parse.quote(metadata['name'])}", patch, "application/json-patch+json")


def _items(plane: ControlPlane, path: str) -> list[Any]:
    listed = _expected(plane, path)
    type_of_item = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
    return [type_of_item | item for item in listed["items"]]


def _expected(plane: ControlPlane, path: str) -> Any:
    status, answer = ask(plane, path)
    if status != http.HTTPStatus.OK:
        raise LocalError(f"{path}: {status} {answer.get('message', answer)}")
    return answer


def ask(plane: ControlPlane, path: str, accept: str = "application/json", body: str | None = None) -> Answer:
    """Return the status and the body of the answer to a GET, or to a POST if there is a body."""
    user, host, context = access(plane)
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


def access(plane: ControlPlane) -> tuple[str, str, ssl.SSLContext]:
    """Return token, address and authority, as the kubeconfig has them."""
    config = json.loads(plane.kubeconfig.read_text(encoding="utf-8"))
    host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
    return config["users"][0]["user"]["token"], host, _context(str(plane.directory / "pki" / "ca.crt"))


@functools.cache
def _context(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)


def _path(plane: ControlPlane, kind: str, namespace: str | None, requested: str | None = None) -> str:
    """Return the path of the objects of a kind, spelled as for kubectl, in the requested or the preferred version."""
    for group, version, resource in _served(plane):
        names = {resource["resource"], resource["singularResource"], *resource.get("shortNames", ())}
        spelled = names | {f"{name}.{group}" for name in names}
        meant = kind.lower() in spelled and "list" in resource["verbs"]
        if meant and requested in {None, version}:
            return _place(group, version, resource, namespace)
    raise LocalError(f"the API server has no {kind}")


def _place(group: str, version: str, resource: Mapping[str, Any], namespace: str | None = None) -> str:
    start = f"/apis/{group}/{version}" if group else f"/api/{version}"
    place = f"/namespaces/{namespace}" if namespace and resource["scope"] == "Namespaced" else ""
    return f"{start}{place}/{resource['resource']}"


def _served(plane: ControlPlane) -> Iterator[tuple[str, str, Any]]:
    """Yield group, version and resource of everything that is served; of a group the preferred version comes first."""
    for root in ("/api", "/apis"):
        _, found = ask(plane, root, DISCOVERY)
        for group in found["items"]:
            for version in group["versions"]:
                for resource in version.get("resources", ()):
                    yield group["metadata"].get("name", ""), version["version"], resource
