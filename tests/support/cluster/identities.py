"""Identities that each lack a single right of some Roles, and what the API server answers their requests."""

import contextlib
import http
import http.client
import json
import time
import urllib.parse
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from local.cluster import ControlPlane
from tests.support.cluster.recorder import Asked, Request
from tests.support.cluster.server import TIMEOUT, access

RBAC = "rbac.authorization.k8s.io"
ROLES = frozenset({"roles", "clusterroles"})
BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})
WRITING = frozenset({"create", "patch"})
_DEADLINE = 120
"""Seconds within which the API server sees new Roles."""
_PAUSE = 0.05


class Right(NamedTuple):
    """A single right to objects."""

    namespace: str
    """Empty for the whole cluster."""
    group: str
    resource: str
    names: tuple[str, ...]
    """Empty for objects of every name."""
    verb: str

    @property
    def rule(self) -> dict[str, list[str]]:
        """Return the right as a rule of a Role."""
        names = {"resourceNames": [*self.names]} if self.names else {}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb], **names}

    def is_used(self, asked: Asked) -> bool:
        """Tell whether a request takes the right."""
        return (
            (asked.group, asked.resource, asked.verb) == (self.group, self.resource, self.verb)
            and self.namespace in {"", asked.namespace}
            and (not self.names or asked.name in self.names)
        )

    def is_given(self, asked: Asked, request: Request) -> bool:
        """Tell whether a request needs the right because it gives the right away, or binds a role."""
        if asked.group != RBAC or asked.verb not in WRITING or self.namespace not in {"", asked.namespace}:
            return False
        if asked.resource in BINDINGS:
            return self.verb == "bind" and request.content["roleRef"]["name"] in self.names
        return asked.resource in ROLES and any(map(self._is_in, request.content.get("rules", ())))

    def _is_in(self, rule: Mapping[str, list[str]]) -> bool:
        return (
            self.group in rule.get("apiGroups", ())
            and self.resource in rule.get("resources", ())
            and self.verb in rule["verbs"]
        )

    def refusal(self, *, is_given: bool) -> str:
        """Return what the API server says to a request without the right."""
        if not is_given:
            return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}"'
        if self.verb == "bind":
            return "is attempting to grant RBAC permissions not currently held"
        return f'{{APIGroups:["{self.group}"], Resources:["{self.resource}"], Verbs:["{self.verb}"]}}'


def single_rights(roles: Iterable[Mapping[str, Any]]) -> set[Right]:
    """Return every right in some Roles."""
    return {
        Right(role["metadata"].get("namespace", ""), group, resource, tuple(rule.get("resourceNames", ())), verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


class Client:
    """Connection to an API server, for requests of several identities."""

    def __init__(self, plane: ControlPlane, connection: http.client.HTTPSConnection) -> None:
        self._connection = connection
        self._administrator = access(plane)[0]

    def create(self, path: str, manifest: Mapping[str, Any]) -> Any:
        """Create an object as the administrator, and return it."""
        status, answer = self._send("POST", path, json.dumps(manifest).encode(), "application/json")
        assert status == http.HTTPStatus.CREATED, answer
        return answer

    def answer(self, token: str, request: Request) -> tuple[int, str]:
        """Return status and message for a request that is sent again with a token. Nothing is made or deleted."""
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        query |= {} if request.method == "GET" else {"dryRun": "All"}
        query |= {"timeoutSeconds": "1"} if "watch" in query else {}
        path = f"{url.path}?{urllib.parse.urlencode(query)}"
        status, answer = self._send(request.method, path, request.body, request.kind, token)
        return status, answer.get("message", "")

    def may(self, token: str, right: Right) -> bool:
        """Tell whether the API server allows an identity something."""
        attributes = {
            **({"namespace": right.namespace} if right.namespace else {}),
            **({"name": right.names[0]} if right.names else {}),
            "group": right.group,
            "resource": right.resource,
            "verb": right.verb,
        }
        review = {"spec": {"resourceAttributes": attributes}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return self._send("POST", path, json.dumps(review).encode(), "application/json", token)[1]["status"]["allowed"]

    def _send(self, method: str, path: str, body: bytes, kind: str, token: str | None = None) -> tuple[int, Any]:
        headers = {
            "Authorization": f"Bearer {token or self._administrator}",
            "Accept": "application/json",
            **({"Content-Type": kind} if body else {}),
        }
        self._connection.request(method, path, body or None, headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read() or b"{}")


@contextlib.contextmanager
def client(plane: ControlPlane) -> Iterator[Client]:
    """Connect to an API server."""
    _, host, context = access(plane)
    with contextlib.closing(http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)) as connection:
        yield Client(plane, connection)


def tokens_without(api: Client, rights: Collection[Right], namespace: str, prefix: str) -> dict[Right, str]:
    """Return a token for each right, of an identity with all of the rights but that one.

    The identities are in `namespace`, and their names begin with `prefix`.
    """
    ordered = sorted(rights)
    names = {right: f"{prefix}-{number}" for number, right in enumerate(ordered)}
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    tokens = dict[Right, str]()
    for right, name in names.items():
        api.create(accounts, {"metadata": {"name": name}})
        tokens[right] = api.create(f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]
    for right, name in names.items():
        others = [other for other in names.values() if other != name]
        _give(api, right, name, [{"kind": "ServiceAccount", "name": other, "namespace": namespace} for other in others])
    until = time.monotonic() + _DEADLINE
    for right, following in zip(ordered, [*ordered[1:], ordered[0]], strict=True):
        while api.may(tokens[right], right) or not api.may(tokens[right], following):
            assert time.monotonic() < until, f"{right} is still there, or {following} is not"
            time.sleep(_PAUSE)
    return tokens


def _give(api: Client, right: Right, name: str, subjects: list[dict[str, str]]) -> None:
    """Give a right to some subjects, by a Role and a RoleBinding, or by those of the whole cluster."""
    cluster = "" if right.namespace else "Cluster"
    root = f"/apis/{RBAC}/v1" + (f"/namespaces/{right.namespace}" if right.namespace else "")
    api.create(f"{root}/{cluster.lower()}roles", {"metadata": {"name": name}, "rules": [right.rule]})
    reference = {"apiGroup": RBAC, "kind": f"{cluster}Role", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
    api.create(f"{root}/{cluster.lower()}rolebindings", binding)
