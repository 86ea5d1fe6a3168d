"""Random stacks of services that restart in turns, and what the API server says of their pods meanwhile."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from local.cluster import ControlPlane
from planning.ground import labels
from planning.ground.inventory import LiveNode
from tests.support.cluster.leader import is_ready
from tests.support.cluster.server import access
from tests.support.scheduling import node_object

GPU, PRODUCT = "nvidia.com/gpu", "NVIDIA-H100-80GB-HBM3"
NODE = LiveNode(
    "turns-0",
    {"nvidia.com/gpu.product": PRODUCT, "turns.test/node": "yes"},
    ready=True, cordoned=False, taints=(), devices={GPU: 4096},
)  # fmt: skip
STUCK = {f"pod-ready.stage.kwok.x-k8s.io/{delay}": "24h" for delay in ("delay", "jitter-delay")}
"""Delays that keep a fake node from ever making a pod ready."""
SCALING = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "cpu", "targetPercent": 80}]}
SAMPLE_SECONDS = 0.1
_SECONDS = 1800


@dataclass(frozen=True)
class Scene:
    """A stack of one seed, and the order in which a change restarts its services."""

    seed: int
    at_once: int
    order: tuple[str, ...]
    """Keys that the configuration puts in order."""
    services: Mapping[str, Mapping[str, Any]]

    @property
    def namespace(self) -> str:
        """Return the namespace of the services."""
        return f"turns-{self.seed}"

    @property
    def sequence(self) -> list[str]:
        """Return all services in the order of their turns."""
        return [*self.order, *sorted(self.services.keys() - {*self.order})]

    @property
    def side_by_side(self) -> int:
        """Return the devices of surges that a preview counts together, but that may follow each other in a run.

        They are those of two workloads of one service, which roll side by side: with prefill, or with a canary.
        """
        pairs = (service for service in self.services.values() if {"prefill", "canary"} & service.keys())
        return max((pair["parallelism"]["tensor"] * pair["rollout"]["maxSurge"] for pair in pairs), default=0)

    def stack(self, version: int, broken: str = "") -> dict[str, Any]:
        """Return the stack. Another version restarts all pods; those of a service that is broken never become ready."""
        services = {key: _versioned(service, version) for key, service in self.services.items()}
        if broken:
            services[broken]["pod"] = {**services[broken]["pod"], "annotations": STUCK}
        return {
            "namespace": self.namespace,
            "namespaceOptions": {"create": True},
            "gateway": {"name": "gateway", "namespace": "gateways", "provider": "istio", "version": "1.31.2"},
            "upgrades": {"atOnce": self.at_once, "order": [*self.order]},
            "services": services,
        }


def scene(seed: int, least: int = 2) -> Scene:
    """Return a stack of 2 to 12 services: with prefill, over several pods, with a canary, autoscaled, or plain."""
    draw = Random(seed)
    keys = [f"m{number:02}" for number in range(draw.randint(least, 12))]
    named = draw.sample(keys, draw.randint(0, len(keys)))
    found = {key: _service(draw) for key in keys}
    made = Scene(seed, draw.randint(1, 3), tuple(named), found)
    third = made.sequence[min(2, len(keys) - 1)]
    found[third] = {**_plain(draw), "replicas": 1}
    return made


def _plain(draw: Random) -> dict[str, Any]:
    surge = draw.randint(0, 1)
    delay = f"{draw.randint(400, 1500)}ms"
    ready = {f"pod-ready.stage.kwok.x-k8s.io/{name}": delay for name in ("delay", "jitter-delay")}
    return {
        "model": {"name": "org/model", "source": "hf://org/model@v1", "size": "64Mi"},
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": draw.choice([1, 2, 4])},
        "replicas": draw.randint(1, 3),
        "rollout": {"type": "RollingUpdate", "maxSurge": surge, "maxUnavailable": 1 - surge},
        "health": {"startupTimeout": "10s"},
        "drainTimeout": "0s",
        "pod": {"nodeSelector": {"turns.test/node": "yes"}, "annotations": ready},
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    }


def _service(draw: Random) -> dict[str, Any]:
    """Return a service; its key `change` tells what changes beside its engine, and is no word of the configuration."""
    found = _plain(draw)
    match draw.choice(["plain", "plain", "plain", "prefill", "generation", "groups", "canary", "scaled"]):
        case "prefill":
            found["prefill"] = {"replicas": draw.randint(1, 2)}
        case "generation":
            found |= {"prefill": {}, "change": "generation"}
        case "groups":
            found["parallelism"] = {"tensor": 8, "pipeline": 2}
            del found["rollout"]
        case "canary":
            found["canary"] = {"weight": 10}
        case "scaled":
            del found["replicas"]
            found |= {"accelerator": "cpu", "parallelism": {}, "autoscaling": SCALING}
        case _:
            found["change"] = draw.choice(["", "picker"])
    return found


def _versioned(service: Mapping[str, Any], version: int) -> dict[str, Any]:
    found = {**service, "engine": {"maxNumSeqs": 8 * (version + 1)}}
    match found.pop("change", ""):
        case "picker":
            found["endpointPicker"] = {"scorerWeights": {"queue-scorer": version + 3}}
        case "generation":
            found["kvCache"] = {"blockSize": 32 * (version + 1)}
    return found


def node() -> dict[str, Any]:
    """Return the node with the devices of all scenes."""
    made = node_object(NODE)
    many = {"pods": "2000", "cpu": "4096", "memory": "64Ti"}
    made["status"] = {key: {**resources, **many} for key, resources in made["status"].items()}
    return made


class Watched:
    """Pods of a namespace over a time."""

    def __init__(self) -> None:
        self.most = set[str]()
        """The services with a pod that was not ready, at the moment when they were most."""
        self.begun = list[str]()
        """Services in the order in which one of their pods was first not ready."""
        self.devices = 0
        """Most devices of pods that do not terminate, in two samples that follow each other."""
        self._pods = dict[str, Any]()
        self._latest = 0
        self._lock = threading.Lock()

    def add(self, kind: str, pod: Mapping[str, Any]) -> None:
        """Add what a watch says of a pod."""
        with self._lock:
            self._pods[pod["metadata"]["uid"]] = pod
            if kind == "DELETED" or "deletionTimestamp" in pod["metadata"]:
                del self._pods[pod["metadata"]["uid"]]
            unready = {service_of(each) for each in self._pods.values() if not is_ready(each)}
            self.begun += sorted(unready - {*self.begun})
            self.most = max(self.most, unready, key=len)

    def sample(self) -> None:
        """Count the devices of this moment."""
        with self._lock:
            number = sum(_devices(pod) for pod in self._pods.values())
        self.devices = max(self.devices, min(number, self._latest))
        self._latest = number


def service_of(pod: Mapping[str, Any]) -> str:
    """Return the service to which a pod of an engine or of a picker belongs."""
    found = pod["metadata"]["labels"]
    return next(found[key] for key in (labels.SERVICE, labels.PICKER, labels.WORKER_OF) if key in found)


def _devices(pod: Mapping[str, Any]) -> int:
    return sum(int(each.get("resources", {}).get("limits", {}).get(GPU, 0)) for each in pod["spec"]["containers"])


@contextlib.contextmanager
def watched(plane: ControlPlane, namespace: str) -> Iterator[Watched]:
    """Watch the pods of a namespace while the context lasts."""
    user, host, context = access(plane)
    connection = http.client.HTTPSConnection(host, timeout=_SECONDS, context=context)
    path = f"/api/v1/namespaces/{namespace}/pods?watch=1&timeoutSeconds={_SECONDS}"
    connection.request("GET", path, headers={"Authorization": f"Bearer {user}"})
    response = connection.getresponse()
    found = Watched()
    ended = threading.Event()

    def follow() -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):
            for line in response:
                event = json.loads(line)
                found.add(event["type"], event["object"])

    def sample() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            found.sample()

    threads = [threading.Thread(target=target, daemon=True) for target in (follow, sample)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        ended.set()
        connection.sock.shutdown(2)
        for thread in threads:
            thread.join(timeout=10)
        connection.close()
