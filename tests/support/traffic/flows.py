"""Flows between pods, and a judge of them that knows Kubernetes' NetworkPolicies and nothing of ours."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests.objects import Manifest
from tests.support.stacks import plain

NODES = {"Deployment": ["template"], "Job": ["template"], "LeaderWorkerSet": ["leaderTemplate", "workerTemplate"]}
ALLOWED = {"egress": True, "ingress": True}


@dataclass(frozen=True)
class Peer:
    """A pod, or whoever has an address outside of the cluster."""

    ip: str
    namespace: str = ""
    labels: Mapping[str, str] | None = None

    def told(self) -> dict[str, Any]:
        known = {"kubernetes.io/metadata.name": self.namespace} if self.namespace else {}
        return {"ip": self.ip, "namespace": self.namespace, "namespaceLabels": known, "labels": self.labels or {}}


@dataclass(frozen=True)
class Flow:
    """A connection that somebody asks for."""

    source: str
    target: str
    port: int
    protocol: str = "TCP"

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}:{self.port}{'' if self.protocol == 'TCP' else '/' + self.protocol}"


def to(targets: Mapping[str, Iterable[int]], *sources: str) -> list[Flow]:
    """Return the flows from each source to each port of each target."""
    return [Flow(source, target, port) for source in sources for target, ports in targets.items() for port in ports]


def pods(rendered: Iterable[Manifest], network: str = "10.1.0") -> dict[str, Peer]:
    """Return the pods of everything that has some, by the name without its generation; further pods as `… worker`."""
    found = dict[str, Peer]()
    for manifest in rendered:
        spec = manifest.get("spec", {}).get("leaderWorkerTemplate", manifest.get("spec", {}))
        templates = [node for node in NODES.get(manifest["kind"], []) if node in spec]
        for number, node in enumerate(templates):
            metadata = manifest["metadata"]
            name = plain(manifest["metadata"]["name"])
            labels = dict(spec[node]["metadata"]["labels"])
            if manifest["kind"] == "Job":
                labels["batch.kubernetes.io/job-name"] = metadata["name"]
            key = f"{name} worker" if number else name
            found[key] = Peer(f"{network}.{len(found) + 1}", metadata["namespace"], labels)
    return found


def policies(rendered: Iterable[Manifest]) -> list[Any]:
    """Return the policies, as copies that may be changed."""
    return json.loads(json.dumps([manifest for manifest in rendered if manifest["kind"] == "NetworkPolicy"]))


@dataclass(frozen=True)
class Network:
    """Peers whose flows are judged."""

    judge: Path
    peers: Mapping[str, Peer]

    def verdicts(self, given: Iterable[Mapping[str, Any]], flows: Iterable[Flow]) -> dict[str, dict[str, bool]]:
        """Return by flow whether its source may send it and its target may receive it."""
        asked = list(flows)
        described = [
            {
                "source": self.peers[flow.source].told(),
                "destination": self.peers[flow.target].told(),
                "port": flow.port,
                "protocol": flow.protocol,
            }
            for flow in asked
        ]
        question = json.dumps({"policies": list(given), "flows": described})
        done = subprocess.run([self.judge], input=question, capture_output=True, text=True, check=True)
        return {str(flow): verdict for flow, verdict in zip(asked, json.loads(done.stdout), strict=True)}

    def refused(self, given: Iterable[Mapping[str, Any]], flows: Iterable[Flow]) -> list[str]:
        """Return the flows that do not come through."""
        return [name for name, verdict in self.verdicts(given, flows).items() if verdict != ALLOWED]
