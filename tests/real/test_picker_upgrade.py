"""The picker of one service goes to another version while requests come: none of any service is lost."""

import contextlib
import http.client
import itertools
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.leader import READY, WAITING, is_ready, pods
from tests.support.traffic.data_path import data_path
from tests.support.traffic.pickers import picker
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "newer"
CHANGED = "qwen"
SERVICES = (CHANGED, "bert", "code")
NAME = f"{CHANGED}-epp"
"""Name of the Deployment that changes."""
PERIOD_SECONDS = 1 / 50
"""Time between two requests, which go to one service after another."""
STEADY_SECONDS = 2.0
"""Time for which requests come before the change and after it."""
PATIENCE_SECONDS = 60.0
"""Time within which the former picker gets no more requests, and within which it ends after its last stream."""
NEWER = "1.3.1"
CHANGE = {
    "image": f"registry.k8s.io/gateway-api-inference-extension/epp:v{NEWER}",
    "pod": {"annotations": WAITING},
}
"""The newer picker. A fake node leaves its pods unready, so each is as ready as the process that runs for it."""


def stack(**options):
    services = {key: {} for key in SERVICES} | {CHANGED: {"endpointPicker": options}}
    return in_namespace(NAMESPACE, **services) | {"release": "gie-1.3"}


def requests(path, stop):
    """Ask at a steady rate until an event is set. Return how often each service answered with each status.

    A request without an answer has the status 0.
    """

    def ask(service, number):
        try:
            return service, path.ask(service, prompt=f"question {number}").status
        except (OSError, http.client.HTTPException):
            return service, 0

    sent = []
    begin = time.monotonic()
    with ThreadPoolExecutor(32) as pool:
        for number, service in enumerate(itertools.cycle(SERVICES)):
            if stop.wait(max(0.0, begin + number * PERIOD_SECONDS - time.monotonic())):
                break
            sent.append(pool.submit(ask, service, number))
    return Counter(request.result() for request in sent)


class Kubelet:
    """Runs a real picker for each pod of the Deployment that changes, and says of the pod what its picker says."""

    def __init__(self, path, tools, directory):
        self._path = path
        self._tools = tools
        self._directory = directory
        (pod,) = pods(path.plane, NAMESPACE, CHANGED)
        self.running = {pod["metadata"]["name"]: path.pickers.pop(NAME)}
        """Pickers by the names of their pods."""
        self._used = dict(self.running)
        """Pickers that the gateway asks, by the names of their pods."""
        path.pickers |= self._used

    def run(self, stop):
        """Follow the pods until an event is set."""
        with contextlib.ExitStack() as ends:
            while not stop.wait(0.1):
                self._follow({pod["metadata"]["name"]: pod for pod in pods(self._path.plane, NAMESPACE, CHANGED)}, ends)

    def _follow(self, there, ends):
        for name in there.keys() - self.running.keys():
            folder = self._directory / name
            started = picker(self._path.plane, self._tools, NAMESPACE, NAME, folder)
            self.running[name] = ends.enter_context(started)
        for name, pod in there.items():
            if not is_ready(pod) and self.running[name].serves("readiness", 0.1) and self.running[name].listens():
                self._say_ready(name)
        self._use({name for name, pod in there.items() if is_ready(pod)})
        for name in self.running.keys() - there.keys():
            self.running.pop(name).process.terminate()

    def _say_ready(self, name):
        body = json.dumps({"status": READY})
        where = ("pod", name, "-n", NAMESPACE, "--subresource=status", "--type=strategic", "-p", body)
        self._path.plane.kubectl("patch", *where)

    def _use(self, names):
        """Let the gateway ask the pickers of these pods alone."""
        if names != self._used.keys():
            for name in self._used:
                del self._path.pickers[name]
            self._used = {name: self.running[name] for name in names}
            self._path.pickers |= self._used
            self._path.sync()


@contextlib.contextmanager
def running(task, *arguments):
    """Run a task beside a `with` block, which gets its future; the task ends when its event is set."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(task, *arguments, stop)
        try:
            yield future
        finally:
            stop.set()
        future.result()


def test_a_picker_that_goes_to_another_version_loses_no_request_of_any_service(deploy, loopback_plane, tools, tmp_path):
    """A stream that runs over the change arrives whole."""
    deployed = deploy(stack(), loopback_plane)
    with data_path(deployed, tools, tmp_path / "path", NAMESPACE) as path:
        kubelet = Kubelet(path, tools, tmp_path)
        (old,) = kubelet.running.values()
        deployed.write(stack(**CHANGE))
        preview, foreseen = deployed.foresee()
        stream = path.asked(CHANGED, "/v1/completions", headers=None, host="llm.example.com", stream=True)
        with running(kubelet.run), running(requests, path) as asked, stream as response:
            time.sleep(STEADY_SECONDS)
            done = deployed.operate()
            eventually(lambda: old not in kubelet.running.values(), PATIENCE_SECONDS)
            time.sleep(STEADY_SECONDS)
            (server,) = path.of(CHANGED)
            server.released.set()
            streamed = response.read()
            eventually(lambda: old.process.poll() is not None, PATIENCE_SECONDS)
            (new,) = kubelet.running.values()
        counts = asked.result()
    assert foreseen.done == done.done == {f"{NAME}-deployment": "update"}
    assert "a change of the picker" not in preview
    assert str(tools[f"epp-{NEWER}"].path) in new.process.args
    assert streamed.endswith(b"data: [DONE]\n\n")
    assert {service for service, _ in counts} == {*SERVICES}
    assert {status for _, status in counts} == {200}, counts
