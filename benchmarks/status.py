"""Cost of `python -m cli status` beside `kubectl get` of the same kinds.

Run from the root of the repository: `.venv/bin/python -m benchmarks.status [SERVICES ...]` (100 if absent). A service
has nine pods and a picker. The objects and the statuses of pods are written directly, while scheduler, controllers and
fake nodes stand still. A fifth of the services are broken: their pods find no node or crash, their picker is not
ready, or their route is refused. The commands alternate; the table shows medians of wall-clock time, and of processor
time of the client alone. The API server counts the requests.
"""

import contextlib
import http.client
import json
import os
import re
import resource
import signal
import ssl
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from benchmarks import stacks
from benchmarks.clusters import ROOT, STACK, BenchmarkCluster, cluster
from benchmarks.measuring import show
from composition import Given, Refusal, compose
from facts import live_objects
from planning.ground.cluster_facts import NOTHING_READ

_SIZES = (100,)
_ROUNDS = 3
_REPLICAS = 9
_BROKEN = 5
"""One of so many services is broken."""
_STILL = ("kwok", "kube-scheduler", "kube-controller-manager")
_KINDS = {"Deployment", "InferencePool", "HTTPRoute", "ServiceAccount"}
_RESOURCES = (
    "deployments,pods,events,nodes,persistentvolumeclaims,jobs,leases,horizontalpodautoscalers,inferencepools,"
    "httproutes,leaderworkersets,scaledobjects"
)
_NOW = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
_LISTS = re.compile(r'^apiserver_request_total\{.*verb="LIST".*\} (\d+)$', re.MULTILINE)


class _Client:
    """A connection that writes objects."""

    def __init__(self, shared: BenchmarkCluster) -> None:
        config = json.loads(shared.plane.kubeconfig.read_text(encoding="utf-8"))
        host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
        context = ssl.create_default_context(cafile=str(shared.plane.directory / "pki" / "ca.crt"))
        self._connection = http.client.HTTPSConnection(host, context=context)
        self._token = config["users"][0]["user"]["token"]

    def create(self, manifest: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> None:
        """Create an object, and write its status."""
        metadata = manifest["metadata"]
        api = f"{manifest['apiVersion']}/{manifest['kind']}"
        path = live_objects.path(api, metadata.get("namespace", ""))
        self._send("POST", path, manifest, "application/json")
        if status is not None:
            self._send("PATCH", f"{path}/{metadata['name']}/status", {"status": status}, "application/merge-patch+json")

    def _send(self, method: str, path: str, body: Mapping[str, Any], media_type: str) -> None:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": media_type}
        self._connection.request(method, path, json.dumps(body), headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise AssertionError(f"{method} {path}: {answer.decode()}")


def main(sizes: Sequence[int]) -> None:
    """Print the costs for each number of services in `sizes`."""
    rows = list[Sequence[object]]()
    for size in sizes:
        with cluster() as shared:
            rows.extend(_rows(shared, size))
    columns = ("services", "command", "exit code", "seconds", "beside kubectl", "processor, s", "lists")
    show(f"`python -m cli status` of n services with {_REPLICAS + 1} pods each", columns, rows)


def _rows(shared: BenchmarkCluster, size: int) -> Iterator[Sequence[object]]:
    tree = _tree(size)
    file = shared.directory / f"Pulumi.{STACK}.yaml"
    file.write_text(json.dumps({"config": {"inference-stacks:stack": tree}}), encoding="utf-8")
    status = (sys.executable, "-m", "cli", "status")
    commands = {
        "`kubectl get`": (str(shared.tools["kubectl"].path), "get", _RESOURCES, "-A", "-o", "json"),
        "`status`": status,
        "`status STACK`": (*status, str(file), "--as", str(stacks.NAME)),
    }
    with shared.report.step(f"objects of {size} services"), _still(shared, tree["namespace"]):
        _write(shared, tree)
        samples = {name: list[tuple[float, float, int, int]]() for name in commands}
        for _ in range(_ROUNDS):
            for name, command in commands.items():
                samples[name].append(_sample(shared, command))
    medians = {
        name: [statistics.median(values) for values in zip(*of_name, strict=True)] for name, of_name in samples.items()
    }
    first = medians["`kubectl get`"][0]
    for name, (seconds, processor, lists, code) in medians.items():
        yield size, name, int(code), f"{seconds:.2f}", f"{seconds / first:.2f}", f"{processor:.2f}", int(lists)


def _tree(size: int) -> dict[str, Any]:
    tree = stacks.tree(size, "models", create_namespace=True)
    for service in tree["services"].values():
        service["replicas"] = _REPLICAS
    return tree


@contextlib.contextmanager
def _still(shared: BenchmarkCluster, namespace: str) -> Generator[None]:
    """Make a namespace, and then let nobody but the API server do anything."""
    shared.plane.kubectl("create", "namespace", namespace)
    while not shared.plane.api().exists(f"/api/v1/namespaces/{namespace}/serviceaccounts/default"):
        time.sleep(0.1)
    pids = [shared.plane.pids()[part] for part in _STILL]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _write(shared: BenchmarkCluster, tree: Mapping[str, Any]) -> None:
    """Write the objects of a stack with their statuses, and a Gateway."""
    composition = compose(tree, Given(NOTHING_READ), stacks.NAME)
    if isinstance(composition, Refusal):
        raise composition.error
    client = _Client(shared)
    for manifest in _gateway(tree["gateway"]):
        client.create(manifest)
    parents = [{"parentRef": {"name": tree["gateway"]["name"], "namespace": tree["gateway"]["namespace"]}}]
    places = {key: number for number, key in enumerate(tree["services"])}
    for manifest in (dict(rendered.manifest) for rendered in composition.objects):
        if manifest["kind"] in _KINDS:
            service = manifest["metadata"].get("labels", {}).get("app.kubernetes.io/name", "")
            fault = _fault(places.get(service, 1))
            client.create(manifest, _status(manifest, fault, parents))
            if manifest["kind"] == "Deployment":
                for pod, status in _pods(manifest, fault):
                    client.create(pod, status)


def _fault(number: int) -> str:
    """Return what is wrong with a service; empty for a service in order."""
    if number % _BROKEN:
        return ""
    return ("no node", "crash", "picker", "route")[number // _BROKEN % 4]


def _conditions(*types: str, status: str = "True", reason: str = "Done") -> list[dict[str, Any]]:
    fields = {"status": status, "reason": reason, "message": "", "lastTransitionTime": _NOW, "observedGeneration": 1}
    return [{"type": name, **fields} for name in types]


def _gateway(gateway: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": gateway["namespace"]}}
    spec = {"gatewayClassName": "istio", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}
    metadata = {"name": gateway["name"], "namespace": gateway["namespace"]}
    yield {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": metadata, "spec": spec}


def _status(manifest: Mapping[str, Any], fault: str, parents: Sequence[Any]) -> dict[str, Any] | None:
    match manifest["kind"]:
        case "HTTPRoute":
            accepted = _conditions("Accepted", status="False" if fault == "route" else "True")
            return _parents(parents, [*accepted, *_conditions("ResolvedRefs")])
        case "InferencePool":
            return _parents(parents, _conditions("Accepted", "ResolvedRefs"))
        case "Deployment":
            replicas = manifest["spec"].get("replicas", 1)
            return {"observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas}
        case _:
            return None


def _parents(parents: Sequence[Any], conditions: Sequence[Any]) -> dict[str, Any]:
    controller = "istio.io/gateway-controller"
    return {"parents": [{**parent, "controllerName": controller, "conditions": conditions} for parent in parents]}


def _pods(deployment: Mapping[str, Any], fault: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the pods of a Deployment with their statuses."""
    name = deployment["metadata"]["name"]
    template = deployment["spec"]["template"]
    is_picker = name.endswith("-epp")
    for number in range(deployment["spec"].get("replicas", 1)):
        metadata = {
            **template["metadata"],
            "name": f"{name}-5d8f7c9b4-{number:05d}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": {**template["metadata"]["labels"], "pod-template-hash": "5d8f7c9b4"},
        }
        spec = dict(template["spec"])
        if fault != "no node" or is_picker:
            spec["nodeName"] = "gpu-h100-0"
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        yield manifest, _pod_status(spec, fault, is_picker=is_picker)


def _pod_status(spec: Mapping[str, Any], fault: str, *, is_picker: bool) -> dict[str, Any]:
    if fault == "no node" and not is_picker:
        message = "0/5 nodes are available: 5 Insufficient nvidia.com/gpu."
        return {
            "conditions": [
                {**_conditions("PodScheduled", status="False")[0], "reason": "Unschedulable", "message": message}
            ]
        }
    is_failing = fault == ("picker" if is_picker else "crash")
    state: dict[str, Any] = {"running": {"startedAt": _NOW}}
    if is_failing:
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
    statuses = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": not is_failing,
            "started": not is_failing,
            "restartCount": 9 * is_failing,
            "state": state,
        }
        for container in spec["containers"]
    ]
    ready = _conditions("Ready", "ContainersReady", status="False" if is_failing else "True")
    conditions = [*_conditions("PodScheduled", "Initialized"), *ready]
    return {"phase": "Running", "startTime": _NOW, "conditions": conditions, "containerStatuses": statuses}


def _sample(shared: BenchmarkCluster, command: Sequence[str]) -> tuple[float, float, int, int]:
    """Run a command, and return its wall-clock time, processor time, number of lists, and exit code."""
    environment = {**os.environ, "KUBECONFIG": str(shared.plane.kubeconfig)}
    lists = _lists(shared)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
    seconds = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, processor, _lists(shared) - lists, done.returncode


def _lists(shared: BenchmarkCluster) -> int:
    """Return the number of lists that the API server has answered."""
    _, metrics = shared.plane.api().get("/metrics")
    return sum(map(int, _LISTS.findall(metrics.decode())))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
