"""How the interceptor finds the Service of a resource id: with a token of its own, and with a memory."""

import contextlib
import http.client
import json
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from local.cluster import ControlPlane
from planning.interceptor.resolution import Unresolved, resolve
from tests.support.cluster.server import TIMEOUT, access

Found = str | Unresolved | HTTPStatus
"""Outcome of a search: a URL, a reason why there is none, or the status by which the API server refuses it."""
Address = tuple[str, int]


def lookup(plane: ControlPlane, token: str, resource_id: str, namespace: str) -> Found:
    """Search for a Service by the request that the interceptor sends (phoebe 3.2)."""
    _, host, context = access(plane)
    selector = f"saturncloud.io/resource-id={resource_id},saturncloud.io/service-type=internal"
    query = urllib.parse.urlencode({"labelSelector": selector, "limit": "2"})
    with contextlib.closing(http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)) as connection:
        path = f"/api/v1/namespaces/{namespace}/services?{query}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
    if response.status != HTTPStatus.OK:
        return HTTPStatus(response.status)
    return resolve(answer["items"], resource_id, namespace)


@dataclass(frozen=True, slots=True)
class Memory:
    """How long the interceptor keeps what it found. Durations are in seconds; the defaults are phoebe's."""

    size: int = 4096
    positive: float = 300.0
    negative: float = 10.0


class Cache:
    """A search that remembers (`CachedResolver`, internal/registry/cached.go:115 of phoebe 4f3fb26)."""

    def __init__(
        self, search: Callable[[str], Found], memory: Memory, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._search = search
        self._memory = memory
        self._clock = clock
        self._known = OrderedDict[str, tuple[str | None, float]]()
        """URLs, or None where there is none, and until when they count; the one of longest ago first."""

    def __call__(self, resource_id: str) -> str | None:
        """Return the URL of a resource id, or None."""
        now = self._clock()
        url, until = self._known.get(resource_id, (None, now - 1))
        if until < now:
            url, until = self._searched(resource_id, now)
        self._known[resource_id] = url, until
        self._known.move_to_end(resource_id)
        while len(self._known) > self._memory.size:
            self._known.popitem(last=False)
        return url

    def _searched(self, resource_id: str, now: float) -> tuple[str | None, float]:
        found = self._search(resource_id)
        if isinstance(found, str):
            return found, now + self._memory.positive
        # Whatever else goes wrong looks like an unknown model, but is searched for again at once.
        return None, now + (self._memory.negative if found is Unresolved.NOT_FOUND else 0.0)


def pod_of(url: str, services: list[Any], pods: list[Any]) -> Address | None:
    """Return a pod behind the URL of a Service, as names and addresses of a cluster would lead there, or None."""
    parts = urllib.parse.urlsplit(url)
    name, namespace, *_ = str(parts.hostname).split(".")
    for service in services:
        if _place(service) == (name, namespace):
            (port,) = (each for each in service["spec"]["ports"] if each["port"] == parts.port)
            selector = service["spec"]["selector"].items()
            found = [each for each in pods if selector <= each["metadata"]["labels"].items()]
            return found[0]["status"]["podIP"], port["targetPort"]
    return None


def _place(item: Any) -> tuple[str, str]:
    return item["metadata"]["name"], item["metadata"]["namespace"]
