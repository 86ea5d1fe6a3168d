"""Numbers of ready endpoints of Services over a time, as the API server announces each change."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from local.cluster import ControlPlane
from tests.support.cluster.server import access

_SERVICE = "kubernetes.io/service-name"
"""Label of an EndpointSlice with the name of its Service."""
_SECONDS = 600


class Series:
    """Numbers of ready endpoints by Service, in the order of their changes."""

    def __init__(self, groups: Mapping[str, str]) -> None:
        """Begin without any. `groups` are names under which Services are counted together with others."""
        self.numbers = dict[str, list[int]]()
        self._groups = groups
        self._slices = dict[str, tuple[str, int]]()

    def add(self, kind: str, item: Mapping[str, Any]) -> None:
        """Add what a watch says of an EndpointSlice."""
        metadata = item["metadata"]
        service = metadata["labels"][_SERVICE]
        group = self._groups.get(service, service)
        ready = sum(bool(each.get("conditions", {}).get("ready")) for each in item.get("endpoints") or ())
        self._slices[metadata["name"]] = group, 0 if kind == "DELETED" else ready
        total = sum(number for name, number in self._slices.values() if name == group)
        found = self.numbers.setdefault(group, [])
        if found[-1:] != [total]:
            found.append(total)

    def begin(self) -> None:
        """Forget what was before now."""
        for group, found in self.numbers.items():
            self.numbers[group] = found[-1:]

    def latest(self, group: str) -> int:
        """Return the number of ready endpoints after the latest change."""
        return self.numbers.get(group, [0])[-1]


def has_gap(numbers: list[int]) -> bool:
    """Tell whether no endpoint is ready at some moment between two at which one is."""
    ready = [place for place, number in enumerate(numbers) if number]
    return bool(ready) and 0 in numbers[ready[0] : ready[-1]]


@contextlib.contextmanager
def counted(plane: ControlPlane, namespace: str, groups: Mapping[str, str]) -> Iterator[Series]:
    """Count the ready endpoints of a namespace's Services while the context lasts."""
    user, host, context = access(plane)
    connection = http.client.HTTPSConnection(host, timeout=_SECONDS, context=context)
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?watch=1&timeoutSeconds={_SECONDS}"
    connection.request("GET", path, headers={"Authorization": f"Bearer {user}"})
    response = connection.getresponse()
    series = Series(groups)

    def follow() -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            for line in response:
                event = json.loads(line)
                series.add(event["type"], event["object"])

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield series
    finally:
        connection.sock.shutdown(2)
        thread.join(timeout=10)
        connection.close()
