"""A stack of services of many kinds behind Istio and real pickers, with what `status` says of it and what it answers.

Nodes are played, so who tests says of a pod what its kubelet would.
"""

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.status import ReadScope
from judging.status import shares, verdict
from judging.status.evidence import RouteExpectation
from judging.status.verdict import ServiceStatus, Status
from local import processes
from local.cluster import ControlPlane
from local.gateway import FIELD_MANAGER, objects
from local.gateway.picker import PickerCommand, command
from local.tools import Tool
from planning.ground import labels
from tests.support.cluster.deployments import Deploy
from tests.support.cluster.editing import Editor
from tests.support.cluster.leader import WAITING, leading
from tests.support.stacks import GATEWAY, rendered, tree
from tests.support.traffic.data_path import SERVER, DataPath
from tests.support.traffic.istio import Istio
from tests.support.traffic.pickers import Picker
from tests.support.waits import eventually

NAMESPACE = "living"
HOST = "code.example.com"
CANARYS_PERCENT = 50
STACK = tree(
    chat={"replicas": 2, "canary": {"weight": CANARYS_PERCENT, "replicas": 1}},
    code={"route": {"hostnames": [HOST]}},
    open={
        "endpointPicker": {"failureMode": "FailOpen", "failOpenReason": "an answer from any pod is better than none"}
    },
    pair={"endpointPicker": {"replicas": 2, "pod": {"annotations": WAITING}}},
    plain={"endpointPicker": {"enabled": False}},
) | {
    "namespace": NAMESPACE,
    "namespaceOptions": {"create": True},
    "release": "gie-1.3",
    # The Istio that is built here asks one picker for each rule, as this version does.
    "gateway": GATEWAY | {"version": "1.31.1"},
}
TIMES = {"chat": 24, "code": 3, "open": 3, "pair": 3, "plain": 3}
"""How often each service is asked: half of the requests go to a canary, and 1 of 16 million such rounds misses it."""
PICKERS = ("chat-epp", "chat-canary-epp", "code-epp", "open-epp", "pair-epp")
LATER = timedelta(seconds=120)
"""Time by which a status is read too late, so that what takes a moment in good health counts no longer as such."""
LEASE = f"epp-{NAMESPACE}-pair.gateway-api-inference-extension.sigs.k8s.io"


@dataclass(frozen=True, slots=True)
class _Running:
    """A picker's process, with the line that starts it again on the same ports."""

    started_by: PickerCommand
    picker: Picker


class LivingStack:
    """The stack `STACK` on a control plane of its own."""

    def __init__(self, path: DataPath, front: Istio, tools: Mapping[str, Tool], directory: Path) -> None:
        self.path = path
        self._front = front
        self.editor = Editor(path.plane)
        self._tools = tools
        self._directory = directory
        self._pickers = dict[str, _Running]()
        self._stopped = set[str]()
        """Names of the pickers that a test has ended."""
        self.seen = list[Status]()
        """Its statuses while it was deployed."""
        self._access = KubeAccess(path.plane.kubeconfig.read_text(encoding="utf-8"), None)
        routes = [manifest for manifest in rendered(STACK) if manifest["kind"] == "HTTPRoute"]
        self.routes = {
            (NAMESPACE, route["metadata"]["name"]): RouteExpectation(shares.of_route(route), asks_each_picker=False)
            for route in routes
        }

    def start(self) -> None:
        """Start a server for each pod and a process for each picker; returns when all services answer."""
        for pod in self.path.pods(SERVER):
            self.path.serve(pod["metadata"]["name"])
        for name in PICKERS:
            started_by = command(self.path.plane, NAMESPACE, name, self._directory / name)
            self._pickers[name] = _Running(started_by, _started(started_by, self._tools))
        for pod in self.pods("endpoint-picker"):
            if pod["metadata"]["labels"][labels.PICKER] == "pair" and not _is_ready(pod):
                self.tell(pod, running(is_ready=False, container="epp"))
        self._announce()
        eventually(lambda: self.failing() == set())

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Keep the status of every half second for the time of a `with` block."""
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(0.5):
                self.seen.append(self.status(later=timedelta()))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def end(self) -> None:
        """End the pickers; servers end with the data path."""
        for running_picker in self._pickers.values():
            running_picker.picker.end()

    def stop_picker(self, name: str) -> None:
        """End a picker's process at once; the Service of its pods has no endpoint any more."""
        self._stopped.add(name)
        self._pickers[name].picker.end()
        self._announce()

    def start_picker(self, name: str) -> None:
        """Start a picker's process again, on the same ports; returns when it is ready, which needs its pool."""
        self._stopped.discard(name)
        started_by = self._pickers[name].started_by
        self._pickers[name] = _Running(started_by, _started(started_by, self._tools))
        self._announce()
        if any(
            item["metadata"]["name"] == name.removesuffix("-epp")
            for item in self.editor.items("InferencePool", NAMESPACE)
        ):
            assert self._pickers[name].picker.serves("readiness"), self._pickers[name].picker.said()[-3000:]

    def _announce(self) -> None:
        pickers = [running_picker.picker for running_picker in self._pickers.values()]
        self._front.use([picker for picker in pickers if picker.process.poll() is None])

    def refusal(self, name: str) -> tuple[int, str]:
        """Start a picker with a plugin that it does not know; return its exit code and the end of its log."""
        started_by = self._pickers[name].started_by
        wrong = started_by.config.with_name("wrong.yaml")
        plugin = "- type: no-such-plugin\n  name: wrong\n- type:"
        wrong.write_text(started_by.config.read_text(encoding="utf-8").replace("- type:", plugin, 1), encoding="utf-8")
        arguments = [argument for argument in started_by.arguments if not argument.startswith("--config-file=")]
        line = processes.tied_command([str(self._tools["epp"].path), *arguments, f"--config-file={wrong}"])
        ended = subprocess.run(
            line, env=started_by.environment, capture_output=True, text=True, timeout=60, check=False
        )
        return ended.returncode, (ended.stdout + ended.stderr)[-2048:]

    def controller(self) -> subprocess.Popen[bytes]:
        """Return the process of the gateway's controller."""
        return self._front.controller()

    def follow_pods(self) -> None:
        """Start what a kubelet would, and end the servers of pods that are gone.

        That is a server for each ready pod that has none, and each picker that ended by itself. The leader of several
        pickers ends if it cannot renew its Lease for 10 s, such as at a busy API server.
        """
        for name in sorted(self._pickers.keys() - self._stopped):
            if self._pickers[name].picker.process.poll() is not None:
                self.start_picker(name)
        names = {pod["metadata"]["name"] for pod in self.pods(SERVER) if _is_ready(pod)}
        known = {pod["metadata"]["name"] for pod in self.pods(SERVER)}
        for name in names - self.path.servers.keys():
            self.path.serve(name)
        for name in self.path.servers.keys() - known:
            self.stop_server(name)

    def is_ending(self) -> bool:
        """Tell whether a pod ends."""
        return any("deletionTimestamp" in pod["metadata"] for pod in self.editor.items("Pod", NAMESPACE))

    def stop_server(self, pod: str) -> None:
        """End the servers of a pod."""
        for server in self.path.servers.pop(pod):
            server.end()

    def pods(self, component: str, service: str = "", variant: str = "primary") -> list[Any]:
        """Return the pods of a component that do not end, by name: of all services, or of a variant of one."""
        pods = [
            pod
            for pod in self.editor.items("Pod", NAMESPACE)
            if pod["metadata"].get("labels", {}).get("app.kubernetes.io/component") == component
            and "deletionTimestamp" not in pod["metadata"]
        ]
        if not service:
            return pods
        key = labels.PICKER if component == "endpoint-picker" else labels.SERVICE
        identity = {key: service, labels.VARIANT: variant}
        return [pod for pod in pods if identity.items() <= pod["metadata"]["labels"].items()]

    def wait_for_quota(self, name: str) -> None:
        """Return when the controller has counted what a new quota counts: before, admission waits for it."""
        eventually(lambda: "hard" in self.editor.get("ResourceQuota", NAMESPACE, name).get("status", {}))

    def hurry(self) -> None:
        """Let the controller try at once to make the pods that it lacks; by itself it waits longer each time."""
        moment = _text(datetime.now(UTC))
        for item in self.editor.items("ReplicaSet", NAMESPACE):
            change = {"metadata": {"annotations": {"hurried": moment}}}
            self.editor.merge("ReplicaSet", NAMESPACE, item["metadata"]["name"], change)

    def renew_listener(self) -> None:
        """Let Istio make the listener anew, after a time without it.

        Istio 1.31 makes the listener of a Gateway that comes back before it has accepted any route again, and leaves
        out what asks pickers: requests are answered, and no picker chooses. It looks again when something changes.
        """
        path = "/spec/listeners/0/allowedRoutes/namespaces/from"
        eventually(self._is_any_route_accepted)
        for value, is_accepting in (("Same", False), ("All", True)):
            operation = {"op": "replace", "path": path, "value": value}
            self.editor.patch("Gateway", "gateways", "gateway", operation, FIELD_MANAGER)
            eventually(lambda is_accepting=is_accepting: self._is_any_route_accepted() == is_accepting)

    def renew_statuses(self) -> None:
        """Let Istio write the status of the Gateway and of all routes anew.

        Istio loses a status if its queue holds two generations of an object (istio, pilot/pkg/status/resourcelock.go,
        `Push` keeps the generation of the first). It compares again when a status changes. It may also have judged the
        Gateway by the ports that its Service had before, so that the Gateway changes, too.
        """
        metadata = self.editor.get("Gateway", "gateways", "gateway")["metadata"]
        annotations = {**metadata.get("annotations", {}), "renewed": str(time.time())}
        operation = {"op": "add", "path": "/metadata/annotations", "value": annotations}
        self.editor.patch("Gateway", "gateways", "gateway", operation)
        self.editor.clear_status("Gateway", "gateways", "gateway", "conditions")
        for route in self.editor.items("HTTPRoute", NAMESPACE):
            self.editor.clear_status("HTTPRoute", NAMESPACE, route["metadata"]["name"], "parents")

    def _is_any_route_accepted(self) -> bool:
        entries = [
            condition
            for route in self.editor.items("HTTPRoute", NAMESPACE)
            for parent in route.get("status", {}).get("parents", ())
            for condition in parent["conditions"]
        ]
        return any((entry["type"], entry["status"]) == ("Accepted", "True") for entry in entries)

    def tell(self, pod: Any, status: Any) -> None:
        """Say of a pod what its kubelet would."""
        name = pod["metadata"]["name"]
        self.editor.merge("Pod", NAMESPACE, name, {"status": status}, subresource="status")

    def status(self, *, later: timedelta = LATER) -> Status:
        """Return the status of the stack, as it would be read somewhat later."""
        live = reader.read(self._access, ReadScope())
        return verdict.of(replace(live, read_at=live.read_at + later), {}, self.routes)

    def of(self, name: str, *, later: timedelta = LATER) -> ServiceStatus:
        """Return the status of a service."""
        (service,) = (each for each in self.status(later=later).services if each.view.name == name)
        return service

    def failing(self) -> set[str]:
        """Ask every service, and return those of which any request is not answered."""
        requests = [service for service, times in TIMES.items() for _ in range(times)]
        with ThreadPoolExecutor(6) as pool:
            answers = [*pool.map(self._is_answered, requests)]
        return {service for service, is_answered in zip(requests, answers, strict=True) if not is_answered}

    def _is_answered(self, service: str) -> bool:
        more = {"host": HOST} if service == "code" else {}
        with contextlib.suppress(OSError):
            return self.path.ask(service, **more).status == HTTPStatus.OK
        return False


@contextlib.contextmanager
def living(
    deploy_for_all: Deploy, plane: ControlPlane, tools: Mapping[str, Any], folder: Path
) -> Iterator[LivingStack]:
    """Deploy and run the stack."""
    manifests = rendered(STACK)
    front = Istio(tools, folder / "istio", plane)
    path = DataPath(plane, tools, NAMESPACE, folder / "path", front)
    with contextlib.ExitStack() as ends:
        ends.callback(front.end)
        ends.callback(path.end)
        front.start(objects.listeners(manifests), objects.service_ports(manifests))
        stack = LivingStack(path, front, tools, folder)
        ends.callback(stack.end)
        with leading(plane, NAMESPACE, "pair"), stack.watched():
            deploy_for_all(STACK, plane).up()
        stack.start()
        yield stack


def running(*, is_ready: bool, container: str, started: datetime | None = None) -> dict[str, Any]:
    """Return the status that a kubelet writes of a pod whose container runs."""
    state = {"running": {"startedAt": _text(started or datetime.now(UTC))}}
    return _status({"name": container, "state": state, "ready": is_ready, "started": True}, is_ready=is_ready)


def crashing(container: str, code: int, message: str) -> dict[str, Any]:
    """Return the status that a kubelet writes of a pod whose container has ended several times."""
    moment = _text(datetime.now(UTC))
    ended = {"exitCode": code, "reason": "Error", "message": message, "startedAt": moment, "finishedAt": moment}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}}
    crashed = {"state": state, "lastState": {"terminated": ended}, "restartCount": 3, "started": False}
    return _status({"name": container, "ready": False, **crashed}, is_ready=False)


def _status(container: dict[str, Any], *, is_ready: bool) -> dict[str, Any]:
    conditions = [
        {
            "type": kind,
            "status": str(is_ready),
            "reason": None if is_ready else "ContainersNotReady",
            "message": None if is_ready else f"containers with unready status: [{container['name']}]",
            "lastTransitionTime": _text(datetime.now(UTC)),
        }
        for kind in ("Ready", "ContainersReady")
    ]
    whole = {"image": "played", "imageID": "", "lastState": {}, "restartCount": 0, **container}
    # A list of containers' statuses is replaced whole.
    return {"phase": "Running", "conditions": conditions, "containerStatuses": [whole]}


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _is_ready(pod: Any) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod["status"].get("conditions", ())
    )


def _started(started_by: PickerCommand, tools: Mapping[str, Tool]) -> Picker:
    """Start a picker's process; it may take a moment to listen."""
    folder = started_by.config.parent
    line = processes.tied_command([str(tools["epp"].path), *started_by.arguments])
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(line, env=started_by.environment, stdout=log, stderr=subprocess.STDOUT)
    return Picker(NAMESPACE, started_by.labels, started_by.ports, started_by.health, process, folder / "log")
