"""Objects of four services behind Istio 1.31 with pickers 1.3.0, on Kubernetes 1.36.3: all serve.

`living.json` has the objects that `tests.support.traffic.living` deploys, as `facts.status` reads them, without the
service `code` and without fields that no status is made from.
"""

import copy
import json
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from judging.status import verdict
from judging.status.evidence import RouteExpectation
from judging.status.verdict import ServiceStatus
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import DEPLOYMENT, GATEWAY, LEASE, POD, POOL, ROUTE, Snapshot

NAMESPACE = "living"
_FILE = Path(__file__).parents[1] / "judging" / "status" / "captured" / "living.json"
_KINDS = {
    "Deployment": DEPLOYMENT,
    "Gateway": GATEWAY,
    "HTTPRoute": ROUTE,
    "InferencePool": POOL,
    "Lease": LEASE,
    "Pod": POD,
}
LATER = timedelta(minutes=10)


@cache
def _captured() -> Any:
    return json.loads(_FILE.read_text(encoding="utf-8"))


class Living:
    """The objects, which a test may edit."""

    def __init__(self) -> None:
        self.objects = copy.deepcopy(_captured()["objects"])
        self.read_at = datetime.fromisoformat(_captured()["readAt"])
        self.unread = dict[str, Unknown]()
        self.routes = dict[tuple[str, str], RouteExpectation]()

    def of(self, kind: str, name: str) -> Any:
        """Return an object, or the first whose name begins so."""
        return next(item for item in self.objects[_KINDS[kind]] if item["metadata"]["name"].startswith(name))

    def remove(self, kind: str, name: str) -> None:
        """Remove the objects of a kind whose names begin so."""
        items = self.objects[_KINDS[kind]]
        items[:] = [item for item in items if not item["metadata"]["name"].startswith(name)]

    def unready(self, *names: str) -> None:
        """Let pods whose names begin so be not ready, a minute before the reading."""
        for pod in self.objects[POD]:
            if pod["metadata"]["name"].startswith(names):
                for condition in pod["status"]["conditions"]:
                    if condition["type"] in {"Ready", "ContainersReady"}:
                        condition["status"] = "False"

    def status(self, name: str, later: timedelta = LATER) -> ServiceStatus:
        """Return the status of a service, as of some time after the reading."""
        snapshot = Snapshot(self.read_at + later, {**self.objects, **self.unread})
        (service,) = verdict.of(snapshot, {}, self.routes).only(None, [name]).services
        return service

    def states(self, name: str, later: timedelta = LATER) -> set[str]:
        """Return the ids of the states of a service's links."""
        components = self.status(name, later).components
        return {finding.state.id for component in components for finding in component.findings}

    def culprit(self, name: str, later: timedelta = LATER) -> tuple[str, str] | None:
        """Return object and state of the culprit."""
        culprit = self.status(name, later).culprit
        return None if culprit is None else (str(culprit.object), culprit.state.id)
